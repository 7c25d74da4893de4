// SPDX-License-Identifier: Apache-2.0
//
// The kinds of Kubernetes objects that a job owns, as values: what the library has to know of one
// is a row, so that a further kind is a further row and no branch anywhere.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace signalbox::core {

/// What a job has objects of a kind for.
enum class kind_use : std::uint8_t {
    job,        ///< the job itself
    pod,        ///< a replica
    object,     ///< something that pods need: a name, a key, a file
    gang,       ///< what a scheduler places pods by; it lives as long as they do
    companion,  ///< what follows the training, a TensorBoard; it outlives the pods
    reading,    ///< of the cluster, not of the job: what a scheduler refers to, only read
};

/// How an object says that it does what it is for.
enum class readiness : std::uint8_t {
    unsaid,
    conditions,  ///< condition Ready or Available is True, or phase Running
    replicas,    ///< `status.availableReplicas`
};

/// A kind: its names, and how objects of it are read. Rows have static storage, and there is one
/// for each kind.
struct object_kind_row {
    std::string_view api_version;  ///< group and version, e.g. `apps/v1`
    std::string_view name;         ///< e.g. `Deployment`
    std::string_view plural;       ///< the resource, e.g. `deployments`
    kind_use use = kind_use::object;
    /// Not every cluster serves it: see capabilities.
    bool extension = false;
    readiness ready_by = readiness::unsaid;
    /// Of what a scheduler places pods by: fields of `spec` that we set and repair (BEHAVIOUR.md
    /// 2.6), each by the way to it with dots. What else a planned object has is known by the hash
    /// of it, in an annotation.
    std::span<const std::string_view> fields = {};
};

namespace kind_rows {
inline constexpr object_kind_row pod{"v1", "Pod", "pods", kind_use::pod};
inline constexpr object_kind_row service{"v1", "Service", "services"};
inline constexpr object_kind_row secret{"v1", "Secret", "secrets"};
inline constexpr object_kind_row config_map{"v1", "ConfigMap", "configmaps"};
inline constexpr object_kind_row tensorboard{
    "tensorstack.dev/v1beta1",
    "TensorBoard",
    "tensorboards",
    kind_use::companion,
    true,
    readiness::conditions};
inline constexpr object_kind_row deployment{
    "apps/v1", "Deployment", "deployments", kind_use::companion, false, readiness::replicas};
/// In this one place jobs of all kinds have one name: its plural depends on the kind of the job.
inline constexpr object_kind_row job{"batch.tensorstack.dev/v1beta1", "Job", "", kind_use::job};
/// Of the T9k scheduler.
extern const object_kind_row pod_group;
}  // namespace kind_rows

/// A kind, by its row. Takes a pointer's room; the default value is the Pod. Ordered by names.
class object_kind {
public:
    static const object_kind pod, service, secret, config_map, pod_group, tensorboard, deployment;
    static const object_kind job;

    constexpr object_kind() = default;
    /// `row` must have static storage.
    constexpr explicit object_kind(const object_kind_row& row) : row_(&row) {}

    constexpr const object_kind_row* operator->() const { return row_; }

    friend constexpr bool operator==(object_kind a, object_kind b) { return a.row_ == b.row_; }
    friend constexpr auto operator<=>(object_kind a, object_kind b) {
        const auto by_group = a->api_version <=> b->api_version;
        return by_group != 0 ? by_group : a->name <=> b->name;
    }

private:
    const object_kind_row* row_ = &kind_rows::pod;
};

inline constexpr object_kind object_kind::pod{kind_rows::pod};
inline constexpr object_kind object_kind::service{kind_rows::service};
inline constexpr object_kind object_kind::secret{kind_rows::secret};
inline constexpr object_kind object_kind::config_map{kind_rows::config_map};
inline constexpr object_kind object_kind::pod_group{kind_rows::pod_group};
inline constexpr object_kind object_kind::tensorboard{kind_rows::tensorboard};
inline constexpr object_kind object_kind::deployment{kind_rows::deployment};
inline constexpr object_kind object_kind::job{kind_rows::job};

/// `Pod`, `Service` ...; of `job` the word `Job`, whatever the job's kind. Has static storage.
constexpr std::string_view to_string(object_kind kind) {
    return kind->name;
}
/// `v1`, `apps/v1` ... Has static storage.
constexpr std::string_view api_version_of(object_kind kind) {
    return kind->api_version;
}

/// What a job may own: pods first, then what all API servers serve, then extensions. Lives for
/// ever.
std::span<const object_kind> all_child_kinds();

/// What schedulers refer to by name, of which jobs own none: the kinds that the action
/// `read_object` may be about (BEHAVIOUR.md 12.15). Valid as long as the program.
std::span<const object_kind> all_read_kinds();

/// What the scheduler of gangs of that name places pods by, in the versions that it may have, the
/// preferred one first; empty: pods alone tell it, or there is none of that name. As
/// all_child_kinds.
std::span<const object_kind> kinds_of_scheduler(std::string_view name);

/// Nothing if a job owns no object of this `apiVersion` and `kind`.
std::optional<object_kind> parse_child_kind(std::string_view version, std::string_view kind);

}  // namespace signalbox::core
