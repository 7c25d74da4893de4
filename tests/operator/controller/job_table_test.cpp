// SPDX-License-Identifier: Apache-2.0
//
// The table of jobs, fed by lists, events and answers.
#include "controller/job_table.hpp"

#include "controller/cluster_views.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <vector>

namespace {

using namespace signalbox;
using std::chrono::seconds;
using strings = std::vector<std::string>;

struct listener final : op::job_listener {
    void job_changed(const std::string& uid, bool initial) override {
        heard.push_back(uid + (initial ? " listed" : " changed"));
    }
    void job_gone(const std::string& uid) override { heard.push_back(uid + " gone"); }
    void job_unreadable(std::string_view why) override { unreadable.emplace_back(why); }
    bool decides() const override { return passes; }
    strings heard, unreadable;
    bool passes = false;
};

std::string job(const std::string& uid, const std::string& version) {
    rapidjson::Document object;
    object.Parse(test::job_builder("mnist").json().c_str());
    auto& memory = object.GetAllocator();
    rapidjson::Value& metadata = object["metadata"];
    for (const auto& [key, text] : {std::pair("uid", uid), std::pair("resourceVersion", version)}) {
        metadata.RemoveMember(key);
        metadata.AddMember(
            rapidjson::StringRef(key), rapidjson::Value(text.c_str(), memory), memory
        );
    }
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    object.Accept(out);
    return buffer.GetString();
}

struct fixture {
    listener heard;
    op::job_table table{heard};
    op::job_sink sink{core::job_kind::pytorch, table};

    void list(const strings& jobs, std::string_view version, bool after_rewind = false) {
        sink.replace_begin();
        for (const std::string& one : jobs) {
            sink.replace_item(one);
        }
        after_rewind ? sink.replace_after_rewind(version) : sink.replace_end(version);
    }
    std::string version_of(const std::string& uid) const {
        const auto entry = table.find(uid);
        return entry ? entry->object->meta.resource_version : "";
    }
};

constexpr bool listed = true;
constexpr bool own_answer = true;

}  // namespace

TEST_CASE("[requirement Q5] a list tells of jobs once, a change of each, an answer of none") {
    fixture f;
    f.list({job("a", "1"), job("b", "2")}, "5");
    f.sink.upsert(job("a", "6"));
    f.table.upsert(job("a", "7"), !listed, own_answer);
    f.sink.upsert(job("a", "7"));  // the event of our own write
    CHECK(f.heard.heard == strings{"a listed", "b listed", "a changed"});
    CHECK(f.version_of("a") == "7");
    CHECK(f.sink.complete());
}

TEST_CASE("[requirement Q11] what events bring is read by the next pass, once for all of them") {
    fixture f;
    f.heard.passes = true;
    f.list({job("a", "1")}, "5");
    const op::job_entry_ptr entry = f.table.find("a");
    CHECK(entry->object->compiled);  // lists are read at once
    const auto before = entry->object;
    f.sink.upsert(job("a", "6"));
    f.sink.upsert(job("a", "8"));
    f.sink.upsert(job("a", "7"));  // REQUIREMENTS.md W8
    f.sink.upsert(job("a", "8"));
    CHECK(f.heard.heard == strings{"a listed", "a changed", "a changed"});
    CHECK(entry->object == before);
    CHECK(entry->version() == "8");
    f.table.read_newest(*entry);
    CHECK(entry->object->meta.resource_version == "8");
    CHECK(entry->object->compiled == before->compiled);  // the same specification
    CHECK_FALSE(entry->unread);
    f.table.read_newest(*entry);
    CHECK(f.heard.heard.size() == 3);
}

TEST_CASE("[requirement Q11] a new job is known by name until it is read") {
    fixture f;
    f.heard.passes = true;
    f.list({}, "5");
    f.sink.upsert(job("a", "6"));
    const op::job_entry_ptr entry = f.table.find("a");
    REQUIRE(entry);
    CHECK(entry->parked);
    CHECK(entry->object->meta.kind == core::job_kind::pytorch);
    CHECK(entry->object->meta.name == "mnist");
    CHECK_FALSE(entry->object->compiled);
    f.table.read_newest(*entry);
    CHECK_FALSE(entry->parked);
    CHECK(entry->object->compiled);
    CHECK(entry->bytes == job("a", "6").size());
}

TEST_CASE("[requirement Q11] an answer is compared with what waits to be read") {
    fixture f;
    f.heard.passes = true;
    f.list({job("a", "1")}, "5");
    f.sink.upsert(job("a", "8"));
    const op::job_entry_ptr entry = f.table.find("a");
    const std::string answered = GENERATE("7", "8", "9");
    CHECK(f.table.upsert(job("a", answered), !listed, own_answer) == entry);
    CHECK_FALSE(entry->unread);
    CHECK(f.version_of("a") == (answered == "9" ? "9" : "8"));
}

TEST_CASE("[requirement Q11] a list, a restore and an unread event agree on what is newest") {
    fixture f;
    f.heard.passes = true;
    f.list({job("a", "1"), job("b", "2")}, "5");
    const op::job_entry_ptr a = f.table.find("a");
    f.sink.upsert(job("a", "8"));
    f.list({job("a", "3")}, "7");
    CHECK(a->version() == "8");
    f.list({}, "7");
    CHECK(f.table.find("a") == a);  // it came after the list
    f.list({job("a", "9")}, "9");
    CHECK_FALSE(a->unread);
    CHECK(f.version_of("a") == "9");
    f.sink.upsert(job("a", "10"));
    f.sink.rewound();
    CHECK_FALSE(a->unread);  // it is of a world that is no more
    f.sink.upsert(job("a", "4"));
    CHECK_FALSE(a->unread);  // in doubt: whatever comes is read
    CHECK(f.version_of("a") == "4");
}

TEST_CASE("[requirement Q11] what cannot be read is told by the pass, and changes nothing") {
    fixture f;
    f.heard.passes = true;
    f.list({job("a", "1")}, "5");
    const auto event = [](const std::string& uid) {
        return R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob",)"
               R"("metadata":{"name":"x","resourceVersion":"8","uid":")" +
               uid + R"("},"spec":)";
    };
    const op::job_entry_ptr a = f.table.find("a");
    f.sink.upsert(event("a"));
    f.sink.upsert(event("new"));
    const op::job_entry_ptr fresh = f.table.find("new");
    REQUIRE(fresh);
    for (const op::job_entry_ptr& entry : {a, fresh}) {
        f.table.read_newest(*entry);
        CHECK_FALSE(entry->unread);
    }
    CHECK(f.heard.unreadable.size() == 2);
    CHECK(f.version_of("a") == "1");
    CHECK(fresh->gone);
    CHECK(f.table.uids() == strings{"a"});
}

TEST_CASE("[behaviour I4] a job has moved on by its generation or its end, read or not") {
    fixture f;
    f.heard.passes = GENERATE(true, false);
    f.list({job("a", "1")}, "5");
    const op::job_entry_ptr a = f.table.find("a");
    const auto decided = a->object;
    const auto with = [](const std::string& version, const std::string& member) {
        std::string text = job("a", version);
        text.insert(text.find("\"metadata\":{") + 12, member + ",");
        return text;
    };
    const std::string generation = R"("generation":)" + std::to_string(decided->meta.generation);
    f.sink.upsert(job("a", "6"));
    CHECK_FALSE(a->has_moved_on(decided->meta));
    SECTION("another specification") {
        std::string text = job("a", "7");
        text.replace(text.find(generation), generation.size(), R"("generation":99)");
        f.sink.upsert(text);
        CHECK(a->has_moved_on(decided->meta));
    }
    SECTION("being deleted") {
        f.sink.upsert(with("7", R"("deletionTimestamp":"2026-01-01T00:00:00Z")"));
        CHECK(a->has_moved_on(decided->meta));
    }
}

TEST_CASE("[requirement W8] an older or repeated job changes nothing") {
    fixture f;
    f.list({job("a", "9")}, "9");
    const auto held = f.table.find("a")->object;
    f.heard.heard.clear();
    f.sink.upsert(job("a", "8"));
    f.sink.upsert(job("a", "9"));
    f.table.upsert(job("a", "9"), !listed, own_answer);
    CHECK(f.table.find("a")->object == held);
    CHECK(f.heard.heard.empty());
}

TEST_CASE("[requirement W8] an event that comes again brings no job back") {
    fixture f;
    f.sink.upsert(job("early", "3"));  // before the first list nothing is known of versions
    f.list({job("a", "1"), job("early", "3")}, "5");
    f.sink.upsert(job("a", "6"));
    f.sink.advance("6");
    f.sink.remove(job("a", "7"));
    f.sink.advance("7");
    f.sink.advance("4");
    f.heard.heard.clear();
    f.sink.upsert(job("a", "6"));
    f.sink.upsert(job("a", "7"));
    CHECK(f.table.uids() == strings{"early"});
    CHECK(f.heard.heard.empty());
    f.sink.upsert(job("b", "8"));
    CHECK(f.table.uids() == strings{"b", "early"});
}

TEST_CASE("[requirement W13] a job is read in a version that its view must have shown") {
    fixture f;
    CHECK_FALSE(f.sink.is_contradicted("1", "2", f.sink.mark()));
    f.list({job("a", "5")}, "10");
    const k8sio::view_mark asked = f.sink.mark();
    CHECK(f.sink.is_contradicted("5", "7", asked));
    CHECK(f.sink.is_contradicted("5", "10", asked));
    CHECK_FALSE(f.sink.is_contradicted("5", "11", asked));
    CHECK_FALSE(f.sink.is_contradicted("5", "5", asked));
    f.list({job("a", "5"), job("b", "11"), job("c", "12")}, "12");
    const k8sio::steady_time start{};
    CHECK_FALSE(f.sink.drop("a", start));
    CHECK(f.table.uids() == strings{"b", "c"});
    CHECK_FALSE(f.sink.drop("b", start + seconds{1}));
    const bool confirmed = GENERATE(false, true);
    if (confirmed) {
        f.sink.remove(job("a", "13"));
    }
    CHECK(f.sink.drop("c", start + seconds{20}) == !confirmed);
    f.list({}, "20");
    CHECK_FALSE(f.sink.drop("d", start + seconds{60}));
}

TEST_CASE("[requirement X11] an answer about a job that is gone does not bring it back") {
    fixture f;
    f.list({job("a", "1")}, "1");
    const op::job_entry_ptr entry = f.table.find("a");
    f.sink.remove(job("a", "2"));
    CHECK(entry->gone);
    CHECK(f.table.upsert(job("a", "3"), !listed, own_answer) == nullptr);
    CHECK(f.table.size() == 0);
    CHECK(f.heard.heard == strings{"a listed", "a gone"});
}

TEST_CASE("what a complete list does not hold is gone, but for what came after it") {
    fixture f;
    f.list({job("a", "1"), job("b", "2")}, "5");
    f.sink.upsert(job("c", "8"));
    f.list({job("b", "2")}, "6");
    CHECK(f.table.uids() == strings{"b", "c"});
    f.list({job("b", "2")}, "8");
    CHECK(f.table.uids() == strings{"b"});
    CHECK_FALSE(f.table.find("b")->doubtful);
}

TEST_CASE("a list of one kind says nothing about jobs of another") {
    fixture f;
    f.list({job("a", "1")}, "5");
    op::job_sink others(core::job_kind::deepspeed, f.table);
    others.replace_begin();
    others.replace_end("9");
    others.advance("9");
    others.replace_begin();
    others.replace_end("3");
    CHECK(f.table.uids() == strings{"a"});
    CHECK_FALSE(f.table.find("a")->doubtful);
}

TEST_CASE("[requirement L4] a list that breaks off removes nothing") {
    fixture f;
    f.list({job("a", "1")}, "5");
    f.sink.replace_begin();
    f.sink.replace_item(job("b", "6"));
    f.sink.replace_abort();
    CHECK(f.table.uids() == strings{"a", "b"});
    f.list({job("a", "1")}, "7");
    CHECK(f.table.uids() == strings{"a"});
}

TEST_CASE("[requirement V6] after a restore every job of the kind is in doubt until it is listed") {
    fixture f;
    f.list({job("a", "1"), job("b", "90"), job("c", "95")}, "100");
    op::job_sink others(core::job_kind::deepspeed, f.table);
    others.rewound();
    CHECK_FALSE(f.table.find("a")->doubtful);
    f.sink.rewound();
    CHECK_FALSE(f.sink.synced());
    CHECK_FALSE(f.sink.complete());
    CHECK(f.table.find("a")->doubtful);
    CHECK(f.table.find("b")->doubtful);
    // What is read live counts, though its version is lower.
    f.table.upsert(job("b", "40"), !listed, own_answer);
    CHECK(f.version_of("b") == "40");
    CHECK_FALSE(f.table.find("b")->doubtful);
    // The list is the truth: what it does not hold is gone, newer or not.
    const bool after_rewind = true;
    f.list({job("a", "1"), job("b", "40")}, "50", after_rewind);
    CHECK(f.sink.synced());
    CHECK(f.sink.complete());
    CHECK(f.table.uids() == strings{"a", "b"});
    CHECK_FALSE(f.table.find("a")->doubtful);
    // Lists after it are as ever.
    f.sink.upsert(job("d", "70"));
    f.list({job("a", "1"), job("b", "40")}, "60");
    CHECK(f.table.uids() == strings{"a", "b", "d"});
    f.sink.upsert(job("b", "39"));
    CHECK(f.version_of("b") == "40");
}

TEST_CASE("a parked job keeps who it is, and comes back with the next reading of it") {
    fixture f;
    f.list({job("a", "5")}, "5");
    const op::job_entry_ptr entry = f.table.find("a");
    f.table.let_go(*entry);
    CHECK(entry->parked);
    CHECK(entry->object->meta.uid == "a");
    CHECK(entry->object->meta.resource_version == "5");
    CHECK_FALSE(entry->object->compiled);
    const bool answered = GENERATE(true, false);
    if (answered) {
        // The same version does, where it was asked for.
        f.sink.upsert(job("a", "5"));
        CHECK(entry->parked);
        f.table.upsert(job("a", "5"), !listed, own_answer);
    } else {
        f.sink.upsert(job("a", "6"));
    }
    CHECK_FALSE(entry->parked);
    CHECK(entry->object->compiled);
}

TEST_CASE("[behaviour 12.13] what is kept of jobs has a bound, and the longest unused goes first") {
    fixture f;
    f.list({job("a", "1"), job("b", "2"), job("c", "3")}, "5");
    const std::size_t each = f.table.kept_bytes() / 3;
    std::size_t bound = 2 * each + 100;
    f.table.keep_at_most([&bound] { return bound; });
    f.sink.upsert(job("a", "6"));
    const auto is_kept = [&f](const char* uid) { return !f.table.find(uid)->parked; };
    CHECK(is_kept("a"));
    CHECK_FALSE(is_kept("b"));
    CHECK(is_kept("c"));
    CHECK(f.table.kept_bytes() <= bound);
    f.table.pin(*f.table.find("c"), true);
    f.sink.upsert(job("a", "7"));
    f.table.upsert(job("b", "2"), !listed, own_answer);
    CHECK(is_kept("c"));  // a pass is under way
    CHECK_FALSE(is_kept("a"));
    bound = 0;
    f.table.pin(*f.table.find("c"), false);
    CHECK_FALSE(is_kept("c"));
    CHECK(f.table.kept_bytes() == 0);
    f.table.erase("b");
    CHECK(f.table.size() == 2);
}

TEST_CASE("[behaviour 12.13] the text of a version that waits is let go, and the job is read") {
    fixture f;
    f.heard.passes = true;
    f.list({job("a", "1")}, "5");
    f.table.keep_at_most([] { return std::size_t{0}; });
    f.sink.upsert(job("a", "6"));
    const op::job_entry_ptr entry = f.table.find("a");
    CHECK(f.table.kept_bytes() == 0);
    REQUIRE(entry->unread);
    CHECK(entry->unread->text.capacity() == std::string().capacity());
    CHECK(entry->parked);
    CHECK(entry->version() == "6");
    f.table.read_newest(*entry);  // there is nothing to read
    CHECK(entry->parked);
    f.table.pin(*entry, true);
    f.table.upsert(job("a", "5"), !listed, own_answer);
    CHECK(entry->parked);  // older than what is known of
    f.table.upsert(job("a", "6"), !listed, own_answer);
    CHECK_FALSE(entry->parked);
    CHECK_FALSE(entry->unread);
    CHECK(entry->object->compiled);
}

TEST_CASE("[behaviour 12.13] a large job of a list is read by its first pass") {
    fixture f;
    f.heard.passes = true;
    test::job_builder large("mnist");
    large.annotation("of-the-user", std::string(100000, 'x'));
    f.list({large.json()}, "5");
    const op::job_entry_ptr entry = f.table.entries().begin()->second;
    CHECK(f.heard.heard == strings{entry->object->meta.uid + " listed"});
    REQUIRE(entry->unread);
    CHECK(entry->bytes == large.json().size());
    CHECK(f.table.kept_bytes() == large.json().size());  // the text counts while it waits
    CHECK(op::bytes_of_pass(*entry) > entry->bytes);
    f.table.read_newest(*entry);
    CHECK(entry->object->compiled);
    f.list({job("a", "6")}, "6");
    CHECK(op::bytes_of_pass(*f.table.find("a")) == 0);
}

TEST_CASE("[behaviour 12.13] of a job that is gone nothing is kept") {
    fixture f;
    f.list({job("a", "1")}, "5");
    const op::job_entry_ptr entry = f.table.find("a");
    f.table.pin(*entry, true);
    f.table.erase("a");
    CHECK(f.table.kept_bytes() == 0);
    f.table.pin(*entry, false);
    CHECK(f.table.kept_bytes() == 0);
}

TEST_CASE("pods share what all of a job say, whether a watch or an answer brings them") {
    listener heard;
    op::cluster_views views(heard, {});
    const auto pod = [](const std::string& uid) {
        return R"({"metadata":{"name":"p","uid":")" + uid +
               R"(","resourceVersion":"1","ownerReferences":[{"uid":"j","controller":true}]}})";
    };
    views.pods.upsert(pod("a"));
    views.pods.upsert(pod("b"));
    const auto answered = views.read_pod(pod("c"));
    REQUIRE(answered);
    for (const char* uid : {"a", "b"}) {
        const auto held = views.pods.get(uid);
        REQUIRE(held);
        CHECK(held->owner_uid == "j");
        CHECK(&held->owner_uid.str() == &answered->owner_uid.str());
    }
    CHECK_FALSE(views.read_pod("[]"));
}

TEST_CASE("what is no job is told, and changes nothing") {
    fixture f;
    f.list({job("a", "1")}, "1");
    f.sink.upsert(R"({"metadata":{"name":"x"}})");
    f.sink.upsert(R"({"kind":"Pod","metadata":{"name":"x","uid":"y","resourceVersion":"4"}})");
    f.sink.remove("[]");
    REQUIRE(f.heard.unreadable.size() == 2);
    CHECK(f.heard.unreadable[0] == "no UID");
    CHECK_FALSE(f.heard.unreadable[1].empty());
    CHECK(f.table.uids() == strings{"a"});
}

TEST_CASE(
    "[behaviour 12.12] members of a status that this version does not know are kept with the job"
) {
    fixture f;
    const auto with_future = [](const std::string& version, const std::string& value) {
        std::string text = job("a", version);
        text.insert(text.rfind('}'), R"(,"status":{"future":)" + value + "}");
        return text;
    };
    f.table.keep_status(core::job_kind::pytorch, {"/future"});
    f.list({with_future("1", "7")}, "5");
    CHECK(f.table.find("a")->kept_status == R"({"/future":7})");
    f.sink.upsert(with_future("6", "8"));
    CHECK(f.table.find("a")->kept_status == R"({"/future":8})");
    f.sink.upsert(job("a", "7"));
    CHECK(f.table.find("a")->kept_status.empty());
}
