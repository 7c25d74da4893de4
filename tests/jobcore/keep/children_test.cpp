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
    static std::string text(std::int64_t generation) {
        return signalbox::test::job_builder("cifar")
            .kind(job_kind::deepspeed)
            .generation(generation)
            .expected(2)
            .field("config", R"({"run":{"python":["train.py"]}})")
            .field(
                "worker",
                R"({"replicas":2,"template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}})"
            )
            .json();
    }

    kept_job() {
        auto read = read_job(text(1));
        REQUIRE(read);
        job = *std::move(read);
    }

    decision decide_now() { return decide(job, children.seen(), policy(), at(0)); }

    bool carry_out(const decision& d, instant now) {
        const progress done = children.carry_out(job, d, now, [&](const action&) {
            return job_children::done{"uid-" + std::to_string(++made)};
        });
        return done == progress::made;
    }

    /// Of a decision that asks for this alone.
    void carry_out(const action& a) {
        decision asks;
        asks.stages = {{a}};
        carry_out(asks, at(1));
    }

    /// Until nothing is to be done.
    void settle() {
        for (int i = 0; i < 20; ++i) {
            const decision d = decide_now();
            if (d.status) {
                job.status = *d.status;
            }
            const bool acted = carry_out(d, at(0));
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
    k.carry_out(repair, at(1));
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
    k.carry_out(label);
    CHECK(pod.attempt == gone_attempt);
}

TEST_CASE("[behaviour 5.3] an absence is confirmed of its own kind, and forgotten", "[keep]") {
    kept_job k;
    k.settle();
    action ask;
    ask.kind = object_kind::secret;
    ask.name = k.children.pods.front().name;  // a pod has the name, no Secret
    ask.request = confirm_absence{};
    k.carry_out(ask);
    REQUIRE(k.children.answers().absences().size() == 1);
    ask.name = k.child(object_kind::secret).name;
    k.carry_out(ask);
    CHECK(k.children.answers().absences().size() == 1);  // it is there
    ask.kind = object_kind::config_map;
    k.carry_out(ask);
    CHECK(k.children.answers().absences().size() == 2);
    k.carry_out(decision(), at(1));
    CHECK(k.children.answers().absences().empty());
}

TEST_CASE(
    "[behaviour 12.5] refusals are counted, kept while asked for, and end with success", "[keep]"
) {
    job_answers answers;
    const action a = pod_action();
    decision asks;
    asks.stages = {{a}};
    const auto say = [&](outcome what, instant now) {
        return carry_out(answers, asks, {}, now, [&](const action&) { return what; }) ==
               progress::made;
    };
    CHECK_FALSE(say(answer::refused{403, "Forbidden", "exceeded quota"}, at(5)));
    CHECK_FALSE(say(answer::refused{422, "Invalid", "invalid"}, at(9)));
    REQUIRE(answers.refusals().size() == 1);
    const refusal r = answers.refusals().front();
    CHECK(r.count == 2);
    CHECK(r.http_code == 422);
    CHECK(r.reason == "Invalid");
    CHECK(r.message == "invalid");
    CHECK(r.first == at(5));
    CHECK(r.last == at(9));
    CHECK(r.attempt == 2);
    CHECK(r.round == 1);
    CHECK_FALSE(say(answer::unanswered{}, at(10)));
    CHECK(answers.refusals().size() == 1);
    CHECK_FALSE(say(answer::by_other_owner(), at(11)));
    CHECK(answers.refusals().front().foreign_owner);

    SECTION("an action of the next round is another") {
        asks.stages[0][0].request = create_pod{{.attempt = 2, .round = 2}};
        asks.stages[0][0].not_before = at(100);
        CHECK_FALSE(say(answer::unanswered{}, at(12)));
        CHECK(answers.refusals().empty());
    }
    SECTION("what is held is still asked for") {
        asks.stages[0][0].not_before = at(100);
        CHECK_FALSE(say(answer::unanswered{}, at(12)));
        CHECK(answers.refusals().size() == 1);
    }
    SECTION("what is there is refused no more, and nothing was changed") {
        CHECK_FALSE(say(answer::present{}, at(12)));
        CHECK(answers.refusals().empty());
    }
    SECTION("success ends it") {
        CHECK(say(answer::acknowledged{}, at(12)));
        CHECK(answers.refusals().empty());
    }
}

TEST_CASE("[behaviour 12.4] a stage that is not acknowledged or held is the last", "[keep]") {
    job_answers answers;
    action first = pod_action();
    action held = pod_action();
    held.not_before = at(10);
    decision d;
    d.stages = {{first, held}, {first}};
    int asked = 0;
    const auto answer_all = [&](const outcome& what, instant now) {
        const progress done = carry_out(answers, d, {}, now, [&](const action&) {
            ++asked;
            return what;
        });
        return done == progress::made;
    };
    CHECK(answer_all(answer::acknowledged{}, at(9)));
    CHECK(asked == 1);
    CHECK(answer_all(answer::acknowledged{}, at(10)));
    CHECK(asked == 4);
    CHECK_FALSE(answer_all(answer::unanswered{}, at(10)));
    CHECK(asked == 6);  // the stage after it was not begun
}

TEST_CASE("[behaviour 12.4] a stage waits for the answers to the one before", "[keep]") {
    job_answers answers;
    action first = pod_action();
    action second = pod_action();
    second.name = "w-1";
    decision d;
    d.stages = {{first, second}, {first}};
    work_order order = answers.begin(d, job_status());
    const action* a = order.next(at(0));
    const action* b = order.next(at(0));
    REQUIRE((a != nullptr && b != nullptr));
    CHECK(b->name == "w-1");
    CHECK(order.next(at(0)) == nullptr);
    order.note(*b, answer::acknowledged{}, at(0));
    CHECK(order.acted());
    CHECK(order.next(at(0)) == nullptr);
    CHECK(order.waits());

    SECTION("and goes when all are acknowledged") {
        order.note(*a, answer::present{}, at(0));
        CHECK_FALSE(order.waits());
        CHECK(order.next(at(0)) == &d.stages[1][0]);
        CHECK(order.stage_number() == 1);
    }
    SECTION("and does not go after a refusal") {
        order.note(*a, answer::refused{403, "Forbidden", "no"}, at(0));
        CHECK(order.next(at(0)) == nullptr);
        CHECK_FALSE(order.waits());
        CHECK(answers.refusals().size() == 1);
    }
}

TEST_CASE("[behaviour 12.6] what is in view is not absent", "[keep]") {
    job_answers answers;
    decision d;
    action ask = pod_action();
    ask.request = confirm_absence{};
    d.stages = {{ask}};
    for (int times = 0; times < 2; ++times) {
        carry_out(answers, d, {}, at(1), [](const action&) { return answer::absent{}; });
        CHECK(answers.absences().size() == 1);  // once
    }
    answers.forget_disproved([](object_kind, std::string_view name) { return name == "w-1"; });
    CHECK(answers.absences().size() == 1);
    answers.forget_disproved([](object_kind kind, std::string_view name) {
        return kind == object_kind::pod && name == "w-0";
    });
    CHECK(answers.absences().empty());
}

TEST_CASE("a job that is read again keeps its status", "[keep]") {
    kept_job k;
    k.settle();
    const std::string text = kept_job::text(2);
    const auto again = read_again(text, k.job);
    REQUIRE(again);
    CHECK(again->status == k.job.status);
    CHECK(again->status.attempt == 1);
    CHECK(again->meta.begun);
    CHECK(again->compiled != k.job.compiled);
    job_object other = k.job;
    other.meta.uid = "other";
    CHECK_FALSE(read_again(text, other));
    CHECK_FALSE(read_again("no JSON", k.job));
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

TEST_CASE("[behaviour 12.3] no action goes before its decision's status is stored", "[keep]") {
    job_answers answers;
    decision d;
    d.stages = {{pod_action()}};
    d.status.emplace().attempt = 2;
    int asked = 0;
    const auto try_all = [&](const job_status& stored) {
        return carry_out(answers, d, stored, at(1), [&](const action&) {
            ++asked;
            return answer::acknowledged{};
        });
    };
    CHECK(try_all({}) == progress::unrecorded);
    CHECK(answers.begin(d, {}).next(at(1)) == nullptr);
    CHECK(asked == 0);

    SECTION("and all go after that") {
        CHECK(try_all(*d.status) == progress::made);
        CHECK(asked == 1);
    }
    SECTION("but where that may wait") {
        d.defer = seconds(30);
        CHECK(try_all({}) == progress::made);
        CHECK(asked == 1);
    }
}
