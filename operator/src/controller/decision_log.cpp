// SPDX-License-Identifier: Apache-2.0
#include "controller/decision_log.hpp"

#include "controller/log_line.hpp"

namespace signalbox::op {

namespace {

/// It waits for its time.
bool is_held(const server_clock& clock, const job_entry& entry, const core::action& a) {
    const auto now = clock.steady_now();
    return (a.not_before && *a.not_before > clock.now()) || entry.repairs.earliest(a, now) > now;
}

void log_action(spdlog::logger& log, bool held, const core::job_meta& job, const core::action& a) {
    log_line line(held ? "action held" : "action");
    line.job(job)
        .field("rule", a.rule)
        .field("verb", core::to_string(a.what()))
        .field("kind", core::to_string(a.kind))
        .field("name", a.name)
        .field("why", a.why);
    line.write(log, spdlog::level::debug);
}

}  // namespace

void log_status(
    spdlog::logger& log, const core::job_object& decided, const core::job_status& written
) {
    const core::job_status& was = decided.status;
    const bool told = was.phase != written.phase || was.reason != written.reason ||
                      was.attempt != written.attempt || was.backoff_count != written.backoff_count;
    const auto level = told ? spdlog::level::info : spdlog::level::debug;
    if (!log.should_log(level)) {
        return;
    }
    log_line line("status written");
    line.job(decided.meta)
        .field("phase", core::to_string(written.phase))
        .field("reason", written.reason)
        .field("attempt", written.attempt)
        .field("restarts", written.backoff_count);
    line.write(log, level);
}

void log_work(
    const settings& config,
    const server_clock& clock,
    const job_entry& entry,
    const core::job_meta& job,
    const core::decision& decision
) {
    if (!config.log->should_log(spdlog::level::info)) {
        return;
    }
    const core::action* first = nullptr;
    std::size_t count = 0;
    for (const core::stage& actions : decision.stages) {
        for (const core::action& a : actions) {
            const bool now = !is_held(clock, entry, a);
            first = first == nullptr && now ? &a : first;
            count += now ? 1 : 0;
        }
    }
    if (first != nullptr) {
        log_line line("acting");
        line.job(job)
            .field("rule", first->rule)
            .field("verb", core::to_string(first->what()))
            .field("kind", core::to_string(first->kind))
            .field("name", first->name)
            .field("actions", count)
            .field("why", first->why);
        line.write(*config.log, spdlog::level::info);
    }
    if (!config.log->should_log(spdlog::level::debug)) {
        return;
    }
    for (const core::stage& actions : decision.stages) {
        const bool all = actions.size() <= config.options.actions_logged;
        for (std::size_t i = 0; all && i < actions.size(); ++i) {
            log_action(*config.log, is_held(clock, entry, actions[i]), job, actions[i]);
        }
    }
}

}  // namespace signalbox::op
