// SPDX-License-Identifier: Apache-2.0
//
// Builders of test inputs for libjobcore: job objects as JSON, observed pods and other children.
// A record built here is consistent with what the API server would show of an object that we
// rendered; tests change the one fact they are about. Nothing here reads a clock: `at(n)` is n
// seconds after a fixed start.
#pragma once

#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/schema.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::test {

/// 2026-01-01T00:00:00Z, the instant at which every test story starts.
inline constexpr core::instant story_start{core::seconds{1767225600}};

/// So many seconds into the story.
constexpr core::instant at(std::int64_t seconds_after_start) {
    return story_start + core::seconds{seconds_after_start};
}

/// `text` as a JSON string, quotes included.
std::string quoted(std::string_view text);

/// A JSON array of strings.
std::string quoted_list(const std::vector<std::string>& items);

/// One entry of `replicaSpecs`. The template is made of command, args, `container_more` and
/// `pod_more`, or is `pod_template` verbatim if that is set.
struct replica {
    std::string type = "worker";
    int replicas = 1;
    std::string restart_policy = "OnFailure";
    std::vector<std::string> command = {};
    std::vector<std::string> args = {"train.py"};
    std::string container_more = {};  ///< further members of the container, e.g. `"tty":true`
    std::string pod_more = {};        ///< further members of the pod's spec
    std::string metadata = {};        ///< the template's metadata, an object
    std::optional<int> scaling_weight = {};
    std::string pod_template = {};

    std::string template_json() const;
    std::string json() const;
};

/// A valid PyTorchTrainingJob; without any call: job `mnist` in `default`, one worker, plain mode.
/// Of another kind it is what `field` says: only those of the kind go into `spec`.
class job_builder {
public:
    explicit job_builder(std::string name = "mnist");
    job_builder(const job_builder&);
    job_builder(job_builder&&) noexcept;
    job_builder& operator=(const job_builder&);
    job_builder& operator=(job_builder&&) noexcept;
    ~job_builder();

    job_builder& kind(core::job_kind value) { return set(kind_, value); }
    job_builder& ns(std::string value);
    job_builder& uid(std::string value);
    job_builder& generation(std::int64_t value) { return set(generation_, value); }
    job_builder& annotation(const std::string& key, std::string value);
    /// The first call replaces the default worker, further calls append.
    job_builder& replicas(test::replica value);
    job_builder& replicas(std::string type, int count, std::string restart_policy = "OnFailure");
    /// Enables torchrun; `more` = further members, e.g. `"rdzvBackend":"static"`.
    job_builder& torchrun(std::optional<int> max_restarts = {}, const std::string& more = {});
    /// Members of `runPolicy`, e.g. `"backoffLimit":1,"cleanUpPolicy":"All"`.
    job_builder& run_policy(const std::string& members);
    job_builder& elastic(int min, int max, std::optional<int> expected = {});
    /// What `scale` and the operator's default write; after elastic().
    job_builder& expected(int value);
    job_builder& pause(bool enabled = true);
    /// `entries` = content of `resumeSpecs`, e.g. `{"type":"worker","args":["x"]}`.
    job_builder& resume(std::string entries);
    /// `entries` = content of `debug.replicaSpecs`.
    job_builder& debug(std::string entries = {});
    /// Any field of `spec`, value as JSON.
    job_builder& field(const std::string& key, std::string value);
    /// The value of `.status`, JSON.
    job_builder& status(std::string value);
    job_builder& deleted_at(core::instant value);
    job_builder& finalizer(std::string value);

    std::string json() const;

private:
    template <class T>
    job_builder& set(T& member, T value) {
        member = std::move(value);
        return *this;
    }

    std::string spec_json() const;

    core::job_kind kind_ = core::job_kind::pytorch;
    std::string name_;
    std::string ns_ = "default";
    std::string uid_ = "cffea855-5ce2-496a-8956-f6e76fe2f565";
    std::int64_t generation_ = 1;
    std::map<std::string, std::string> annotations_;
    std::map<std::string, std::string> fields_;
    bool replicas_given_ = false;
    std::vector<test::replica> replicas_ = {test::replica{}};
    std::pair<int, int> elastic_bounds_;
    bool pause_ = false;
    bool debug_ = false;
    std::string resume_, debug_entries_, status_, deletion_, finalizer_;
};

/// An observed pod of a plan. Without any call: created at the start of the story, Pending, without
/// a node. Converts to pod_record.
class pod_builder {
public:
    pod_builder(const core::job_plan& plan, core::pod_identity identity);
    pod_builder(const pod_builder&);
    pod_builder(pod_builder&&) noexcept;
    pod_builder& operator=(const pod_builder&);
    pod_builder& operator=(pod_builder&&) noexcept;
    ~pod_builder();

    pod_builder& attempt(std::int32_t value) { return set(identity_.attempt, value); }
    pod_builder& round(std::int32_t value) { return set(identity_.round, value); }
    /// The pod's name has the suffix `-r<k>`.
    pod_builder& renamed(std::int32_t k) { return set(identity_.rename, k); }
    /// The attempt label was patched to `gone`.
    pod_builder& gone(bool value = true) { return set(gone_, value); }
    pod_builder& uid(std::string value);
    pod_builder& owner(std::string owner_uid);
    pod_builder& resource_version(std::string value);
    /// Labels of ours were removed: identity is in the name alone (BEHAVIOUR.md 1.9).
    pod_builder& without_labels(bool value = true) { return set(unlabelled_, value); }

    pod_builder& created(core::instant t) { return set(record_.creation, std::optional(t)); }
    pod_builder& phase(core::pod_phase p) { return set(record_.phase, p); }
    pod_builder& scheduled(bool value = true) { return set(record_.scheduled, value); }
    pod_builder& unschedulable(bool value = true) { return set(record_.unschedulable, value); }
    pod_builder& ready(bool value = true) { return set(record_.ready, value); }
    /// Condition DisruptionTarget; deletion is a fact of its own.
    pod_builder& disrupted(bool value = true) { return set(record_.disruption_target, value); }
    /// `asked` = the moment of the DELETE; the timestamp lies `grace` seconds later (Kubernetes).
    pod_builder& deleting(core::instant asked, std::int64_t grace = 30);
    pod_builder& reason(std::string reason, std::string message = {});

    /// The training container started then; does not change its state.
    pod_builder& started(core::instant t) { return set(main().started, std::optional(t)); }
    pod_builder& running(core::instant since = story_start);
    pod_builder& waiting(std::string reason, std::string message = {});
    /// The training container ended; the pod's phase follows it (no sidecar runs).
    pod_builder& exited(std::int32_t code, core::instant finished, std::string message = {});
    pod_builder& terminated_by_signal(std::int32_t signal, core::instant finished);
    pod_builder& oom_killed(core::instant finished);
    /// The kubelet evicted the pod; its container was killed at that time.
    pod_builder& evicted(core::instant finished);
    /// The Pod failed and no container has a code (kubelet admission, node shutdown).
    pod_builder& failed_without_code(std::string reason, std::string message = {});
    /// Adds a regular container after the training container.
    pod_builder& sidecar(std::string name, core::container_state state, std::int32_t exit_code = 0);
    pod_builder& init_failed(std::string name, std::int32_t code, core::instant finished);

    core::pod_record record() const;
    operator core::pod_record() const { return record(); }

private:
    template <class T, class Value>
    pod_builder& set(T& member, Value value) {
        member = std::move(value);
        return *this;
    }
    core::container_record& main() { return record_.containers.at(0); }

    const core::job_plan* plan_;
    core::pod_identity identity_;
    bool gone_ = false;
    bool unlabelled_ = false;
    std::string uid_;
    core::pod_record record_;
};

pod_builder pod(const core::job_plan& plan, core::pod_identity identity);

/// A planned object as observed, in the state in which we made it: what we would send, as the
/// server would show it.
core::child_record child(
    const core::job_plan& plan,
    const core::planned_object& object,
    std::int32_t attempt = 1,
    const core::render_options& options = {}
);

/// What is known of a server that serves every kind.
inline core::capabilities all_served() {
    core::capabilities all;
    for (const core::object_kind kind : core::all_child_kinds()) {
        all.set(kind, core::served::yes);
    }
    return all;
}

/// Owns records and gives the view that decide takes. Not to be changed while a view is in use.
class scene {
public:
    scene();
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;
    ~scene();

    scene& add(core::pod_record record);
    scene& add(core::child_record record);
    /// All planned objects of the attempt, as we made them.
    scene& add_objects(const core::job_plan& plan, std::int32_t attempt = 1);
    scene& refuse(core::refusal value);
    scene& confirm_absent(core::object_kind kind, std::string name);
    scene& serves(core::capabilities value);

    /// Valid until the scene is changed or destroyed.
    const core::observed& view();

private:
    std::deque<core::pod_record> pods_;
    std::deque<core::child_record> children_;
    std::vector<core::refusal> refusals_;
    std::vector<core::confirmed_absence> absences_;
    core::capabilities served_;
    std::vector<const core::pod_record*> pod_pointers_;
    std::vector<const core::child_record*> child_pointers_;
    core::observed view_;
};

}  // namespace signalbox::test
