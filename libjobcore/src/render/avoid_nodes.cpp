// SPDX-License-Identifier: Apache-2.0
#include "render/avoid_nodes.hpp"

#include "json/json.hpp"

#include <string_view>
#include <utility>

namespace signalbox::core {
namespace {

class affinity_editor {
public:
    affinity_editor(json::document& pod, const node_avoidance& avoid)
        : pod_(pod), a_(pod.GetAllocator()), avoid_(avoid) {}

    void edit() {
        json::value& node = member(member(pod_["spec"], "affinity"), "nodeAffinity");
        if (avoid_.required) {
            require(node);
        } else {
            prefer(node);
        }
    }

private:
    /// The object member of that name, made if it is not there.
    json::value& member(json::value& object, const char* name) {
        const auto it = object.FindMember(name);
        if (it != object.MemberEnd()) {
            if (!it->value.IsObject()) {
                it->value.SetObject();
            }
            return it->value;
        }
        object.AddMember(
            json::value(rapidjson::StringRef(name)), json::value(rapidjson::kObjectType), a_
        );
        return object[name];
    }

    json::value& list(json::value& object, const char* name) {
        const auto it = object.FindMember(name);
        if (it != object.MemberEnd()) {
            if (!it->value.IsArray()) {
                it->value.SetArray();
            }
            return it->value;
        }
        object.AddMember(
            json::value(rapidjson::StringRef(name)), json::value(rapidjson::kArrayType), a_
        );
        return object[name];
    }

    /// By the name of the node: a label may have another value. Such a requirement takes one name.
    void add_requirements(json::value& term) {
        json::value& fields = list(term, "matchFields");
        for (const std::string& name : avoid_.nodes) {
            json::value values(rapidjson::kArrayType);
            values.PushBack(
                json::value(name.data(), static_cast<rapidjson::SizeType>(name.size()), a_), a_
            );
            json::value one(rapidjson::kObjectType);
            one.AddMember("key", "metadata.name", a_);
            one.AddMember("operator", "NotIn", a_);
            one.AddMember("values", std::move(values), a_);
            fields.PushBack(std::move(one), a_);
        }
    }

    static bool is_empty(const json::value& term) {
        for (const char* name : {"matchExpressions", "matchFields"}) {
            const json::value* asked = json::find(term, name);
            if (asked != nullptr && asked->IsArray() && !asked->Empty()) {
                return false;
            }
        }
        return true;
    }

    /// One of the terms has to hold: each gets it. An empty one holds of no node, and stays.
    void require(json::value& node) {
        json::value& required = member(node, "requiredDuringSchedulingIgnoredDuringExecution");
        json::value& terms = list(required, "nodeSelectorTerms");
        if (terms.Empty()) {
            json::value term(rapidjson::kObjectType);
            add_requirements(term);
            terms.PushBack(std::move(term), a_);
            return;
        }
        for (json::value& term : terms.GetArray()) {
            if (term.IsObject() && !is_empty(term)) {
                add_requirements(term);
            }
        }
    }

    void prefer(json::value& node) {
        json::value term(rapidjson::kObjectType);
        add_requirements(term);
        json::value preferred(rapidjson::kObjectType);
        preferred.AddMember("weight", 100, a_);
        preferred.AddMember("preference", std::move(term), a_);
        list(node, "preferredDuringSchedulingIgnoredDuringExecution")
            .PushBack(std::move(preferred), a_);
    }

    json::document& pod_;
    json::allocator& a_;
    const node_avoidance& avoid_;
};

}  // namespace

std::string with_avoided_nodes(std::string pod, const node_avoidance& avoid) {
    if (avoid.nodes.empty()) {
        return pod;
    }
    json::document document;
    json::parse(document, pod);
    const bool is_pod = !document.HasParseError() && document.IsObject() &&
                        json::find(document, "spec") != nullptr && document["spec"].IsObject();
    if (!is_pod) {
        return pod;
    }
    affinity_editor(document, avoid).edit();
    return json::to_text(document);
}

}  // namespace signalbox::core
