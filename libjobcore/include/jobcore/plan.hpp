// SPDX-License-Identifier: Apache-2.0
//
// The job plan: what a job needs, in terms that know no kind, so that one engine serves all kinds.
// The launch compiler makes it from the typed specification; the engine reads it; the renderer
// turns one planned object into the JSON that is sent to the API server.
//
// A plan is immutable once it is made, and the functions here depend on their arguments alone: any
// thread may call them at any time. Arguments that do not belong to the plan that is given with
// them (a type or an object of another job) are a mistake of the caller that is not checked.
#pragma once

#include "jobcore/admission.hpp"
#include "jobcore/diagnostic.hpp"
#include "jobcore/object_kind.hpp"
#include "jobcore/progress.hpp"
#include "jobcore/result.hpp"
#include "jobcore/spec.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::core {

/// How far a restart reaches when `runPolicy.restartScope` is absent (BEHAVIOUR.md 5.6).
enum class scope_rule {
    whole_job,   ///< every incident takes all pods
    c10d,        ///< pod 0 takes all pods; another pod is replaced, or settles
    external,    ///< the rendezvous store lives elsewhere (etcd): pods are replaced, or settle
    no_restart,  ///< the kind restarts nothing (BEHAVIOUR.md 5.11)
};

/// One replica type with the facts the engine needs.
struct type_plan {
    std::string name;
    std::string
        pod_prefix;  ///< of its pods' names: all before the index (BEHAVIOUR.md 1.2), if known
    /// Pods wanted by the present specification (BEHAVIOUR.md 7.2: the recorded size decides).
    std::int32_t wanted = 0;
    restart_policy restart = restart_policy::on_failure;
    /// Name of the training container of this type (BEHAVIOUR.md api 1.13).
    std::string training_container;
    /// Its memory limit as it was written, e.g. `2Gi`; empty: none.
    std::string memory_limit;
    /// `terminationGracePeriodSeconds` of its pods.
    std::int64_t grace_seconds = 30;
    /// Extended resources that one pod holds by its limits, e.g. `nvidia.com/gpu` and 8.
    std::vector<std::pair<std::string, std::int64_t>> holds;
    /// Pods from this index on serve the others (they run sshd): they end by nothing but a
    /// deletion, and never complete (BEHAVIOUR.md 5.2).
    std::int32_t serving_from_index = std::numeric_limits<std::int32_t>::max();

    bool serves(std::int32_t index) const { return index >= serving_from_index; }
};

/// What of a key pair a value of a Secret is.
enum class key_form {
    private_pem,  ///< the private key, `EC PRIVATE KEY` PEM (SEC1)
    public_line,  ///< `ecdsa-sha2-nistp256 <base64>` and a newline
};

/// A value of a Secret that is made when the Secret is: key material is no output of a pure
/// function. Rows with the same `key` belong to one fresh P-256 pair.
/// The entry of `data` is the base64 of `prefix` and the key in its form.
struct key_slot {
    std::string data_key;  ///< the entry of `data`
    std::string key;       ///< which pair, e.g. `client`; means nothing outside this list
    key_form form = key_form::private_pem;
    std::string prefix;  ///< text before it, part of the value
    friend bool operator==(const key_slot&, const key_slot&) = default;
};

/// A fresh key pair, in the forms that key slots have.
struct key_pair {
    std::string private_pem;
    std::string public_line;
};

/// Fresh key pairs by key_slot::key.
using key_pairs = std::map<std::string, key_pair, std::less<>>;

/// Stands in a preview for the value of a key slot. It is no base64: a server refuses it.
inline constexpr std::string_view generated_marker = "<generated>";

/// A child object other than a pod, wanted while the job is active.
struct planned_object {
    object_kind kind = object_kind::service;
    /// For a per-attempt object the attempt is appended: `<name>-<attempt>` (BEHAVIOUR.md 1.5).
    std::string name;
    bool name_has_attempt = false;
    /// Which of several objects of one kind this is; private to the launch compiler.
    std::int32_t variant = 0;
    /// `spec` of an object that the server fills with fields of its own, JSON: known by the hash of
    /// it. Empty for the others.
    std::string spec;
    /// Secrets: what of `data` is made when the object is. Repairs leave `data` out.
    std::vector<key_slot> key_slots;

    bool has_keys() const { return !key_slots.empty(); }
};

namespace gang {
struct scheduler;  // private to the launch compiler
}

/// What the pods need of a scheduler that places all of them or none (BEHAVIOUR.md 8).
struct gang_plan {
    /// Never null in a plan that compile_plan has made.
    const gang::scheduler* by = nullptr;
    /// Pods that must fit at once, by the specification.
    std::int32_t min_member = 0;
    /// The types of the first stage: pods of later ones do not count.
    std::vector<std::size_t> members;
    gang_request asked;
    /// `priorityClassName` of the first template; empty: none. Only for schedulers that look at
    /// templates.
    std::string priority_class;
    /// Only for schedulers that give quota: the sizes by the specification, by type, and of the
    /// types' pods what takes quota, JSON of a `template`.
    std::vector<std::int32_t> sizes{};
    std::vector<std::string> templates{};
};

/// How a job follows a change of its size while it runs (BEHAVIOUR.md 7.2, 7.3).
enum class resize_rule {
    in_place,     ///< pods are added and removed; the others go on
    new_attempt,  ///< every change rebuilds the job
};

/// What the engine needs to know of an elastic job (BEHAVIOUR.md 7).
struct elastic_plan {
    std::int32_t min_replicas = 1;
    resize_rule resize = resize_rule::in_place;
    /// The others go on when a replica is lost for good, if they are enough (BEHAVIOUR.md 5.10).
    bool survives_loss = true;
};

struct render_data;  // prepared templates; private to the renderer

/// The compiled job. Immutable; shared by copies; depends on the specification, name, namespace and
/// UID only, never on status: attempt and round are parameters of rendering.
struct job_plan {
    job_kind kind = job_kind::pytorch;
    std::string job_name;
    std::string ns;
    std::string job_uid;
    /// `<job>-H` (BEHAVIOUR.md 1.1, 1.2): prefix of all children's names.
    std::string base_name;
    std::vector<type_plan> types;   ///< spec order
    std::size_t deciding_type = 0;  ///< the deciding pod is index 0 of this type
    scope_rule scope = scope_rule::whole_job;
    /// An agent on each pod restarts its processes together with the others (torchrun): they end
    /// together too. Success waits for peers, clean-up for their exit barrier (BEHAVIOUR.md 5.1), a
    /// failed peer of the same attempt outranks success of the deciding pod, and no pod can join
    /// once that has exited 0.
    bool peers_join = false;
    /// Peers of a deciding pod that succeeds end by themselves, and get time for that (BEHAVIOUR.md
    /// 5.1). Not in debug mode.
    bool peers_end = true;
    /// What the user says of restarts, clean-up and times.
    run_policy run;
    /// The user wants the job paused (BEHAVIOUR.md 6.1).
    bool paused = false;
    /// Exit codes that `ExitCode` restarts (BEHAVIOUR.md api 1.7).
    std::vector<std::int32_t> retryable_codes;
    /// Non-pod children in creation order: PodGroup, Services, Secret, ConfigMap
    /// (BEHAVIOUR.md 2.1).
    std::vector<planned_object> objects;
    std::optional<gang_plan> gang;
    /// Of a job that leaves its scheduler open, or names none: those that take it, by their names
    /// in `spec.scheduler` (BEHAVIOUR.md 8.15). They have static storage.
    std::vector<std::string_view> possible_schedulers;
    /// Stages of pods, each a list of indexes of `types`: pods of a stage are made once those of
    /// the stages before are ready (BEHAVIOUR.md 2.3). Empty: all types are one stage. ColossalAI:
    /// {worker}, {launcher}.
    std::vector<std::vector<std::size_t>> pod_stages;
    /// What follows training and outlives its pods, if that is asked for (a TensorBoard): the
    /// object of a kind that not every cluster serves, where the server serves it, else the others
    /// (BEHAVIOUR.md 9.1). They take no part in the order of `objects`.
    std::vector<planned_object> companions;
    std::optional<elastic_plan> elastic;
    /// The number that the operator writes into `elastic.expectedReplicas`: of an elastic job the
    /// default of what is absent, of another its pods, where that is absent or another number
    /// (BEHAVIOUR.md 7.1). Nothing: it is there as wanted.
    std::optional<std::int32_t> size_to_write;
    /// Warnings of the launch compiler, with the reason `FieldOverridden` and the like.
    std::vector<diagnostic> warnings;
    /// Never null in a plan that compile_plan has made.
    std::shared_ptr<const render_data> render;
};

/// The planned object of that number: `objects` first, then `companions`. Null beyond.
/// Lives as long as the plan.
const planned_object* find_object(const job_plan& plan, std::size_t number);

/// Name of the companions that serve where the cluster does not (BEHAVIOUR.md 1.5).
std::string companion_name(const job_plan& plan);

/// The child, which is the job's, is a companion, of whatever specification the job had.
bool is_companion(const job_plan& plan, object_kind kind, std::string_view name);

/// Which pod: everything that names and labels it.
struct pod_identity {
    std::size_t type = 0;      ///< index of job_plan::types
    std::int32_t index = 0;    ///< number of the pod within its type, from 0
    std::int32_t attempt = 1;  ///< which making of the whole set of pods, from 1
    std::int32_t round = 0;    ///< how often this index was replaced in the attempt
    std::int32_t rename = 0;   ///< k of the `-r<k>` suffix, 0 = none (BEHAVIOUR.md 1.3)
    friend bool operator==(const pod_identity&, const pod_identity&) = default;
};

/// Which object other than a pod.
struct object_identity {
    std::size_t object = 0;    ///< number for find_object
    std::int32_t attempt = 1;  ///< which its name or content may depend on
    friend bool operator==(const object_identity&, const object_identity&) = default;
};

/// First 5 hex digits of FNV-1a 64 over name followed by UID (BEHAVIOUR.md 1.1).
std::string name_hash(std::string_view job_name, std::string_view uid);

/// Compiles a specification that parse_job has found valid. `meta` is the job's, with its UID:
/// names come from it. Errors found here (rules that inspect templates or launcher arguments: the L
/// rules of BEHAVIOUR.md api 6.1) are appended to `findings`; then the plan is not to be used. What
/// was in `findings` stays.
job_plan compile_plan(
    const job_meta& meta, const job_spec& spec, std::vector<diagnostic>& findings
);

/// What a plan has of every job of that kind, name and UID, whatever its specification says: names,
/// exit codes that `ExitCode` restarts (BEHAVIOUR.md api 1.7), and that nothing is restarted where
/// the kind has no restarts.
job_plan bare_plan(const job_meta& meta);

/// `<job>-H-<type>-<index>[-r<k>]` (BEHAVIOUR.md 1.2, 1.3). `pod.type` must be one of the plan's.
std::string pod_name(const job_plan& plan, const pod_identity& pod);

/// Name of a planned object in an attempt.
std::string object_name(const planned_object& object, std::int32_t attempt);

/// Nodes that pods should, or must, avoid (BEHAVIOUR.md 13.6).
struct node_avoidance {
    std::vector<std::string> nodes;  ///< names, sorted
    bool required = false;
    friend bool operator==(const node_avoidance&, const node_avoidance&) = default;
};

/// Facts of a job's status that change what its objects have, but for their names.
struct render_options {
    /// True for attempts made by a resume: resume specs apply (BEHAVIOUR.md 3.11).
    bool resumed = false;
    /// Replicas in force per type (BEHAVIOUR.md 7.2); empty: the plan's own.
    std::vector<std::int32_t> wanted;
    /// Of a job with a gang, per type: replicas that have ended and are not made again
    /// (BEHAVIOUR.md 8.6); else empty.
    std::vector<std::int32_t> ended{};
    node_avoidance avoid{};
    /// Where the pods report to, if they do (BEHAVIOUR.md 13.10).
    progress_access reports{};
    /// What a scheduler of quota gives the pods (BEHAVIOUR.md 8.12).
    std::optional<admission_record> admission{};
    /// The value of the priority class that the job names of such a scheduler, where it was read.
    std::optional<std::int32_t> priority{};
    friend bool operator==(const render_options&, const render_options&) = default;
};

/// The complete JSON of a Pod, owner reference and labels included (BEHAVIOUR.md 1.6, 1.7, 3).
/// `pod.type` must be one of the plan's.
std::string render_pod(
    const job_plan& plan, const pod_identity& pod, const render_options& options
);

/// The complete JSON of another child in the given attempt, to be created. `object` must be one of
/// the plan's. An error, which has nothing of the keys, if `keys` lacks what a key slot of it asks
/// for; most objects have no slots.
result<std::string> render_object(
    const job_plan& plan,
    const planned_object& object,
    std::int32_t attempt,
    const render_options& options,
    const key_pairs& keys = {}
);

/// The same for people and comparisons: each key slot has generated_marker.
std::string preview_object(
    const job_plan& plan,
    const planned_object& object,
    std::int32_t attempt,
    const render_options& options
);

/// Fingerprint of the fields we set in that object; equals that of an observed record of it
/// (observed.hpp) unless somebody edited it (BEHAVIOUR.md 2.6). What is immutable is left out, and
/// the attempt that a selector names. `object`: one of the plan's objects or companions. `fields`:
/// child_record::fields of the observed one, which count where a scheduler's object says nothing.
std::uint64_t expected_fingerprint(
    const job_plan& plan,
    const planned_object& object,
    const render_options& options,
    std::span<const std::uint64_t> fields = {}
);

/// The attempt whose pods a Service selects; 0 if its selector names none, as of other objects.
std::int32_t expected_selected_attempt(const planned_object& object, std::int32_t attempt);

/// Fingerprint of the immutable part of a Secret or ConfigMap: type and data, of generated keys the
/// names only. An object of ours that differs in it has to be made anew (BEHAVIOUR.md 2.7). Zero
/// for other kinds.
std::uint64_t expected_data_fingerprint(
    const job_plan& plan, const planned_object& object, const render_options& options
);

}  // namespace signalbox::core
