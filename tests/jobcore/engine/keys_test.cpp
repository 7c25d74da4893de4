// SPDX-License-Identifier: Apache-2.0
//
// Secret and ConfigMap of the jobs that launch over ssh (BEHAVIOUR.md 2.6, 2.7, 5.4, 5.7).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::object_kind;
using core::seconds;

TEST_CASE("[behaviour 2.6] a Secret that no one uses yet is made again at once", "[engine]") {
    world w(deepspeed(2));
    w.settle();
    const std::string first = w.child_of(object_kind::secret)->uid;
    w.delete_child(object_kind::secret);
    w.settle();
    CHECK(w.child_of(object_kind::secret)->uid != first);
    CHECK(w.status().attempt == 1);
    CHECK_FALSE(w.has_event("SecretLost"));
}

TEST_CASE("[behaviour 2.6] a Secret lost while all pods run is told and comes later", "[engine]") {
    world w(deepspeed(2));
    w.start();
    w.delete_child(object_kind::secret);
    w.settle();
    CHECK(w.count_children(object_kind::secret) == 0);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().reason == "SecretLost");
    CHECK(w.status().attempt == 1);
    CHECK(w.count_events("SecretLost") == 1);

    w.settle();
    CHECK(w.count_events("SecretLost") == 1);

    w.exit("worker", 1, 1);
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.count_children(object_kind::secret) == 1);
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().reason.empty());
}

TEST_CASE("[behaviour 2.6] a Secret lost while pods start rebuilds the job, free", "[engine]") {
    const auto builder = GENERATE(0, 1) == 0 ? deepspeed(2) : colossalai(2);
    world w(builder);
    w.settle();
    w.run(w.pod("worker", 0));
    w.settle();
    w.wait(seconds(120));
    w.delete_child(object_kind::secret);

    // The absence is confirmed by a live read first (5.3).
    const auto first = w.look();
    REQUIRE(first.stages.size() == 1);
    CHECK(first.stages[0][0].what() == core::verb::confirm);
    CHECK(first.stages[0][0].kind == object_kind::secret);

    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 1);
    CHECK(w.status().restarts.last->cause == "SecretLost");
    CHECK(w.status().restarts.last->pods.empty());
    CHECK(w.count_events("SecretLost") == 1);
    CHECK(w.count_children(object_kind::secret) == 1);
    CHECK(w.pod("worker", 0).attempt == 2);
    w.run_all();
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 2.10] labels of a Secret do not matter", "[engine]") {
    world w(deepspeed(2));
    if (GENERATE(false, true)) {
        w.start();  // also while pods run with its keys
    }
    w.settle();
    w.child_of(object_kind::secret)->fingerprint ^= 1;
    CHECK(w.look().stages.empty());
}

TEST_CASE("[behaviour 2.7] an immutable object of other data is made anew", "[engine]") {
    const auto kind = GENERATE(object_kind::secret, object_kind::config_map);
    world w(deepspeed(2));
    w.gate = [](const core::action& a) { return a.kind != object_kind::pod; };
    w.pass();
    w.pass();
    w.pass();
    auto* seen = w.child_of(kind);
    REQUIRE(seen != nullptr);
    const std::string old = seen->uid;
    seen->data_fingerprint ^= 1;
    const auto d = w.look();
    REQUIRE(d.stages.front().front().what() == core::verb::remove);
    CHECK(d.stages.front().front().uid() == old);
    CHECK(d.stages.back().back().kind != object_kind::pod);
    w.gate = nullptr;
    w.settle();
    CHECK(w.child_of(kind)->uid != old);
    CHECK(w.pods().size() == 2);
}

TEST_CASE("[behaviour 2.7] while it is being deleted its name is waited for", "[engine]") {
    world w(deepspeed(2));
    w.gate = [](const core::action& a) { return a.kind != object_kind::pod; };
    w.pass();
    w.pass();
    w.pass();
    w.child_of(object_kind::config_map)->deleting = true;
    w.pass();
    CHECK(w.status().reason == "WaitingForNames");
    CHECK(w.pods().empty());
}

TEST_CASE(
    "[behaviour 5.7] each attempt has a ConfigMap, older ones go with their pods", "[engine]"
) {
    world w(deepspeed(2));
    w.start();
    const std::string first = w.child_of(object_kind::config_map)->name;
    w.slow_deletes = true;
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 1);
    CHECK(w.count_children(object_kind::config_map) == 2);
    w.finish_deletions();
    CHECK(w.count_children(object_kind::config_map) == 1);
    CHECK(w.child_of(object_kind::config_map)->name != first);
    CHECK(w.pod("worker", 0).attempt == 2);
}

TEST_CASE("[behaviour 5.2] an sshd worker never completes", "[engine]") {
    world w(deepspeed(2));
    w.start();
    w.exit("worker", 1, 0);
    w.settle();
    CHECK(w.status().restarts.completed.empty());
    CHECK(w.status().restarts.last->cause == "WorkerExited");
    CHECK(w.status().backoff_count == 1);
}

namespace {

/// The bootstrap gives up waiting for the workers' sshd.
void give_up_waiting(world& w) {
    w.run_all();
    w.wait(seconds(600));
    w.exit("worker", 0, 75, "signalbox: no answer within 600 s from sshd on: cifar-worker-1");
    w.settle();
}

}  // namespace

TEST_CASE(
    "[behaviour 5.4] workers that cannot be reached do not count twice in a row", "[engine]"
) {
    world w(deepspeed(2, R"(,"restartPolicy":"ExitCode")").run_policy("\"backoffLimit\":0"));
    w.settle();
    give_up_waiting(w);
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.last->cause == "WorkersUnreachable");
    give_up_waiting(w);
    CHECK(w.status().attempt == 3);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.last->cause == "WorkersUnreachableAgain");
    give_up_waiting(w);
    w.wait(seconds{3});
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "ErrorInPod");
}

TEST_CASE("[behaviour 5.4] another incident between begins the row anew", "[engine]") {
    world w(deepspeed(2).run_policy("\"backoffLimit\":9"));
    w.settle();
    give_up_waiting(w);
    w.run_all();
    w.wait(seconds(90));
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().backoff_count == 1);
    give_up_waiting(w);
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.last->cause == "WorkersUnreachable");
}

TEST_CASE("[behaviour 5.4] beside a counted failure the unreachable one is silent", "[engine]") {
    world w(deepspeed(3, R"(,"restartPolicy":"ExitCode")"));
    w.start();
    w.wait(seconds(600));
    SECTION("which allows a restart") {
        w.exit("worker", 0, 75, "signalbox: no answer");
        w.exit("worker", 2, 137);
        w.settle();
        CHECK(w.status().attempt == 2);
        CHECK(w.status().backoff_count == 1);
    }
    SECTION("or does not") {
        w.exit("worker", 2, 3);
        w.exit("worker", 0, 75, "signalbox: no answer");
        w.settle();
        w.wait(seconds{3});
        w.settle();
        CHECK(w.status().phase == job_phase::failed);
        CHECK(w.status().reason == "ErrorInPod");
    }
}

TEST_CASE("[behaviour 5.4] 75 without our bootstrap's message is the user's own code", "[engine]") {
    world w(deepspeed(2));
    w.start();
    w.exit("worker", 0, 75, "my own 75");
    w.settle();
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.last->cause == "PodFailed");
}

TEST_CASE("[behaviour 5.13] None leaves sshd workers running, and says so", "[engine]") {
    world w(deepspeed(2).run_policy("\"cleanUpPolicy\":\"None\""));
    w.start();
    w.exit("worker", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    CHECK(w.pods().size() == 2);
    CHECK(w.count_events("WorkersLeftRunning") == 1);
    CHECK(
        std::ranges::find(w.events, "WorkersLeftRunning", &core::event::reason)
            ->message.find("(1) stay, because runPolicy.cleanUpPolicy is None") != std::string::npos
    );
    CHECK(w.count_children(object_kind::secret) == 1);
    w.pods().clear();
    w.settle();
    CHECK(w.count_children(object_kind::secret) == 0);
    CHECK(w.count_events("WorkersLeftRunning") == 1);
}

TEST_CASE("[behaviour 2.6] a lost Secret is told once, whatever the phase", "[engine]") {
    world w(deepspeed(2));
    w.start();
    w.pod("worker", 0).phase = core::pod_phase::unknown;
    w.delete_child(object_kind::secret);
    w.settle();
    CHECK(w.status().phase == job_phase::unknown);
    // What was confirmed once is forgotten by whoever carries decisions out.
    w.absences.clear();
    w.settle();
    CHECK(w.count_events("SecretLost") == 1);
    CHECK(w.last().stages.empty());
    w.pod("worker", 0).phase = core::pod_phase::running;
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().reason == "SecretLost");
    CHECK(w.count_events("SecretLost") == 1);
}

TEST_CASE("[behaviour 2.7] keys that pods run with are not exchanged", "[engine]") {
    world w(deepspeed(2));
    w.start();
    w.child_of(object_kind::secret)->data_fingerprint ^= 1;
    w.settle();
    CHECK(w.last().stages.empty());
    CHECK(w.status().phase == job_phase::running);

    // The next attempt gets new ones.
    const std::string old = w.child_of(object_kind::secret)->uid;
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.child_of(object_kind::secret)->uid != old);
    CHECK(w.pods().size() == 2);
}

TEST_CASE("[behaviour 2.7] what another version made stays while its pods run", "[engine]") {
    world w(deepspeed(2));
    w.start();
    w.child_of(object_kind::config_map)->data_fingerprint ^= 1;
    w.settle();
    CHECK(w.last().stages.empty());
    CHECK(w.status().phase == job_phase::running);
    // One that is gone is made again: later pods mount it.
    w.delete_child(object_kind::config_map);
    w.settle();
    CHECK(w.child_of(object_kind::config_map) != nullptr);
}

TEST_CASE("[behaviour 2.6] the absence of another object says nothing of the keys", "[engine]") {
    world w(deepspeed(2));
    w.settle();
    w.run(w.pod("worker", 0));
    w.settle();
    w.absences.push_back({object_kind::secret, "another"});
    w.delete_child(object_kind::secret);
    const auto d = w.look();
    REQUIRE(d.stages.size() == 1);
    CHECK(d.stages[0][0].what() == core::verb::confirm);
    CHECK(w.status().attempt == 1);
}

TEST_CASE("[behaviour 10.4] [behaviour I10] an attempt that began with ssh stays so", "[engine]") {
    const std::string without = R"({"run":{"python":["train.py"]},"otherArgs":["--no_ssh"]})";
    world w(deepspeed(2));
    SECTION("while all its pods are there they go on") {
        w.start();
        w.edit().field("config", without);
        w.reload();
        w.settle();
        CHECK(w.status().attempt == 1);
        CHECK(w.status().phase == job_phase::running);
        CHECK(w.pods().size() == 2);
        w.exit("worker", 0, 0);
        w.settle();
        CHECK(w.status().phase == job_phase::succeeded);
    }
    SECTION("where a pod is missing the next attempt begins, without cost") {
        w.gate = [&](const core::action& a) { return a.name.find("worker-1") == a.name.npos; };
        for (int passes = 0; passes < 8 && w.pods().empty(); ++passes) {
            w.pass();
        }
        REQUIRE(w.pods().size() == 1);
        const std::string first = w.pods().front().uid;
        w.edit().field("config", without);
        w.reload();
        w.gate = nullptr;
        w.settle();
        CHECK(w.status().attempt == 2);
        CHECK(w.status().backoff_count == 0);
        CHECK(w.pods().size() == 2);
        CHECK(std::ranges::any_of(w.events, [](const core::event& e) {
            return e.message.find("starts them in another way") != e.message.npos;
        }));
        CHECK(std::ranges::none_of(w.pods(), [&](const core::pod_record& p) {
            return p.uid == first || p.attempt != 2;
        }));
        // The files of the attempt before say nothing of this one.
        w.settle();
        CHECK(w.status().attempt == 2);
    }
}
