// SPDX-License-Identifier: Apache-2.0
#include "controller/refusal_ledger.hpp"

#include <algorithm>

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
    entry.namespace_terminating = is_namespace_terminating(error);
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

bool is_namespace_terminating(const k8sio::api_error& error) {
    const bool terminating = error.http_status == 403 && error.has_cause("NamespaceTerminating");
    // A namespace that is gone: 404 whose subject is the namespace, not the kind.
    const bool gone =
        error.http_status == 404 && error.message.find("namespaces \"") != std::string::npos;
    return terminating || gone;
}

}  // namespace signalbox::op
