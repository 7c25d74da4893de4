// SPDX-License-Identifier: Apache-2.0
//
// `signalbox pause`, `resume` and `scale`: what the API lets people change of a job at any time
// (BEHAVIOUR.md api 7.1).
#include "cli/cli.hpp"
#include "cli/cluster_session.hpp"
#include "cli/commands.hpp"
#include "cli/job_lookup.hpp"
#include "cli/print_line.hpp"
#include "controller/resource_table.hpp"
#include "manifests/job_patches.hpp"

#include <jobcore/decide.hpp>
#include <jobcore/schema.hpp>
#include <jobcore/status.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <utility>

namespace signalbox::op::cli {

namespace asio = boost::asio;

namespace {

/// What to do about the job that was found.
class job_change {
public:
    job_change() = default;

    std::string said;         ///< about the job, as kubectl says it: `paused`
    std::string impossible;   ///< not empty: why not
    std::string patch;        ///< empty: nothing is to be changed
    std::string subresource;  ///< of the patch
};
using judge_function = std::function<job_change(const found_job& job)>;

class job_edit {
public:
    job_edit(cluster_session& session, const job_target& target, judge_function judge)
        : api_(&session.api()),
          name_(target.name),
          lookup_(session.api(), session.ns(), target),
          judge_(std::move(judge)) {}

    asio::awaitable<void> run() {
        job_lookup& jobs = lookup_;
        co_await jobs.run();
        problem_ = lookup_.problem_unless_one();
        if (!problem_.empty()) {
            co_return;
        }
        const found_job& job = lookup_.found().front();
        change_ = judge_(job);
        if (!change_.impossible.empty() || change_.patch.empty()) {
            co_return;
        }
        const k8sio::resource_type& type = type_of(job.kind);
        const auto answer = co_await api_->merge_patch(
            type, lookup_.ns(), name_, change_.patch, change_.subresource
        );
        if (answer.has_error()) {
            problem_ = answer.error().text();
        }
    }

    int report(std::string_view command, std::ostream& out, std::ostream& err) {
        if (!problem_.empty()) {
            print_line(err, "signalbox {}: {}", command, problem_);
            return exit_refused;
        }
        const std::string job = kubectl_name(lookup_.found().front().kind, name_);
        if (!change_.impossible.empty()) {
            print_line(err, "signalbox {}: {}: {}", command, job, change_.impossible);
            return exit_failed;
        }
        print_line(out, "{} {}", job, change_.said);
        return exit_ok;
    }

private:
    k8sio::client* api_;
    std::string name_;
    job_lookup lookup_;
    judge_function judge_;
    job_change change_;
    std::string problem_;
};

int edit_job(
    std::string_view command,
    const job_options& options,
    judge_function judge,
    std::ostream& out,
    std::ostream& err
) {
    const auto refuse = [&](const std::string& why) {
        print_line(err, "signalbox {}: {}", command, why);
        return exit_refused;
    };
    const std::optional<job_target> target = parse_job_target(options.target);
    if (!target) {
        return refuse(no_job_target(options.target));
    }
    cluster_session session(options.cluster, options.ns);
    if (!session.problem().empty()) {
        return refuse(session.problem());
    }
    job_edit edit(session, *target, std::move(judge));
    session.run(edit.run());
    return edit.report(command, out, err);
}

/// Empty while the job can still change something.
std::string ended(const found_job& job) {
    const core::job_status status = core::parse_status(job.json);
    return core::is_final(status.phase)
               ? fmt::format("it has ended already: {}", core::to_string(status.phase))
               : std::string();
}

job_change change_pause(const found_job& job, bool paused) {
    job_change out;
    out.impossible = ended(job);
    const core::parsed_job parsed = core::parse_job(job.json);
    const bool is_so = parsed.spec && parsed.spec->mode.pause == paused;
    out.said = paused ? "paused" : "resumed";
    if (is_so) {
        out.said = paused ? "is paused already" : "is not paused";
    } else {
        out.patch = manifests::pause_patch(job.uid, paused);
    }
    return out;
}

/// A job that is not elastic can be scaled to the size that it has (BEHAVIOUR.md api 7.1).
job_change keep_size(const found_job& job, const core::job_spec& spec, std::int32_t replicas) {
    std::int64_t size = 0;
    for (const core::replica_spec& type : spec.replicas) {
        size += type.replicas;
    }
    job_change out;
    if (replicas == size) {
        out.said = fmt::format("is to have {} replicas already", size);
    } else {
        out.impossible = fmt::format(
            "it is not elastic, and its size is {}{}; to change that, pause it and change "
            "`replicas`{}",
            size,
            job.kind == core::job_kind::colossalai ? ", the launcher included" : "",
            job.kind == core::job_kind::colossalai ? " of the workers" : ""
        );
    }
    return out;
}

job_change change_size(const found_job& job, std::int32_t replicas) {
    job_change out;
    out.impossible = ended(job);
    const core::parsed_job parsed = core::parse_job(job.json);
    if (!out.impossible.empty()) {
        return out;
    }
    const bool has_size = parsed.spec && parsed.spec->elastic;
    if (parsed.spec && !has_size) {
        return keep_size(job, *parsed.spec, replicas);
    }
    if (has_size) {
        const core::elastic_config& size = *parsed.spec->elastic;
        if (replicas < size.min_replicas || replicas > size.max_replicas) {
            out.impossible = fmt::format(
                "{} is outside of its bounds, {} to {} replicas",
                replicas,
                size.min_replicas,
                size.max_replicas
            );
            return out;
        }
        if (size.expected_replicas == replicas) {
            out.said = fmt::format("is to have {} replicas already", replicas);
            return out;
        }
    }
    out.said = fmt::format("scaled to {} replicas", replicas);
    out.subresource = "scale";
    out.patch = manifests::scale_patch(job.uid, replicas);
    return out;
}

}  // namespace

int pause_job(const job_options& options, std::ostream& out, std::ostream& err) {
    const auto pause = [](const found_job& job) { return change_pause(job, true); };
    return edit_job("pause", options, pause, out, err);
}

int resume_job(const job_options& options, std::ostream& out, std::ostream& err) {
    const auto resume = [](const found_job& job) { return change_pause(job, false); };
    return edit_job("resume", options, resume, out, err);
}

int scale_job(const scale_options& options, std::ostream& out, std::ostream& err) {
    const auto scale = [&](const found_job& job) { return change_size(job, options.replicas); };
    return edit_job("scale", options.job, scale, out, err);
}

}  // namespace signalbox::op::cli
