// SPDX-License-Identifier: Apache-2.0
#include "protocol/lease.hpp"

#include "protocol/http_date.hpp"
#include "protocol/json_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::protocol {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// B4: whoever waits may take it at once.
constexpr seconds released_duration{1};

/// One try must leave time for another before the deadline.
constexpr seconds longest_request{5};

steady_time after(steady_time from, nanoseconds wait) {
    return from + std::chrono::duration_cast<steady_time::duration>(wait);
}

bool is_changed(const lease_record& a, const lease_record& b) {
    return a.resource_version != b.resource_version || a.holder != b.holder ||
           a.renew_time != b.renew_time;
}

}  // namespace

std::optional<lease_record> read_lease(std::string_view object) {
    json_cursor cursor(object);
    lease_record out;
    std::string kind;
    const auto read_version = [&out](json_cursor& metadata) {
        read_members(metadata, {{"resourceVersion", &out.resource_version}});
    };
    const auto read_spec = [&out](json_cursor& spec) {
        read_members(
            spec,
            {{"holderIdentity", &out.holder},
             {"leaseDurationSeconds", &out.duration_seconds},
             {"acquireTime", &out.acquire_time},
             {"renewTime", &out.renew_time},
             {"leaseTransitions", &out.transitions}}
        );
    };
    read_members(cursor, {{"kind", &kind}, {"metadata", read_version}, {"spec", read_spec}});
    if (!cursor.at_end() || kind != "Lease" || out.resource_version.empty()) {
        return std::nullopt;
    }
    return out;
}

std::string lease_object(
    const std::string& ns, const std::string& name, const lease_record& record
) {
    std::string out =
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":)";
    append_json_string(out, name);
    out += ",\"namespace\":";
    append_json_string(out, ns);
    if (!record.resource_version.empty()) {
        out += ",\"resourceVersion\":";
        append_json_string(out, record.resource_version);
    }
    out += "},\"spec\":{\"holderIdentity\":";
    append_json_string(out, record.holder);
    out += fmt::format(
        R"(,"leaseDurationSeconds":{},"leaseTransitions":{})",
        record.duration_seconds,
        record.transitions
    );
    for (const auto& [field, time] :
         {std::pair("acquireTime", &record.acquire_time),
          std::pair("renewTime", &record.renew_time)}) {
        if (!time->empty()) {
            out += fmt::format(",\"{}\":", field);
            append_json_string(out, *time);
        }
    }
    return out + "}}";
}

std::string elector_settings::problem() const {
    if (identity.empty()) {
        return "the identity is empty";
    }
    if (lease_duration <= renew_deadline) {
        return "the lease has to last longer than the renew deadline";
    }
    if (renew_deadline * 5 <= retry_period * 6) {
        return "the renew deadline has to be longer than 1.2 retry periods";
    }
    return retry_period < seconds{1} ? "the retry period is shorter than a second" : "";
}

elector_fsm::elector_fsm(elector_settings settings)
    : settings_(std::move(settings)), random_(settings_.seed) {}

elector_action elector_fsm::next(steady_time now, wall_time wall) {
    elector_action action;
    if (leads_until() && !leads(now)) {
        // B3, B6: no one can know what another holder has begun meanwhile.
        state_ = ended{true};
    }
    if (stopping_ && leads(now)) {
        // Belief ends before it is said: somebody may take the Lease before the answer is here.
        state_ = releasing();
        sleep_until_.reset();
    } else if (stopping_ && std::holds_alternative<candidate>(state_)) {
        state_ = ended();
    }
    if (std::holds_alternative<releasing>(state_) && !doubt_ && !is_ours()) {
        state_ = ended();
    }
    if (std::holds_alternative<ended>(state_)) {
        return action;
    }
    if (sleep_until_) {
        action.what = elector_action::kind::sleep;
        action.until = *std::exchange(sleep_until_, std::nullopt);
        if (leads_until()) {
            action.until = std::min(action.until, *leads_until());
        }
        return action;
    }
    if (doubt_) {
        return ask(now);
    }
    const bool free = !seen_ || is_ours() || seen_->holder.empty();
    return free || now >= runs_out_at() ? write(now, wall) : ask(now);
}

std::optional<steady_time> elector_fsm::leads_until() const {
    const auto* const leading = std::get_if<leader>(&state_);
    return leading == nullptr ? std::nullopt : std::optional(leading->until);
}

bool elector_fsm::lost() const {
    const auto* const end = std::get_if<ended>(&state_);
    return end != nullptr && end->lost;
}

/// B2: the Lease of another holder, by our own clock, from when we last saw it change.
steady_time elector_fsm::runs_out_at() const {
    const nanoseconds lasts = std::max(settings_.lease_duration, seconds{seen_->duration_seconds});
    return after(seen_since_, lasts);
}

elector_action elector_fsm::ask(steady_time now) {
    elector_action action;
    action.what = elector_action::kind::get;
    asked_at_ = now;
    action.until = request_limit(now);
    return action;
}

/// What is sent later than the deadline is of no use, and may do harm.
steady_time elector_fsm::request_limit(steady_time now) const {
    const steady_time limit = after(now, longest_request);
    return std::min(limit, leads_until().value_or(limit));
}

elector_action elector_fsm::write(steady_time now, wall_time wall) {
    const bool release = std::holds_alternative<releasing>(state_);
    elector_action action;
    action.what = seen_ ? elector_action::kind::update : elector_action::kind::create;
    action.record = seen_.value_or(lease_record());
    const std::string time = format_micro_time(wall);
    if (!is_ours()) {
        action.record.transitions = seen_ ? seen_->transitions + 1 : 0;
        action.record.acquire_time = time;
    }
    action.record.renew_time = time;
    action.record.holder = release ? "" : settings_.identity;
    const seconds lasts = release ? released_duration : settings_.lease_duration;
    action.record.duration_seconds = lasts.count();
    asked_at_ = now;
    action.until = request_limit(now);
    return action;
}

void elector_fsm::observe(steady_time now, const lease_record& lease) {
    if (!seen_ || is_changed(*seen_, lease)) {
        seen_since_ = now;
    }
    seen_ = lease;
    doubt_ = false;
}

void elector_fsm::on_read(steady_time now, const result<lease_record>& lease) {
    if (lease.has_error() && lease.error().http_status == 404) {
        doubt_ = false;
        seen_.reset();
        if (leads_until()) {
            // Somebody has deleted it: another process may have made and lost one since.
            state_ = ended{true};
        }
        return;
    }
    if (lease.has_error()) {
        fail(now, lease.error());
        return;
    }
    observe(now, *lease);
    if (leads_until() && (!is_ours() || seen_->transitions != epoch_)) {
        state_ = ended{true};
        return;
    }
    const bool free = is_ours() || seen_->holder.empty();
    if (!free) {
        sleep(now, pace::regular);
        if (now < runs_out_at()) {
            sleep_until_ = std::min(*sleep_until_, runs_out_at());
        }
    }
}

void elector_fsm::on_written(steady_time now, const result<lease_record>& lease) {
    if (lease.has_error()) {
        // What was written may be there or not: it is read before anything else is written.
        doubt_ = true;
        fail(now, lease.error());
        return;
    }
    observe(now, *lease);
    if (std::holds_alternative<releasing>(state_)) {
        state_ = ended();
        return;
    }
    if (!is_ours()) {
        doubt_ = true;
        return;
    }
    epoch_ = seen_->transitions;
    // From before it was sent: the server may have taken it at that very moment.
    state_ = leader{after(asked_at_, settings_.renew_deadline)};
    sleep(now, pace::regular);
}

void elector_fsm::fail(steady_time now, const api_error& error) {
    if (error.code == errc::cancelled) {
        state_ = ended();
        return;
    }
    doubt_ = true;
    if (error.http_status == 409) {
        return;  // somebody was faster: look at once
    }
    if (std::holds_alternative<releasing>(state_)) {
        state_ = ended();  // it runs out by itself
        return;
    }
    sleep(now, pace::after_failure);
}

/// At random, so that processes do not stay in step: up to a fifth longer than the retry period,
/// after a failure half of it and more.
void elector_fsm::sleep(steady_time now, pace how) {
    const nanoseconds retry = settings_.retry_period;
    const bool regular = how == pace::regular;
    const nanoseconds least = regular ? retry : retry / 2;
    const nanoseconds spread = regular ? retry / 5 : retry / 2;
    sleep_until_ = after(now, least + random_.below(spread));
}

}  // namespace signalbox::k8sio::protocol
