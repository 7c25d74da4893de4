// SPDX-License-Identifier: Apache-2.0
//
// What metrics say of jobs with given statuses.
#include "job_metrics/job_metrics.hpp"

#include <jobcore/cause.hpp>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace signalbox;

constexpr core::instant told_until{core::seconds{1'700'000'000}};

/// A job that has run since 100 s ago, and came further 40 s ago.
core::job_object trained_job(const std::string& name) {
    core::job_object job;
    job.meta.ns = "team-a";
    job.meta.name = name;
    core::job_status& s = job.status;
    s.phase = core::job_phase::running;
    s.attempt = 1;
    s.time = {10, 20, 0, 30, 0, 0, 0, 0, core::time_kind::running, told_until - core::seconds(100)};
    s.progress.emplace();
    s.progress->attempt = 1;
    s.progress->current_step = 1200;
    s.progress->percentage = 24;
    s.progress->advanced = told_until - core::seconds(40);
    s.progress->metrics = {{"loss", "2.5"}};
    return job;
}

struct told_metrics {
    explicit told_metrics(op::job_metrics::series wanted) : counted(registry, wanted) {}

    prometheus::Registry registry;
    op::job_metrics counted;
    std::vector<core::job_object> jobs;

    std::string text() const {
        op::families out;
        out.append(registry.Collect());
        counted.add_to(out, [&](const auto& visit) {
            for (const core::job_object& job : jobs) {
                visit(job, told_until);
            }
        });
        return out.text();
    }
    /// Of the series that is written so; -1 if there is none.
    double value(const std::string& series) const {
        const std::string all = "\n" + text();
        const std::size_t at = all.find("\n" + series + " ");
        return at == std::string::npos ? -1 : std::atof(all.c_str() + at + series.size() + 2);
    }
};

const std::string of_pytorch = R"({kind="PyTorchTrainingJob"})";

}  // namespace

TEST_CASE("[behaviour 13.12] metrics tell goodput and where the time of jobs in view went") {
    told_metrics m(op::job_metrics::series::of_kinds);
    CHECK(m.value("signalbox_job_goodput_ratio" + of_pytorch) == -1);
    CHECK(m.value(R"(signalbox_job_time_seconds{kind="DeepSpeedJob",state="lost"})") == 0);
    m.jobs = {trained_job("a"), trained_job("b")};
    m.jobs[1].status.time.in = core::time_kind::none;
    m.jobs[1].status.time.lost = 50;
    m.jobs[1].status.phase = core::job_phase::failed;
    // 100 of 150, and 0 of 100: a job that has ended spends no more time.
    CHECK(m.value("signalbox_job_goodput_ratio" + of_pytorch) == 0.4);
    const std::string time = R"(signalbox_job_time_seconds{kind="PyTorchTrainingJob",state=)";
    CHECK(m.value(time + R"("running"})") == 100);
    CHECK(m.value(time + R"("lost"})") == 50);
    CHECK(m.value(time + R"("queued"})") == 20);
    CHECK(m.value(time + R"("restarting"})") == 60);
}

TEST_CASE("[behaviour 13.8] metrics tell the age of progress, and who stands still") {
    told_metrics m(op::job_metrics::series::of_kinds);
    m.jobs = {trained_job("a"), trained_job("b"), trained_job("c"), trained_job("d")};
    m.jobs[1].status.progress->advanced = told_until - core::seconds(900);
    m.jobs[1].status.time.in = core::time_kind::stalled;
    // An older attempt's reports, and a job that does not run, are no matter.
    m.jobs[2].status.attempt = 2;
    m.jobs[3].status.time.in = core::time_kind::restarting;
    CHECK(m.value("signalbox_jobs_reporting" + of_pytorch) == 2);
    CHECK(m.value("signalbox_jobs_stalled" + of_pytorch) == 1);
    CHECK(m.value("signalbox_job_progress_age_seconds" + of_pytorch) == 900);
    CHECK(m.value(R"(signalbox_jobs_stalled{kind="DeepSpeedJob"})") == 0);
    CHECK(m.text().find("team-a") == std::string::npos);

    core::job_status after = m.jobs[0].status;
    after.time.in = core::time_kind::stalled;
    m.counted.status_written(m.jobs[0], after, told_until);
    m.counted.status_written(m.jobs[1], m.jobs[1].status, told_until);  // it is known
    CHECK(m.value("signalbox_job_stalls_total" + of_pytorch) == 1);
}

TEST_CASE("metrics tell each stay in a queue, and what took pods away") {
    told_metrics m(op::job_metrics::series::of_kinds);
    core::job_object waiting = trained_job("a");
    waiting.status.time.in = core::time_kind::queued;
    core::job_status after = waiting.status;
    m.counted.status_written(waiting, after, told_until);  // it waits on
    CHECK(m.value("signalbox_job_time_in_queue_seconds_count" + of_pytorch) == 0);
    after.time.queued += 70;
    after.time.in = core::time_kind::starting;
    m.counted.status_written(waiting, after, told_until);
    CHECK(m.value("signalbox_job_time_in_queue_seconds_count" + of_pytorch) == 1);
    CHECK(m.value("signalbox_job_time_in_queue_seconds_sum" + of_pytorch) == 70);

    const core::job_object running = trained_job("a");
    const auto lose = [&](const char* cause, const char* reason) {
        after = running.status;
        ++after.restarts.disruptions;
        after.restarts.last.emplace();
        after.restarts.last->cause = cause;
        after.restarts.last->reason = reason;
        m.counted.status_written(running, after, told_until);
    };
    lose("PodDisrupted", "PreemptionByScheduler");
    lose("PodDisrupted", "a word\" of others");
    lose("PodFailed", "Evicted");
    const std::string taken =
        R"(signalbox_job_disruptions_total{kind="PyTorchTrainingJob",reason=)";
    CHECK(m.value(taken + R"("PreemptionByScheduler"})") == 1);
    CHECK(m.value(taken + R"("Other"})") == 1);
    CHECK(m.value(taken + R"("Evicted"})") == 0);
    CHECK(
        m.value(R"(signalbox_job_restarts_total{kind="PyTorchTrainingJob",reason="PodDisrupted"})"
        ) == 2
    );
    CHECK(m.text().find("of others") == std::string::npos);
    // Each cause has a series from the start, and those of a newer version share one.
    const std::string restarts =
        R"(signalbox_job_restarts_total{kind="PyTorchTrainingJob",reason=)";
    for (const std::string_view cause : core::incident_causes()) {
        INFO(cause);
        const std::string series = fmt::format("{}\"{}\"}}", restarts, cause);
        const double before = m.value(series);
        lose(std::string(cause).c_str(), "");
        CHECK(m.value(series) == before + 1);
    }
    CHECK(m.value(restarts + R"("Stalled"})") == 1);
    lose("Unknown", "");
    CHECK(m.value(restarts + R"("Other"})") == 1);
}

TEST_CASE("[behaviour 8.13] metrics tell why quota was taken away") {
    told_metrics m(op::job_metrics::series::of_kinds);
    const core::job_object running = trained_job("a");
    const auto end = [&](const char* reason, const char* message) {
        core::job_status after = running.status;
        ++after.attempt;
        after.attempt_history.push_back({1, {}, {}, reason, message, {}, {}, {}});
        m.counted.status_written(running, after, told_until);
    };
    end("Evicted", "Preempted: to accommodate a workload: of team-b");
    end("Evicted", "Preempted");
    end("Evicted", "Workload train-1a2b3 was deleted");
    end("PodFailed", "Preempted: not by Kueue");
    core::job_object later = running;
    later.status.attempt_history.push_back({1, {}, {}, "Evicted", "Preempted", {}, {}, {}});
    later.status.attempt = 2;
    m.counted.status_written(later, later.status, told_until);  // it is known
    const std::string evicted =
        R"(signalbox_job_evictions_total{kind="PyTorchTrainingJob",reason=)";
    CHECK(m.value(evicted + R"("Preempted"})") == 2);
    CHECK(m.value(evicted + R"("PodsReadyTimeout"})") == 0);
    CHECK(m.value(evicted + R"("Other"})") == 1);
    CHECK(m.text().find("train-1a2b3") == std::string::npos);
}

TEST_CASE("[requirement H4] single jobs have series where they are asked for, and a bounded number"
) {
    told_metrics m(op::job_metrics::series::of_jobs_too);
    m.jobs = {trained_job("a"), trained_job("done"), trained_job("new")};
    m.jobs[1].status.phase = core::job_phase::succeeded;
    m.jobs[2].status = {};
    m.jobs[2].status.progress.emplace();
    m.jobs[2].status.progress->metrics = {{"loss", "nan?"}};
    const std::string a = R"({kind="PyTorchTrainingJob",name="a",namespace="team-a"})";
    CHECK(m.value("signalbox_single_job_progress_ratio" + a) == 0.24);
    CHECK(m.value("signalbox_single_job_step" + a) == 1200);
    CHECK(m.value("signalbox_single_job_progress_age_seconds" + a) == 40);
    CHECK(m.value("signalbox_single_job_loss" + a) == 2.5);
    CHECK(m.value("signalbox_single_job_goodput_ratio" + a) == Approx(100.0 / 150));
    CHECK(m.text().find("\"done\"") == std::string::npos);
    CHECK(m.text().find("\"new\"") == std::string::npos);
    CHECK(m.value("signalbox_single_jobs_left_out") == 0);

    for (std::size_t i = 0; i < op::most_jobs_with_series; ++i) {
        m.jobs.push_back(trained_job("job-" + std::to_string(i)));
    }
    CHECK(m.value("signalbox_single_jobs_left_out") == 2);
    CHECK(m.value("signalbox_single_job_step" + a) == 1200);
}
