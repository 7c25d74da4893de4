// SPDX-License-Identifier: Apache-2.0
#include "launch/tensorboard.hpp"

#include "launch/quoting.hpp"
#include "render/deployment_content.hpp"
#include "render/labels.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::core::launch {
namespace {

constexpr std::int32_t tensorboard_port = 6006;
constexpr std::string_view default_resources =
    R"({"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"cpu":"1","memory":"1Gi"}})";

/// Where logs lie: what TensorBoard reads, the claims to mount and the Secrets with credentials.
struct log_places {
    std::vector<std::string> directories;
    std::vector<std::string> claims;
    std::vector<std::string> secrets;
};

/// The position of `name` in the list, which gets it if it is new.
std::size_t number_of(std::vector<std::string>& list, std::string_view name) {
    const auto found = std::find(list.begin(), list.end(), name);
    const auto number = static_cast<std::size_t>(found - list.begin());
    if (found == list.end()) {
        list.emplace_back(name);
    }
    return number;
}

void add_claim(log_places& places, std::string_view claim, std::string_view path) {
    while (path.starts_with('/')) {
        path.remove_prefix(1);
    }
    places.directories.push_back(
        "/logs/" + std::to_string(number_of(places.claims, claim)) +
        (path.empty() ? "" : '/' + std::string(path))
    );
}

/// `t9k://pvc/<claim>/<path>` or `t9k://minio/<secret>/<bucket>/<path>`; others are left out.
void add_fileset(log_places& places, std::string_view fileset) {
    const auto after = [&](std::string_view scheme) {
        const bool matches = fileset.starts_with(scheme);
        return matches ? fileset.substr(scheme.size()) : std::string_view();
    };
    const auto rest = after("t9k://pvc/").empty() ? after("t9k://minio/") : after("t9k://pvc/");
    const auto name = rest.substr(0, rest.find('/'));
    const auto path = rest.substr(std::min(name.size() + 1, rest.size()));
    if (name.empty()) {
        return;
    }
    if (fileset.starts_with("t9k://pvc/")) {
        add_claim(places, name, path);
    } else {
        number_of(places.secrets, name);
        places.directories.push_back("s3://" + std::string(path));
    }
}

template <class Each>
void for_each_string(const json::value* list, Each each) {
    if (list != nullptr && list->IsArray()) {
        for (const auto& item : list->GetArray()) {
            if (item.IsString()) {
                each(json::view(item));
            }
        }
    }
}

log_places read_places(const json::value& spec) {
    log_places places;
    for_each_string(json::find(spec, "trainingLogFilesets"), [&](std::string_view fileset) {
        add_fileset(places, fileset);
    });
    const json::value* claims = json::find(spec, "logDir", "pvc");
    for (rapidjson::SizeType i = 0; claims != nullptr && claims->IsArray() && i < claims->Size();
         ++i) {
        const auto name = json::string_or_empty((*claims)[i], "name");
        const json::value* paths = json::find((*claims)[i], "subPath");
        if (paths == nullptr || !paths->IsArray() || paths->Empty()) {
            add_claim(places, name, "");
        }
        for_each_string(paths, [&](std::string_view path) { add_claim(places, name, path); });
    }
    if (const json::value* s3 = json::find(spec, "logDir", "s3")) {
        if (const json::value* secret = json::find(*s3, "secretRef")) {
            number_of(places.secrets, json::string_or_empty(*secret, "name"));
        }
        for_each_string(json::find(*s3, "uri"), [&](std::string_view uri) {
            places.directories.emplace_back(uri);
        });
    }
    return places;
}

std::vector<std::string> command_line(const log_places& places) {
    std::vector<std::string> line{"tensorboard"};
    if (places.directories.size() == 1) {
        line.push_back("--logdir=" + container_word(places.directories[0]));
    } else {
        std::string list;
        for (std::size_t i = 0; i < places.directories.size(); ++i) {
            list += (i == 0 ? "" : ",") + std::to_string(i) + ':' + places.directories[i];
        }
        line.push_back("--logdir_spec=" + container_word(list));
    }
    line.emplace_back("--host=0.0.0.0");
    line.push_back("--port=" + std::to_string(tensorboard_port));
    return line;
}

/// Of the training container's securityContext: nothing that gives more than it takes.
constexpr std::array<const char*, 6> inherited_limits{
    "runAsUser",
    "runAsGroup",
    "runAsNonRoot",
    "allowPrivilegeEscalation",
    "seccompProfile",
    "seLinuxOptions"};

/// The deciding pod, of which TensorBoard takes where and as whom it runs (9.1).
class deciding_pod {
public:
    explicit deciding_pod(const compile_context& ctx)
        : plan_(ctx.plan), type_(plan_.types[plan_.deciding_type]) {
        json::parse(template_, ctx.spec.replicas[plan_.deciding_type].pod_template);
    }

    const job_plan& plan() const { return plan_; }
    const std::string& type() const { return type_.name; }
    /// A field of the pod's specification, or null.
    const json::value* field(const char* name) const {
        const json::value* spec = json::find(template_, "spec");
        return spec == nullptr ? nullptr : json::find(*spec, name);
    }
    const json::value* training_container() const;

private:
    const job_plan& plan_;
    const type_plan& type_;
    json::document template_;
};

const json::value* deciding_pod::training_container() const {
    const json::value* all = field("containers");
    for (rapidjson::SizeType i = 0; all != nullptr && all->IsArray() && i < all->Size(); ++i) {
        if (json::string_or_empty((*all)[i], "name") == type_.training_container) {
            return &(*all)[i];
        }
    }
    return nullptr;
}

/// Builds the Deployment's specification.
class deployment_builder {
public:
    deployment_builder(
        const json::value& spec, const deciding_pod& training, const std::string& name
    )
        : spec_(spec), training_(training), places_(read_places(spec)), name_(name) {}

    /// `placed`: with what is taken from the deciding pod.
    std::string build(bool placed);

private:
    json::value text(std::string_view s) { return json::copy_string(s, a_); }
    json::value object(const char* key, json::value v) {
        json::value out(rapidjson::kObjectType);
        out.AddMember(rapidjson::StringRef(key), std::move(v), a_);
        return out;
    }
    json::value labels();
    json::value container(bool placed);
    json::value volumes();
    json::value limits();
    json::value affinity();
    void place(json::value& pod);

    const json::value& spec_;
    const deciding_pod& training_;
    log_places places_;
    const std::string& name_;
    json::document document_;
    json::allocator& a_ = document_.GetAllocator();
};

/// None of the job's own labels: nothing that counts its pods may count this one (1.5).
json::value deployment_builder::labels() {
    json::value out(rapidjson::kObjectType);
    out.AddMember("app.kubernetes.io/instance", text(name_), a_);
    out.AddMember("app.kubernetes.io/name", "tensorboard", a_);
    return out;
}

json::value deployment_builder::container(bool placed) {
    json::value out(rapidjson::kObjectType);
    out.AddMember("name", "tensorboard", a_);
    out.AddMember("image", text(json::string_or_empty(spec_, "image")), a_);
    json::value command(rapidjson::kArrayType);
    for (const auto& word : command_line(places_)) {
        command.PushBack(text(word), a_);
    }
    out.AddMember("command", std::move(command), a_);
    json::value port = object("containerPort", json::value(tensorboard_port));
    port.AddMember("name", "http", a_);
    out.AddMember("ports", json::value(rapidjson::kArrayType).PushBack(port, a_), a_);
    json::value http = object("path", text("/"));
    http.AddMember("port", tensorboard_port, a_);
    out.AddMember("readinessProbe", object("httpGet", std::move(http)), a_);
    json::document defaults(&a_);
    json::parse(defaults, default_resources);
    const json::value* resources = json::find(spec_, "resources");
    out.AddMember("resources", json::value(resources != nullptr ? *resources : defaults, a_), a_);
    json::value mounts(rapidjson::kArrayType), sources(rapidjson::kArrayType);
    for (std::size_t i = 0; i < places_.claims.size(); ++i) {
        json::value mount = object("name", text("logs-" + std::to_string(i)));
        mount.AddMember("mountPath", text("/logs/" + std::to_string(i)), a_);
        mount.AddMember("readOnly", true, a_);
        mounts.PushBack(std::move(mount), a_);
    }
    for (const auto& secret : places_.secrets) {
        sources.PushBack(object("secretRef", object("name", text(secret))), a_);
    }
    out.AddMember("volumeMounts", std::move(mounts), a_);
    out.AddMember("envFrom", std::move(sources), a_);
    json::value taken = limits();
    if (placed && taken.MemberCount() > 0) {
        out.AddMember("securityContext", std::move(taken), a_);
    }
    return out;
}

json::value deployment_builder::limits() {
    json::value out(rapidjson::kObjectType);
    const json::value* container = training_.training_container();
    const json::value* context =
        container == nullptr ? nullptr : json::find(*container, "securityContext");
    if (context == nullptr) {
        return out;
    }
    for (const char* name : inherited_limits) {
        if (const json::value* value = json::find(*context, name)) {
            out.AddMember(rapidjson::StringRef(name), json::value(*value, a_), a_);
        }
    }
    if (const json::value* dropped = json::find(*context, "capabilities", "drop")) {
        out.AddMember("capabilities", object("drop", json::value(*dropped, a_)), a_);
    }
    return out;
}

json::value deployment_builder::affinity() {
    json::value chosen(rapidjson::kObjectType);
    const auto add = [&](std::string_view key, std::string_view value) {
        chosen.AddMember(text(key), text(value), a_);
    };
    add(label::job_uid, training_.plan().job_uid);
    add(label::replica_index, "0");
    add(label::replica_type, training_.type());
    json::value term = object("labelSelector", object("matchLabels", std::move(chosen)));
    term.AddMember("topologyKey", "kubernetes.io/hostname", a_);
    json::value preference = object("podAffinityTerm", std::move(term));
    preference.AddMember("weight", 100, a_);
    json::value all(rapidjson::kArrayType);
    all.PushBack(std::move(preference), a_);
    return object(
        "podAffinity", object("preferredDuringSchedulingIgnoredDuringExecution", std::move(all))
    );
}

json::value deployment_builder::volumes() {
    json::value out(rapidjson::kArrayType);
    for (std::size_t i = 0; i < places_.claims.size(); ++i) {
        json::value claim = object("claimName", text(places_.claims[i]));
        claim.AddMember("readOnly", true, a_);
        json::value volume = object("name", text("logs-" + std::to_string(i)));
        volume.AddMember("persistentVolumeClaim", std::move(claim), a_);
        out.PushBack(std::move(volume), a_);
    }
    return out;
}

void deployment_builder::place(json::value& pod) {
    pod.AddMember("affinity", affinity(), a_);
    for (const char* name : {"imagePullSecrets", "tolerations", "securityContext"}) {
        if (const json::value* value = training_.field(name)) {
            pod.AddMember(rapidjson::StringRef(name), json::value(*value, a_), a_);
        }
    }
}

std::string deployment_builder::build(bool placed) {
    const json::value* suspend = json::find(spec_, "suspend");
    const bool suspended = suspend != nullptr && suspend->IsTrue();
    json::value pod(rapidjson::kObjectType);
    json::value containers(rapidjson::kArrayType);
    containers.PushBack(container(placed), a_);
    pod.AddMember("containers", std::move(containers), a_);
    pod.AddMember("volumes", volumes(), a_);
    pod.AddMember("enableServiceLinks", false, a_);
    if (placed) {
        place(pod);
    }
    json::value pod_template = object("metadata", object("labels", labels()));
    pod_template.AddMember("spec", std::move(pod), a_);
    json::value out = object("replicas", json::value(suspended ? 0 : 1));
    out.AddMember("selector", object("matchLabels", labels()), a_);
    // A claim that is bound to one node may not be mounted twice.
    out.AddMember("strategy", object("type", text("Recreate")), a_);
    out.AddMember("template", std::move(pod_template), a_);
    return json::to_text(out);
}

/// What only a TensorBoard of the cluster's own can do: whether there is one is not known here.
void warn_limits(compile_context& ctx, const json::value& spec) {
    if (json::string_or_empty(spec, "image").empty()) {
        ctx.warn(
            "/spec/tensorboardSpec/image",
            "Without an image there is a TensorBoard only where the cluster serves that kind.",
            "SpecWarning"
        );
    }
    if (json::find(spec, "logDir", "http") != nullptr) {
        ctx.warn(
            "/spec/tensorboardSpec/logDir/http",
            "Logs behind HTTP are shown only where the cluster serves the kind TensorBoard.",
            "SpecWarning"
        );
    }
}

}  // namespace

void plan_tensorboard(compile_context& ctx, const std::string& tensorboard_spec) {
    json::document spec;
    json::parse(spec, tensorboard_spec);
    const bool asked = !tensorboard_spec.empty() && !spec.HasParseError() && spec.IsObject();
    if (!asked || ctx.plan.types.empty()) {
        return;
    }
    warn_limits(ctx, spec);
    const std::string ours = companion_name(ctx.plan);
    const auto add = [&](object_kind kind, const std::string& name, std::string content) {
        planned_object object;
        object.kind = kind;
        object.name = name;
        object.variant = kind == object_kind::service ? tensorboard_service : 0;
        object.spec = std::move(content);
        ctx.plan.companions.push_back(std::move(object));
    };
    add(object_kind::tensorboard, ctx.plan.base_name, tensorboard_spec);
    const deciding_pod training(ctx);
    add(object_kind::deployment, ours, deployment_builder(spec, training, ours).build(false));
    ctx.render.deployment_spec = deployment_builder(spec, training, ours).build(true);
    json::document written;
    json::parse(written, ctx.render.deployment_spec);
    ctx.render.deployment_content = deployment_content(written);
    add(object_kind::service, ours, {});
}

}  // namespace signalbox::core::launch
