// SPDX-License-Identifier: Apache-2.0
#include "kubelet/machine/pod_machine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

/// Between two tries to make volumes and network: what is missing is seen when it comes.
constexpr std::chrono::milliseconds first_prepare_delay{500};
constexpr std::chrono::seconds longest_prepare_delay{60};
/// Between two tries of a write.
constexpr std::chrono::milliseconds write_delay{500};
constexpr const char* low_memory = "The node was low on resource: memory. (by scenario)";

}  // namespace

pod_machine::pod_machine(
    pod_spec pod, pods::behaviour faults, std::string host_address, const moment& now
)
    : pod_(std::move(pod)), faults_(std::move(faults)) {
    report_.host_address = std::move(host_address);
    report_.accepted = pod_.started.value_or(now.server);
    for (const container_spec& spec : pod_.containers) {
        containers_.emplace_back(spec);
    }
    if (pod_.deleting) {
        stop();
    }
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
        const auto it =
            std::ranges::find(pod_.former, pod_.containers[i].name, &former_container::name);
        if (it != pod_.former.end()) {
            containers_[i].restore(scene(now, i), *it);
        }
    }
    if (pod_.deadline) {
        // From the start that the status tells: a process before this one may have begun the pod.
        const auto active = std::max(now.server - *report_.accepted, core::milliseconds::zero());
        deadline_ = now.steady + (*pod_.deadline - active);
    }
}

std::optional<k8sio::steady_time> pod_machine::wake() const {
    std::optional<k8sio::steady_time> out;
    if (const auto* later = std::get_if<report_states::write_later>(&reporting_)) {
        out = later->at;
    } else if (const auto* remove = std::get_if<report_states::remove_later>(&reporting_)) {
        out = remove->at;
    }
    for (const container_life& c : containers_) {
        out = earlier_of(out, c.wake());
    }
    if (stops()) {
        return out;
    }
    out = earlier_of(out, deadline_);
    out = earlier_of(out, faults_.wake());
    if (const auto* wanted = std::get_if<pod_states::unprepared>(&state_)) {
        out = earlier_of(out, wanted->due);
    } else if (is_prepared() && !is_over()) {
        for (const std::size_t i : to_start(containers_, pod_)) {
            out = earlier_of(out, containers_[i].start_due());
        }
    }
    return out;
}

void pod_machine::on_object(const moment& now, const pod_spec& spec) {
    const bool told = spec.labels != pod_.labels || spec.annotations != pod_.annotations;
    for (std::string& wrong : faults_.read(pod_.annotations, spec.annotations, now.steady)) {
        commands_.emplace_back(pod_commands::complain{std::move(wrong)});
    }
    pod_.labels = spec.labels;
    pod_.annotations = spec.annotations;
    if (told) {
        on_references(now);
    }
    const bool shorter = pod_.deleting && spec.grace < pod_.grace;
    if (!spec.deleting || (pod_.deleting && !shorter)) {
        return;
    }
    pod_.deleting = true;
    pod_.grace = spec.grace;
    stop();
    // Told to end before: by a deletion with a longer grace, by a probe, or by the deadline.
    for (std::size_t i = 0; i < containers_.size(); ++i) {
        containers_[i].shorten(scene(now, i), spec.grace);
    }
    step(now);
}

void pod_machine::on_object_gone(const moment& now) {
    fall_silent(true);
    abandon(now);
}

void pod_machine::abandon(const moment& now) {
    fall_silent(false);
    stop();
    for (std::size_t i = 0; i < containers_.size(); ++i) {
        containers_[i].kill(scene(now, i));
    }
    step(now);
}

void pod_machine::fall_silent(bool object_gone) {
    if (std::holds_alternative<report_states::forgotten>(reporting_)) {
        return;
    }
    if (auto* already = std::get_if<report_states::silent>(&reporting_)) {
        already->object_gone = already->object_gone || object_gone;
        return;
    }
    const bool awaits = std::holds_alternative<report_states::writing>(reporting_) ||
                        std::holds_alternative<report_states::removing>(reporting_);
    reporting_ = report_states::silent{awaits, object_gone};
}

void pod_machine::on_references(const moment& now) {
    if (stops()) {
        return;
    }
    for (std::size_t i = 0; i < containers_.size(); ++i) {
        containers_[i].try_again(scene(now, i));
    }
    if (auto* wanted = std::get_if<pod_states::unprepared>(&state_)) {
        wanted->due = now.steady;
    } else if (auto* busy = std::get_if<pod_states::refreshing>(&state_)) {
        busy->again = true;
    } else if (std::holds_alternative<pod_states::prepared>(state_)) {
        state_ = pod_states::refreshing();
        commands_.emplace_back(pod_commands::refresh());
    }
    step(now);
}

void pod_machine::on_refreshed(const moment& now) {
    const auto* busy = std::get_if<pod_states::refreshing>(&state_);
    if (busy == nullptr) {
        return;
    }
    if (busy->again) {
        state_ = pod_states::refreshing();
        commands_.emplace_back(pod_commands::refresh());
    } else {
        state_ = pod_states::prepared();
    }
    step(now);
}

void pod_machine::on_prepared(const moment& now) {
    if (auto* ends = std::get_if<pod_states::stopping>(&state_)) {
        ends->preparing = false;
    } else if (std::holds_alternative<pod_states::preparing>(state_)) {
        state_ = pod_states::prepared();
        report_.unmounted.clear();
    }
    step(now);
}

void pod_machine::on_prepare_failed(const moment& now, const refusal& why) {
    if (auto* ends = std::get_if<pod_states::stopping>(&state_)) {
        ends->preparing = false;
    } else if (const auto* busy = std::get_if<pod_states::preparing>(&state_)) {
        tell(true, why.reason, why.message);
        report_.unmounted = why.reason == "FailedMount" ? why.message : "";
        const auto delay = std::clamp<std::chrono::nanoseconds>(
            busy->delay * 2, first_prepare_delay, longest_prepare_delay
        );
        state_ = pod_states::unprepared{now.steady + delay, delay};
    }
    step(now);
}

void pod_machine::on_started(const moment& now, std::size_t i) {
    container_life& c = containers_[i];
    if (!c.is<container_states::starting>()) {
        return;
    }
    c.on_started(scene(now, i));
    if (is_silent()) {
        c.kill(scene(now, i));
    } else {
        if (!pod_.containers[i].init && faults_.begin(now.steady)) {
            commands_.emplace_back(pod_commands::count_start());
        }
        c.begin_checks(scene(now, i));
    }
    step(now);
}

void pod_machine::on_start_failed(const moment& now, std::size_t i, const refusal& why) {
    containers_[i].on_start_failed(scene(now, i), why);
    step(now);
}

void pod_machine::on_hook(
    const moment& now, std::size_t i, int run, hook_kind which, const handler_result& result
) {
    containers_[i].on_hook(scene(now, i), run, which, result);
    step(now);
}

void pod_machine::on_probe(
    const moment& now, std::size_t i, int run, probe_kind which, const handler_result& result
) {
    containers_[i].on_probe(scene(now, i), run, which, result);
    step(now);
}

void pod_machine::on_ended(const moment& now, std::size_t i, const run_end& how) {
    containers_[i].on_ended(scene(now, i), how);
    step(now);
}

void pod_machine::on_written(const moment& now, write_answer answer) {
    if (auto* over = std::get_if<report_states::silent>(&reporting_)) {
        over->awaits_answer = false;
    } else if (auto* wrote = std::get_if<report_states::writing>(&reporting_)) {
        switch (answer) {
            case write_answer::done:
                reported_ = std::move(wrote->status);
                reporting_ = report_states::idle();
                break;
            case write_answer::gone:
                // The watch says so too, soon.
                reporting_ = report_states::silent();
                break;
            case write_answer::failed:
                reporting_ = report_states::write_later{now.steady + write_delay};
                break;
        }
    }
    step(now);
}

void pod_machine::on_removed(const moment& now, write_answer answer) {
    if (auto* over = std::get_if<report_states::silent>(&reporting_)) {
        over->awaits_answer = false;
    } else if (std::holds_alternative<report_states::removing>(reporting_)) {
        if (answer == write_answer::failed) {
            reporting_ = report_states::remove_later{now.steady + write_delay};
        } else {
            reporting_ = report_states::silent();
        }
    }
    step(now);
}

/// What is due, then what follows from where the pod is.
void pod_machine::step(const moment& now) {
    if (deadline_ && *deadline_ <= now.steady) {
        deadline_.reset();
        end_pod(
            "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
        );
    }
    for (const fault what : faults_.take_due(now.steady)) {
        befall(now, what);
    }
    for (std::size_t i = 0; i < containers_.size(); ++i) {
        containers_[i].on_time(scene(now, i));
    }
    start_and_stop(now);
    report(now);
    forget_if_done();
}

void pod_machine::start_and_stop(const moment& now) {
    if (stops() || is_over()) {
        for (const std::size_t i : to_stop(containers_, pod_)) {
            const std::chrono::nanoseconds grace =
                is_silent() ? std::chrono::seconds(0) : pod_.grace;
            containers_[i].stop(scene(now, i), grace);
        }
        if (!any_active(containers_)) {
            release();
        }
        return;
    }
    prepare_if_due(now);
    if (is_prepared()) {
        for (const std::size_t i : to_start(containers_, pod_)) {
            if (containers_[i].may_start(now.steady)) {
                containers_[i].start(scene(now, i));
            }
        }
    }
}

void pod_machine::prepare_if_due(const moment& now) {
    const auto* wanted = std::get_if<pod_states::unprepared>(&state_);
    if (wanted != nullptr && wanted->due <= now.steady) {
        state_ = pod_states::preparing{wanted->delay};
        commands_.emplace_back(pod_commands::prepare());
    }
}

/// Nothing runs any more, and nothing will.
void pod_machine::release() {
    const auto* ends = std::get_if<pod_states::stopping>(&state_);
    const bool busy = ends != nullptr && ends->preparing;
    if (!released() && !busy) {
        state_ = pod_states::released();
        commands_.emplace_back(pod_commands::release());
    }
}

void pod_machine::report(const moment& now) {
    if (is_silent()) {
        return;
    }
    shown_ = status_of(report_, containers_, pod_, shown_, now.server);
    const auto* write_at = std::get_if<report_states::write_later>(&reporting_);
    const auto* remove_at = std::get_if<report_states::remove_later>(&reporting_);
    if ((write_at != nullptr && write_at->at <= now.steady) ||
        (remove_at != nullptr && remove_at->at <= now.steady)) {
        reporting_ = report_states::idle();
    }
    if (!std::holds_alternative<report_states::idle>(reporting_)) {
        return;
    }
    if (!reported_ || shown_ != *reported_) {
        reporting_ = report_states::writing{shown_};
        commands_.emplace_back(pod_commands::write_status{shown_});
    } else if (released() && pod_.deleting) {
        reporting_ = report_states::removing();
        commands_.emplace_back(pod_commands::remove_object());
    }
}

void pod_machine::forget_if_done() {
    const auto* over = std::get_if<report_states::silent>(&reporting_);
    if (over != nullptr && over->object_gone && !over->awaits_answer && released()) {
        reporting_ = report_states::forgotten();
        commands_.emplace_back(pod_commands::forget());
    }
}

void pod_machine::stop() {
    if (released()) {
        return;
    }
    report_.stopped = true;
    if (!std::holds_alternative<pod_states::stopping>(state_)) {
        state_ = pod_states::stopping{std::holds_alternative<pod_states::preparing>(state_)};
    }
}

void pod_machine::end_pod(std::string reason, std::string message) {
    if (stops()) {
        return;
    }
    report_.reason = std::move(reason);
    report_.message = std::move(message);
    stop();
}

void pod_machine::befall(const moment& now, fault what) {
    if (stops()) {
        return;
    }
    switch (what) {
        case fault::evict:
            report_.disruption = "TerminationByKubelet";
            tell(true, "Evicted", low_memory);
            end_pod("Evicted", low_memory);
            break;
        case fault::preempt:
            report_.disruption = "PreemptionByScheduler";
            report_.message = "preempted by a pod of higher priority (by scenario)";
            report(now);
            commands_.emplace_back(pod_commands::delete_by_fault{false});
            break;
        case fault::remove:
            commands_.emplace_back(pod_commands::delete_by_fault{false});
            break;
        case fault::vanish:
            commands_.emplace_back(pod_commands::delete_by_fault{true});
            break;
        case fault::lose_node:
            report_.node_lost = true;
            commands_.emplace_back(pod_commands::cut_network());
            break;
        case fault::kill:
            kill_training(now, {});
            break;
        case fault::out_of_memory:
            kill_training(now, "OOMKilled");
            break;
    }
}

/// The first of the main containers that runs.
void pod_machine::kill_training(const moment& now, const std::string& reason) {
    for (std::size_t i = 0; i < containers_.size(); ++i) {
        if (!pod_.containers[i].init && containers_[i].kill_as(scene(now, i), reason)) {
            return;
        }
    }
}

bool pod_machine::stops() const {
    return released() || std::holds_alternative<pod_states::stopping>(state_);
}

bool pod_machine::is_over() const {
    return init_failed(containers_, pod_) || mains_ended(containers_, pod_);
}

bool pod_machine::is_silent() const {
    return std::holds_alternative<report_states::silent>(reporting_) ||
           std::holds_alternative<report_states::forgotten>(reporting_);
}

bool pod_machine::is_prepared() const {
    return std::holds_alternative<pod_states::prepared>(state_) ||
           std::holds_alternative<pod_states::refreshing>(state_);
}

container_scene pod_machine::scene(const moment& now, std::size_t i) {
    return {pod_, i, now, !stops(), mains_ended(containers_, pod_), commands_};
}

void pod_machine::tell(bool warning, std::string reason, std::string message) {
    commands_.emplace_back(pod_commands::tell{warning, std::move(reason), std::move(message)});
}

}  // namespace signalbox::op::kubelet
