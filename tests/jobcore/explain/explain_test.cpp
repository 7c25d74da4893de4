// SPDX-License-Identifier: Apache-2.0
//
// What is said of jobs that wait, restart, end, or are left alone. Recorded situations are in
// tests/operator/cli/explain_test.py.
#include "explain/explained.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::colossalai;
using signalbox::test::ddp;
using signalbox::test::explained;
using signalbox::test::job_builder;
using signalbox::test::refused;
using signalbox::test::world;

using in = explain_section;

namespace {

refusal quota_refusal(const world& w, instant last) {
    refusal r;
    r.name = pod_name(w.plan(), {0, 0, 1, 0, 0});
    r.attempt = 1;
    r.http_code = 403;
    r.reason = "Forbidden";
    r.message = "pods \"mnist\" is forbidden: exceeded quota: gpus, requested: 8, limited: 4";
    r.count = 2;
    r.first = last - seconds(5);
    r.last = last;
    return r;
}

/// The job up to its pods, which the quota refuses.
void refuse_pods(world& w) {
    w.gate = [](const action& a) { return a.kind != object_kind::pod; };
    while (w.count_children(object_kind::service) < 2) {
        w.pass();
    }
    w.refusals.push_back(quota_refusal(w, w.now()));
    w.pass();
}

std::size_t count_actions(const world& w) {
    std::size_t n = 0;
    for (const stage& s : w.look().stages) {
        n += s.size();
    }
    return n;
}

}  // namespace

TEST_CASE("a new job: what is recorded, then what is made", "[explain]") {
    world w(ddp());
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "has no status"));
    CHECK(e.says(in::phase, "By what is observed now it becomes Pending"));
    CHECK(e.says(in::actions, "phase (none) -> Pending"));
    CHECK(e.says(in::actions, "attempt 0 -> 1"));
    CHECK(e.says(in::actions, "Create Service mnist-40c14"));
    CHECK(e.says(in::actions, "Send the Normal event Created"));
    CHECK_FALSE(e.says(in::actions, "Create Pod"));  // Services come first (behaviour 2.1)
}

TEST_CASE("one line for each action of the decision, with its rule", "[explain]") {
    world w(ddp(3));
    w.settle();
    w.pods().clear();
    w.status().restarts.seen.clear();
    const explained e(w);
    INFO(e.text());
    const auto creates = std::ranges::count_if(e.lines(), [](const explain_line& line) {
        return line.section == in::actions && line.sentence.starts_with("Create Pod ") &&
               line.rule == "behaviour 2.1";
    });
    CHECK(creates == 4);
    CHECK(count_actions(w) == 4);
}

TEST_CASE("a job that runs: which pod decides, and what is left of the budget", "[explain]") {
    world w(ddp().run_policy("\"backoffLimit\":3,\"activeDeadlineSeconds\":3600"));
    w.start();
    w.wait(seconds(600));
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "is Running since"));
    CHECK(e.says(in::awaited, "The end of pod mnist-40c14-master-0, which decides"));
    CHECK(e.says(in::next, "(in 50 min) the deadline passes"));
    CHECK(e.says(in::history, "This is attempt 1, of a job that started at"));
    CHECK(e.says(in::history, "0 of 3 restarts counted, 3 left"));
    CHECK(e.says(in::history, "the next failure that counts restarts all pods"));
    CHECK(e.says(in::actions, "Nothing: all that can be done now is done"));
    CHECK(e.same_when_turned());
}

TEST_CASE("[behaviour 4.16] what may wait to be written", "[explain]") {
    const auto says = [](world& w, const char* what) {
        const explained e(w);
        INFO(e.text());
        CHECK(e.says(in::actions, what));
    };
    world w(ddp().replicas({.type = "side", .args = {std::string(300 << 10, 'x')}}));
    w.settle();
    w.run(w.pod("worker", 0));
    says(w, "Write the status within 2 s: only counts have changed");
    w.settle();
    w.edit().run_policy("\"backoffLimit\":5");
    w.reload();
    says(
        w,
        "Write the status within 2 s: only counts, or the generation that is observed, have changed"
    );
    w.settle();
    w.pod("master", 0).unschedulable = true;
    w.settle();
    w.pod("master", 0).scheduler_message = "0/5 nodes are available";
    says(w, "Write the status within 30 s: only texts have changed");
}

TEST_CASE("what the budget says of the next failure is what happens", "[explain]") {
    world w(ddp().run_policy("\"backoffLimit\":1"));
    w.start();
    CHECK(explained(w).says(in::history, "the next failure that counts restarts all pods"));
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().attempt == 2);
    w.run_all();
    CHECK(explained(w).says(in::history, "the next failure that counts ends the job"));
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
}

TEST_CASE(
    "[behaviour 5.10] without budget another replica is given up, if the job can go on", "[explain]"
) {
    world w(ddp().run_policy(R"("backoffLimit":0,"failurePolicy":"Master")"));
    w.start();
    const auto e = explained(w);
    CHECK(e.says(in::history, "the next failure of the deciding pod ends the job"));
    CHECK_FALSE(e.says(in::history, "the next failure that counts ends the job"));
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 5.1] only torchrun has an exit barrier", "[explain]") {
    world w(ddp());
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    const auto e = explained(w);
    CHECK(e.says(in::awaited, "clean-up holds until then"));
    CHECK_FALSE(e.says(in::awaited, "torchrun"));
}

TEST_CASE("a failure that is just seen: the record first, then the pods", "[explain]") {
    world w(ddp());
    w.start();
    w.wait(seconds(100));
    w.exit("worker", 1, 137);
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "is Running since"));
    CHECK(e.says(in::phase, "it becomes Pending (Restarting)"));
    CHECK(e.says(in::actions, "attempt 1 -> 2"));
    CHECK(e.says(in::actions, "backoffCount 0 -> 1"));
    CHECK(e.says(in::actions, "Delete Pod mnist-40c14-master-0: the pod is of another attempt"));
    CHECK(e.says(in::history, "mnist-40c14-worker-1 (exit code 137, OOMKilled) failed; it counted")
    );
    CHECK(e.same_when_turned());
}

TEST_CASE("the restart delay: when pods may be created again", "[explain]") {
    world w(ddp());
    w.start();
    for (int i = 0; i < 2; ++i) {
        w.exit("worker", 0, 1);
        w.settle();
        w.run_all();
    }
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::next, "(in 10 s) the delay is over and new pods may be created"));
    CHECK(e.says(in::awaited, "Nothing from outside: the job goes on by the clock"));
    CHECK(e.says(in::history, "2 of 3 restarts counted, 1 left"));
    CHECK_FALSE(e.says(in::actions, "Create Pod"));
}

TEST_CASE("a refusal that is known: when it is tried again", "[explain]") {
    world w(ddp());
    refuse_pods(w);
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "is Pending (QuotaExceeded)"));
    CHECK(e.says(in::phase, "exceeded quota: gpus, requested: 8, limited: 4."));
    CHECK(e.says(in::awaited, "Room in the quota"));
    CHECK(e.says(in::next, "(in 10 s) the operator tries again what the server refused"));
    CHECK_FALSE(e.says(in::next, "looks at the job again"));
    CHECK(e.says(in::actions, "not before"));
}

TEST_CASE("a refusal is tried again in its time, whatever else comes first", "[explain]") {
    world w(c10d(2).elastic(1, 4).run_policy("\"activeDeadlineSeconds\":8"));
    w.refusals.push_back(refused(w, object_kind::job, "mnist", 403, {}, 0));
    w.start();
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::next, "(in 8 s) the deadline passes"));
    CHECK(e.says(in::next, "(in 10 s) the operator tries again what the server refused"));
}

TEST_CASE("a recording knows no refusals: the recorded reason stands", "[explain]") {
    world w(ddp());
    refuse_pods(w);
    w.refusals.clear();
    w.wait(seconds(3600));
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "is Pending (QuotaExceeded)"));
    CHECK_FALSE(e.says(in::phase, "By what is observed now"));
    CHECK(e.says(in::next, "tries again 5 s after a refusal, doubling to 5 min"));
    CHECK(e.says(in::actions, "the server refused it before, and it is tried again at its time"));
    CHECK_FALSE(e.says(in::actions, "Write the status"));
}

TEST_CASE("a recording names the object that was refused, and no other", "[explain]") {
    world w(ddp());
    w.gate = [](const action&) { return false; };
    while (w.look().stages.empty()) {
        w.pass();
    }
    const stage first = w.look().stages.front();
    REQUIRE(first.size() == 2);  // both Services, of which one name begins with the other
    refusal taken = refusal_of(first[1], w.now());
    taken.foreign_owner = GENERATE(true, false);
    taken.http_code = 409;
    taken.message = "no";
    w.refusals.push_back(taken);
    w.pass();
    w.refusals.clear();
    w.wait(seconds(3600));
    const explained e(w);
    INFO(e.text());
    const std::string again = "; the server refused it before";
    CHECK(e.says(in::actions, first[1].name + ": " + first[1].why + again));
    CHECK_FALSE(e.says(in::actions, first[0].name + ": " + first[0].why + again));
}

TEST_CASE("a refusal that is known and whose time has come: the action as any other", "[explain]") {
    world w(ddp());
    refuse_pods(w);
    w.wait(seconds(3600));
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "is Pending (QuotaExceeded)"));
    CHECK(e.says(in::actions, "Create Pod"));
    CHECK_FALSE(e.says(in::actions, "the server refused it before"));
}

TEST_CASE("an invalid specification is told in full, before and after the start", "[explain]") {
    const std::string wrong = "\"backoffLimit\":-1,\"activeDeadlineSeconds\":0";
    SECTION("never started") {
        world w(ddp().run_policy(wrong));
        const explained e(w);
        INFO(e.text());
        CHECK(e.says(in::phase, "it becomes Failed (InvalidSpec)"));
        CHECK(e.says(in::specification, "Error: /spec/runPolicy/backoffLimit: "));
        CHECK(e.says(in::specification, "Error: /spec/runPolicy/activeDeadlineSeconds: "));
    }
    SECTION("while it runs") {
        world w(ddp());
        w.start();
        w.edit().run_policy(wrong);
        w.reload();
        w.settle();
        const explained e(w);
        INFO(e.text());
        CHECK(e.says(in::phase, "(InvalidSpec)"));
        CHECK(e.says(in::phase, "until they are corrected no pod and no other object is made"));
        CHECK(e.says(in::awaited, "Somebody has to correct the specification"));
        CHECK(e.count(in::specification) == 2);
    }
}

TEST_CASE("a job of another controller is left alone", "[explain]") {
    world w(ddp().field("managedBy", "\"kueue.x-k8s.io/multikueue\""));
    const explained e(w);
    REQUIRE(e.lines().size() == 1);
    CHECK(e.lines().front().rule == "behaviour 2.9");
    CHECK(e.says(in::phase, "is run by the controller `kueue.x-k8s.io/multikueue`"));
}

TEST_CASE("a job that is being deleted: what is left of it", "[explain]") {
    world w(ddp());
    w.start();
    w.edit().deleted_at(w.now());
    w.reload();
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "PyTorchTrainingJob default/mnist is being deleted"));
    // 3 pods, 2 Services
    CHECK(e.says(in::awaited, "removes 5 objects of it as soon as the job itself is gone"));
    CHECK(e.count(in::actions) == 0);
    w.pods().clear();
    w.children().clear();
    CHECK(explained(w).says(in::awaited, "Nothing of it is left but the job itself"));
}

TEST_CASE("a job that is being deleted: who keeps it", "[explain]") {
    world w(ddp());
    w.start();
    w.edit().deleted_at(w.now()).finalizer("example.com/backup");
    w.reload();
    const explained kept(w);
    INFO(kept.text());
    CHECK(kept.says(in::awaited, "its pods run on"));
    CHECK(kept.says(in::awaited, "until this is removed from metadata.finalizers"));
    CHECK(kept.says(in::awaited, "example.com/backup"));
    w.edit().finalizer("foregroundDeletion");
    w.reload();
    const explained foreground(w);
    INFO(foreground.text());
    CHECK(foreground.says(in::awaited, "removes 5 objects of it, and the job after them"));
    CHECK_FALSE(foreground.says(in::awaited, "foregroundDeletion"));
    w.edit().finalizer("orphan");
    w.reload();
    CHECK(explained(w).says(in::awaited, "cuts 5 objects of it off"));
}

TEST_CASE("a paused job: who goes on, and what becomes of the deadline", "[explain]") {
    world w(ddp().run_policy("\"activeDeadlineSeconds\":3600"));
    w.start();
    w.slow_deletes = true;
    w.edit().pause();
    w.reload();
    w.settle();
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "is Paused since"));
    CHECK(e.says(in::awaited, "has to set spec.runMode.pause.enabled to false"));
    CHECK(e.says(in::awaited, "The end of pod mnist-40c14-worker-0, which is being deleted"));
    CHECK(e.says(
        in::next, "The deadline of 60 min counts from the start of the first pod of the resumed"
    ));
}

TEST_CASE("a launcher that waits: how many workers are Ready, and which not", "[explain]") {
    world w(colossalai(3));
    w.settle();
    w.run(w.pod("worker", 0));
    w.run(w.pod("worker", 2));
    w.settle();
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "(WaitingForWorkers)"));
    CHECK(e.says(in::awaited, "Ready workers: 2 of 3 are, and not worker 1"));
    CHECK(e.says(in::history, "never restarted after a failure"));
    CHECK(e.same_when_turned());
}

TEST_CASE("a pod that cannot start: container, reason, the kubelet's words", "[explain]") {
    world w(ddp());
    w.settle();
    auto& pod = w.pod("worker", 1);
    pod.scheduled = true;
    pod.containers.at(0).reason = "ImagePullBackOff";
    pod.containers.at(0).message = "Back-off pulling image \"registry/train:9\".\n";
    w.settle();
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(
        in::awaited,
        "Pod mnist-40c14-worker-1, container pytorch cannot start: ImagePullBackOff: Back-off "
        "pulling image \"registry/train:9\". The kubelet goes on trying"
    ));
    CHECK(e.says(in::awaited, "A node for mnist-40c14-master-0 and mnist-40c14-worker-0"));
}

TEST_CASE("explaining changes nothing and repeats itself", "[explain]") {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 3, "boom\x01\x02");
    const explained first(w);
    CHECK(explained(w).lines() == first.lines());
    for (const explain_line& line : first.lines()) {
        INFO(line.sentence);
        CHECK(line.sentence.ends_with('.'));
        CHECK(line.sentence.find('\n') == std::string::npos);
        CHECK(line.sentence.find('\x01') == std::string::npos);
    }
    CHECK(std::ranges::is_sorted(first.lines(), {}, &explain_line::section));
}
