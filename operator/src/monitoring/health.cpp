// SPDX-License-Identifier: Apache-2.0
#include "monitoring/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace signalbox::op {

namespace {

std::string in_seconds(std::chrono::nanoseconds t) {
    return fmt::format("{} s", std::chrono::floor<std::chrono::seconds>(t).count());
}

}  // namespace

health::health(running_operator of, std::function<k8sio::steady_time()> last_sign)
    : of_(std::move(of)), last_sign_(std::move(last_sign)), idle_at_(of_.time->steady_now()) {}

void health::look() {
    const k8sio::steady_time now = of_.time->steady_now();
    const bool may_act = of_.leads() && of_.work->synced() && of_.work->problems().empty();
    const bool waits = of_.work->active_passes() > 0 || (may_act && of_.work->queue_depth() > 0);
    if (!waits) {
        idle_at_ = now;
    }
    std::map<std::string, progress> seen;
    for (const k8sio::view_state& view : of_.work->views()) {
        const auto known = views_.find(view.resource);
        const bool moved = known == views_.end() || known->second.steps != view.steps;
        const k8sio::steady_time since = moved ? now : known->second.since;
        // A bookmark is heard, and is no step.
        seen[view.resource] = {view.steps, std::max(since, std::min(view.heard_at, now))};
    }
    views_ = std::move(seen);
}

std::vector<health_check> health::liveness() const {
    const k8sio::steady_time now = of_.time->steady_now();
    std::vector<health_check> out{{"ping", ""}, {"passes", ""}, {"views", ""}};
    const std::chrono::nanoseconds still = now - std::max(idle_at_, last_sign_());
    if (still > patience) {
        out[1].problem = fmt::format(
            "{} passes under way and {} jobs waiting, and nothing has moved for {}",
            of_.work->active_passes(),
            of_.work->queue_depth(),
            in_seconds(still)
        );
    }
    for (const auto& [resource, state] : views_) {
        if (now - state.since > patience) {
            out[2].problem += fmt::format(
                "{}the watch of {} has made no step for {}",
                out[2].problem.empty() ? "" : "; ",
                resource,
                in_seconds(now - state.since)
            );
        }
    }
    return out;
}

std::vector<health_check> health::readiness() const {
    std::vector<health_check> out{
        {"ping", ""}, {"running", ""}, {"views-complete", ""}, {"views", ""}};
    out[1].problem = stopping_ ? "it was told to stop" : "";
    out[2].problem = of_.work->synced() ? "" : "not every view has had its first list";
    for (const std::string& problem : of_.work->problems()) {
        out[3].problem += (out[3].problem.empty() ? "" : "; ") + problem;
    }
    return out;
}

health_answer answer_health(
    std::string_view endpoint,
    std::string_view only,
    std::string_view query,
    const std::vector<health_check>& checks
) {
    std::set<std::string_view> excluded;
    bool verbose = false;
    while (!query.empty()) {
        const std::string_view word = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(word.size() + 1, query.size()));
        constexpr std::string_view exclude = "exclude=";
        verbose = verbose || word == "verbose" || word.starts_with("verbose=");
        if (word.starts_with(exclude)) {
            excluded.insert(word.substr(exclude.size()));
        }
    }
    bool good = true;
    bool found = only.empty();
    std::string lines;
    for (const health_check& check : checks) {
        if (!only.empty() && check.name != only) {
            continue;
        }
        found = true;
        if (excluded.count(check.name) != 0) {
            lines += fmt::format("[+]{} excluded: ok\n", check.name);
        } else if (check.problem.empty()) {
            lines += fmt::format("[+]{} ok\n", check.name);
        } else {
            good = false;
            lines += fmt::format("[-]{} failed: {}\n", check.name, check.problem);
        }
    }
    if (!found) {
        return {404, "there is no such check\n"};
    }
    if (!good) {
        return {500, lines + fmt::format("{} check failed\n", endpoint)};
    }
    return {200, verbose ? lines + fmt::format("{} check passed\n", endpoint) : "ok"};
}

}  // namespace signalbox::op
