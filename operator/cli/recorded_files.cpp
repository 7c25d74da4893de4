// SPDX-License-Identifier: Apache-2.0
#include "cli/recorded_files.hpp"

#include "cli/job_target.hpp"
#include "manifests/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace signalbox::op::cli {

namespace {

bool is_meant(const core::job_meta& job, const job_target& target) {
    return job.name == target.name &&
           std::ranges::find(target.kinds, job.kind) != target.kinds.end();
}

}  // namespace

recorded_files read_recorded_files(std::span<const std::string> paths, const std::string& now) {
    recorded_files out;
    out.now = std::chrono::time_point_cast<core::milliseconds>(std::chrono::system_clock::now());
    if (!now.empty()) {
        const auto given = core::parse_time(now);
        if (!given) {
            out.errors.push_back(fmt::format("--now: `{}` is no RFC 3339 time", now));
            return out;
        }
        out.now = *given;
    }
    const manifests::read_result read = manifests::read_paths(paths, manifests::input::recording);
    for (const manifests::read_error& e : read.errors) {
        out.errors.push_back(manifests::to_text(e));
    }
    std::vector<recorded_object> objects;
    for (const manifests::manifest& m : read.objects) {
        objects.push_back(
            {std::string(m.api_version()),
             std::string(m.kind()),
             m.json(),
             manifests::to_text(m.file(), m.locate(""))}
        );
    }
    recording_facts facts;
    facts.now = out.now;
    out.recorded = read_recording(objects, facts);
    std::ranges::move(out.recorded.errors, std::back_inserter(out.errors));
    if (out.recorded.jobs.empty() && out.errors.empty()) {
        out.errors.push_back(fmt::format(
            "no training job among {} object{}; `kubectl get pj,pods,svc,secret,cm -o yaml` prints "
            "one with all that belongs to it (pj, dj or caij)",
            objects.size(),
            objects.size() == 1 ? "" : "s"
        ));
    }
    if (now.empty()) {
        for (recorded_job& r : out.recorded.jobs) {
            r.notes.insert(
                r.notes.begin(),
                "Times are judged as of now; --now TIME takes the time of the recording"
            );
        }
    }
    return out;
}

void keep_jobs(recorded_files& files, const std::string& target, const std::string& ns) {
    const auto meant = target.empty() ? std::nullopt : parse_job_target(target);
    if (!meant && !target.empty()) {
        files.errors.push_back(no_job_target(target));
    }
    if (!files.errors.empty()) {
        return;
    }
    std::erase_if(files.recorded.jobs, [&](const recorded_job& r) {
        const core::job_meta& job = r.job.meta;
        return (!ns.empty() && job.ns != ns) || (meant && !is_meant(job, *meant));
    });
    if (meant && files.recorded.jobs.empty()) {
        files.errors.push_back(no_recorded_job(target, ns));
    }
}

std::string no_recorded_job(const std::string& target, const std::string& ns) {
    const std::string name = target.empty() ? "" : " " + target;
    const std::string where = ns.empty() ? "" : fmt::format(" in namespace {}", ns);
    return fmt::format("the files have no training job{}{}", name, where);
}

}  // namespace signalbox::op::cli
