// SPDX-License-Identifier: Apache-2.0
//
// A scheduler of quota that the library does not have, through the life of a job.
#include "extension/process_job.hpp"
#include "jobcore/carry_out.hpp"
#include "jobcore/children.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <list>
#include <string>
#include <utility>
#include <vector>

using namespace signalbox::core;

namespace {

const object_kind permit_kind = gang::metered.objects[0];

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

/// A ProcessJob of two processes and its children, on a clock that stands still. The Permit is what
/// a server has of it.
struct metered_job {
    metered_job() {
        served.set(permit_kind, served::yes);
        const auto read = read_job(
            R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"ProcessJob","metadata":)"
            R"({"name":"sim","namespace":"lab","uid":"u1","generation":1},"spec":)"
            R"({"scheduler":{"metered":{}},"elastic":{"expectedReplicas":2},)"
            R"("process":{"replicas":2,"template":{"spec":{"containers":[{"name":"sim","image":"i"}]}}}}})"
        );
        REQUIRE(read);
        REQUIRE(read->compiled->plan);
        job = *read;
        settle();
    }

    std::string permit_text() const {
        return R"({"metadata":{"name":")" + permit_name + R"(","namespace":"lab","uid":"p1",)" +
               R"("resourceVersion":"1","ownerReferences":[{"uid":"u1","controller":true}]},"spec":)" +
               R"({"pods":[{"type":"process","pods":2}]},"status":{"is":")" + is + R"(","at":")" +
               at + R"(","tariff":"night","given":)" + std::to_string(given) + R"(,"back":)" +
               std::to_string(back) + R"(,"ready":)" + (ready ? "true" : "false") + "}}";
    }

    decision look() {
        pod_views.clear();
        child_views.clear();
        std::ranges::transform(pods, std::back_inserter(pod_views), [](auto& p) { return &p; });
        if (!permit_name.empty()) {
            permit.gang = decode_child(permit_kind, permit_text())->gang;
            permit.resource_version = "1";
            others.remove_if([](const child_record& c) { return c.kind == permit_kind; });
            others.push_back(permit);
        }
        std::ranges::transform(others, std::back_inserter(child_views), [](auto& c) { return &c; });
        observed seen{pod_views, child_views, answers.refusals(), answers.absences(), served};
        seen.readings = answers.readings();
        return decide(job, seen, policy(), now);
    }

    /// The server merges a patch of the Permit's status.
    void take(const std::string& patch) {
        const auto said = [&](std::string_view part) { return has(patch, part); };
        is = said(R"("is":"wanted")") ? "wanted" : said(R"("is":"over")") ? "over" : is;
        given = said(R"("given":0)") ? 0 : given;
        for (int count = 0; count <= 2; ++count) {
            back = said(R"("back":)" + std::to_string(count)) ? count : back;
        }
        ready = said(R"("ready":true)") || (ready && !said(R"("ready":false)"));
    }

    outcome perform(const decision& made, const action& a) {
        if (std::holds_alternative<read_object>(a.request)) {
            reads.push_back(a.name);
            return answer::told{a.name == "night" ? R"({"meter":"low"})" : R"({"value":7})"};
        }
        if (a.what() == verb::create) {
            const std::string text = preview_action(job, made, a);
            auto record = record_of(job, made, a, "uid-" + std::to_string(++number), now);
            if (a.kind == permit_kind) {
                permit_name = a.name;
                permit_made = text;
                permit = std::get<child_record>(record);
            } else if (auto* pod = std::get_if<pod_record>(&record)) {
                last_pod = text;
                pods.push_back(std::move(*pod));
            } else {
                others.push_back(std::get<child_record>(std::move(record)));
            }
        } else if (a.what() == verb::remove) {
            pods.remove_if([&](const pod_record& p) { return p.uid == a.uid(); });
            others.remove_if([&](const child_record& c) { return c.uid == a.uid(); });
        } else if (a.what() == verb::patch && a.kind == permit_kind) {
            CHECK(a.subresource() == "status");
            written.emplace_back(a.body());
            take(written.back());
        } else if (a.what() == verb::patch && a.object() != nullptr) {
            const auto same = [&](const child_record& c) { return c.uid == a.uid(); };
            const auto changed = std::ranges::find_if(others, same);
            *changed = std::get<child_record>(record_of(job, made, a, changed->uid, now));
        }
        return answer::acknowledged{};
    }

    void settle() {
        for (int i = 0; i < 30; ++i) {
            const decision made = look();
            if (made.status) {
                job.status = *made.status;
            }
            const auto done = carry_out(answers, made, job.status, now, [&](const action& a) {
                return perform(made, a);
            });
            if (!made.status && done == progress::nothing) {
                return;
            }
        }
        std::string next;
        for (const stage& s : look().stages) {
            for (const action& a : s) {
                next += a.name + ": " + a.why + "; ";
            }
        }
        FAIL("the job does not come to rest: " << next);
    }

    void give(const std::string& when) {
        is = "given";
        at = when;
        given = 2;
        settle();
    }

    job_object job;
    std::list<pod_record> pods;
    std::list<child_record> others;
    child_record permit;
    std::string permit_name, permit_made, last_pod;
    std::string is = "wanted", at;
    int given = 0, back = 0, number = 0;
    bool ready = false;
    std::vector<std::string> reads, written;
    capabilities served;
    job_answers answers;
    instant now{seconds{1'000'000}};

private:
    std::vector<const pod_record*> pod_views;
    std::vector<const child_record*> child_views;
};

}  // namespace

TEST_CASE("[behaviour 8.11] [behaviour 8.12] a further scheduler of quota: what is asked and given"
) {
    metered_job w;
    CHECK(w.pods.empty());
    CHECK(w.job.status.reason == "WaitingForQuota");
    CHECK(w.reads == std::vector<std::string>{"usual"});
    CHECK(has(w.permit_made, R"("rank":7,"pods":[{"type":"process","pods":2,"of":1}])"));
    w.give("monday");
    CHECK(w.reads.back() == "night");
    REQUIRE(w.job.status.admission);
    CHECK(w.job.status.admission->since == "monday");
    CHECK(w.pods.size() == 2);
    CHECK(has(w.last_pod, R"("nodeSelector":{"meter":"low"})"));
}

TEST_CASE(
    "[behaviour 8.13] [behaviour 8.14] a further scheduler of quota: it is taken and given back"
) {
    metered_job w;
    w.give("monday");
    for (pod_record& pod : w.pods) {
        note_start(pod, w.now);
    }
    w.settle();
    CHECK(w.job.status.phase == job_phase::running);
    CHECK(has(w.written.back(), R"("status":{"ready":true})"));
    CHECK(has(
        w.written.back(), R"("metadata":{"uid":")" + w.permit.uid + R"(","resourceVersion":"1"})"
    ));
    SECTION("taken away") {
        w.is = "taken";
        w.settle();
        CHECK(w.pods.empty());
        CHECK(w.job.status.phase == job_phase::pending);
        CHECK(w.job.status.attempt == 2);
        CHECK(w.is == "wanted");
        w.give("tuesday");
        CHECK(w.pods.size() == 2);
        CHECK(w.job.status.backoff_count == 0);
    }
    SECTION("given back with the end") {
        for (pod_record& pod : w.pods) {
            note_end(pod, 0, w.now);
        }
        w.settle();
        CHECK(w.job.status.phase == job_phase::succeeded);
        CHECK(has(w.written.back(), R"({"is":"over","well":true})"));
    }
}
