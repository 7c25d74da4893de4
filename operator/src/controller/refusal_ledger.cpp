// SPDX-License-Identifier: Apache-2.0
#include "controller/refusal_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace signalbox::op {

namespace {

bool is_returned(const core::refusal& refusal, const core::decision& decision) {
    for (const core::stage& stage : decision.stages) {
        const bool found = std::any_of(stage.begin(), stage.end(), [&](const core::action& a) {
            return core::is_refusal_of(refusal, a);
        });
        if (found) {
            return true;
        }
    }
    return false;
}

k8sio::api_error refusal_of_ours(int status, std::string reason, std::string message) {
    k8sio::api_error error;
    error.http_status = status;
    error.reason = std::move(reason);
    error.message = std::move(message);
    return error;
}

}  // namespace

core::refusal& refusal_ledger::entry_of(const core::action& a, core::instant now) {
    const auto found =
        std::find_if(refusals_.begin(), refusals_.end(), [&](const core::refusal& r) {
            return core::is_refusal_of(r, a);
        });
    if (found != refusals_.end()) {
        ++found->count;
        found->last = now;
        return *found;
    }
    return refusals_.emplace_back(core::refusal_of(a, now));
}

const core::refusal& refusal_ledger::note(
    const core::action& a, const k8sio::api_error& error, core::instant now
) {
    core::refusal& entry = entry_of(a, now);
    entry.http_code = error.http_status;
    entry.reason = error.reason;
    entry.message = error.message;
    entry.foreign_owner = false;
    entry.namespace_terminating = k8sio::is_namespace_ending(error);
    return entry;
}

const core::refusal& refusal_ledger::note_foreign(const core::action& a, core::instant now) {
    core::refusal& entry = entry_of(a, now);
    entry.http_code = 409;
    entry.reason = "AlreadyExists";
    entry.message = "an object of this name belongs to another owner";
    entry.foreign_owner = true;
    entry.namespace_terminating = false;
    return entry;
}

void refusal_ledger::settle(const core::action& a) {
    std::erase_if(refusals_, [&](const core::refusal& r) { return core::is_refusal_of(r, a); });
}

void refusal_ledger::prune(const core::decision& latest) {
    std::erase_if(refusals_, [&](const core::refusal& r) { return !is_returned(r, latest); });
}

k8sio::api_error changed_pod(std::string_view labels) {
    return refusal_of_ours(
        409,
        "Changed",
        fmt::format(
            "the pod came back without our values of the labels {}, so that it was deleted again: "
            "something in the admission of the cluster changes pods",
            labels
        )
    );
}

k8sio::api_error unkept_patch() {
    return refusal_of_ours(
        409,
        "NotKept",
        "the server took the patch, but not what it says: its definition of this kind is older "
        "than the operator, or something in the admission of the cluster takes it away"
    );
}

k8sio::api_error left_out(std::string_view feature) {
    return refusal_of_ours(
        403, "Forbidden", fmt::format("this operator runs without {0} (--without {0})", feature)
    );
}

}  // namespace signalbox::op
