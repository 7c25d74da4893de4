// SPDX-License-Identifier: Apache-2.0
#include "cli/json_report.hpp"
#include "cli/report/render.hpp"

#include <ostream>

namespace signalbox::op::report {

namespace {

using cli::json_report;

void put_number(json_report& json, const char* key, std::int64_t value) {
    json.writer().Key(key);
    json.writer().Int64(value);
}

void put_number(json_report& json, const char* key, std::optional<std::int64_t> value) {
    if (value) {
        put_number(json, key, *value);
    }
}

void put_text(json_report& json, const char* key, const std::string& value) {
    if (!value.empty()) {
        json.text(key, value);
    }
}

void put_time(json_report& json, const char* key, const std::optional<core::instant>& value) {
    if (value) {
        json.text(key, core::format_time(*value));
    }
}

/// `timeSeconds` with `total`, and `goodput` if there is any.
void put_account(json_report& json, const core::time_account& time) {
    json.writer().Key("timeSeconds");
    json.writer().StartObject();
    for (const core::time_share& share : time.shares) {
        put_number(json, share.name.data(), share.seconds);
    }
    put_number(json, "total", time.total());
    json.writer().EndObject();
    if (const auto ratio = time.goodput()) {
        json.writer().Key("goodput");
        json.writer().Double(*ratio);
    }
}

void put_attempt(json_report& json, const core::attempt_record& a, core::instant now) {
    json.writer().StartObject();
    put_number(json, "attempt", a.attempt);
    put_time(json, "startTime", a.start);
    put_time(json, "endTime", a.end);
    if (const auto took = length_of(a, now)) {
        put_number(json, "seconds", took->count());
    }
    put_text(json, "reason", a.reason);
    put_text(json, "message", a.message);
    put_text(json, "pod", a.pod);
    put_text(json, "node", a.node);
    put_number(json, "rank", a.rank);
    put_number(json, "step", a.step);
    json.writer().EndObject();
}

void put_progress(json_report& json, const job_report& job) {
    const auto& p = job.status.progress;
    if (!p) {
        return;
    }
    json.writer().Key("progress");
    json.writer().StartObject();
    put_text(json, "text", job.progress);
    put_number(json, "attempt", p->attempt);
    put_number(json, "currentStep", p->current_step);
    put_number(json, "totalSteps", p->total_steps);
    put_number(json, "progressPercentage", p->percentage);
    put_number(json, "estimatedRemainingSeconds", p->remaining_seconds);
    put_number(json, "checkpointStep", p->checkpoint_step);
    put_time(json, "lastUpdatedTime", p->last_updated);
    put_time(json, "lastProgressTime", p->advanced);
    json.list("metrics", p->metrics, [&](const core::progress_metric& m) {
        json.writer().StartObject();
        json.text("name", m.name);
        json.text("value", m.value);
        json.writer().EndObject();
    });
    json.list("course", p->course, [&](const core::progress_point& point) {
        json.writer().StartObject();
        put_time(json, "time", point.time);
        put_number(json, "step", point.step);
        put_text(json, "loss", point.loss);
        json.writer().EndObject();
    });
    json.writer().EndObject();
}

void put_job(json_report& json, const job_report& job, core::instant now) {
    json.writer().StartObject();
    json.text("kind", core::to_string(job.meta.kind));
    json.text("namespace", job.meta.ns);
    json.text("name", job.meta.name);
    json.text("uid", job.meta.uid);
    put_text(json, "phase", std::string(core::to_string(job.status.phase)));
    put_text(json, "reason", job.status.reason);
    put_text(json, "message", job.trouble);
    put_time(json, "creationTimestamp", job.meta.creation_time);
    put_time(json, "completionTime", job.status.completion_time);
    json.list("notes", job.notes, [&](const std::string& note) { json.text(note); });
    put_account(json, job.time);
    put_number(json, "wastedSeconds", job.wasted());
    json.list("attempts", job.attempts, [&](const core::attempt_record& a) {
        put_attempt(json, a, now);
    });
    put_progress(json, job);
    json.list("avoidedNodes", job.status.avoided, [&](const core::avoided_node& n) {
        json.writer().StartObject();
        json.text("node", n.node);
        put_text(json, "rule", n.rule);
        put_time(json, "time", n.time);
        put_number(json, "count", n.count);
        json.writer().EndObject();
    });
    json.writer().EndObject();
}

}  // namespace

void print_json(const whole_report& report, std::ostream& out) {
    json_report json(out);
    json.writer().StartObject();
    json.text("now", core::format_time(report.now));
    json.list("kinds", report.sums(), [&](const kind_sum& sum) {
        json.writer().StartObject();
        json.text("kind", core::to_string(sum.kind));
        json.number("jobs", sum.jobs);
        put_account(json, sum.time);
        json.writer().EndObject();
    });
    json.list("jobs", report.jobs, [&](const job_report& job) { put_job(json, job, report.now); });
    json.writer().EndObject();
    out << '\n';
}

}  // namespace signalbox::op::report
