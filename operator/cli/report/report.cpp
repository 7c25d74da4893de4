// SPDX-License-Identifier: Apache-2.0
//
// `signalbox report`: where the time of jobs went.
#include "cli/cli.hpp"
#include "cli/cluster_session.hpp"
#include "cli/commands.hpp"
#include "cli/job_lists.hpp"
#include "cli/job_lookup.hpp"
#include "cli/print_line.hpp"
#include "cli/recorded_files.hpp"
#include "cli/report/job_report.hpp"
#include "cli/report/render.hpp"
#include "manifests/duration.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ostream>
#include <utility>

namespace signalbox::op::cli {

namespace {

using report::job_report;
using report::whole_report;

/// A report, or why there is none.
using made_report = core::result<whole_report>;

made_report no_report(std::string why) {
    return core::unexpected{std::move(why)};
}

void add_job(whole_report& to, std::string_view json, std::vector<std::string> notes = {}) {
    if (auto job = report::report_of(json, to.now)) {
        job->notes = std::move(notes);
        to.jobs.push_back(std::move(*job));
    }
}

made_report read_files(const report_options& options) {
    recorded_files files = read_recorded_files(options.files, options.now);
    keep_jobs(files, options.target, options.ns);
    if (!files.errors.empty()) {
        return no_report(std::move(files.errors.front()));
    }
    whole_report out;
    out.now = files.now;
    for (recorded_job& r : files.recorded.jobs) {
        add_job(out, r.json, std::move(r.notes));
    }
    return out;
}

made_report read_one(cluster_session& session, job_target target) {
    job_lookup lookup(session.api(), session.ns(), std::move(target));
    session.run(lookup.run());
    if (!lookup.problem().empty()) {
        return no_report(lookup.problem());
    }
    whole_report out;
    out.now = session.server_time();
    for (const found_job& job : lookup.found()) {
        add_job(out, job.json);
    }
    return out;
}

made_report read_all(cluster_session& session, const report_options& options) {
    const std::string ns = options.all_namespaces ? "" : session.ns();
    std::vector<std::string> objects;
    job_lists lists(
        session.api(),
        ns,
        options.selector,
        [&](core::job_kind, std::string_view json) { objects.emplace_back(json); }
    );
    session.run(lists.run());
    if (!lists.problem().empty()) {
        return no_report(lists.problem());
    }
    whole_report out;
    out.scope = ns.empty() ? "all namespaces" : "namespace " + ns;
    out.now = session.server_time();
    for (const std::string& object : objects) {
        add_job(out, object);
    }
    return out;
}

made_report read_cluster(const report_options& options) {
    if (!options.now.empty()) {
        return no_report("--now is for recordings: a cluster has its own time");
    }
    const auto target = options.target.empty() ? std::nullopt : parse_job_target(options.target);
    if (!target && !options.target.empty()) {
        return no_report(no_job_target(options.target));
    }
    cluster_session session(options.cluster, options.ns);
    if (!session.problem().empty()) {
        return no_report(session.problem());
    }
    return target ? read_one(session, *target) : read_all(session, options);
}

/// Without those that ended longer ago.
void leave_out_older(whole_report& from, duration age) {
    const core::instant oldest = from.now - std::chrono::duration_cast<core::milliseconds>(age);
    std::erase_if(from.jobs, [&](const job_report& job) {
        const auto& end = job.status.completion_time;
        return end && *end < oldest;
    });
}

made_report make_report(const report_options& options) {
    const std::optional<duration> age =
        options.since.empty() ? never : parse_duration(options.since);
    if (!age) {
        return no_report(fmt::format("--since: `{}` is no time such as 12h or 7d", options.since));
    }
    made_report out = options.files.empty() ? read_cluster(options) : read_files(options);
    if (out && *age != never) {
        leave_out_older(*out, *age);
    }
    return out;
}

}  // namespace

int report_jobs(const report_options& options, std::ostream& out, std::ostream& err) {
    made_report made = make_report(options);
    if (!made) {
        print_line(err, "signalbox report: {}", made.error());
        return exit_refused;
    }
    report::sort_worst_first(made->jobs);
    switch (options.output) {
        case report_format::json:
            report::print_json(*made, out);
            return exit_ok;
        case report_format::html:
            report::print_html(*made, out);
            return exit_ok;
        case report_format::text:
            break;
    }
    if (made->jobs.empty()) {
        print_line(
            err, "There are no training jobs{}{}.", made->scope.empty() ? "" : " in ", made->scope
        );
        return exit_ok;
    }
    report::print_text(*made, out);
    return exit_ok;
}

}  // namespace signalbox::op::cli
