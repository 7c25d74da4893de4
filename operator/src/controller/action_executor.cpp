// SPDX-License-Identifier: Apache-2.0
#include "controller/action_executor.hpp"

#include "controller/action_order.hpp"
#include "controller/child_claims.hpp"
#include "controller/log_line.hpp"
#include "controller/resource_table.hpp"
#include "controller/view_feed.hpp"
#include "k8sio/object_writer.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// What an outcome means for the job: its refusals and absences, the log, and the pass.
class consequences {
public:
    consequences(
        spdlog::logger& log,
        controller_counters& counters,
        const server_clock& clock,
        job_entry& entry,
        const core::action& a
    )
        : log_(&log), counters_(&counters), clock_(clock), entry_(&entry), action_(&a) {}

    action_result of(const k8sio::write_outcome& outcome) const;
    action_result of_unwanted() const;

private:
    action_result succeeded() const;
    action_result taken() const;
    action_result failed(const k8sio::failed_request& request) const;
    action_result refused(const k8sio::api_error& error) const;

    spdlog::logger* log_;
    controller_counters* counters_;
    server_clock clock_;
    job_entry* entry_;
    const core::action* action_;
};

action_result consequences::of(const k8sio::write_outcome& outcome) const {
    using k8sio::write_verdict;
    if (outcome.found == k8sio::standing::wanted) {
        entry_->refusals.settle(*action_);
    }
    auto failure = action_result::recompute;
    if (outcome.failure) {
        failure = failed(*outcome.failure);
    }
    switch (outcome.verdict) {
        case write_verdict::done:
            return succeeded();
        case write_verdict::present:
            return action_result::present;
        case write_verdict::foreign:
            return taken();
        case write_verdict::outdated:
            return action_result::recompute;
        case write_verdict::unkept:
            return refused(
                action_->what() == core::verb::create ? changed_pod(outcome.lost) : unkept_patch()
            );
        case write_verdict::failed:
            break;
    }
    return failure;
}

action_result consequences::succeeded() const {
    const core::action& a = *action_;
    if (a.what() != core::verb::confirm) {
        entry_->refusals.settle(a);
        return action_result::done;
    }
    const bool known = std::ranges::any_of(entry_->absences, [&a](const auto& absence) {
        return absence.kind == a.kind && absence.name == a.name;
    });
    if (!known) {
        core::confirmed_absence absence;
        absence.kind = a.kind;
        absence.name = a.name;
        entry_->absences.push_back(std::move(absence));
    }
    return action_result::done;
}

/// The action belongs to a feature that is left out (BEHAVIOUR.md 2.11): as if the server had
/// refused it.
action_result consequences::of_unwanted() const {
    if (action_->what() == core::verb::confirm) {
        return action_result::refused;
    }
    return refused(left_out(row_of(*feature_of(action_->kind)).name));
}

/// The name belongs to another owner (BEHAVIOUR.md 1.8).
action_result consequences::taken() const {
    const core::refusal& noted = entry_->refusals.note_foreign(*action_, clock_.now());
    ++counters_->refusals;
    log_line line("name is taken by another owner");
    line.job(entry_->object->meta)
        .field("kind", core::to_string(action_->kind))
        .field("name", action_->name)
        .field("count", noted.count);
    line.write(*log_, spdlog::level::warn);
    return action_result::refused;
}

/// A creation or patch that would be refused again (BEHAVIOUR.md 12.5).
action_result consequences::refused(const k8sio::api_error& error) const {
    const core::refusal& noted = entry_->refusals.note(*action_, error, clock_.now());
    ++counters_->refusals;
    // That its namespace or kind is not there says nothing of the object: the job's reason tells
    // it.
    if (error.http_status != 404) {
        const bool news = noted.count == 1 && !noted.namespace_terminating;
        log_line line("refused");
        line.job(entry_->object->meta)
            .field("rule", action_->rule)
            .field("verb", core::to_string(action_->what()))
            .field("kind", core::to_string(action_->kind))
            .field("name", action_->name)
            .field("count", noted.count)
            .field("error", error.text());
        line.write(*log_, news ? spdlog::level::warn : spdlog::level::debug);
    }
    return action_result::refused;
}

/// A request that failed: a refusal, or one that is tried again.
action_result consequences::failed(const k8sio::failed_request& request) const {
    using k8sio::write_failure;
    using k8sio::write_step;
    const core::action& a = *action_;
    const bool makes = request.step == write_step::create || request.step == write_step::patch ||
                       request.step == write_step::restore;
    switch (request.why) {
        case write_failure::cancelled:
            return action_result::skipped;
        case write_failure::malformed:
            log_->error(
                "{}: kind={} name={}", request.error.message, core::to_string(a.kind), a.name
            );
            return action_result::failed;
        case write_failure::not_served:
        case write_failure::namespace_ends:
            return refused(request.error);
        case write_failure::refused:
            // Refusals speak of what could not be made or repaired, not of reads and deletions.
            if (makes) {
                return refused(request.error);
            }
            break;
        case write_failure::unavailable:
        case write_failure::unknown:
            break;
    }
    ++counters_->errors;
    log_line line("request failed");
    line.field("verb", core::to_string(a.what()))
        .field("kind", core::to_string(a.kind))
        .field("name", a.name)
        .field("error", request.error.text());
    line.write(*log_, spdlog::level::warn);
    return request.why == write_failure::refused ? action_result::failed
                                                 : action_result::unavailable;
}

}  // namespace

asio::awaitable<action_result> action_executor::carry_out(
    job_entry& entry,
    const core::job_object& decided,
    const core::decision& made,
    const core::action& a
) {
    const bool by_name = a.what() == core::verb::create || a.what() == core::verb::confirm;
    const consequences consequence(*config_->log, *counters_, server_clock(*api_), entry, a);
    if (by_name && !is_wanted(a.kind, config_->options.without)) {
        co_return consequence.of_unwanted();
    }
    auto order = order_of(*config_, decided, made, a);
    if (!order) {
        co_return action_result::failed;
    }
    const child_claims claims(config_->options, decided, made, a, *order);
    view_feed answers(*updates_, *views_, *counters_, entry, decided.meta.kind, a.kind);
    k8sio::object_writer writer(*api_);
    const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
    const auto outcome =
        co_await writer.write(type, decided.meta.ns, a.name, std::move(*order), claims, answers);
    co_return consequence.of(outcome);
}

}  // namespace signalbox::op
