// SPDX-License-Identifier: Apache-2.0
#include "signalbox_test/jobcore_builders.hpp"

#include <utility>

namespace signalbox::test {

std::string quoted(std::string_view text) {
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

std::string quoted_list(const std::vector<std::string>& items) {
    std::string out = "[";
    for (const auto& item : items) {
        out += (out.size() > 1 ? "," : "") + quoted(item);
    }
    return out += "]";
}

std::string replica::template_json() const {
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

std::string replica::json() const {
    return "{\"type\":" + quoted(type) + ",\"replicas\":" + std::to_string(replicas) +
           ",\"restartPolicy\":" + quoted(restart_policy) +
           (scaling_weight ? ",\"scalingWeight\":" + std::to_string(*scaling_weight) : "") +
           ",\"template\":" + template_json() + "}";
}

job_builder::job_builder(std::string name) : name_(std::move(name)) {}
job_builder::job_builder(const job_builder&) = default;
job_builder::job_builder(job_builder&&) noexcept = default;
job_builder& job_builder::operator=(const job_builder&) = default;
job_builder& job_builder::operator=(job_builder&&) noexcept = default;
job_builder::~job_builder() = default;

job_builder& job_builder::ns(std::string value) {
    return set(ns_, std::move(value));
}

job_builder& job_builder::uid(std::string value) {
    return set(uid_, std::move(value));
}

job_builder& job_builder::annotation(const std::string& key, std::string value) {
    return set(annotations_[key], std::move(value));
}

job_builder& job_builder::replicas(test::replica value) {
    if (!replicas_given_) {
        replicas_.clear();
        replicas_given_ = true;
    }
    replicas_.push_back(std::move(value));
    return *this;
}

job_builder& job_builder::replicas(std::string type, int count, std::string restart_policy) {
    test::replica value;
    value.type = std::move(type);
    value.replicas = count;
    value.restart_policy = std::move(restart_policy);
    return replicas(std::move(value));
}

job_builder& job_builder::torchrun(std::optional<int> max_restarts, const std::string& more) {
    std::string value = "{\"enabled\":true";
    if (max_restarts) {
        value += ",\"maxRestarts\":" + std::to_string(*max_restarts);
    }
    return field("torchrunConfig", value + (more.empty() ? "" : "," + more) + "}");
}

job_builder& job_builder::run_policy(const std::string& members) {
    return field("runPolicy", "{" + members + "}");
}

job_builder& job_builder::elastic(int min, int max, std::optional<int> expected) {
    elastic_bounds_ = {min, max};
    return field(
        "elastic",
        "{\"enabled\":true,\"minReplicas\":" + std::to_string(min) +
            ",\"maxReplicas\":" + std::to_string(max) +
            (expected ? ",\"expectedReplicas\":" + std::to_string(*expected) : "") + "}"
    );
}

job_builder& job_builder::expected(int value) {
    return elastic_bounds_.second > 0
               ? elastic(elastic_bounds_.first, elastic_bounds_.second, value)
               : field("elastic", "{\"expectedReplicas\":" + std::to_string(value) + "}");
}

job_builder& job_builder::pause(bool enabled) {
    pause_ = enabled;
    return *this;
}

job_builder& job_builder::resume(std::string entries) {
    return set(resume_, std::move(entries));
}

job_builder& job_builder::debug(std::string entries) {
    debug_ = true;
    return set(debug_entries_, std::move(entries));
}

job_builder& job_builder::field(const std::string& key, std::string value) {
    return set(fields_[key], std::move(value));
}

job_builder& job_builder::status(std::string value) {
    return set(status_, std::move(value));
}

job_builder& job_builder::deleted_at(core::instant value) {
    return set(deletion_, core::format_time(value));
}

job_builder& job_builder::finalizer(std::string value) {
    return set(finalizer_, std::move(value));
}

std::string job_builder::json() const {
    std::string out = "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":" +
                      quoted(core::to_string(kind_)) + ",\"metadata\":{\"name\":" + quoted(name_) +
                      ",\"namespace\":" + quoted(ns_) + ",\"uid\":" + quoted(uid_) +
                      ",\"resourceVersion\":\"1\"" +
                      ",\"generation\":" + std::to_string(generation_) +
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

std::string job_builder::spec_json() const {
    std::string modes;
    if (debug_) {
        modes += "\"debug\":{\"enabled\":true,\"replicaSpecs\":[" + debug_entries_ + "]}";
    }
    if (pause_ || !resume_.empty()) {
        modes += std::string(modes.empty() ? "" : ",") +
                 "\"pause\":{\"enabled\":" + (pause_ ? "true" : "false") + ",\"resumeSpecs\":[" +
                 resume_ + "]}";
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

pod_builder::pod_builder(const core::job_plan& plan, core::pod_identity identity)
    : plan_(&plan), identity_(identity) {
    record_.owner_uid = plan.job_uid;
    record_.resource_version = "1";
    record_.labels_complete = true;
    record_.phase = core::pod_phase::pending;
    record_.creation = story_start;
    record_.grace_seconds = 0;
    core::container_record main;
    main.name = plan.types.at(identity.type).training_container;
    main.state = core::container_state::waiting;
    main.training = true;
    record_.containers.push_back(std::move(main));
}

pod_builder::pod_builder(const pod_builder&) = default;
pod_builder::pod_builder(pod_builder&&) noexcept = default;
pod_builder& pod_builder::operator=(const pod_builder&) = default;
pod_builder& pod_builder::operator=(pod_builder&&) noexcept = default;
pod_builder::~pod_builder() = default;

pod_builder& pod_builder::uid(std::string value) {
    return set(uid_, std::move(value));
}

pod_builder& pod_builder::owner(std::string owner_uid) {
    return set(record_.owner_uid, std::move(owner_uid));
}

pod_builder& pod_builder::resource_version(std::string value) {
    return set(record_.resource_version, std::move(value));
}

pod_builder& pod_builder::deleting(core::instant asked, std::int64_t grace) {
    record_.deletion = asked + core::seconds{grace};
    return set(record_.grace_seconds, grace);
}

pod_builder& pod_builder::reason(std::string reason, std::string message) {
    record_.reason = std::move(reason);
    return set(record_.message, std::move(message));
}

pod_builder& pod_builder::running(core::instant since) {
    main().state = core::container_state::running;
    main().started = since;
    return scheduled().phase(core::pod_phase::running);
}

pod_builder& pod_builder::waiting(std::string reason, std::string message) {
    main().state = core::container_state::waiting;
    main().reason = std::move(reason);
    main().message = std::move(message);
    return scheduled().phase(core::pod_phase::pending);
}

pod_builder& pod_builder::exited(std::int32_t code, core::instant finished, std::string message) {
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

pod_builder& pod_builder::terminated_by_signal(std::int32_t signal, core::instant finished) {
    return exited(128 + signal, finished);
}

pod_builder& pod_builder::oom_killed(core::instant finished) {
    exited(137, finished);
    return set(main().reason, std::string("OOMKilled"));
}

pod_builder& pod_builder::evicted(core::instant finished) {
    exited(137, finished);
    return phase(core::pod_phase::failed)
        .reason("Evicted", "The node was low on resource: memory.");
}

pod_builder& pod_builder::failed_without_code(std::string reason, std::string message) {
    record_.containers.clear();
    return phase(core::pod_phase::failed).reason(std::move(reason), std::move(message));
}

pod_builder& pod_builder::sidecar(
    std::string name, core::container_state state, std::int32_t exit_code
) {
    core::container_record c;
    c.name = std::move(name);
    c.state = state;
    c.exit_code = exit_code;
    record_.containers.push_back(std::move(c));
    return *this;
}

pod_builder& pod_builder::init_failed(std::string name, std::int32_t code, core::instant finished) {
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

core::pod_record pod_builder::record() const {
    auto out = record_;
    out.name = core::pod_name(*plan_, identity_);
    out.uid = !uid_.empty() ? uid_
                            : "uid-" + out.name + "-" + std::to_string(identity_.attempt) + "." +
                                  std::to_string(identity_.round);
    if (unlabelled_) {
        out.labels_complete = false;
        return out;
    }
    out.type = plan_->types.at(identity_.type).name;
    out.index = identity_.index;
    out.attempt = gone_ ? core::gone_attempt : identity_.attempt;
    out.round = identity_.round;
    return out;
}

pod_builder pod(const core::job_plan& plan, core::pod_identity identity) {
    return {plan, identity};
}

core::child_record child(
    const core::job_plan& plan,
    const core::planned_object& object,
    std::int32_t attempt,
    const core::render_options& options
) {
    std::string text = core::preview_object(plan, object, attempt, options);
    constexpr std::string_view metadata = "\"metadata\":{";
    text.insert(
        text.find(metadata) + metadata.size(),
        "\"resourceVersion\":\"1\",\"uid\":\"uid-" + core::object_name(object, attempt) + "\","
    );
    return core::decode_child(object.kind, text).value();
}

scene::scene() = default;
scene::~scene() = default;

scene& scene::add(core::pod_record record) {
    pods_.push_back(std::move(record));
    return *this;
}

scene& scene::add(core::child_record record) {
    children_.push_back(std::move(record));
    return *this;
}

scene& scene::add_objects(const core::job_plan& plan, std::int32_t attempt) {
    for (const auto& object : plan.objects) {
        add(child(plan, object, attempt));
    }
    return *this;
}

scene& scene::refuse(core::refusal value) {
    refusals_.push_back(std::move(value));
    return *this;
}

scene& scene::confirm_absent(core::object_kind kind, std::string name) {
    absences_.push_back({kind, std::move(name)});
    return *this;
}

scene& scene::serves(core::capabilities value) {
    served_ = value;
    return *this;
}

const core::observed& scene::view() {
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

}  // namespace signalbox::test
