// SPDX-License-Identifier: Apache-2.0
#include "linear/walked_job.hpp"

#include "jobcore/children.hpp"
#include "jobcore/decide.hpp"
#include "jobcore/explain.hpp"
#include "jobcore/text.hpp"

#include <algorithm>
#include <ctime>

namespace signalbox::test {
namespace {

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Adds what an action costs to one of the steps.
class stop_watch {
public:
    template <class Action>
    auto of(std::string_view step, Action&& action) {
        const auto number = std::find(steps.begin(), steps.end(), step) - steps.begin();
        const double start = processor_seconds();
        auto out = action();
        costs.at(static_cast<std::size_t>(number)) += processor_seconds() - start;
        return out;
    }

    step_costs costs{};
};

void observe(stop_watch& watch, const core::action& a, const std::string& object) {
    watch.of("observe", [&] {
        return a.kind == core::object_kind::pod ? core::decode_pod(object).has_value()
                                                : core::decode_child(a.kind, object).has_value();
    });
}

}  // namespace

step_costs walk_job(const std::string& job_json) {
    stop_watch watch;
    watch.of("parse", [&] { return core::parse_job(job_json).findings.size(); });
    auto job = watch.of("read", [&] { return core::read_job(job_json); });
    watch.of("update", [&] { return core::validate_update(job_json, job_json).size(); });
    if (!job) {
        return watch.costs;
    }
    core::job_children children;
    children.served = {};
    core::instant now{};
    int made = 0;
    for (int pass = 0; pass < 12 && !core::is_final(job->status.phase); ++pass) {
        const auto seen = children.seen();
        const auto d =
            watch.of("decide", [&] { return core::decide(*job, seen, core::policy(), now); });
        if (d.status) {
            job->status = *d.status;
        }
        children.carry_out(*job, d, now, [&](const core::action& a) {
            const std::string object =
                watch.of("render", [&] { return core::preview_action(*job, d, a); });
            observe(watch, a, object);
            return core::job_children::done{"object-" + std::to_string(++made)};
        });
        watch.of("explain", [&] {
            return core::explain(*job, children.seen(), core::policy(), now).size();
        });
        for (core::pod_record& pod : children.pods) {
            core::note_start(pod, now);
            if (pass > 6) {
                core::note_end(pod, 0, now);
            }
        }
        now += core::seconds(1);
    }
    watch.of("read", [&] {
        const std::string status = core::format_status(job->status, job->meta.kind);
        return core::parse_status(status).attempt;
    });
    for (const std::string_view operation : {"validate", "plan"}) {
        watch.of("text", [&] {
            return core::text::call(
                       R"({"apiVersion":"text.jobcore/v1","operation":")" + std::string(operation) +
                       R"(","job":)" + job_json + "}"
            )
                .size();
        });
    }
    return watch.costs;
}

}  // namespace signalbox::test
