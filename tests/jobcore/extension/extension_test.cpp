// SPDX-License-Identifier: Apache-2.0
//
// A kind and a scheduler of gangs that the library does not have, through the life of a job.
#include "extension/process_job.hpp"
#include "jobcore/children.hpp"
#include "jobcore/schema.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using namespace signalbox::core;

namespace {

const object_kind gang_kind = gang::gated.object;

/// A ProcessJob and its children, on a clock that stands still.
struct process_job {
    explicit process_job(std::string scheduler, served gangs = served::yes)
        : scheduler_(std::move(scheduler)) {
        children.served.set(gang_kind, gangs);
        edit(3, false);
    }

    void edit(int processes, bool pause) {
        auto read = read_job(
            R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"ProcessJob","metadata":)"
            R"({"name":"sim","namespace":"lab","uid":"u1","generation":)" +
                std::to_string(++generation_) + R"(},"spec":{"runMode":{"pause":{"enabled":)" +
                (pause ? "true" : "false") +
                R"(}},"elastic":{"enabled":true,"minReplicas":1,"maxReplicas":5,"expectedReplicas":)" +
                std::to_string(processes) + "}," + scheduler_ +
                R"("process":{"replicas":3,"template":{"metadata":{"annotations":{"mine":"x"}},)"
                R"("spec":{"schedulingGates":[{"name":"mine/gate"}],)"
                R"("containers":[{"name":"sim","image":"i"}]}}}}})",
            job.compiled
        );
        REQUIRE(read);
        for (const diagnostic& d : read->compiled->findings) {
            UNSCOPED_INFO(d.pointer << ": " << d.message);
        }
        REQUIRE(read->compiled->plan);
        read->status = job.status;
        job = *std::move(read);
        settle();
    }

    void settle() {
        for (int i = 0; i < 30; ++i) {
            const decision d = decide(job, children.seen(), policy(), now);
            if (d.status) {
                job.status = *d.status;
            }
            const progress done = children.carry_out(job, d, now, [&](const action& a) {
                if (a.kind == object_kind::pod && a.what() == verb::create) {
                    last_pod = preview_action(job, d, a);
                }
                return job_children::done{"uid-" + std::to_string(++made_)};
            });
            if (done == progress::nothing && !d.status) {
                return;
            }
        }
        FAIL("the job does not come to rest");
    }

    void start_all() {
        for (pod_record& pod : children.pods) {
            note_start(pod, now);
        }
        settle();
    }

    child_record* gang() {
        const auto it = std::ranges::find(children.others, gang_kind, &child_record::kind);
        return it == children.others.end() ? nullptr : &*it;
    }

    job_object job;
    job_children children;
    instant now{seconds{1'000'000}};
    std::string last_pod;

private:
    std::string scheduler_;
    int generation_ = 0;
    int made_ = 0;
};

const std::string gated = R"("scheduler":{"gatedScheduler":{"queue":"q"}},)";

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("a job of a fourth kind runs, restarts, is scaled, paused and ends") {
    process_job w("");
    CHECK(w.children.pods.size() == 3);
    CHECK(has(w.last_pod, R"("name":"PROCESSES","value":"3")"));
    CHECK(has(w.last_pod, R"("tensorstack.dev/owner-kind":"ProcessJob")"));
    w.start_all();
    CHECK(w.job.status.phase == job_phase::running);
    note_end(w.children.pods.front(), 1, w.now);
    w.settle();
    CHECK(w.job.status.backoff_count == 1);
    CHECK(w.job.status.attempt == 2);
    w.start_all();
    w.edit(5, false);
    CHECK(w.children.pods.size() == 5);
    w.start_all();
    w.edit(5, true);
    CHECK(w.job.status.phase == job_phase::paused);
    CHECK(w.children.pods.empty());
    w.edit(5, false);
    w.start_all();
    CHECK(w.job.status.phase == job_phase::running);
    for (pod_record& pod : w.children.pods) {
        note_end(pod, 0, w.now);
    }
    w.settle();
    CHECK(w.job.status.phase == job_phase::succeeded);
    CHECK(format_status(w.job.status, process_kind).find("backoffCount") != std::string::npos);
}

TEST_CASE("a fourth kind has a definition, a reference and errors at their places") {
    const std::string crd = crd_json(process_kind);
    CHECK(has(crd, R"("plural":"processjobs")"));
    CHECK(has(crd, R"("gatedScheduler")"));
    CHECK(
        has(field_reference("processjob.spec.process.replicas", false).text, "Number of processes")
    );
    const auto wrong =
        parse_job(R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"ProcessJob","metadata":)"
                  R"({"name":"sim"},"spec":{"process":{"replicas":0,"template":{"spec":{}}}}})");
    CHECK_FALSE(wrong.spec);
    CHECK(std::ranges::any_of(wrong.findings, [](const diagnostic& d) {
        return d.pointer == "/spec/process/replicas";
    }));
}

TEST_CASE("[behaviour 8.4] a further scheduler: no pod before the server serves its kind") {
    process_job w(gated, served::no);
    CHECK(w.job.status.reason == "WaitingForPodGroup");
    CHECK(has(find_condition(w.job.status, "Running")->message, "does not serve Gang objects"));
    CHECK(w.children.pods.empty());
    CHECK(w.gang() == nullptr);
    w.children.served.set(gang_kind, served::yes);
    w.settle();
    CHECK(w.children.pods.size() == 3);
}

TEST_CASE("[behaviour 8.1] [behaviour 8.3] a further scheduler: its object, its marks, its repair"
) {
    process_job w(gated);
    REQUIRE(w.gang() != nullptr);
    CHECK(has(w.last_pod, R"("gates.test/gang":"sim-)"));
    CHECK(has(w.last_pod, R"("mine":"x")"));
    CHECK(has(w.last_pod, R"("gates.test/role":"process")"));
    CHECK(has(w.last_pod, R"([{"name":"mine/gate"},{"name":"gates.test/wait"}])"));
    CHECK_FALSE(has(w.last_pod, "schedulerName"));

    // What the server shows of it, edited by somebody.
    const job_plan& plan = *w.job.compiled->plan;
    std::string text = preview_object(plan, plan.objects.front(), 1, {});
    CHECK(has(text, R"("spec":{"count":1,"queue":"q"})"));
    text.insert(text.find("\"metadata\":{") + 12, R"("uid":"u9",)");
    CHECK(decode_child(gang_kind, text)->fingerprint == w.gang()->fingerprint);
    text.replace(text.find("\"count\":1"), 9, "\"count\":7");
    w.gang()->fingerprint = decode_child(gang_kind, text)->fingerprint;
    const decision d = decide(w.job, w.children.seen(), policy(), w.now);
    REQUIRE(d.stages.size() == 1);
    CHECK(d.stages[0][0].what() == verb::patch);
    CHECK(has(std::string(d.stages[0][0].body()), R"("count":1)"));
    w.settle();

    w.edit(3, true);
    CHECK(w.gang() == nullptr);  // it lives as long as the pods
}

TEST_CASE("[behaviour 8.5] a scheduler that has not admitted its gang is named, with its words") {
    process_job w(gated);
    CHECK(w.children.pods.size() == 3);  // they wait at their gates
    CHECK(w.job.status.phase == job_phase::pending);
    CHECK(w.job.status.reason == "WaitingForGang");
    CHECK(
        find_condition(w.job.status, "Running")->message ==
        "Gang " + w.gang()->name + " is not ready"
    );
    const std::string name = w.gang()->name;
    w.gang()->reason = "QueueIsFull";
    w.settle();
    CHECK(
        find_condition(w.job.status, "Running")->message ==
        "Gang " + name + " is not ready: QueueIsFull"
    );
    // As the server would show it once it is admitted.
    const auto admitted = decode_child(
        gang_kind,
        R"({"metadata":{"name":"g","uid":"u"},"status":{"conditions":[{"type":"Ready","status":"True"}]}})"
    );
    CHECK(admitted->ready);
    w.gang()->ready = admitted->ready;
    w.settle();
    CHECK(w.job.status.reason == "SchedulingGated");  // nobody has taken the gates away (4.12)
    w.start_all();
    CHECK(w.job.status.phase == job_phase::running);
}
