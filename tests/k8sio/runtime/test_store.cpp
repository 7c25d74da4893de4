// SPDX-License-Identifier: Apache-2.0
#include "k8sio/store.hpp"
#include "signalbox_test/heap.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace signalbox;

struct record {
    std::string uid, owner_uid, resource_version, value;
};

/// `uid owner version value`, the format of these tests; owner `-` is none.
std::optional<record> decode(std::string_view text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        if (c == ' ') {
            words.emplace_back();
        } else {
            words.back() += c;
        }
    }
    if (words.size() != 4) {
        return std::nullopt;
    }
    return record{words[0], words[1] == "-" ? "" : words[1], words[2], words[3]};
}

struct by_owner {
    const std::string& operator()(const record& r) const { return r.owner_uid; }
};
struct by_value {
    std::string operator()(const record& r) const { return "=" + r.value; }
};

struct no_version {
    std::string uid;
};
struct other_uid {
    int uid = 0;
    std::string resource_version;
};
struct by_number {
    int operator()(const record&) const { return 1; }
};
using k8sio::store_index;
using k8sio::store_record;
static_assert(store_record<record> && !store_record<const record>);
static_assert(!store_record<no_version> && !store_record<other_uid> && !store_record<int>);
static_assert(store_index<by_owner, record> && store_index<by_value, record>);
static_assert(store_index<k8sio::by<&record::value>, record>);
static_assert(!store_index<by_number, record> && !store_index<by_owner, no_version>);

// A reference to a record that no one may hold any more does not compile.
template <class Snapshot>
concept gives_away = requires(Snapshot snapshot) {
    *std::forward<Snapshot>(snapshot);
}
|| requires(Snapshot snapshot) {
    std::forward<Snapshot>(snapshot).get();
};
using held_record = k8sio::store<record, by_owner>::record_snapshot;
static_assert(gives_away<held_record&> && !gives_away<held_record>);

template <class Index>
concept can_find = requires(const k8sio::store<record, by_owner>& store) {
    store.template find<Index>("");
};
static_assert(can_find<by_owner> && !can_find<by_value>);

/// As a view of children: those without an owner are not held.
struct store_fixture {
    store_fixture() {
        store.on_change([this](const record* before, const record* now) {
            const std::string was = before != nullptr ? before->uid + "=" + before->value : "";
            const std::string is = now != nullptr ? now->uid + "=" + now->value : "";
            changes.push_back(was + ">" + is);
        });
    }

    std::vector<std::string> changes;
    k8sio::store<record, by_owner, by_value> store{
        decode, [](const record& r) { return !r.owner_uid.empty(); }};

    void fill(const std::vector<std::string>& items, std::string_view version) {
        stage(items);
        store.replace_end(version);
    }
    void fill_after_rewind(const std::vector<std::string>& items, std::string_view version) {
        stage(items);
        store.replace_after_rewind(version);
    }
    void stage(const std::vector<std::string>& items) {
        store.replace_begin();
        for (const std::string& item : items) {
            store.replace_item(item);
        }
    }
    std::string of(const std::string& owner) const {
        std::vector<std::string> all;
        for (const auto& r : store.find<by_owner>(owner)) {
            all.push_back(r->uid + "=" + r->value);
        }
        std::sort(all.begin(), all.end());
        std::string text;
        for (const std::string& one : all) {
            text += (text.empty() ? "" : " ") + one;
        }
        return text;
    }
};

}  // namespace

TEST_CASE("[requirement Q9] [requirement Q10] records are found by their owner, and leave with it"
) {
    store_fixture f;
    f.fill({"a job1 1 x", "b job1 2 y", "c job2 3 z", "d - 4 w"}, "4");
    CHECK(f.of("job1") == "a=x b=y");
    CHECK(f.of("job2") == "c=z");
    CHECK(f.store.size() == 3);

    f.store.remove("a job1 5 x");
    CHECK(f.of("job1") == "b=y");
    f.store.upsert("b job2 6 y");
    CHECK(f.of("job1").empty());
    CHECK(f.of("job2") == "b=y c=z");
    f.store.upsert("c - 7 z");
    CHECK(f.of("job2") == "b=y");
}

TEST_CASE("[requirement Q9] a record that changes is found as before, by a uid of any length") {
    const std::size_t length = GENERATE(as<std::size_t>(), 1, 15, 16, 36);
    INFO(length);
    const auto uid = [length](char c) { return std::string(length, c); };
    store_fixture f;
    f.fill({uid('a') + " job 1 x", uid('b') + " job 2 x", uid('c') + " job 3 x"}, "3");
    for (int version = 4; version < 20; ++version) {
        f.store.upsert(uid('b') + " job " + std::to_string(version) + " x");
        const std::vector<std::string> others(8, uid('z'));  // they take what became free
        const auto held = f.store.get(uid('b'));
        REQUIRE(held != nullptr);
        CHECK(held->uid == uid('b'));
        CHECK(held->resource_version == std::to_string(version));
    }
    f.store.drop(uid('b'));
    CHECK(f.store.get(uid('b')) == nullptr);
    CHECK(f.of("job") == uid('a') + "=x " + uid('c') + "=x");
    f.store.drop(uid('a'));
    f.store.drop(uid('c'));
    CHECK(f.store.size() == 0);
}

TEST_CASE("[requirement W8] an older or repeated version changes nothing and wakes no one") {
    store_fixture f;
    f.fill({"a job 9 new"}, "9");
    f.changes.clear();
    f.store.upsert("a job 8 old");
    f.store.upsert("a job 9 again");
    CHECK(f.of("job") == "a=new");
    CHECK(f.changes.empty());
    f.store.upsert("a job 10 newer");
    CHECK(f.of("job") == "a=newer");
    CHECK(f.changes == std::vector<std::string>{"a=new>a=newer"});
}

TEST_CASE("[requirement W8] an event that comes again brings nothing back, and takes nothing away"
) {
    store_fixture f;
    f.fill({"a job 1 x", "b job 2 y"}, "2");
    f.store.upsert("a job 3 z");
    f.store.advance("3");
    f.store.remove("a job 4 z");
    f.store.advance("4");
    f.changes.clear();
    f.store.upsert("a job 3 z");
    f.store.upsert("a job 4 z");
    CHECK(f.of("job") == "b=y");
    // It left the selection of the watch, and came back.
    f.store.remove("b job 5 y");
    f.store.advance("5");
    f.store.upsert("b job 6 w");
    f.store.advance("6");
    f.store.remove("b job 5 y");
    CHECK(f.of("job") == "b=w");
    CHECK(f.changes == std::vector<std::string>{"b=y>", ">b=w"});
}

TEST_CASE("[requirement W13] an answer contradicts a view that must have shown it and does not") {
    store_fixture f;
    f.fill({"a job 5 x"}, "10");
    k8sio::view_mark asked = f.store.mark();
    const auto contradicted = [&](const char* uid, const char* version) {
        return f.store.is_contradicted_by({uid, "job", version, "y"}, asked);
    };
    CHECK(contradicted("a", "7"));   // an update was lost
    CHECK(contradicted("b", "10"));  // a creation
    CHECK_FALSE(contradicted("a", "5"));
    CHECK_FALSE(contradicted("a", "4"));
    CHECK_FALSE(contradicted("a", "11"));  // the view may be behind it
    CHECK_FALSE(contradicted("b", "11"));
    CHECK_FALSE(contradicted("b", "no version"));
    CHECK_FALSE(f.store.is_contradicted_by({"b", "", "7", "y"}, asked));  // is not held at all
    f.store.upsert("c job 11 x");
    f.store.advance("11");
    CHECK(contradicted("b", "10"));
    CHECK_FALSE(contradicted("b", "11"));  // the view had not seen that when it was asked
    f.store.remove("c job 12 x");
    CHECK_FALSE(contradicted("b", "10"));  // perhaps it is this that went meanwhile
    asked = f.store.mark();
    CHECK(contradicted("b", "10"));
    f.store.rewound();
    CHECK_FALSE(contradicted("b", "10"));
    store_fixture fresh;
    CHECK_FALSE(fresh.store.is_contradicted_by({"b", "job", "7", "y"}, fresh.store.mark()));
}

TEST_CASE("[requirement W13] two deletions that the watch does not tell contradict the view") {
    using std::chrono::seconds;
    store_fixture f;
    f.fill({"a job 1 x", "b job 2 x", "c job 3 x", "d job 4 x"}, "4");
    const k8sio::steady_time start{};
    CHECK_FALSE(f.store.drop("a", start));
    CHECK(f.of("job") == "b=x c=x d=x");
    SECTION("soon") {
        CHECK_FALSE(f.store.drop("b", start + seconds{9}));
        CHECK_FALSE(f.store.drop("gone", start + seconds{15}));
        CHECK(f.store.drop("c", start + seconds{20}));
        f.fill({"d job 4 x"}, "9");
        CHECK_FALSE(f.store.drop("d", start + seconds{50}));
    }
    SECTION("late, but they come") {
        CHECK_FALSE(f.store.drop("b", start + seconds{9}));
        f.store.remove("a job 5 x");
        CHECK_FALSE(f.store.drop("c", start + seconds{50}));
        f.store.remove("b job 6 x");
        CHECK_FALSE(f.store.drop("d", start + seconds{90}));
    }
}

TEST_CASE("[requirement L4] a list shows only when it is complete") {
    store_fixture f;
    f.fill({"a job 1 x"}, "1");
    f.store.replace_begin();
    f.store.replace_item("b job 2 y");
    CHECK(f.of("job") == "a=x");
    f.store.replace_abort();
    CHECK(f.of("job") == "a=x");
    f.fill({"b job 2 y"}, "3");
    CHECK(f.of("job") == "b=y");
    CHECK(f.store.seen() == "3");
}

TEST_CASE("an answer that is newer than the list stays, one that the view has passed is not taken"
) {
    store_fixture f;
    f.fill({}, "10");
    SECTION("created after the list that is being read was taken") {
        CHECK(f.store.insert_answer({"a", "job", "15", "x"}));
        f.fill({}, "12");
        CHECK(f.of("job") == "a=x");
        f.fill({}, "15");
        CHECK(f.of("job").empty());
    }
    SECTION("before the first list") {
        store_fixture fresh;
        CHECK(fresh.store.insert_answer({"a", "job", "15", "x"}));
        fresh.fill({}, "12");
        CHECK(fresh.of("job") == "a=x");
    }
    SECTION("of what is not held") {
        CHECK_FALSE(f.store.insert_answer({"a", "", "15", "x"}));
        CHECK(f.store.size() == 0);
    }
    SECTION("the deletion overtook the answer") {
        // Taken, it would stay forever: its last event has been seen.
        CHECK_FALSE(f.store.insert_answer({"a", "job", "9", "x"}));
        CHECK(f.of("job").empty());
    }
}

TEST_CASE("[requirement V6] the list after a restore is what is there, older than the view or not"
) {
    store_fixture f;
    f.fill({"a job 100 x", "b job 90 y"}, "100");
    f.store.rewound();
    CHECK_FALSE(f.store.synced());
    CHECK(f.of("job") == "a=x b=y");
    const std::string version = GENERATE("50", "110");
    f.fill_after_rewind({"b job 40 z"}, version);
    CHECK(f.store.synced());
    CHECK(f.of("job") == "b=z");
    CHECK(f.store.seen() == version);
    f.fill({"b job 30 old"}, "120");
    CHECK(f.of("job") == "b=z");  // once
}

TEST_CASE("bookmarks move the view on, never back, and not before the first list") {
    store_fixture f;
    f.store.advance("5");
    CHECK(f.store.seen().empty());
    CHECK_FALSE(f.store.synced());
    f.fill({}, "10");
    f.store.advance("12");
    CHECK(f.store.seen() == "12");
    f.store.advance("11");
    CHECK(f.store.seen() == "12");
}

TEST_CASE("[requirement Q10] a record is in each of its indexes under the key that it has now") {
    store_fixture f;
    f.fill({"a job 1 x", "b job 2 x", "c job 3 x"}, "3");
    const auto with = [&](const std::string& value) {
        std::string uids;
        for (const auto& r : f.store.find<by_value>("=" + value)) {
            uids += r->uid;
        }
        std::sort(uids.begin(), uids.end());
        return uids;
    };
    CHECK(with("x") == "abc");
    f.store.upsert("a job 4 y");
    CHECK(with("x") == "bc");
    CHECK(with("y") == "a");
    CHECK(f.of("job") == "a=y b=x c=x");
    f.store.remove("b job 5 x");
    f.store.upsert("c other 6 y");
    CHECK(with("x").empty());
    CHECK(with("y") == "ac");
    CHECK(f.of("other") == "c=y");
    REQUIRE(f.store.get("c") != nullptr);
    CHECK(f.store.get("c")->resource_version == "6");
    CHECK(f.store.get("b") == nullptr);
}

TEST_CASE("[requirement Q10] records leave an index in any order, and none of it stays behind") {
    std::vector<int> order{0, 1, 2, 3};
    do {
        store_fixture f;
        f.fill({"a job 1 x", "b job 1 x", "c job 1 x", "d job 1 x"}, "1");
        std::string left = "abcd";
        for (const int number : order) {
            const std::string uid(1, static_cast<char>('a' + number));
            f.store.drop(uid);
            left.erase(left.find(uid), 1);
            std::string expected;
            for (const char c : left) {
                expected += (expected.empty() ? "" : " ") + std::string(1, c) + "=x";
            }
            CHECK(f.of("job") == expected);
        }
    } while (std::next_permutation(order.begin(), order.end()));

    store_fixture f;
    f.fill({}, "1");
    const auto come_and_go = [&f](int from, int to) {
        for (int i = from; i < to; ++i) {
            f.store.upsert("a job-" + std::to_string(i) + " " + std::to_string(i + 2) + " x");
            f.store.drop("a");
            f.changes.clear();
        }
    };
    come_and_go(0, 100);
    const std::size_t before = signalbox::test::heap_in_use();
    come_and_go(100, 5000);
    CHECK(signalbox::test::heap_in_use() < before + 16384);
}

TEST_CASE("[requirement L4] a list is held once while it comes") {
    store_fixture f;
    std::size_t most = 0;
    f.store.on_change([&most](const record*, const record*) {
        most = std::max(most, signalbox::test::heap_in_use());
    });
    f.store.replace_begin();
    for (int i = 0; i < 4000; ++i) {
        f.store.replace_item("pod-" + std::to_string(i) + " job 1 x");
    }
    f.store.replace_end("1");
    CHECK(f.store.size() == 4000);
    // Beside the records there is a pointer to each.
    const std::size_t now = signalbox::test::heap_in_use();
    CHECK(most < now + 4096 * 4 * sizeof(void*));
}

TEST_CASE("what a store gave stays as it was while it is held") {
    store_fixture f;
    f.fill({"a job 1 x", "b job 2 x", "c job 3 x"}, "3");
    const auto a = f.store.get("a");
    const auto all = f.store.find<by_owner>("job");
    REQUIRE(all.size() == 3);
    f.changes.clear();
    f.store.upsert("a job 4 y");
    f.store.upsert("b other 5 x");
    f.store.remove("c job 6 x");
    CHECK(f.changes == std::vector<std::string>{"a=x>a=y", "b=x>b=x", "c=x>"});
    CHECK(f.of("job") == "a=y");
    CHECK(f.of("other") == "b=x");
    CHECK(f.store.get("a")->resource_version == "4");
    f.store.upsert("a job 7 z");  // no one holds this one
    CHECK(f.of("job") == "a=z");
    f.store.clear();
    CHECK(a->value == "x");
    CHECK(a->resource_version == "1");
    std::string uids;
    for (const auto& r : all) {
        CHECK(r->owner_uid == "job");
        uids += r->uid;
    }
    std::sort(uids.begin(), uids.end());
    CHECK(uids == "abc");
}

TEST_CASE("snapshots are copied, moved and compared with null as pointers are") {
    store_fixture f;
    f.fill({"a job 1 x", "b job 2 y"}, "2");
    auto one = f.store.get("a");
    auto other = one;
    f.store.clear();
    CHECK(other.get() == one.get());
    one = f.store.get("a");
    CHECK(one == nullptr);
    CHECK_FALSE(one);
    CHECK(one.get() == nullptr);
    CHECK((*other).value == "x");
    const auto moved = std::move(other);
    CHECK(moved->value == "x");
    CHECK(other == nullptr);  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("what came, changed and went is told with what was before") {
    store_fixture f;
    f.fill({"a job 1 x", "b job 1 y"}, "1");
    f.changes.clear();
    f.fill({"a job 2 z"}, "2");
    CHECK(f.changes == std::vector<std::string>{"b=y>", "a=x>a=z"});
    f.changes.clear();
    f.store.upsert("a - 3 z");
    f.store.drop("a");
    CHECK(f.changes == std::vector<std::string>{"a=z>"});
}

TEST_CASE("an answer is read as events are, and gives its version") {
    store_fixture f;
    f.fill({}, "1");
    CHECK(f.store.insert_answer("a job 2 x") == "2");
    CHECK(f.of("job") == "a=x");
    CHECK(f.store.insert_answer("no object").empty());
}

TEST_CASE("a view that no one watches any more is as before its first list") {
    store_fixture f;
    f.fill({"a job 1 x", "b job 1 y"}, "1");
    f.changes.clear();
    f.store.clear();
    CHECK(f.store.size() == 0);
    CHECK(f.of("job").empty());
    CHECK_FALSE(f.store.synced());
    CHECK(f.store.seen().empty());
    CHECK(f.changes.size() == 2);
}
