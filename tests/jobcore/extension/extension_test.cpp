// SPDX-License-Identifier: Apache-2.0
//
// A kind and a scheduler of gangs that the library does not have, through the life of a job.
#include "extension/process_job.hpp"
#include "jobcore/children.hpp"
#include "jobcore/schema.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

using namespace signalbox::core;

namespace {

const object_kind gang_kind = gang::gated.objects[0];
const object_kind gang_before = gang::gated.objects[1];

/// A ProcessJob and its children, on a clock that stands still.
struct process_job {
    explicit process_job(
        std::string scheduler, served gangs = served::yes, object_kind of = gang_kind
    )
        : scheduler_(std::move(scheduler)), of_(of) {
        children.served.set(of, gangs);
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
        const auto it = std::ranges::find(children.others, of_, &child_record::kind);
        return it == children.others.end() ? nullptr : &*it;
    }

    /// The scheduler writes this status.
    void say(const std::string& status) {
        const auto said =
            decode_child(of_, R"({"metadata":{"name":"g","uid":"u"},"status":)" + status + "}");
        gang()->gang = said->gang;
        settle();
    }

    const std::string& waits_for() const { return find_condition(job.status, "Running")->message; }

    job_object job;
    job_children children;
    instant now{seconds{1'000'000}};
    std::string last_pod;

private:
    std::string scheduler_;
    object_kind of_;
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
    CHECK(has(w.waits_for(), "does not serve Gang objects"));
    CHECK(w.children.pods.empty());
    CHECK(w.gang() == nullptr);
    w.children.served.set(gang_kind, served::yes);
    w.settle();
    CHECK(w.children.pods.size() == 3);
}

TEST_CASE("[behaviour 8.4] a further scheduler: the first version that is served") {
    process_job w(gated, served::yes, gang_before);
    REQUIRE(w.gang() != nullptr);
    CHECK(w.children.pods.size() == 3);
    const decision made = decide(w.job, w.children.seen(), policy(), w.now);
    CHECK(made.stages.empty());
    // What it makes is of that version.
    w.children.others.remove_if([](const child_record& c) { return c.kind == gang_before; });
    const decision d = decide(w.job, w.children.seen(), policy(), w.now);
    REQUIRE_FALSE(d.stages.empty());
    const action& a = d.stages.front().front();
    CHECK(a.kind == gang_before);
    CHECK(has(preview_action(w.job, d, a), R"("apiVersion":"gates.test/v1","kind":"Gang")"));
}

TEST_CASE("[behaviour 8.1] [behaviour 8.3] a further scheduler: its object, its marks, its repair"
) {
    process_job w(gated);
    REQUIRE(w.gang() != nullptr);
    CHECK(has(w.last_pod, R"("gates.test/gang":"sim-)"));
    CHECK(has(w.last_pod, R"("mine":"x")"));
    CHECK(has(w.last_pod, R"("gates.test/role":"process")"));
    CHECK(has(w.last_pod, R"([{"name":"mine/gate"},{"name":"gates.test/wait"}])"));
    CHECK(has(w.last_pod, R"("schedulerName":"gate-keeper")"));
    CHECK(has(w.last_pod, R"("schedulingGroup":{"name":"sim-)"));
    CHECK(has(w.last_pod, R"("priority":7,"priorityClassName":"gated")"));
    CHECK(w.children.pods.front().gang == &gang::gated);

    // What the server shows of it, with more than was sent, in another order.
    const job_plan& plan = *w.job.compiled->plan;
    std::string text = preview_object(plan, plan.objects.front(), 1, {});
    const std::string_view written =
        R"("spec":{"policy":{"count":1,"types":[{"name":"process","pods":3}]},"queue":"q"})";
    REQUIRE(has(text, written));
    text.insert(text.find("\"metadata\":{") + 12, R"("uid":"u9",)");
    text.replace(
        text.find(written),
        written.size(),
        R"("spec":{"rank":4,"queue":"q","policy":{"types":[{"pods":3,"name":"process"}],"more":1,)"
        R"("count":1}})"
    );
    auto seen = *decode_child(gang_kind, text);
    CHECK(expected_fingerprint(plan, plan.objects.front(), {}, seen.fields) == seen.fingerprint);
    for (const auto& [part, edited] :
         {std::pair{R"("count":1)", R"("count":7)"},
          std::pair{R"("pods":3)", R"("pods":2)"},
          std::pair{R"("queue":"q")", R"("queue":"x")"},
          std::pair{R"("queue":"q",)", R"()"}}) {
        std::string other = text;
        other.replace(other.find(part), std::string_view(part).size(), edited);
        seen = *decode_child(gang_kind, other);
        CHECK(
            expected_fingerprint(plan, plan.objects.front(), {}, seen.fields) != seen.fingerprint
        );
    }
    w.gang()->fingerprint = seen.fingerprint;
    w.gang()->fields = seen.fields;
    const decision d = decide(w.job, w.children.seen(), policy(), w.now);
    REQUIRE(d.stages.size() == 1);
    CHECK(d.stages[0][0].what() == verb::patch);
    CHECK(has(std::string(d.stages[0][0].body()), R"("policy":{"count":1)"));
    CHECK_FALSE(has(std::string(d.stages[0][0].body()), "rank"));
    w.settle();

    w.edit(5, false);
    CHECK(
        has(preview_object(*w.job.compiled->plan, w.job.compiled->plan->objects.front(), 1, {}),
            R"("pods":5)")
    );
    w.edit(3, true);
    CHECK(w.gang() == nullptr);  // it lives as long as the pods
}

TEST_CASE("[behaviour 2.6] hostile objects of a scheduler are read without harm") {
    const auto read = [](const std::string& rest) {
        return decode_child(gang_kind, R"({"metadata":{"name":"g","uid":"u"},)" + rest + "}");
    };
    std::string deep;
    for (int i = 0; i < 100'000; ++i) {
        deep += R"({"a":)";
    }
    deep += "1" + std::string(100'000, '}');
    for (const std::string rest :
         {R"("spec":null,"status":[])",
          R"("spec":[1],"status":"x")",
          R"("spec":{"policy":7})",
          R"("status":{"gate":{},"why":[]})"}) {
        const auto seen = read(rest);
        REQUIRE(seen);
        CHECK(seen->fields == std::vector<std::uint64_t>(4, 0));
    }
    const auto seen = read(R"("spec":{"policy":{"types":)" + deep + "}}");
    REQUIRE(seen);
    CHECK(seen->fields[1] != 0);
}

TEST_CASE("[behaviour 8.1] what a further scheduler cannot take of a job is refused at its place") {
    auto read = read_job(
        R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"ProcessJob","metadata":)"
        R"({"name":"sim","namespace":"lab","uid":"u1","generation":1},"spec":{"scheduler":)"
        R"({"gatedScheduler":{}},"process":{"replicas":3,"template":{"spec":{)"
        R"("schedulerName":"mine","containers":[{"name":"sim","image":"i"}]}}}}})"
    );
    REQUIRE(read);
    CHECK_FALSE(read->compiled->plan);
    CHECK(std::ranges::any_of(read->compiled->findings, [](const diagnostic& d) {
        return d.pointer == "/spec/process/template/spec/schedulerName" &&
               d.level == severity::error;
    }));
}

TEST_CASE("[behaviour 8.5] a scheduler that has not admitted its gang is named, with its words") {
    process_job w(gated);
    CHECK(w.children.pods.size() == 3);  // they wait at their gates
    CHECK(w.job.status.phase == job_phase::pending);
    CHECK(w.job.status.reason == "WaitingForGang");
    CHECK(w.waits_for() == "Gang " + w.gang()->name + " is not ready");
    w.say(R"({"gate":"shut","why":"QueueIsFull"})");
    CHECK(w.waits_for() == "Gang " + w.gang()->name + " is not ready: QueueIsFull");
    w.say(R"({"gate":"open"})");
    CHECK(w.job.status.reason == "SchedulingGated");  // no one has taken the gates away (4.12)
    w.start_all();
    CHECK(w.job.status.phase == job_phase::running);
}

TEST_CASE("[behaviour 8.5] no pod before a scheduler lets them in") {
    process_job w(
        R"("scheduler":{"ticketedScheduler":{}},)", served::yes, gang::ticketed.objects[0]
    );
    REQUIRE(w.gang() != nullptr);
    CHECK(w.children.pods.empty());
    CHECK(w.job.status.reason == "WaitingForGang");
    CHECK_FALSE(w.job.status.start_time);
    w.say(R"({"gate":"shut","why":"third in line"})");
    CHECK(w.children.pods.empty());
    CHECK(w.waits_for() == "Ticket " + w.gang()->name + " is not ready: third in line");
    w.say(R"({"gate":"open"})");
    CHECK(w.children.pods.size() == 3);
    w.start_all();
    CHECK(w.job.status.phase == job_phase::running);
}

TEST_CASE("[behaviour 8.9] pods that an object has let in may be held too") {
    process_job w(
        R"("scheduler":{"ticketedScheduler":{}},)", served::yes, gang::ticketed.objects[0]
    );
    w.say(R"({"gate":"open"})");
    REQUIRE(w.children.pods.size() == 3);
    auto answer = *w.gang()->gang;
    answer.priority = 10;
    w.gang()->gang = std::make_shared<const gang_answer>(answer);
    for (pod_record& pod : w.children.pods) {
        pod.priority = 10;
        pod.gates = "";
    }
    w.settle();
    CHECK(w.job.status.reason == "CreatingPods");
    const pod_record& first = w.children.pods.front();
    w.children.pods.front().priority = 5;
    w.settle();
    CHECK(w.waits_for() == "held: pod " + first.name + " has priority 5, the group 10");
    CHECK(w.job.status.reason == "WaitingForGang");
}

TEST_CASE("[behaviour 8.6] the minimum goes down as members end, before others are made again") {
    process_job w(R"("scheduler":{"countedScheduler":{}},)", served::yes, gang::counted.objects[0]);
    const job_plan& plan = *w.job.compiled->plan;
    const auto least = [&](std::int32_t ended) {
        const std::string text =
            preview_object(plan, plan.objects.front(), 1, {false, {3}, {ended}});
        return text.substr(text.find("least") + 7, 1);
    };
    // The job is elastic from 1: of a rigid one see the launch tests.
    CHECK(least(0) == "1");
    CHECK(least(2) == "1");
    CHECK(w.children.pods.size() == 3);
}

TEST_CASE("[behaviour 8.9] what a scheduler holds without a word is explained") {
    process_job w(R"("scheduler":{"countedScheduler":{}},)", served::yes, gang::counted.objects[0]);
    REQUIRE(w.children.pods.size() == 3);
    pod_record& first = w.children.pods.front();
    CHECK(has(w.waits_for(), "held: pod " + first.name + " waits at scheduling gates: mine/gate"));
    CHECK(has(w.waits_for(), "the other pods wait for it"));
    CHECK(w.job.status.reason == "WaitingForGang");
    for (pod_record& pod : w.children.pods) {
        pod.gates = "";
    }
    w.say(R"({"gate":"shut","why":"no room"})");
    CHECK(w.waits_for() == "Count " + w.gang()->name + ": no room");
    auto answer = *w.gang()->gang;
    answer.priority = 10;
    w.gang()->gang = std::make_shared<const gang_answer>(answer);
    first.priority = 5;
    for (pod_record& pod : w.children.pods) {
        pod.priority = &pod == &first ? 5 : 10;
    }
    w.settle();
    CHECK(w.waits_for() == "held: pod " + first.name + " has priority 5, the group 10");
    for (pod_record& pod : w.children.pods) {
        pod.scheduled = true;
    }
    w.settle();
    CHECK(w.job.status.reason == "CreatingPods");
}
