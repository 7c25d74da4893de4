// SPDX-License-Identifier: Apache-2.0
//
// Children that say they are the job's, and are somebody else's work (BEHAVIOUR.md 2.13, 2.14).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::key_standing;
using core::object_kind;
using core::seconds;
using core::verb;

namespace {

bool is_pod(const core::action& a) {
    return a.kind == object_kind::pod;
}

/// All objects are there, and no pod.
void make_objects(world& w) {
    w.gate = [](const core::action& a) { return !is_pod(a); };
    for (int passes = 0; passes < 6; ++passes) {
        w.pass();
    }
    w.gate = nullptr;
    REQUIRE(w.child_of(object_kind::secret) != nullptr);
    REQUIRE(w.pods().empty());
}

bool asks_for_pods(const core::decision& d) {
    return std::ranges::any_of(d.stages, [](const core::stage& s) {
        return std::ranges::any_of(s, is_pod);
    });
}

bool asks(const core::decision& d, verb what, object_kind kind) {
    return std::ranges::any_of(d.stages, [&](const core::stage& s) {
        return std::ranges::any_of(s, [&](const core::action& a) {
            return a.what() == what && a.kind == kind;
        });
    });
}

}  // namespace

TEST_CASE("[behaviour 2.13] keys that somebody else may have made are no pod's", "[engine]") {
    world w(deepspeed(2));
    make_objects(w);
    const std::string found = w.child_of(object_kind::secret)->uid;
    w.child_of(object_kind::secret)->keys = key_standing::found;
    const auto d = w.look();
    REQUIRE(d.stages.size() == 1);
    REQUIRE(d.stages[0][0].what() == verb::remove);
    CHECK(d.stages[0][0].uid() == found);
    CHECK(d.stages[0][0].rule == "behaviour 2.13");
    w.settle();
    CHECK(w.child_of(object_kind::secret)->uid != found);
    CHECK(w.pods().size() == 2);
}

TEST_CASE(
    "[behaviour 2.13] keys that pods were made with stay, whoever looks at them", "[engine]"
) {
    world w(deepspeed(2));
    const bool started = GENERATE(true, false);
    CAPTURE(started);
    w.settle();
    if (started) {
        w.start();
    }
    w.child_of(object_kind::secret)->keys = key_standing::found;  // as another process finds it
    CHECK(w.look().stages.empty());

    // The next attempt gets new ones.
    const std::string found = w.child_of(object_kind::secret)->uid;
    w.run_all();
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.child_of(object_kind::secret)->uid != found);
}

TEST_CASE("[behaviour 2.13] what has foreign keys is no child, and holds the name", "[engine]") {
    world w(deepspeed(2));
    make_objects(w);
    const std::string name = w.child_of(object_kind::secret)->name;
    w.child_of(object_kind::secret)->keys = key_standing::foreign;
    const auto d = w.look();
    CHECK(asks(d, verb::create, object_kind::secret));
    CHECK_FALSE(asks(d, verb::remove, object_kind::secret));
    CHECK_FALSE(asks_for_pods(d));

    core::refusal r = refused(w, object_kind::secret, name, 409);
    r.foreign_owner = r.foreign_content = true;
    w.refusals = {r};
    w.pass();
    CHECK(w.status().reason == "NameConflict");
    const core::condition* running = core::find_condition(w.status(), "Running");
    REQUIRE(running != nullptr);
    CHECK(
        running->message.find("Secret " + name + " has content that is not the operator's") !=
        std::string::npos
    );
    CHECK(w.count_events("NameConflict") == 1);
    CHECK(w.pods().empty());

    // Its owner deletes it.
    w.delete_child(object_kind::secret);
    w.refusals.clear();
    w.settle();
    CHECK(w.child_of(object_kind::secret) != nullptr);
    CHECK(w.pods().size() == 2);
}

TEST_CASE("[behaviour 2.13] foreign keys in place of an attempt's own are their loss", "[engine]") {
    world w(deepspeed(2));
    w.settle();
    w.run(w.pod("worker", 0));
    w.settle();
    w.child_of(object_kind::secret)->keys = key_standing::foreign;
    const auto d = w.look();
    REQUIRE(d.stages.size() == 1);
    CHECK(d.stages[0][0].what() == verb::confirm);
    CHECK(d.stages[0][0].kind == object_kind::secret);
}

TEST_CASE(
    "[behaviour 2.13] [behaviour 2.7] keys for another specification are exchanged", "[engine]"
) {
    world w(deepspeed(2));
    SECTION("before a container has started") {
        make_objects(w);
        const std::string old = w.child_of(object_kind::secret)->uid;
        w.child_of(object_kind::secret)->keys = key_standing::outdated;
        w.settle();
        CHECK(w.child_of(object_kind::secret)->uid != old);
        CHECK(w.pods().size() == 2);
    }
    SECTION("later with the next attempt") {
        w.start();
        w.child_of(object_kind::secret)->keys = key_standing::outdated;
        CHECK(w.look().stages.empty());
    }
}

TEST_CASE("[behaviour 2.13] a ConfigMap put in the place of the attempt's goes", "[engine]") {
    world w(deepspeed(2));
    w.start();
    auto* config = w.child_of(object_kind::config_map);
    config->data_fingerprint ^= 1;
    config->creation = *w.pod("worker", 0).creation;
    CHECK(w.look().stages.empty());  // what another version made (2.7)
    config->creation = *w.pod("worker", 0).creation + seconds(1);
    CHECK(asks(w.look(), verb::remove, object_kind::config_map));
    const std::string name = config->name;
    w.settle();
    CHECK(w.child_of(object_kind::config_map)->name == name);
    CHECK(w.status().attempt == 1);
    CHECK(w.look().stages.empty());
}

TEST_CASE("[behaviour 2.14] a pod of other content is no pod of the attempt", "[engine]") {
    world w(job_builder("mnist").replicas("worker", 2));
    w.gate = [](const core::action& a) { return a.name.find("worker-1") == a.name.npos; };
    for (int passes = 0; passes < 6; ++passes) {
        w.pass();
    }
    w.gate = nullptr;
    REQUIRE(w.pods().size() == 1);
    core::pod_record forged = w.pod("worker", 0);
    forged.name.back() = '1';
    forged.index = 1;
    forged.uid = "forged";
    forged.content ^= 2;
    w.pods().push_back(forged);
    const auto there = [&] {
        return std::ranges::any_of(w.pods(), [](const auto& p) { return p.uid == "forged"; });
    };
    SECTION("when it is first looked at") {
        const auto d = w.look();
        REQUIRE_FALSE(d.stages.empty());
        CHECK(d.stages[0][0].what() == verb::remove);
        CHECK(d.stages[0][0].uid() == "forged");
        CHECK(d.stages[0][0].rule == "behaviour 2.14");
        CHECK_FALSE(asks(d, verb::create, object_kind::pod));
        w.settle();
        CHECK_FALSE(there());
        CHECK(w.pods().size() == 2);
        CHECK(w.status().restarts.disruptions == 0);
        CHECK(w.status().backoff_count == 0);
    }
    SECTION("and while it is being deleted") {
        w.ask_deletion(w.pods().back());
        w.settle();
        CHECK(w.status().attempt == 1);
        CHECK_FALSE(w.status().restarts.last);
        w.finish_deletions();
        w.settle();
        CHECK_FALSE(there());
        CHECK(w.status().restarts.disruptions == 0);
        CHECK(w.pods().size() == 2);
    }
    SECTION("though not where its content is not known") {
        w.pods().back().content = 0;
        w.settle();
        CHECK(there());
    }
    SECTION("though not once it has started") {
        w.run(w.pods().back());
        w.settle();
        CHECK(there());
    }
    SECTION("though not later") {
        w.pods().back().content ^= 2;
        w.settle();
        w.pods().back().content ^= 2;
        w.settle();
        CHECK(there());
    }
    SECTION("though not where it is what admission made of one of ours") {
        w.admitted = {forged.content};
        w.settle();
        CHECK(there());
    }
}

TEST_CASE(
    "[behaviour 2.14] what the specification says later is not held against a pod", "[engine]"
) {
    world w(job_builder("mnist").replicas("worker", 2));
    w.settle();
    const std::string first = w.pod("worker", 0).uid;
    w.edit().torchrun(3);
    w.reload();
    w.settle();
    CHECK(w.pods().size() == 2);
    CHECK(w.pod("worker", 0).uid == first);
}

TEST_CASE(
    "[behaviour 2.13] [behaviour 2.6] a repair takes away what leads others to a job", "[engine]"
) {
    const auto repair = [](world& w, object_kind kind) {
        w.child_of(kind)->fingerprint ^= 1;
        for (const core::stage& s : w.look().stages) {
            for (const core::action& a : s) {
                if (a.kind == kind && a.what() == verb::patch) {
                    return std::string(a.body());
                }
            }
        }
        return std::string();
    };
    world plain(ddp());
    plain.start();
    CHECK(repair(plain, object_kind::service).find("\"externalIPs\":null") != std::string::npos);

    world board(
        ddp().field("tensorboardSpec", R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})")
    );
    board.served.set(object_kind::tensorboard, core::served::no);
    board.start();
    const std::string body = repair(board, object_kind::deployment);
    for (const char* right : {"serviceAccountName", "hostNetwork", "hostPID", "hostIPC"}) {
        CAPTURE(right, body);
        CHECK(body.find('"' + std::string(right) + "\":null") != std::string::npos);
    }
    CHECK(body.find("externalIPs") == std::string::npos);
}
