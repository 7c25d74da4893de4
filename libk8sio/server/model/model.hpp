// SPDX-License-Identifier: Apache-2.0
//
// The API model: the verbs on objects with their rules (the conventions of the Kubernetes API;
// REQUIREMENTS.md X1-X11 is the client's side). It knows neither HTTP nor JSON patches: front.hpp
// turns requests into these calls.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/server/options.hpp"
#include "server/kinds/meta.hpp"
#include "server/store/registry.hpp"
#include "server/store/selectors.hpp"
#include "server/store/store.hpp"
#include "server/values/json.hpp"
#include "server/values/problems.hpp"
#include "server/values/refusal.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

enum class unknown_fields { ignore, warn, strict };

/// A PUT names what it wants to replace; a patch was applied to the current object.
enum class update_by { put, patch };

struct write_options {
    bool dry_run = false;
    unknown_fields unknown = unknown_fields::warn;
    std::vector<std::string>* warnings = nullptr;
    /// What was wrong with the text of the body: `duplicate field "spec.a"`. Told as unknown fields
    /// are, before them.
    std::vector<std::string> faults;
    update_by by = update_by::put;
};

/// Which part of the object an update may change (REQUIREMENTS.md X7).
enum class update_part { main, status };

enum class propagation { unset, background, foreground, orphan };

struct delete_request {
    std::optional<std::int64_t> grace_seconds;
    propagation policy = propagation::unset;
    std::string uid, resource_version;  ///< preconditions; empty: none
    bool dry_run = false;
};

struct delete_outcome {
    record_ptr object;
    bool gone = false;
};

class model {
public:
    /// Both must outlive the model.
    model(clock& time, const server_options& options);

    store& objects() { return store_; }
    const store& objects() const { return store_; }
    registry& kinds() { return registry_; }
    const registry& kinds() const { return registry_; }
    clock& time() const { return *time_; }

    outcome<record_ptr> get(const served_kind& k, std::string_view ns, std::string_view name) const;

    /// `object` is consumed.
    outcome<record_ptr> create(
        const served_kind& k,
        std::string_view ns,
        json::value& object,
        json::arena& a,
        const write_options& options
    );
    /// The whole new object, from PUT or made by a patch of the current one.
    outcome<record_ptr> update(
        const served_kind& k,
        std::string_view ns,
        std::string_view name,
        json::value& object,
        json::arena& a,
        update_part part,
        const write_options& options
    );
    outcome<delete_outcome> remove(
        const served_kind& k,
        std::string_view ns,
        std::string_view name,
        const delete_request& request
    );

    /// Sets spec.nodeName, as the scheduler's binding does.
    outcome<void> bind(
        const served_kind& pods, std::string_view ns, std::string_view name, std::string_view node
    );

    /// Stores `next` in place of `current` without the checks of update, unless nothing differs.
    /// An object in deletion whose last finalizer is gone is removed.
    record_ptr replace(
        const served_kind& k, const record_ptr& current, json::value& next, json::arena& a
    );
    served_kind kind_of(const resource_table& table) const;
    /// Whether the body of a request is an object of that kind at all.
    outcome<void> check_body(const kind_info& kind, const json::value& object) const;

private:
    /// Built-in kinds: types and names of fields, as the real server's decoder sees them.
    outcome<void> decode(const kind_info& kind, json::value& object, const write_options& options)
        const;
    /// Checks the body of a create or update, and completes what every object has.
    outcome<void> take_body(
        const kind_info& kind, json::value& object, json::arena& a, const write_options& options
    ) const;
    outcome<void> check_namespace(const kind_info& kind, std::string_view ns, std::string_view name)
        const;
    outcome<void> check_quota(std::string_view ns, std::string_view name) const;
    /// `before`: what an update changes, else nullptr.
    outcome<void> check_schema(
        const kind_info& kind,
        std::string_view name,
        const json::value* before,
        json::value& object,
        json::arena& a,
        const write_options& options
    ) const;
    /// `a`: holds the object.
    static bool is_too_large(const json::value& object, const json::arena& a);
    void prepare_create(const kind_info& kind, json::value& object, json::arena& a);
    outcome<void> check_update_metadata(
        const kind_info& kind,
        const record& current,
        const json::value& old,
        json::value& next,
        json::arena& a,
        update_part part,
        update_by by
    ) const;
    void allocate_cluster_ip(json::value& service, json::arena& a);

    clock* time_;
    store store_;
    registry registry_;
    uid_sequence uids_;
    std::uint32_t next_ip_ = 0;
};

/// True if the objects differ outside metadata (and status, if `kind` has a status subresource).
bool spec_differs(const kind_info& kind, const json::value& a, const json::value& b);

}  // namespace signalbox::k8sio::server
