// SPDX-License-Identifier: Apache-2.0
//
// Events that tell of a record (BEHAVIOUR.md 11.1).
#include "engine/rules/record.hpp"
#include "engine/view/ended.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace signalbox::core::engine {
namespace {

event warning(reason why, std::string message) {
    return {true, std::string(to_string(why)), cut_in_front(std::move(message))};
}

event normal(reason why, std::string message) {
    return {false, std::string(to_string(why)), cut_message(std::move(message))};
}

/// Which restart it is, if it is counted, and how long it waits (5.8, 13.5).
std::string describe_restart(const context& c, const incident_record& entry) {
    std::string out = entry.counted ? fmt::format(
                                          ": restart {} of {}",
                                          c.status.backoff_count - c.status.restarts.forgiven,
                                          c.in.plan.run.backoff_limit
                                      )
                                    : ": not counted";
    const milliseconds delay = entry.not_before.value_or(c.in.now) - c.in.now;
    if (delay.count() > 0) {
        out += fmt::format(", in {} s", std::chrono::ceil<seconds>(delay).count());
    }
    return out;
}

/// Which rule says so, and what follows from it.
std::string by_rule(const incident& r) {
    if (r.entry.rule.empty()) {
        return {};
    }
    const bool ours = r.entry.rule.starts_with("default/");
    const std::string avoided =
        r.avoid.empty() ? std::string() : fmt::format("; later pods avoid node {}", r.avoid);
    return ours ? avoided
                : fmt::format(
                      "; by runPolicy.{}: {}{}", r.entry.rule, to_string(r.failed_by), avoided
                  );
}

struct teller {
    using events = std::vector<event>;
    const context& c;

    events operator()(const job_end& r) const {
        events out;
        if (r.failure) {
            out.push_back(warning(reason::replica_failed, *r.failure));
        }
        out.push_back(
            r.phase == job_phase::succeeded
                ? normal(reason::succeeded, r.message)
                : warning(reason::failed, fmt::format("{}: {}", to_string(r.reason), r.message))
        );
        if (auto left = describe_left_workers(c)) {
            out.push_back(warning(reason::workers_left_running, *std::move(left)));
        }
        return out;
    }
    events operator()(const pause_begin&) const {
        return {normal(reason::paused, "The job is paused")};
    }
    events operator()(const pause_end&) const {
        return {normal(reason::resumed, "The job is resumed")};
    }
    events operator()(const first_attempt&) const { return {}; }
    events operator()(const exit_settles& r) const {
        return {warning(reason::replica_failed, r.failure)};
    }
    events operator()(const incident& r) const {
        const bool keys = says(r.entry.cause, cause::secret_lost);
        const bool stalled = says(r.entry.cause, cause::stalled);
        const bool all = r.entry.scope == restart_scope::job;
        return {
            warning(
                keys      ? reason::secret_lost
                : stalled ? reason::stalled
                          : reason::replica_failed,
                r.failure
            ),
            normal(
                reason::restarting,
                (all ? "Restarting all replicas" : "Replacing the replicas that were lost") +
                    describe_restart(c, r.entry) + by_rule(r)
            )};
    }
    events operator()(const replicas_given_up& r) const {
        events out;
        for (const auto& entry : r.entries) {
            out.push_back(warning(reason::replica_failed, entry.failure));
        }
        return out;
    }
    events operator()(const replicas_repeated&) const { return {}; }
    events operator()(const size_change& r) const {
        return {normal(
            reason::scaled, fmt::format("Scaling from {} to {} replicas", r.before, r.after)
        )};
    }
    events operator()(const types_change& r) const {
        return {normal(
            reason::restarting,
            r.other_types
                ? "Restarting all replicas: the specification has other replica types than before"
                : "Restarting all replicas: the specification starts them in another way than "
                  "before"
        )};
    }
    events operator()(const names_changed&) const { return {}; }
    events operator()(const quota_taken& r) const {
        std::int64_t count = 0;
        for (const admitted_type& type : r.admission.types) {
            count += type.count;
        }
        return {normal(reason::admitted, fmt::format("Quota for {} pods is admitted", count))};
    }
    events operator()(const quota_lost& r) const {
        return {warning(reason::evicted, "The job gives its quota back: " + r.why)};
    }
    events operator()(const scheduler_chosen&) const { return {}; }
};

}  // namespace

std::vector<event> events_of(const context& c, const record& r) {
    return std::visit(teller{c}, r);
}

const std::string* failure_of(const record& r) {
    if (const auto* end = std::get_if<job_end>(&r)) {
        return end->failure ? &*end->failure : nullptr;
    }
    if (const auto* settles = std::get_if<exit_settles>(&r)) {
        return &settles->failure;
    }
    if (const auto* i = std::get_if<incident>(&r)) {
        return &i->failure;
    }
    if (const auto* given_up = std::get_if<replicas_given_up>(&r)) {
        return given_up->entries.empty() ? nullptr : &given_up->entries.back().failure;
    }
    return nullptr;
}

}  // namespace signalbox::core::engine
