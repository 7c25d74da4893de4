// SPDX-License-Identifier: Apache-2.0
#include "cli/recorded_files.hpp"

#include "manifests/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace signalbox::op::cli {

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

}  // namespace signalbox::op::cli
