// SPDX-License-Identifier: Apache-2.0
//
// The typed specification of a job, all three kinds: BEHAVIOUR.md api 1-4 after parsing, alias
// resolution and defaulting. Pod templates stay JSON, so that fields this library has never heard
// of survive. Plain values: parse_job makes them, and what it has not found valid it does not make.
// What each field means to a user is in libjobcore/API.md.
#pragma once

#include "jobcore/time.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace signalbox::core {

inline constexpr std::string_view api_group = "batch.tensorstack.dev";
inline constexpr std::string_view api_version = "batch.tensorstack.dev/v1beta1";
/// The value of `spec.managedBy` under which a job is ours (BEHAVIOUR.md api 1.12).
inline constexpr std::string_view managed_by_signalbox = "batch.tensorstack.dev/signalbox";

enum class job_kind { pytorch, deepspeed, colossalai };
inline constexpr std::array all_job_kinds{
    job_kind::pytorch, job_kind::deepspeed, job_kind::colossalai};

/// `PyTorchTrainingJob` ... Has static storage.
std::string_view to_string(job_kind kind);
/// The kind of that exact name; nothing for any other text.
std::optional<job_kind> parse_job_kind(std::string_view kind);
/// `pytorchtrainingjobs` ... Has static storage.
std::string_view plural(job_kind kind);
/// Whether jobs of the kind restart what fails (BEHAVIOUR.md 5.11).
bool restarts(job_kind kind);

/// Gang scheduling (BEHAVIOUR.md api 1.4).
struct gang_request {
    /// The name that asks for one of those that the server serves (BEHAVIOUR.md 8.15).
    static constexpr std::string_view left_open = "auto";

    std::string name;  ///< the member of `spec.scheduler` that is set
    /// Its fields that are set or have defaults, by name; numbers in decimal digits.
    std::map<std::string, std::string, std::less<>> fields{};

    /// Empty if it is not set. Valid as long as this object.
    std::string_view text(std::string_view field) const;
    bool has(std::string_view field) const { return fields.contains(field); }
    /// 0 if it is not set.
    std::int64_t number(std::string_view field) const;
    friend bool operator==(const gang_request&, const gang_request&) = default;
};

/// What a replica type, or `master`, does in debug mode (BEHAVIOUR.md 3.10).
struct debug_replica {
    std::string type;
    bool skip_init_container = false;
    std::vector<std::string> command;  ///< empty: the idle command of the kind
    friend bool operator==(const debug_replica&, const debug_replica&) = default;
};

/// What is different of a replica type, or `master`, after a pause (BEHAVIOUR.md 3.11).
struct resume_replica {
    std::string type;
    bool skip_init_container = false;
    std::vector<std::string> command;  ///< empty: the template's
    std::vector<std::string> args;     ///< empty: see BEHAVIOUR.md 3.11
    friend bool operator==(const resume_replica&, const resume_replica&) = default;
};

/// BEHAVIOUR.md api 1.5.
struct run_mode {
    bool debug = false;
    std::vector<debug_replica> debug_replicas;
    bool pause = false;
    std::vector<resume_replica> resume_replicas;
    friend bool operator==(const run_mode&, const run_mode&) = default;
};

enum class clean_up_policy { all, unfinished, none };
enum class restart_scope { job, replica };
enum class failure_policy { any_replica, master };
enum class restart_policy { always, on_failure, never, exit_code };

/// What follows from a failure that a rule matches (BEHAVIOUR.md 13.3).
enum class failure_action { fail, restart, restart_free, restart_elsewhere };
/// `Fail` ... Has static storage.
std::string_view to_string(failure_action action);

struct exit_code_match {
    std::string container;  ///< empty: the training container
    bool among = true;      ///< else: none of the values, and not 0
    std::vector<std::int32_t> values;
    friend bool operator==(const exit_code_match&, const exit_code_match&) = default;
};
struct pod_condition_match {
    std::string type;
    std::string status;
    friend bool operator==(const pod_condition_match&, const pod_condition_match&) = default;
};
/// An entry of `failureRules`: all that it asks for has to hold.
struct failure_rule {
    failure_action action = failure_action::fail;
    std::optional<exit_code_match> codes;
    std::vector<pod_condition_match> conditions;  ///< one of them; empty: not asked for
    std::vector<std::string> reasons;             ///< one of them; empty: not asked for
    std::vector<std::string> texts;               ///< one of them; empty: not asked for
    friend bool operator==(const failure_rule&, const failure_rule&) = default;
};

enum class avoid_policy { preferred, required };
enum class stall_action { report, restart };

/// BEHAVIOUR.md api 1.6.
struct run_policy {
    std::optional<std::int64_t> active_deadline_seconds;  ///< from `status.startTime`; at least 1
    std::int32_t backoff_limit = 3;
    clean_up_policy clean_up = clean_up_policy::unfinished;
    bool clean_up_workers = false;  ///< ColossalAIJob only
    std::optional<std::int32_t> ttl_seconds_after_finished;
    std::optional<restart_scope> scope;  ///< absent: by launch mode, BEHAVIOUR.md 5.6
    failure_policy failure = failure_policy::any_replica;
    std::vector<failure_rule> rules;
    bool default_rules = true;
    std::optional<std::int64_t> reset_backoff_after;  ///< seconds
    avoid_policy avoid = avoid_policy::preferred;
    std::int32_t avoid_seconds = 86400;
    bool reports = false;                            ///< `progress` is there
    std::int32_t stall_after = 1800;                 ///< seconds
    std::optional<std::int32_t> first_report_after;  ///< seconds
    stall_action on_stall = stall_action::report;
    std::optional<std::int32_t> max_idle_restarts;  ///< `maxRestartsWithoutProgress`
    friend bool operator==(const run_policy&, const run_policy&) = default;
};

/// Bounds and wanted size of an elastic job, in replicas (BEHAVIOUR.md api 1.8).
struct elastic_config {
    std::int32_t min_replicas = 1;
    std::int32_t max_replicas = 1;
    std::optional<std::int32_t> expected_replicas;
    friend bool operator==(const elastic_config&, const elastic_config&) = default;
};

/// One replica type: an entry of `replicaSpecs`, a DeepSpeedJob's `worker`, a ColossalAIJob's
/// launcher or worker.
struct replica_spec {
    std::string type;
    std::int32_t replicas = 1;
    std::int32_t scaling_weight = 1;
    restart_policy restart = restart_policy::on_failure;
    /// The PodTemplateSpec as compact JSON, whole and unchanged.
    std::string pod_template;
    /// JSON pointer of this entry in the object, for diagnostics.
    std::string pointer;
    friend bool operator==(const replica_spec&, const replica_spec&) = default;
};

/// BEHAVIOUR.md api 3.2.
struct torchrun_config {
    bool enabled = false;
    std::int32_t max_restarts = 0;
    std::string proc_per_node = "1";
    std::string rdzv_backend = "c10d";
    std::vector<std::string> extra_options;
    friend bool operator==(const torchrun_config&, const torchrun_config&) = default;
};

/// What only a PyTorchTrainingJob has (BEHAVIOUR.md api 3).
struct pytorch_spec {
    torchrun_config torchrun;
    /// `tensorboardSpec` as compact JSON; empty if absent.
    std::string tensorboard;
    friend bool operator==(const pytorch_spec&, const pytorch_spec&) = default;
};

/// What only a DeepSpeedJob has (BEHAVIOUR.md api 2).
struct deepspeed_spec {
    bool disable_custom_env = false;
    std::string custom_command;
    std::optional<std::int32_t> slots_per_worker;
    bool local_rank = true;
    std::string autotune = "none";
    std::vector<std::string> python, module, exec;
    std::vector<std::string> other_args;
    friend bool operator==(const deepspeed_spec&, const deepspeed_spec&) = default;
};

/// What only a ColossalAIJob has, from either of its two shapes (BEHAVIOUR.md api 4).
struct colossalai_spec {
    std::string auth_mount_path = "/root/.ssh";
    std::string sshd_path = "/usr/sbin/sshd";
    std::string launcher_image;
    std::string launcher_working_dir;
    std::string launcher_env;        ///< JSON array; empty if absent
    std::string launcher_resources;  ///< JSON object; empty if absent
    std::int32_t proc_per_worker = 1;
    std::vector<std::string> command;
    std::vector<std::string> torch_args;
    friend bool operator==(const colossalai_spec&, const colossalai_spec&) = default;
};

/// What counts of a specification even if the whole has errors: each field that is valid by itself
/// (BEHAVIOUR.md 4.2).
struct spec_fragments {
    bool pause = false;
    /// As job_plan::peers_join, by `torchrunConfig.enabled`.
    bool peers_join = false;
    /// Deadline, time to live, clean-up, failure policy and rules, restart scope and budget, and
    /// when the budget is given back; nothing else.
    /// `clean_up` is `none` where it is written wrongly. Without a written and valid `backoffLimit`
    /// the budget is endless: no default ends a job.
    run_policy run;
    struct restart {
        std::string type;
        restart_policy policy = restart_policy::always;
    };
    /// As written, by replica type.
    std::vector<restart> restarts{};
    /// The scheduler that `spec.scheduler` names, whatever a label or the status says; empty: none.
    std::string scheduler{};
    /// The queue that `spec.scheduler.kueue` names; empty: none.
    std::string queue{};
};

/// A valid specification. `launch` holds the alternative of the job's kind; a kind that has nothing
/// but what all have needs none of its own.
struct job_spec {
    std::optional<gang_request> scheduler;
    run_mode mode;
    run_policy policy;
    std::optional<elastic_config> elastic;  ///< set only when enabled
    /// `elastic.expectedReplicas` of a job that is not elastic: the size as the operator noted it
    /// (BEHAVIOUR.md 7.1). Decides nothing.
    std::optional<std::int32_t> noted_replicas;
    std::string managed_by;
    /// In spec order; the types are unique.
    std::vector<replica_spec> replicas;
    std::variant<std::monostate, pytorch_spec, deepspeed_spec, colossalai_spec> launch;

    /// None is named, or the one is that the server serves.
    bool leaves_scheduler_open() const {
        return !scheduler || scheduler->name == gang_request::left_open;
    }
    friend bool operator==(const job_spec&, const job_spec&) = default;
};

/// What of a job's metadata the core needs.
struct job_meta {
    job_kind kind = job_kind::pytorch;
    std::string name;
    std::string ns;
    std::string uid;
    std::string resource_version;
    std::int64_t generation = 0;
    std::optional<instant> creation_time;
    std::optional<instant> deletion_time;
    /// Only annotations whose key starts with `batch.tensorstack.dev/` (BEHAVIOUR.md api 1.11).
    std::map<std::string, std::string, std::less<>> annotations;
    /// None is ours (BEHAVIOUR.md 10.1); they tell what a deleted job waits for.
    std::vector<std::string> finalizers;
    /// An attempt is on record: what only later versions refuse is no error then.
    bool begun = false;
    /// The label `kueue.x-k8s.io/queue-name`, and the queue that is meant: of a job that has begun
    /// what the label said then (BEHAVIOUR.md 8.10).
    std::string queue_label{};
    std::string queue{};
    /// What was chosen for a job that leaves its scheduler open, where that counts now
    /// (BEHAVIOUR.md 8.15); empty: nothing.
    std::string scheduler{};
    friend bool operator==(const job_meta&, const job_meta&) = default;
};

}  // namespace signalbox::core
