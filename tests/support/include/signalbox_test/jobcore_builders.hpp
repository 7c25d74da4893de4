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
inline std::string quoted(std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20) {
            out += "\\u00";
            out += hex[byte >> 4];
            out += hex[byte & 15];
        } else {
            out += c;
        }
    }
    return out += '"';
}

/// A JSON array of strings.
inline std::string quoted_list(const std::vector<std::string>& items) {
    std::string out = "[";
    for (const auto& item : items) {
        out += (out.size() > 1 ? "," : "") + quoted(item);
    }
    return out += "]";
}

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

    std::string template_json() const {
        if (!pod_template.empty()) {
            return pod_template;
        }
        std::string container = R"({"name":"pytorch","image":"torch:2")";
        if (!command.empty()) {
            container += ",\"command\":" + quoted_list(command);
        }
        if (!args.empty()) {
            container += ",\"args\":" + quoted_list(args);
        }
        container += (container_more.empty() ? "" : "," + container_more) + "}";
        return "{" + (metadata.empty() ? "" : "\"metadata\":" + metadata + ",") +
               "\"spec\":{\"containers\":[" + container + "]" +
               (pod_more.empty() ? "" : "," + pod_more) + "}}";
    }

    std::string json() const {
        return "{\"type\":" + quoted(type) + ",\"replicas\":" + std::to_string(replicas) +
               ",\"restartPolicy\":" + quoted(restart_policy) +
               (scaling_weight ? ",\"scalingWeight\":" + std::to_string(*scaling_weight) : "") +
               ",\"template\":" + template_json() + "}";
    }
};

/// A valid PyTorchTrainingJob; without any call: job `mnist` in `default`, one worker, plain mode.
/// Of another kind it is what `field` says: only those of the kind go into `spec`.
class job_builder {
public:
    explicit job_builder(std::string name = "mnist") : name_(std::move(name)) {}

    job_builder& kind(core::job_kind value) { return set(kind_, value); }
    job_builder& ns(std::string value) { return set(ns_, std::move(value)); }
    job_builder& uid(std::string value) { return set(uid_, std::move(value)); }
    job_builder& generation(std::int64_t value) { return set(generation_, value); }
    job_builder& annotation(const std::string& key, std::string value) {
        return set(annotations_[key], std::move(value));
    }
    /// The first call replaces the default worker, further calls append.
    job_builder& replicas(test::replica value) {
        if (!replicas_given_) {
            replicas_.clear();
            replicas_given_ = true;
        }
        replicas_.push_back(std::move(value));
        return *this;
    }
    job_builder& replicas(std::string type, int count, std::string restart_policy = "OnFailure") {
        test::replica value;
        value.type = std::move(type);
        value.replicas = count;
        value.restart_policy = std::move(restart_policy);
        return replicas(std::move(value));
    }
    /// Enables torchrun; `more` = further members, e.g. `"rdzvBackend":"static"`.
    job_builder& torchrun(std::optional<int> max_restarts = {}, const std::string& more = {}) {
        std::string value = "{\"enabled\":true";
        if (max_restarts) {
            value += ",\"maxRestarts\":" + std::to_string(*max_restarts);
        }
        return field("torchrunConfig", value + (more.empty() ? "" : "," + more) + "}");
    }
    /// Members of `runPolicy`, e.g. `"backoffLimit":1,"cleanUpPolicy":"All"`.
    job_builder& run_policy(const std::string& members) {
        return field("runPolicy", "{" + members + "}");
    }
    job_builder& elastic(int min, int max, std::optional<int> expected = {}) {
        elastic_bounds_ = {min, max};
        return field(
            "elastic",
            "{\"enabled\":true,\"minReplicas\":" + std::to_string(min) +
                ",\"maxReplicas\":" + std::to_string(max) +
                (expected ? ",\"expectedReplicas\":" + std::to_string(*expected) : "") + "}"
        );
    }
    /// What `scale` and the operator's default write; after elastic().
    job_builder& expected(int value) {
        return elastic(elastic_bounds_.first, elastic_bounds_.second, value);
    }
    job_builder& pause(bool enabled = true) {
        pause_ = enabled;
        return *this;
    }
    /// `entries` = content of `resumeSpecs`, e.g. `{"type":"worker","args":["x"]}`.
    job_builder& resume(std::string entries) { return set(resume_, std::move(entries)); }
    /// `entries` = content of `debug.replicaSpecs`.
    job_builder& debug(std::string entries = {}) {
        debug_ = true;
        return set(debug_entries_, std::move(entries));
    }
    /// Any field of `spec`, value as JSON.
    job_builder& field(const std::string& key, std::string value) {
        return set(fields_[key], std::move(value));
    }
    /// The value of `.status`, JSON.
    job_builder& status(std::string value) { return set(status_, std::move(value)); }
    job_builder& deleted_at(core::instant value) {
        return set(deletion_, core::format_time(value));
    }
    job_builder& finalizer(std::string value) { return set(finalizer_, std::move(value)); }

    std::string json() const {
        std::string out =
            "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":" +
            quoted(core::to_string(kind_)) + ",\"metadata\":{\"name\":" + quoted(name_) +
            ",\"namespace\":" + quoted(ns_) + ",\"uid\":" + quoted(uid_) +
            ",\"resourceVersion\":\"1\"" + ",\"generation\":" + std::to_string(generation_) +
            ",\"creationTimestamp\":" + quoted(core::format_time(story_start));
        if (!deletion_.empty()) {
            out += ",\"deletionTimestamp\":" + quoted(deletion_);
        }
        if (!finalizer_.empty()) {
            out += ",\"finalizers\":[" + quoted(finalizer_) + "]";
        }
        std::string notes;
        for (const auto& [key, value] : annotations_) {
            notes += (notes.empty() ? "" : ",") + quoted(key) + ":" + quoted(value);
        }
        if (!notes.empty()) {
            out += ",\"annotations\":{" + notes + "}";
        }
        out += "},\"spec\":" + spec_json();
        if (!status_.empty()) {
            out += ",\"status\":" + status_;
        }
        return out + "}";
    }

private:
    template <class T>
    job_builder& set(T& member, T value) {
        member = std::move(value);
        return *this;
    }

    std::string spec_json() const {
        std::string modes;
        if (debug_) {
            modes += "\"debug\":{\"enabled\":true,\"replicaSpecs\":[" + debug_entries_ + "]}";
        }
        if (pause_ || !resume_.empty()) {
            modes += std::string(modes.empty() ? "" : ",") +
                     "\"pause\":{\"enabled\":" + (pause_ ? "true" : "false") +
                     ",\"resumeSpecs\":[" + resume_ + "]}";
        }
        std::string out = "{";
        if (!modes.empty()) {
            out += "\"runMode\":{" + modes + "},";
        }
        for (const auto& [key, value] : fields_) {
            out += quoted(key) + ":" + value + ",";
        }
        if (kind_ != core::job_kind::pytorch) {
            out.back() = '}';
            return out;
        }
        out += "\"replicaSpecs\":[";
        for (std::size_t i = 0; i < replicas_.size(); ++i) {
            out += (i == 0 ? "" : ",") + replicas_[i].json();
        }
        return out + "]}";
    }

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
    pod_builder(const core::job_plan& plan, core::pod_identity identity)
        : plan_(&plan), identity_(identity) {
        record_.owner_uid = plan.job_uid;
        record_.resource_version = "1";
        record_.labels_complete = true;
        record_.phase = core::pod_phase::pending;
        record_.creation = story_start;
        record_.grace_seconds = 0;
        core::container_record main;
        main.name = plan.roles.at(identity.role).training_container;
        main.state = core::container_state::waiting;
        record_.containers.push_back(std::move(main));
    }

    pod_builder& attempt(std::int32_t value) { return set(identity_.attempt, value); }
    pod_builder& round(std::int32_t value) { return set(identity_.round, value); }
    /// The pod's name has the suffix `-r<k>`.
    pod_builder& renamed(std::int32_t k) { return set(identity_.rename, k); }
    /// The attempt label was patched to `gone`.
    pod_builder& gone(bool value = true) { return set(gone_, value); }
    pod_builder& uid(std::string value) { return set(uid_, std::move(value)); }
    pod_builder& owner(std::string owner_uid) {
        return set(record_.owner_uid, std::move(owner_uid));
    }
    pod_builder& resource_version(std::string value) {
        return set(record_.resource_version, std::move(value));
    }
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
    pod_builder& deleting(core::instant asked, std::int64_t grace = 30) {
        record_.deletion = asked + core::seconds{grace};
        return set(record_.grace_seconds, grace);
    }
    pod_builder& reason(std::string reason, std::string message = {}) {
        record_.reason = std::move(reason);
        return set(record_.message, std::move(message));
    }

    /// The training container started then; does not change its state.
    pod_builder& started(core::instant t) { return set(main().started, std::optional(t)); }
    pod_builder& running(core::instant since = story_start) {
        main().state = core::container_state::running;
        main().started = since;
        return scheduled().phase(core::pod_phase::running);
    }
    pod_builder& waiting(std::string reason, std::string message = {}) {
        main().state = core::container_state::waiting;
        main().reason = std::move(reason);
        main().message = std::move(message);
        return scheduled().phase(core::pod_phase::pending);
    }
    /// The training container ended; the pod's phase follows it (no sidecar runs).
    pod_builder& exited(std::int32_t code, core::instant finished, std::string message = {}) {
        auto& c = main();
        c.state = core::container_state::terminated;
        c.exit_code = code;
        c.reason = code == 0 ? "Completed" : "Error";
        c.message = std::move(message);
        c.finished = finished;
        if (!c.started) {
            c.started = record_.creation;
        }
        record_.ready = false;
        return scheduled().phase(code == 0 ? core::pod_phase::succeeded : core::pod_phase::failed);
    }
    pod_builder& terminated_by_signal(std::int32_t signal, core::instant finished) {
        return exited(128 + signal, finished);
    }
    pod_builder& oom_killed(core::instant finished) {
        exited(137, finished);
        return set(main().reason, std::string("OOMKilled"));
    }
    /// The kubelet evicted the pod; its container was killed at that time.
    pod_builder& evicted(core::instant finished) {
        exited(137, finished);
        return phase(core::pod_phase::failed)
            .reason("Evicted", "The node was low on resource: memory.");
    }
    /// The Pod failed and no container has a code (kubelet admission, node shutdown).
    pod_builder& failed_without_code(std::string reason, std::string message = {}) {
        record_.containers.clear();
        return phase(core::pod_phase::failed).reason(std::move(reason), std::move(message));
    }
    /// Adds a regular container after the training container.
    pod_builder& sidecar(
        std::string name, core::container_state state, std::int32_t exit_code = 0
    ) {
        core::container_record c;
        c.name = std::move(name);
        c.state = state;
        c.exit_code = exit_code;
        record_.containers.push_back(std::move(c));
        return *this;
    }
    pod_builder& init_failed(std::string name, std::int32_t code, core::instant finished) {
        core::container_record c;
        c.name = std::move(name);
        c.state = core::container_state::terminated;
        c.init = true;
        c.exit_code = code;
        c.reason = "Error";
        c.finished = finished;
        record_.containers.push_back(std::move(c));
        return scheduled().phase(core::pod_phase::failed);
    }

    core::pod_record record() const {
        auto out = record_;
        out.name = core::pod_name(*plan_, identity_);
        out.uid = !uid_.empty() ? uid_
                                : "uid-" + out.name + "-" + std::to_string(identity_.attempt) +
                                      "." + std::to_string(identity_.round);
        if (unlabelled_) {
            out.labels_complete = false;
            return out;
        }
        out.type = plan_->roles.at(identity_.role).type;
        out.index = identity_.index;
        out.attempt = gone_ ? core::gone_attempt : identity_.attempt;
        out.round = identity_.round;
        out.master = identity_.role == plan_->master_role && identity_.index == 0;
        return out;
    }
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

inline pod_builder pod(const core::job_plan& plan, core::pod_identity identity) {
    return {plan, identity};
}

/// A planned object as observed, in the state in which we made it: what we would send, as the
/// server would show it.
inline core::child_record child(
    const core::job_plan& plan,
    const core::planned_object& object,
    std::int32_t attempt = 1,
    const core::render_options& options = {}
) {
    std::string text = core::render_object(plan, object, attempt, options);
    constexpr std::string_view metadata = "\"metadata\":{";
    text.insert(
        text.find(metadata) + metadata.size(),
        "\"resourceVersion\":\"1\",\"uid\":\"uid-" + core::object_name(object, attempt) + "\","
    );
    return core::decode_child(object.kind, text).value();
}

/// Owns records and gives the view that decide takes. Not to be changed while a view is in use.
class scene {
public:
    scene& add(core::pod_record record) {
        pods_.push_back(std::move(record));
        return *this;
    }
    scene& add(core::child_record record) {
        children_.push_back(std::move(record));
        return *this;
    }
    /// All planned objects of the attempt, as we made them.
    scene& add_objects(const core::job_plan& plan, std::int32_t attempt = 1) {
        for (const auto& object : plan.objects) {
            add(child(plan, object, attempt));
        }
        return *this;
    }
    scene& refuse(core::refusal value) {
        refusals_.push_back(std::move(value));
        return *this;
    }
    scene& confirm_absent(core::object_kind kind, std::string name) {
        absences_.push_back({kind, std::move(name)});
        return *this;
    }
    scene& serves(core::capabilities value) {
        served_ = value;
        return *this;
    }

    /// Valid until the scene is changed or destroyed.
    const core::observed& view() {
        pod_pointers_.clear();
        child_pointers_.clear();
        for (const auto& p : pods_) {
            pod_pointers_.push_back(&p);
        }
        for (const auto& c : children_) {
            child_pointers_.push_back(&c);
        }
        view_ = core::observed{};
        view_.pods = pod_pointers_;
        view_.children = child_pointers_;
        view_.refusals = refusals_;
        view_.absences = absences_;
        view_.served_kinds = served_;
        return view_;
    }

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
