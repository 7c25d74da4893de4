// SPDX-License-Identifier: Apache-2.0
//
// Deletion as the generic registry of the real server does it: preconditions, grace period,
// finalizers, propagation policy (REQUIREMENTS.md X8, X9, X11).
#include "protocol/http_date.hpp"
#include "server/kinds/refusals.hpp"
#include "server/model/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::value;

/// The finalizers of the object with those of garbage collection as the policy asks.
std::vector<std::string> wanted_finalizers(const record& r, propagation policy) {
    bool orphan = r.has_finalizer(orphan_finalizer);
    bool foreground = r.has_finalizer(foreground_finalizer);
    if (policy != propagation::unset) {
        orphan = policy == propagation::orphan;
        foreground = policy == propagation::foreground;
    }
    std::vector<std::string> out;
    for (const std::string& f : r.finalizers) {
        if (f != orphan_finalizer && f != foreground_finalizer) {
            out.push_back(f);
        }
    }
    if (orphan) {
        out.emplace_back(orphan_finalizer);
    }
    if (foreground) {
        out.emplace_back(foreground_finalizer);
    }
    return out;
}

bool same_set(std::vector<std::string> x, std::vector<std::string> y) {
    std::sort(x.begin(), x.end());
    std::sort(y.begin(), y.end());
    return x == y;
}

void set_finalizers(value& metadata, const std::vector<std::string>& list, json::arena& a) {
    if (list.empty()) {
        json::remove(metadata, "finalizers");
        return;
    }
    value out = json::array();
    for (const std::string& f : list) {
        out.PushBack(json::make_string(f, a), a);
    }
    json::set(metadata, "finalizers", std::move(out), a);
}

/// The pod strategy's CheckGracefulDelete.
std::int64_t pod_grace(const value& pod, const std::optional<std::int64_t>& asked) {
    std::int64_t period =
        asked.value_or(json::int_at(pod, {"spec", "terminationGracePeriodSeconds"}).value_or(0));
    const std::string_view phase = json::string_at(pod, {"status", "phase"});
    if (json::string_at(pod, {"spec", "nodeName"}).empty() || phase == "Failed" ||
        phase == "Succeeded") {
        period = 0;
    }
    return period < 0 ? 1 : period;
}

void raise_generation(value& metadata, json::arena& a) {
    if (const auto generation = json::int_at(metadata, {"generation"})) {
        json::set(metadata, "generation", value(*generation + 1), a);
    }
}

}  // namespace

outcome<delete_outcome> model::remove(
    const served_kind& k, std::string_view ns, std::string_view name, const delete_request& request
) {
    const kind_info& kind = *k.info;
    const record_ptr current = k.table->find(ns, name);
    if (current == nullptr) {
        return not_found(kind, name);
    }
    kind_info by_kind;  // the real server names the kind here, not the resource
    by_kind.group = kind.group;
    by_kind.plural = kind.kind;
    if (!request.uid.empty() && request.uid != current->uid) {
        return conflict(
            by_kind,
            name,
            fmt::format(
                "the UID in the precondition ({}) does not match the UID in record ({}). The "
                "object might have been deleted and then recreated",
                request.uid,
                current->uid
            )
        );
    }
    if (!request.resource_version.empty() &&
        request.resource_version != std::to_string(current->version)) {
        return conflict(
            by_kind,
            name,
            fmt::format(
                "the ResourceVersion in the precondition ({}) does not match the ResourceVersion "
                "in record ({}). The object might have been modified",
                request.resource_version,
                current->version
            )
        );
    }
    json::arena a;
    value object = parse_record(kind, *current, a);
    value& metadata = *json::find(object, "metadata");
    const wall_time now = time_->wall_now();
    bool graceful = false;
    std::int64_t grace = 0;

    if (kind.has(trait::graceful) && current->deleting) {
        const auto pending = json::int_at(metadata, {"deletionGracePeriodSeconds"}).value_or(0);
        if (pending > 0) {
            // A deletion under way can only be shortened.
            if (!request.grace_seconds || *request.grace_seconds >= pending) {
                return delete_outcome{current, false};
            }
            graceful = true;
            grace = std::max<std::int64_t>(*request.grace_seconds, 0);
            const auto due =
                protocol::parse_api_time(json::string_at(metadata, {"deletionTimestamp"}));
            const wall_time at = due.value_or(now) + std::chrono::seconds{grace - pending};
            json::set(metadata, "deletionTimestamp", protocol::format_api_time(at), a);
            json::set(metadata, "deletionGracePeriodSeconds", value(grace), a);
        }
    } else if (kind.has(trait::graceful)) {
        graceful = true;
        grace = pod_grace(object, request.grace_seconds);
        json::set(
            metadata,
            "deletionTimestamp",
            protocol::format_api_time(now + std::chrono::seconds{grace}),
            a
        );
        json::set(metadata, "deletionGracePeriodSeconds", value(grace), a);
        raise_generation(metadata, a);
    }

    const std::vector<std::string> finalizers = wanted_finalizers(*current, request.policy);
    if (!same_set(finalizers, current->finalizers)) {
        set_finalizers(metadata, finalizers, a);
    }
    const bool namespace_content = kind.plural == "namespaces" && kind.group.empty();
    if (!graceful && (!finalizers.empty() || namespace_content) && !current->deleting) {
        json::set(metadata, "deletionTimestamp", protocol::format_api_time(now), a);
        json::set(metadata, "deletionGracePeriodSeconds", value(0), a);
        raise_generation(metadata, a);
        if (namespace_content) {
            json::set(json::object_at(object, "status", a), "phase", "Terminating", a);
        }
    }
    const bool stays = !finalizers.empty() || grace > 0 || namespace_content;
    if (request.dry_run) {
        return delete_outcome{current, !stays};
    }
    // A pod deleted at once is seen as marked first, as on the real server.
    const record_ptr marked = stays || graceful ? replace(k, current, object, a) : current;
    const bool gone = k.table->find(ns, name) == nullptr;
    if (stays || gone) {
        return delete_outcome{marked, gone};
    }
    return delete_outcome{store_.erase(*k.table, *marked), true};
}

}  // namespace signalbox::k8sio::server
