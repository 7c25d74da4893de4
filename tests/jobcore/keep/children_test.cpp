// SPDX-License-Identifier: Apache-2.0
//
// What carried-out actions make of children that a caller keeps itself.
#include "jobcore/children.hpp"

#include "signalbox_test/jobcore_builders.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using namespace signalbox::core;
using signalbox::test::at;

namespace {

/// A DeepSpeedJob, which has an object of every kind that all servers serve, and its first passes.
struct kept_job {
    kept_job() {
        auto read = read_job(
            signalbox::test::job_builder("cifar")
                .kind(job_kind::deepspeed)
                .expected(2)
                .field("config", R"({"run":{"python":["train.py"]}})")
                .field(
                    "worker",
                    R"({"replicas":2,"template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}})"
                )
                .json()
        );
        REQUIRE(read);
        job = *std::move(read);
    }

    decision decide_now() { return decide(job, children.seen(), policy(), at(0)); }

    /// Until nothing is to be done.
    void settle() {
        for (int i = 0; i < 20; ++i) {
            const decision d = decide_now();
            if (d.status) {
                job.status = *d.status;
            }
            children.follow(d);
            const bool acted = carry_out(d, at(0), [&](const action& a) {
                children.carried_out(job, d, a, "uid-" + std::to_string(++made), at(0));
                return true;
            });
            if (!acted && !d.status) {
                return;
            }
        }
        FAIL("no rest");
    }

    child_record& child(object_kind kind) {
        return *std::ranges::find(children.others, kind, &child_record::kind);
    }

    job_object job;
    job_children children;
    int made = 0;
};

action pod_action() {
    action a;
    a.name = "w-0";
    a.request = create_pod{{.attempt = 2, .round = 1}};
    return a;
}

}  // namespace

TEST_CASE("[behaviour 2.6] [behaviour 2.7] what was made is not repaired or made anew", "[keep]") {
    kept_job k;
    k.settle();  // both fingerprints are those of what is wanted, or this would never end
    CHECK(k.children.pods.size() == 2);
    CHECK(k.made == 5);  // Service, Secret, ConfigMap, two pods
    const pod_record& pod = k.children.pods.front();
    CHECK(pod.labels_complete);
    CHECK(pod.phase == pod_phase::pending);
    CHECK(*pod.creation == at(0));
    REQUIRE(pod.containers.size() == 1);
    CHECK(pod.containers.front().name == "worker");
    CHECK(pod.containers.front().state == container_state::waiting);
}

TEST_CASE(
    "[behaviour 2.6] a repair sets the fields, not the data and not the readiness", "[keep]"
) {
    kept_job k;
    k.settle();
    child_record& service = k.child(object_kind::service);
    const std::uint64_t wanted = service.fingerprint;
    const std::string uid = service.uid;
    service.fingerprint ^= 1;
    service.foreign_selector_keys = {"app"};
    service.ready = true;
    const decision repair = k.decide_now();
    REQUIRE(repair.stages.size() == 1);
    service.data_fingerprint = 7;  // no repair can change what is immutable
    k.children.carried_out(k.job, repair, repair.stages[0][0], "unused", at(1));
    CHECK(service.fingerprint == wanted);
    CHECK(service.foreign_selector_keys.empty());
    CHECK(service.uid == uid);
    CHECK(service.data_fingerprint == 7);
    CHECK(service.ready);
}

TEST_CASE("[behaviour 1.3] the patch of a stuck pod is its label", "[keep]") {
    kept_job k;
    k.settle();
    pod_record& pod = k.children.pods.front();
    action label;
    label.name = pod.name;
    label.request = patch_object{pod.uid, "{}", std::nullopt};
    k.children.carried_out(k.job, {}, label, "unused", at(1));
    CHECK(pod.attempt == gone_attempt);
}

TEST_CASE("[behaviour 5.3] an absence is confirmed of its own kind, and forgotten", "[keep]") {
    kept_job k;
    k.settle();
    action ask;
    ask.kind = object_kind::secret;
    ask.name = k.children.pods.front().name;  // a pod has the name, no Secret
    ask.request = confirm_absence{};
    k.children.carried_out(k.job, {}, ask, "unused", at(1));
    REQUIRE(k.children.absences.size() == 1);
    ask.name = k.child(object_kind::secret).name;
    k.children.carried_out(k.job, {}, ask, "unused", at(1));
    CHECK(k.children.absences.size() == 1);  // it is there
    ask.kind = object_kind::config_map;
    k.children.carried_out(k.job, {}, ask, "unused", at(1));
    CHECK(k.children.absences.size() == 2);
    decision asks;
    asks.stages = {{ask}};
    k.children.follow(asks);
    CHECK(k.children.absences.size() == 2);
    k.children.follow({});
    CHECK(k.children.absences.empty());
}

TEST_CASE(
    "[behaviour 12.5] refusals are counted, kept while asked for, and end with success", "[keep]"
) {
    kept_job k;
    const action a = pod_action();
    k.children.refused(a, 403, "exceeded quota", at(5));
    k.children.refused(a, 422, "invalid", at(9));
    REQUIRE(k.children.refusals.size() == 1);
    const refusal& r = k.children.refusals.front();
    CHECK(r.count == 2);
    CHECK(r.http_code == 422);
    CHECK(r.message == "invalid");
    CHECK(r.first == at(5));
    CHECK(r.last == at(9));
    CHECK(r.attempt == 2);
    CHECK(r.round == 1);
    decision asks;
    asks.stages = {{a}};
    k.children.follow(asks);
    CHECK(k.children.refusals.size() == 1);
    action next_round = a;
    next_round.request = create_pod{{.attempt = 2, .round = 2}};
    asks.stages = {{next_round}};
    k.children.follow(asks);
    CHECK(k.children.refusals.empty());
}

TEST_CASE("[behaviour 12.4] a stage that is not acknowledged or held is the last", "[keep]") {
    action first = pod_action();
    action held = pod_action();
    held.not_before = at(10);
    decision d;
    d.stages = {{first, held}, {first}};
    int done = 0;
    CHECK(carry_out(d, at(9), [&](const action&) { return ++done > 0; }));
    CHECK(done == 1);
    CHECK(carry_out(d, at(10), [&](const action&) { return ++done > 0; }));
    CHECK(done == 4);
    CHECK_FALSE(carry_out(d, at(10), [&](const action&) { return ++done < 0; }));
    CHECK(done == 6);  // the stage after it was not begun
}

TEST_CASE("a process starts once and ends once", "[keep]") {
    kept_job k;
    k.settle();
    pod_record& pod = k.children.pods.front();
    note_end(pod, 0, at(1));
    CHECK(pod.phase == pod_phase::pending);
    note_start(pod, at(2));
    CHECK(pod.ready);
    CHECK(*pod.containers.front().started == at(2));
    note_end(pod, 3, at(4));
    note_start(pod, at(5));
    CHECK(pod.phase == pod_phase::failed);
    CHECK_FALSE(pod.ready);
    CHECK(pod.containers.front().exit_code == 3);
    CHECK(*pod.containers.front().finished == at(4));
}
