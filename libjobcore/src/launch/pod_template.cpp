// SPDX-License-Identifier: Apache-2.0
#include "launch/pod_template.hpp"

#include "gang/gang.hpp"
#include "render/labels.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::core::launch {
namespace {

json::value* find_mutable(json::value& object, std::string_view key) {
    const auto it = object.FindMember(json::value(json::ref(key)));
    return it == object.MemberEnd() || it->value.IsNull() ? nullptr : &it->value;
}

/// Sets a member, in its place if it is there. `key` must outlive the document.
void put(json::value& object, std::string_view key, json::value v, json::allocator& a) {
    const auto it = object.FindMember(json::value(json::ref(key)));
    if (it != object.MemberEnd()) {
        it->value = std::move(v);
    } else {
        object.AddMember(json::value(json::ref(key)), std::move(v), a);
    }
}

/// The list member, made if it is absent.
json::value& list_member(json::value& object, std::string_view key, json::allocator& a) {
    if (json::value* list = find_mutable(object, key)) {
        return *list;
    }
    put(object, key, json::value(rapidjson::kArrayType), a);
    return *find_mutable(object, key);
}

bool has_item(
    const json::value& object, std::string_view list, std::string_view key, std::string_view text
) {
    const json::value* items = json::find(object, list);
    return items != nullptr &&
           std::any_of(items->Begin(), items->End(), [&](const json::value& item) {
               return json::string_or_empty(item, key) == text;
           });
}

/// `path` is `/dev/shm` or a directory above it.
bool covers_shared_memory(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.remove_suffix(1);
    }
    return path == "/dev/shm" || path == "/dev" || path == "/";
}

constexpr std::string_view shm_volume = "signalbox-shm";

}  // namespace

std::vector<std::string> string_list(const json::value& container, std::string_view key) {
    std::vector<std::string> out;
    if (const json::value* list = json::find(container, key)) {
        for (const auto& item : list->GetArray()) {
            out.emplace_back(item.IsNull() ? std::string_view{} : json::view(item));
        }
    }
    return out;
}

pod_editor::pod_editor(
    const compile_context& ctx,
    std::size_t type,
    bool deciding,
    const json::value& pod_template,
    std::size_t training
)
    : ctx_(&ctx),
      type_(&ctx.plan.types[type]),
      type_number_(type),
      deciding_(deciding),
      training_(training) {
    document_.CopyFrom(pod_template, document_.GetAllocator());
}

const json::value& pod_editor::training() const {
    return (*json::find(document_, "spec", "containers")
    )[static_cast<rapidjson::SizeType>(training_)];
}

json::value& pod_editor::container() {
    return document_["spec"]["containers"][static_cast<rapidjson::SizeType>(training_)];
}

json::value pod_editor::gap_or_text(const std::optional<filling>& what, const std::string& s) {
    return what ? gaps_.mark(*what, s) : text(s);
}

void pod_editor::add_env(json::value& target, const std::vector<env_entry>& entries) {
    auto& a = document_.GetAllocator();
    json::value env(rapidjson::kArrayType);
    for (const auto& e : entries) {
        if (has_item(target, "env", "name", e.name)) {
            continue;  // the user's value wins, each name once (BEHAVIOUR.md 3.2, 3.4)
        }
        json::value item(rapidjson::kObjectType);
        item.AddMember("name", text(e.name), a);
        item.AddMember("value", gap_or_text(e.what, e.text), a);
        env.PushBack(std::move(item), a);
    }
    if (env.Empty()) {
        return;
    }
    if (json::value* theirs = find_mutable(target, "env")) {
        for (auto& item : theirs->GetArray()) {
            env.PushBack(std::move(item), a);
        }
    }
    put(target, "env", std::move(env), a);
}

void pod_editor::add_training_env(const std::vector<env_entry>& entries) {
    add_env(container(), entries);
}

void pod_editor::add_other_env(const std::vector<env_entry>& entries) {
    json::value& spec = document_["spec"];
    for (const std::string_view key : {"containers", "initContainers"}) {
        json::value* list = find_mutable(spec, key);
        for (rapidjson::SizeType i = 0; list != nullptr && i < list->Size(); ++i) {
            if (key != "containers" || i != training_) {
                add_env((*list)[i], entries);
            }
        }
    }
}

void pod_editor::set_command(const std::vector<std::string>& command) {
    json::value list(rapidjson::kArrayType);
    for (const auto& word : command) {
        list.PushBack(text(word), document_.GetAllocator());
    }
    put(container(), "command", std::move(list), document_.GetAllocator());
}

void pod_editor::set_args(const std::vector<argument>& args) {
    if (args.empty()) {
        container().RemoveMember("args");
        return;
    }
    json::value list(rapidjson::kArrayType);
    for (const auto& arg : args) {
        list.PushBack(gap_or_text(arg.what, arg.text), document_.GetAllocator());
    }
    put(container(), "args", std::move(list), document_.GetAllocator());
}

void pod_editor::set_training_default(std::string_view key, std::string_view value) {
    if (json::find(container(), key) == nullptr) {
        put(container(), key, text(value), document_.GetAllocator());
    }
}

bool pod_editor::host_network() const {
    const json::value* v = json::find(document_, "spec", "hostNetwork");
    return v != nullptr && v->IsTrue();
}

void pod_editor::add_port(std::string_view name, std::int32_t number) {
    auto& a = document_.GetAllocator();
    json::value& ports = list_member(container(), "ports", a);
    for (const auto& port : ports.GetArray()) {
        const json::value* theirs = json::find(port, "containerPort");
        if ((theirs != nullptr && theirs->IsInt() && theirs->GetInt() == number) ||
            json::string_or_empty(port, "name") == name) {
            return;
        }
    }
    json::value port(rapidjson::kObjectType);
    port.AddMember("name", text(name), a);
    port.AddMember("containerPort", number, a);
    port.AddMember("protocol", "TCP", a);
    ports.PushBack(std::move(port), a);
}

void pod_editor::add_shared_memory() {
    if (const json::value* theirs = json::find(container(), "volumeMounts")) {
        for (const auto& m : theirs->GetArray()) {
            if (covers_shared_memory(json::string_or_empty(m, "mountPath"))) {
                return;
            }
        }
    }
    add_mount({.volume = shm_volume, .path = "/dev/shm", .read_only = false});
    add_memory_volume(shm_volume);
}

void pod_editor::add_mount(const volume_mount& m) {
    auto& a = document_.GetAllocator();
    json::value mount(rapidjson::kObjectType);
    mount.AddMember("name", text(m.volume), a);
    mount.AddMember("mountPath", text(m.path), a);
    if (!m.sub_path.empty()) {
        mount.AddMember("subPath", text(m.sub_path), a);
    }
    if (m.read_only) {
        mount.AddMember("readOnly", true, a);
    }
    list_member(container(), "volumeMounts", a).PushBack(std::move(mount), a);
}

void pod_editor::add_volume(std::string_view name, std::string_view kind, json::value source) {
    auto& a = document_.GetAllocator();
    json::value& spec = document_["spec"];
    if (has_item(spec, "volumes", "name", name)) {
        return;
    }
    json::value volume(rapidjson::kObjectType);
    volume.AddMember("name", text(name), a);
    volume.AddMember(text(kind), std::move(source), a);
    list_member(spec, "volumes", a).PushBack(std::move(volume), a);
}

void pod_editor::add_memory_volume(std::string_view name) {
    json::value source(rapidjson::kObjectType);
    source.AddMember("medium", "Memory", document_.GetAllocator());
    add_volume(name, "emptyDir", std::move(source));
}

void pod_editor::add_config_volume(std::string_view name, std::string prefix) {
    json::value source(rapidjson::kObjectType);
    source.AddMember(
        "name", gaps_.mark(filling::attempt, std::move(prefix)), document_.GetAllocator()
    );
    add_volume(name, "configMap", std::move(source));
}

void pod_editor::add_secret_volume(std::string_view name, const secret_volume& volume) {
    auto& a = document_.GetAllocator();
    json::value items(rapidjson::kArrayType);
    for (const auto& [key, path] : volume.items) {
        json::value item(rapidjson::kObjectType);
        item.AddMember("key", text(key), a);
        item.AddMember("path", text(path), a);
        items.PushBack(std::move(item), a);
    }
    json::value source(rapidjson::kObjectType);
    source.AddMember("secretName", text(volume.secret), a);
    source.AddMember("defaultMode", volume.mode, a);
    source.AddMember("items", std::move(items), a);
    add_volume(name, "secret", std::move(source));
}

void pod_editor::add_readiness_probe(std::int32_t port) {
    if (json::find(container(), "readinessProbe") != nullptr) {
        return;
    }
    auto& a = document_.GetAllocator();
    json::value socket(rapidjson::kObjectType);
    socket.AddMember("port", port, a);
    json::value probe(rapidjson::kObjectType);
    probe.AddMember("tcpSocket", std::move(socket), a);
    probe.AddMember("periodSeconds", 10, a);
    put(container(), "readinessProbe", std::move(probe), a);
}

void pod_editor::drop_init_containers() {
    document_["spec"].RemoveMember("initContainers");
}

json::value pod_editor::labels() {
    auto& a = document_.GetAllocator();
    json::value ours(rapidjson::kObjectType);
    const auto add = [&](std::string_view key, json::value v) {
        ours.AddMember(json::value(json::ref(key)), std::move(v), a);
    };
    add(label::owner_name, text(ctx_->plan.job_name));
    add(label::owner_kind, text(to_string(ctx_->plan.kind)));
    add(label::component, text(ctx_->render.component));
    add(label::replica_type, text(type_->name));
    add(label::replica_index, gaps_.mark(filling::index));
    if (deciding_) {
        add(label::job_role, text(label::job_role_master));
    }
    add(label::job_uid, text(ctx_->plan.job_uid));
    add(label::attempt, gaps_.mark(filling::attempt));
    add(label::round, gaps_.mark(filling::round));
    add(label::managed_by, text(label::managed_by_value));
    if (const auto marks = gang::marks_of(ctx_->plan, type_number_)) {
        for (const auto& [key, value] : marks->labels) {
            add(key, text(value));
        }
    }

    json::value out(rapidjson::kObjectType);
    json::value* metadata = find_mutable(document_, "metadata");
    json::value* theirs = metadata == nullptr ? nullptr : find_mutable(*metadata, "labels");
    if (theirs != nullptr) {
        for (auto& member : theirs->GetObject()) {
            const bool false_master = json::view(member.name) == label::job_role &&
                                      member.value.IsString() &&
                                      json::view(member.value) == label::job_role_master;
            if (!ours.HasMember(member.name) && !false_master) {
                out.AddMember(std::move(member.name), std::move(member.value), a);
            }
        }
    }
    for (auto& member : ours.GetObject()) {
        out.AddMember(std::move(member.name), std::move(member.value), a);
    }
    return out;
}

/// The user's, and which container trains (BEHAVIOUR.md 1.6).
json::value pod_editor::annotations() {
    auto& a = document_.GetAllocator();
    json::value* metadata = find_mutable(document_, "metadata");
    json::value* theirs = metadata == nullptr ? nullptr : find_mutable(*metadata, "annotations");
    json::value out = theirs == nullptr ? json::value(rapidjson::kObjectType) : std::move(*theirs);
    const std::string_view name = json::string_or_empty(training(), "name");
    put(out, label::training_container, text(name), a);
    // One of the workers' template may name a container that a launcher has not.
    const auto shown = json::string_or_empty(out, label::default_container);
    if (!has_item(document_["spec"], "containers", "name", shown)) {
        put(out, label::default_container, text(name), a);
    }
    if (const auto marks = gang::marks_of(ctx_->plan, type_number_)) {
        for (const auto& [key, value] : marks->annotations) {
            put(out, key, text(value), a);
        }
        if (!marks->minimum.empty()) {
            put(out, marks->minimum, gaps_.mark(filling::gang_minimum), a);
        }
    }
    return out;
}

/// The user's own gates stay: whoever set them takes them off.
void pod_editor::add_gates(std::span<const std::string_view> names) {
    auto& a = document_.GetAllocator();
    json::value& spec = document_["spec"];
    if (names.empty()) {
        return;
    }
    if (json::find(spec, "schedulingGates") == nullptr) {
        put(spec, "schedulingGates", json::value(rapidjson::kArrayType), a);
    }
    for (const std::string_view name : names) {
        json::value gate(rapidjson::kObjectType);
        gate.AddMember("name", text(name), a);
        spec["schedulingGates"].PushBack(std::move(gate), a);
    }
}

json::value pod_editor::value_of(const gang::field_value& value) {
    auto& a = document_.GetAllocator();
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        return json::value(*number);
    }
    if (const auto* string = std::get_if<std::string>(&value)) {
        return text(*string);
    }
    json::value out;
    if (const auto* written = std::get_if<gang::json_text>(&value)) {
        json::document parsed;
        json::parse(parsed, written->text);
        out.CopyFrom(parsed, a);
    }
    return out;
}

json::value pod_editor::metadata() {
    auto& a = document_.GetAllocator();
    json::value out(rapidjson::kObjectType);
    out.AddMember("name", gaps_.mark(filling::pod_name), a);
    out.AddMember("namespace", text(ctx_->plan.ns), a);
    out.AddMember("labels", labels(), a);
    out.AddMember("annotations", annotations(), a);
    json::value owner(rapidjson::kObjectType);
    owner.AddMember("apiVersion", text(api_version), a);
    owner.AddMember("kind", text(to_string(ctx_->plan.kind)), a);
    owner.AddMember("name", text(ctx_->plan.job_name), a);
    owner.AddMember("uid", text(ctx_->plan.job_uid), a);
    owner.AddMember("controller", true, a);
    owner.AddMember("blockOwnerDeletion", true, a);
    json::value owners(rapidjson::kArrayType);
    owners.PushBack(std::move(owner), a);
    out.AddMember("ownerReferences", std::move(owners), a);
    return out;
}

void pod_editor::finish_spec() {
    auto& a = document_.GetAllocator();
    json::value& spec = document_["spec"];
    put(spec, "restartPolicy", text("Never"), a);
    put(spec, "hostname", gaps_.mark(filling::hostname), a);
    put(spec, "subdomain", text(ctx_->plan.base_name), a);
    const auto marks = gang::marks_of(ctx_->plan, type_number_);
    if (marks && !marks->scheduler_name.empty() && json::find(spec, "schedulerName") == nullptr) {
        put(spec, "schedulerName", text(marks->scheduler_name), a);
    }
    if (marks) {
        add_gates(marks->gates);
        for (const auto& [key, value] : marks->spec) {
            put(spec, key, value_of(value), a);
        }
    }
    // Else the names of the job's Services do not resolve in the pod (BEHAVIOUR.md 3.3).
    if (host_network() && json::find(spec, "dnsPolicy") == nullptr) {
        put(spec, "dnsPolicy", text("ClusterFirstWithHostNet"), a);
    }
}

program pod_editor::build() {
    auto& a = document_.GetAllocator();
    finish_spec();
    json::value pod(rapidjson::kObjectType);
    pod.AddMember("apiVersion", "v1", a);
    pod.AddMember("kind", "Pod", a);
    pod.AddMember("metadata", metadata(), a);
    pod.AddMember("spec", std::move(document_["spec"]), a);
    return gaps_.build(pod);
}

}  // namespace signalbox::core::launch
