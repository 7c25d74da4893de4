// SPDX-License-Identifier: Apache-2.0
#include "render/admitted_pod.hpp"

#include "json/json.hpp"

#include <utility>
#include <vector>

namespace signalbox::core {
namespace {

class admission_editor {
public:
    explicit admission_editor(json::document& pod) : pod_(pod), a_(pod.GetAllocator()) {}

    void edit(const admitted_marks& marks) {
        put_all(pod_["spec"], "nodeSelector", marks.node_selector, /*replaces=*/true);
        put_all(pod_["metadata"], "labels", marks.labels, /*replaces=*/false);
        put_all(pod_["metadata"], "annotations", marks.annotations, /*replaces=*/false);
        add_tolerations(marks.tolerations);
    }

private:
    json::value& member(json::value& object, const char* name, rapidjson::Type type) {
        auto it = object.FindMember(name);
        if (it == object.MemberEnd()) {
            object.AddMember(rapidjson::StringRef(name), json::value(type), a_);
            it = object.FindMember(name);
        } else if (it->value.GetType() != type) {
            it->value = json::value(type);
        }
        return it->value;
    }

    void put_all(
        json::value& object, const char* name, const std::vector<named_value>& values, bool replaces
    ) {
        if (values.empty()) {
            return;
        }
        json::value& map = member(object, name, rapidjson::kObjectType);
        for (const named_value& v : values) {
            const auto there = map.FindMember(json::value(json::ref(v.name)));
            if (there == map.MemberEnd()) {
                map.AddMember(json::copy_string(v.name, a_), json::copy_string(v.value, a_), a_);
            } else if (replaces) {
                there->value = json::copy_string(v.value, a_);
            }
        }
    }

    json::value json_of(const toleration& t) {
        json::value out(rapidjson::kObjectType);
        const auto add = [&](const char* name, const std::string& text) {
            if (!text.empty()) {
                out.AddMember(rapidjson::StringRef(name), json::copy_string(text, a_), a_);
            }
        };
        add("key", t.key);
        add("operator", t.op);
        add("value", t.value);
        add("effect", t.effect);
        if (t.seconds) {
            out.AddMember("tolerationSeconds", *t.seconds, a_);
        }
        return out;
    }

    void add_tolerations(const std::vector<toleration>& tolerations) {
        if (tolerations.empty()) {
            return;
        }
        json::value& list = member(pod_["spec"], "tolerations", rapidjson::kArrayType);
        const rapidjson::SizeType theirs = list.Size();
        for (const toleration& t : tolerations) {
            json::value one = json_of(t);
            bool known = false;
            for (rapidjson::SizeType i = 0; i < theirs && !known; ++i) {
                known = list[i] == one;
            }
            if (!known) {
                list.PushBack(std::move(one), a_);
            }
        }
    }

    json::document& pod_;
    json::allocator& a_;
};

}  // namespace

std::string with_admitted_marks(std::string pod, const admitted_marks& marks) {
    if (marks == admitted_marks()) {
        return pod;
    }
    json::document document;
    json::parse(document, pod);
    admission_editor(document).edit(marks);
    return json::to_text(document);
}

}  // namespace signalbox::core
