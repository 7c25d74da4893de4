// SPDX-License-Identifier: Apache-2.0
#include "render/progress_access.hpp"

#include "json/json.hpp"
#include "render/labels.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace signalbox::core {
namespace {

constexpr std::string_view volume_name = "signalbox-progress";
constexpr std::string_view folder = "/var/run/signalbox/progress";
/// The least lifetime that a server gives is 600 s; the kubelet renews it at 80 %.
constexpr int token_seconds = 3600;

/// Of the protocol that `transformers` speaks by itself (KubeflowCallback).
constexpr std::string_view url_name = "KUBEFLOW_TRAINER_SERVER_URL";
constexpr std::string_view ca_name = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
constexpr std::string_view token_name = "KUBEFLOW_TRAINER_SERVER_TOKEN";

std::string in_folder(std::string_view file) {
    return std::string(folder).append("/").append(file);
}

bool is_at_or_below(std::string_view path, std::string_view place) {
    return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

class access_editor {
public:
    access_editor(json::document& pod, const job_plan& plan, const progress_access& to)
        : pod_(pod), a_(pod.GetAllocator()), plan_(plan), to_(to) {}

    /// False, and nothing is changed, if the user has something in our places.
    bool edit() {
        json::value* container = training();
        if (container == nullptr || is_taken(*container)) {
            return false;
        }
        add_variables(*container);
        json::value mount(rapidjson::kObjectType);
        mount.AddMember("name", json::value(json::ref(volume_name)), a_);
        mount.AddMember("mountPath", json::value(json::ref(folder)), a_);
        mount.AddMember("readOnly", true, a_);
        list(*container, "volumeMounts").PushBack(std::move(mount), a_);
        list(pod_["spec"], "volumes").PushBack(volume(), a_);
        // There even if empty: it says that the pod reports.
        pod_["metadata"]["annotations"].AddMember(
            json::value(json::ref(label::progress_ca)), json::copy_string(to_.ca, a_), a_
        );
        return true;
    }

private:
    json::value* training() {
        const json::value* metadata = json::find(pod_, "metadata");
        const json::value* annotations =
            metadata == nullptr ? nullptr : json::find(*metadata, "annotations");
        const json::value* containers = json::find(pod_, "spec", "containers");
        if (annotations == nullptr || containers == nullptr || !containers->IsArray()) {
            return nullptr;
        }
        const auto name = json::string_or_empty(*annotations, label::training_container);
        for (json::value& c : pod_["spec"]["containers"].GetArray()) {
            if (json::string_or_empty(c, "name") == name) {
                return &c;
            }
        }
        return nullptr;
    }

    /// An item of the list has this text, by `is_ours`, under the key.
    template <class Ours>
    static bool any_item(
        const json::value& object, std::string_view list, std::string_view key, Ours is_ours
    ) {
        const json::value* items = json::find(object, list);
        return items != nullptr && items->IsArray() &&
               std::any_of(items->Begin(), items->End(), [&](const json::value& item) {
                   return is_ours(json::string_or_empty(item, key));
               });
    }

    bool is_taken(const json::value& container) const {
        const auto is_variable = [](std::string_view name) {
            return name == url_name || name == ca_name || name == token_name;
        };
        const auto is_place = [](std::string_view path) {
            return is_at_or_below(path, folder) || is_at_or_below(folder, path);
        };
        return any_item(container, "env", "name", is_variable) ||
               any_item(container, "volumeMounts", "mountPath", is_place) ||
               any_item(*json::find(pod_, "spec"), "volumes", "name", [](std::string_view name) {
                   return name == volume_name;
               });
    }

    json::value& list(json::value& object, const char* name) {
        const auto it = object.FindMember(name);
        if (it != object.MemberEnd() && it->value.IsArray()) {
            return it->value;
        }
        if (it != object.MemberEnd()) {
            it->value.SetArray();
            return it->value;
        }
        object.AddMember(
            json::value(rapidjson::StringRef(name)), json::value(rapidjson::kArrayType), a_
        );
        return object[name];
    }

    /// First in the list, so that variables of the user may refer to them.
    void add_variables(json::value& container) {
        json::value env(rapidjson::kArrayType);
        const auto add = [&](std::string_view name, const std::string& text) {
            json::value one(rapidjson::kObjectType);
            one.AddMember("name", json::value(json::ref(name)), a_);
            one.AddMember("value", json::copy_string(text, a_), a_);
            env.PushBack(std::move(one), a_);
        };
        add(url_name, to_.url + progress_path(plan_.ns, plural(plan_.kind), plan_.job_name));
        add(token_name, in_folder("token"));
        if (!to_.ca.empty()) {
            add(ca_name, in_folder("ca.crt"));
        }
        json::value& theirs = list(container, "env");
        for (json::value& entry : theirs.GetArray()) {
            env.PushBack(std::move(entry), a_);
        }
        theirs = std::move(env);
    }

    json::value volume() {
        json::value token(rapidjson::kObjectType);
        token.AddMember("audience", json::value(json::ref(progress_audience)), a_);
        token.AddMember("expirationSeconds", token_seconds, a_);
        token.AddMember("path", "token", a_);
        json::value sources(rapidjson::kArrayType);
        sources.PushBack(source("serviceAccountToken", std::move(token)), a_);
        if (!to_.ca.empty()) {
            json::value field(rapidjson::kObjectType);
            const std::string path =
                std::string("metadata.annotations['").append(label::progress_ca).append("']");
            field.AddMember("fieldPath", json::copy_string(path, a_), a_);
            json::value item(rapidjson::kObjectType);
            item.AddMember("path", "ca.crt", a_);
            item.AddMember("fieldRef", std::move(field), a_);
            json::value items(rapidjson::kArrayType);
            items.PushBack(std::move(item), a_);
            json::value fields(rapidjson::kObjectType);
            fields.AddMember("items", std::move(items), a_);
            sources.PushBack(source("downwardAPI", std::move(fields)), a_);
        }
        json::value projected(rapidjson::kObjectType);
        projected.AddMember("sources", std::move(sources), a_);
        json::value out = source("projected", std::move(projected));
        out.AddMember("name", json::value(json::ref(volume_name)), a_);
        return out;
    }

    json::value source(const char* kind, json::value what) {
        json::value out(rapidjson::kObjectType);
        out.AddMember(json::value(rapidjson::StringRef(kind)), std::move(what), a_);
        return out;
    }

    json::document& pod_;
    json::allocator& a_;
    const job_plan& plan_;
    const progress_access& to_;
};

}  // namespace

std::string progress_path(std::string_view ns, std::string_view plural, std::string_view job_name) {
    std::string out = "/namespaces/";
    return out.append(ns).append("/").append(plural).append("/").append(job_name);
}

std::string with_progress_access(
    std::string pod, const job_plan& plan, const render_options& options
) {
    json::document document;
    json::parse(document, pod);
    const bool is_pod = !document.HasParseError() && document.IsObject();
    if (!is_pod || !access_editor(document, plan, options.reports).edit()) {
        return pod;
    }
    return json::to_text(document);
}

}  // namespace signalbox::core
