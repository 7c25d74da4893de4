// SPDX-License-Identifier: Apache-2.0
//
// Failure rules, the budget that comes back, nodes that are avoided (BEHAVIOUR.md 13.3-13.6).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::colossalai;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::set_pause;
using signalbox::test::world;

namespace {

std::string with_rules(const std::string& list) {
    return "\"failureRules\":[" + list + "]";
}

const std::string ecc_words = "RuntimeError: CUDA error: uncorrectable ECC error encountered";

const incident_record& last_incident(const world& w) {
    REQUIRE(w.status().restarts.last);
    return *w.status().restarts.last;
}

bool told_by_event(const world& w, std::string_view reason, std::string_view text) {
    return std::ranges::any_of(w.events, [&](const event& e) {
        return e.reason == reason && e.message.find(text) != std::string::npos;
    });
}

/// All pods of the next attempt run.
void run_after_rule(world& w) {
    w.settle();
    while (w.pods().size() < 3 && w.wake()) {
    }
    w.run_all();
    w.settle();
}

}  // namespace

TEST_CASE("[behaviour 13.3] Fail ends the job at once, whatever else is said", "[engine]") {
    const auto builder = GENERATE(
        ddp(2, "Always"), ddp().run_policy("\"failurePolicy\":\"Master\""), c10d().elastic(1, 3)
    );
    job_builder b = builder;
    b.run_policy(
        "\"backoffLimit\":9," +
        with_rules(R"({"action":"Fail","onExitCodes":{"operator":"In","values":[3]}})")
    );
    world w(b);
    w.start();
    pod_record& pod = *std::next(w.pods().begin());
    w.exit(pod, 3);
    w.pass();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "FailureRule");
    CHECK(w.status().backoff_count == 0);
    CHECK(told_by_event(w, "Failed", "spec.runPolicy.failureRules/0"));
}

TEST_CASE("[behaviour 13.3] Restart counts, whatever restartPolicy says", "[engine]") {
    world w(ddp(2, "Never")
                .run_policy(
                    "\"backoffLimit\":1," +
                    with_rules(
                        R"({"action":"Restart","onExitCodes":{"operator":"NotIn","values":[5]}})"
                    )
                ));
    w.start();
    w.exit("worker", 0, 1);
    run_after_rule(w);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().backoff_count == 1);
    CHECK(last_incident(w).counted);
    CHECK(last_incident(w).rule == "failureRules/0");
    SECTION("the rule does not hold") {
        w.exit("worker", 0, 5);
        w.settle();
        // One that ends within 2 s may be restarted by the rule.
        CHECK(w.status().phase == job_phase::running);
        w.wait(seconds{3});
        w.settle();
        CHECK(w.status().reason == "ErrorInPod");
    }
    SECTION("the budget is used up") {
        w.exit("worker", 0, 1);
        w.settle();
        CHECK(w.status().reason == "BackoffLimitExceeded");
    }
}

TEST_CASE("[behaviour 13.3] RestartFree costs nothing, with the delays of 5.4", "[engine]") {
    world w(ddp(2, "Never")
                .run_policy(
                    "\"backoffLimit\":0," +
                    with_rules(R"({"action":"RestartFree","onReason":["OOMKilled"]})")
                ));
    w.start();
    const auto lose = [&] {
        w.pod("worker", 1).containers.front().reason = "OOMKilled";
        w.exit("worker", 1, 137);
        w.pod("worker", 1).containers.front().reason = "OOMKilled";
        w.settle();
    };
    lose();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 1);
    CHECK(last_incident(w).not_before);  // the pod lived under a minute
    CHECK(told_by_event(w, "Restarting", "by runPolicy.failureRules/0: RestartFree"));
    run_after_rule(w);
    w.wait(seconds{100});
    lose();
    CHECK_FALSE(last_incident(w).not_before);
    CHECK(w.status().restarts.disruptions == 2);
    CHECK(w.status().avoided.empty());
}

TEST_CASE("[behaviour 13.3] the first rule counts whose requirements all hold", "[engine]") {
    struct row {
        std::string requirements;
        bool holds;
    };
    const auto r = GENERATE(values<row>({
        {R"("onMessage":{"contains":["no such text","loss is NaN"]})", true},
        {R"("onMessage":{"contains":["loss is nan"]})", false},
        {R"("onMessage":{"contains":["loss is NaN"]},"onExitCodes":{"operator":"In","values":[7]})",
         true},
        {R"("onMessage":{"contains":["loss is NaN"]},"onExitCodes":{"operator":"In","values":[8]})",
         false},
        {R"("onExitCodes":{"operator":"NotIn","values":[7]})", false},
        {R"("onExitCodes":{"operator":"NotIn","values":[8]})", true},
        {R"("onExitCodes":{"containerName":"pytorch","operator":"In","values":[7]})", true},
        {R"("onExitCodes":{"containerName":"side","operator":"In","values":[9]})", true},
        {R"("onExitCodes":{"containerName":"side","operator":"In","values":[7]})", false},
        {R"("onExitCodes":{"containerName":"none","operator":"NotIn","values":[1]})", false},
        {R"("onReason":["Error","Evicted"])", true},
        {R"("onReason":["Evicted"])", false},
        {R"("onPodConditions":[{"type":"ConfigIssue"}])", true},
        {R"("onPodConditions":[{"type":"ConfigIssue","status":"False"}])", false},
        {R"("onPodConditions":[{"type":"Config"}])", false},
        {R"("onPodConditions":[{"type":"Issue"}])", false},
        {R"("onPodConditions":[{"type":"x"},{"type":"Other","status":"Unknown"}])", true},
        {R"("onPodConditions":[{"type":"DisruptionTarget"}])", false},
    }));
    CAPTURE(r.requirements);
    world w(ddp().run_policy(with_rules(
        "{\"action\":\"Fail\"," + r.requirements +
        R"(},{"action":"RestartFree","onReason":["Error"]})"
    )));
    w.start();
    pod_record& pod = w.pod("worker", 0);
    pod.containers.push_back({"side", container_state::terminated, false, false, 9, "", "", {}, {}}
    );
    w.exit(pod, 7, "step 3\nValueError: loss is NaN");
    pod.containers.front().reason = "Error";
    pod.conditions = "ConfigIssue=True\nOther=Unknown\n";
    w.settle();
    CHECK((w.status().reason == "FailureRule") == r.holds);
    CHECK((w.status().restarts.disruptions == 1) != r.holds);
}

TEST_CASE("[behaviour 13.3] [behaviour 5.4] rules about disruptions", "[engine]") {
    const std::string action = GENERATE("Fail", "Restart", "RestartFree");
    const bool limit = GENERATE(true, false);
    CAPTURE(action, limit);
    world w(ddp().run_policy(
        (limit ? "\"backoffLimit\":3," : "\"backoffLimit\":0,") +
        with_rules(
            "{\"action\":\"" + action + R"(","onPodConditions":[{"type":"DisruptionTarget"}]})"
        )
    ));
    w.start();
    pod_record& pod = w.pod("worker", 0);
    pod.disruption_target = true;
    pod.disruption_reason = "PreemptionByScheduler";
    w.ask_deletion(pod);
    w.settle();
    const bool fails = action == "Fail" || (action == "Restart" && !limit);
    CHECK((w.status().phase == job_phase::failed) == fails);
    CHECK(w.status().backoff_count == (action == "Restart" && limit ? 1 : 0));
    CHECK(w.status().restarts.disruptions == (action == "RestartFree" ? 1 : 0));
}

TEST_CASE(
    "[behaviour 13.3] a disruption is asked about before a failure that came first", "[engine]"
) {
    world w(ddp().run_policy(
        with_rules(R"({"action":"Fail","onExitCodes":{"operator":"In","values":[3]}})")
    ));
    w.start();
    w.exit("worker", 0, 3);
    w.wait(seconds{1});
    w.ask_deletion(w.pod("worker", 1));
    w.settle();
    CHECK(w.status().phase != job_phase::failed);
    CHECK(w.status().restarts.disruptions == 1);
}

TEST_CASE("[behaviour 13.3] NotIn is none of the values, and not 0", "[engine]") {
    world w(ddp().run_policy(
        with_rules(R"({"action":"Fail","onExitCodes":{"operator":"NotIn","values":[3]}})")
    ));
    w.start();
    pod_record& pod = w.pod("worker", 0);
    w.ask_deletion(pod);
    w.exit(pod, 0);
    w.settle();
    CHECK(w.status().phase != job_phase::failed);
    CHECK(w.status().restarts.disruptions == 1);
}

TEST_CASE("[behaviour 13.3] a disruption that no rule names stays free", "[engine]") {
    world w(ddp(2, "Never")
                .run_policy(
                    "\"backoffLimit\":0," +
                    with_rules(R"({"action":"Fail","onExitCodes":{"operator":"In","values":[1]}})")
                ));
    w.start();
    w.exit("worker", 1, 1);
    w.ask_deletion(w.pod("worker", 0));
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().restarts.disruptions == 1);
    CHECK(last_incident(w).rule.empty());
}

TEST_CASE("[behaviour 13.3] the failure that is no consequence is asked about", "[engine]") {
    world w(ddp().run_policy(
        with_rules(R"({"action":"Fail","onMessage":{"contains":["closed by peer"]}})")
    ));
    w.start();
    w.to(at(100));
    w.exit(
        "master",
        0,
        1,
        "RuntimeError: [../gloo/tcp/pair.cc:598] Connection closed by peer [1.2.3.4]:4"
    );
    w.to(at(101));
    w.exit("worker", 0, 1, "ValueError: loss is NaN");
    w.to(at(102));
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().backoff_count == 1);
}

TEST_CASE(
    "[behaviour 13.3] [behaviour 5.6] an exit settles, and costs nothing by a rule", "[engine]"
) {
    world w(c10d().run_policy(
        "\"backoffLimit\":0," +
        with_rules(R"({"action":"RestartFree","onExitCodes":{"operator":"In","values":[9]}})")
    ));
    w.start();
    w.to(at(200));
    w.exit("node", 2, 9);
    w.settle();
    CHECK(w.status().restarts.settling);
    w.to(at(216));
    w.settle();
    CHECK(w.status().restarts.disruptions == 1);
    CHECK(w.status().backoff_count == 0);
    w.run_all();
    w.settle();
    // What ran then and ended within its time belongs to it, seen late.
    w.exit("node", 1, 5);
    w.pod("node", 1).containers.front().finished = at(210);
    w.settle();
    CHECK(w.status().phase != job_phase::failed);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 1);
    CHECK_FALSE(last_incident(w).counted);
    CHECK(last_incident(w).rule == "failureRules/0");
}

TEST_CASE(
    "[behaviour 13.3] [api colossalai runPolicy.failureRules] ColossalAI fails early", "[engine]"
) {
    world w(colossalai().run_policy(
        with_rules(R"({"action":"Fail","onPodConditions":[{"type":"DisruptionTarget"}]})")
    ));
    w.settle();
    pod_record& pod = w.pod("worker", 0);
    w.run(pod);
    pod.disruption_target = true;
    w.ask_deletion(pod);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "FailureRule");
}

TEST_CASE("[behaviour 13.3] [behaviour 4.2] under an invalid specification", "[engine]") {
    const bool broken = GENERATE(false, true);
    const std::string rule =
        broken ? R"({"action":"Sometimes","onReason":["x"]})"
               : R"({"action":"RestartFree","onExitCodes":{"operator":"In","values":[4]}})";
    world w(ddp(2, "Never").run_policy("\"backoffLimit\":0"));
    w.start();
    w.edit().run_policy("\"backoffLimit\":0," + with_rules(rule)).elastic(5, 2);
    w.reload();
    w.settle();
    CHECK(w.status().reason == "InvalidSpec");
    w.exit("master", 0, 4);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    w.exit("master", 0, 5);
    w.settle();
    CHECK((w.status().phase == job_phase::failed) != broken);
}

TEST_CASE(
    "[behaviour 13.4] [api runPolicy.defaultFailureRules] words for a bad device", "[engine]"
) {
    const std::string text = GENERATE(
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "F statusor.cc:34] CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable",
        "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
        "NVRM: Xid (PCI:0000:02:00): 79, pid=1, GPU has fallen off the bus.",
        "Unable to determine the device handle for GPU0000:03:00.0: Unknown Error",
        "misc/ibvwrap.cc:160 NCCL WARN Call to ibv_modify_qp failed with error Connection timed "
        "out",
        "NCCL WARN NET/IB : Got completion from peer 10.0.0.1<5> with status=12 opcode=0 len=0 "
        "vendor err 129",
        "NCCL WARN NET/IB : mlx5_0:1 Got async fatal event: local catastrophic error"
    );
    const bool ours = GENERATE(true, false);
    CAPTURE(text, ours);
    const std::string policy = GENERATE("OnFailure", "Never");
    world w(ddp(2, policy).run_policy(ours ? "\"backoffLimit\":3" : "\"defaultFailureRules\":false")
    );
    w.start();
    w.pod("worker", 1).node = "gpu-7";
    w.exit("worker", 1, 1, "some line\n" + text + "\n");
    w.settle();
    // What restarts and what counts is as without.
    CHECK((w.status().phase == job_phase::failed) == (policy == "Never"));
    if (policy == "Never") {
        CHECK(w.status().reason == "ErrorInPod");
        return;
    }
    CHECK(w.status().backoff_count == 1);
    CHECK(last_incident(w).counted);
    CHECK(last_incident(w).rule.starts_with("default/") == ours);
    CHECK(w.status().avoided.size() == (ours ? 1U : 0U));
}

TEST_CASE("[behaviour 13.4] a timeout of NCCL lays nothing to a node", "[engine]") {
    world w(ddp());
    w.start();
    w.pod("worker", 1).node = "gpu-7";
    w.exit(
        "worker",
        1,
        1,
        "[rank1]: torch.distributed.DistBackendError: Watchdog caught collective operation timeout"
    );
    w.settle();
    CHECK(last_incident(w).rule.empty());
    CHECK(w.status().avoided.empty());
}

TEST_CASE(
    "[behaviour 13.5] [api runPolicy.resetBackoffAfterSeconds] [api status.restarts.forgiven] a "
    "long run gives the budget back",
    "[engine]"
) {
    world w(ddp().run_policy("\"backoffLimit\":2,\"resetBackoffAfterSeconds\":1000"));
    w.start();
    for (int i = 1; i <= 2; ++i) {
        w.wait(seconds{100});
        w.exit("worker", 0, 1);
        run_after_rule(w);
        CHECK(w.status().backoff_count == i);
    }
    CHECK(w.status().restarts.forgiven == 0);
    const condition* running = find_condition(w.status(), "Running");
    REQUIRE(running != nullptr);
    const instant since = *running->last_transition;
    SECTION("a second too early") {
        w.to(since + seconds{999});
        w.exit("worker", 0, 1);
        w.settle();
        CHECK(w.status().reason == "BackoffLimitExceeded");
    }
    SECTION("in time, and seen late") {
        w.to(since + seconds{1000});
        w.exit("worker", 0, 1);
        w.wait(seconds{5000});
        run_after_rule(w);
        CHECK(w.status().phase == job_phase::running);
        CHECK(w.status().backoff_count == 3);
        CHECK(w.status().restarts.forgiven == 2);
        w.exit("worker", 0, 1);
        run_after_rule(w);
        CHECK(w.status().backoff_count == 4);
        w.exit("worker", 0, 1);
        w.settle();
        CHECK(w.status().reason == "BackoffLimitExceeded");
    }
    SECTION("a damaged record gives nothing away") {
        w.status().restarts.forgiven = 1'000'000;
        w.settle();
        CHECK(w.status().restarts.forgiven == 2);
        CHECK(w.count_events("StatusRepaired") == 1);
    }
}

TEST_CASE("[behaviour 13.6] [api status.avoidedNodes] later pods avoid the node", "[engine]") {
    const bool required = GENERATE(false, true);
    world w(ddp().run_policy(
        "\"backoffLimit\":0," +
        std::string(required ? R"("avoidNodes":{"policy":"Required"},)" : "") +
        with_rules(R"({"action":"RestartElsewhere","onExitCodes":{"operator":"In","values":[9]}})")
    ));
    w.start();
    w.wait(seconds{100});
    w.pod("worker", 1).node = "gpu-7";
    w.exit("worker", 1, 9);
    w.pass();
    REQUIRE(w.status().avoided.size() == 1);
    CHECK(w.status().avoided[0].node == "gpu-7");
    CHECK(w.status().avoided[0].rule == "failureRules/0");
    CHECK(w.status().avoided[0].time == w.now());
    CHECK(w.status().backoff_count == 0);
    CHECK(told_by_event(w, "Restarting", "later pods avoid node gpu-7"));
    std::vector<std::string> made;
    w.gate = [&](const action& a) {
        if (a.pod() != nullptr) {
            made.push_back(*render_action(w.job(), w.last(), a));
        }
        return true;
    };
    w.settle();
    const decision d = w.last();
    w.pods().clear();
    w.status().restarts.seen.clear();
    const decision next = w.look();
    REQUIRE_FALSE(next.stages.empty());
    CHECK(next.rendering.avoid == node_avoidance{{"gpu-7"}, required});
    const std::string pod = *render_action(w.job(), next, next.stages.back().front());
    CAPTURE(pod);
    CHECK(pod.find(R"({"key":"metadata.name","operator":"NotIn","values":["gpu-7"]})") != pod.npos);
    CHECK((pod.find("requiredDuringScheduling") != pod.npos) == required);
    // A day later it is good again.
    w.wait(seconds{86'400});
    CHECK(w.look().rendering.avoid.nodes.empty());
}

TEST_CASE(
    "[behaviour 13.6] [api annotation forgive-nodes] the user takes a node back", "[engine]"
) {
    const std::string value = GENERATE("all", "gpu-7", "gpu-1, gpu-7", "gpu-1,gpu-70", "");
    const bool forgiven = value == "all" || value.ends_with("gpu-7");
    CAPTURE(value);
    world w(ddp());
    w.start();
    w.pod("worker", 1).node = "gpu-7";
    w.exit("worker", 1, 1, ecc_words);
    w.settle();
    w.edit().annotation("batch.tensorstack.dev/forgive-nodes", value);
    w.reload();
    w.pods().clear();
    w.status().restarts.seen.clear();
    CHECK(w.look().rendering.avoid.nodes.empty() == forgiven);
    w.settle();
    w.run_all();
    w.settle();
    w.pod("worker", 0).node = "gpu-7";
    w.exit("worker", 0, 1, ecc_words);
    w.settle();
    CHECK(w.status().avoided.size() == (forgiven ? 0U : 1U));
    CHECK((forgiven || w.status().avoided[0].count == 2));
}

TEST_CASE("[behaviour 13.6] at most 16 nodes, the oldest goes", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":100,\"avoidNodes\":{\"forSeconds\":100000}"));
    w.start();
    for (int i = 0; i < 20; ++i) {
        w.wait(seconds{1000});
        w.pod("worker", 1).node = "gpu-" + std::to_string(i % 18);
        w.exit("worker", 1, 1, ecc_words);
        run_after_rule(w);
        CHECK(w.status().avoided.size() <= 16);
    }
    REQUIRE(w.status().avoided.size() == 16);
    CHECK(w.status().avoided.back().node == "gpu-1");
    CHECK(w.status().avoided.front().node == "gpu-4");
}

TEST_CASE("[behaviour 13.6] what has to be avoided is said of a pod without a place", "[engine]") {
    const bool required = GENERATE(false, true);
    world w(
        ddp().run_policy(required ? R"("avoidNodes":{"policy":"Required"})" : "\"backoffLimit\":3")
    );
    w.start();
    w.pod("worker", 1).node = "gpu-7";
    w.exit("worker", 1, 1, ecc_words);
    w.settle();
    w.pod("worker", 1).unschedulable = true;
    w.pod("worker", 1).scheduler_message = "0/4 nodes are available";
    w.settle();
    const condition* running = find_condition(w.status(), "Running");
    REQUIRE(running != nullptr);
    INFO(running->message);
    CHECK((running->message.find("keeps it off gpu-7") != std::string::npos) == required);
}
