// SPDX-License-Identifier: Apache-2.0
//
// Published manifests of this API, and what they compile to. They are no part of the repository:
// where no copy lies beside the source tree, the suite is skipped.
#pragma once

#include "launch/ssh_job.hpp"
#include "signalbox_test/source_files.hpp"

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>

namespace signalbox::test {

/// YAML 1.2 scalars as Kubernetes reads them: quoted ones are strings.
inline std::string scalar_json(const YAML::Node& node) {
    const std::string text = node.Scalar();
    if (node.Tag() == "!") {
        return quoted(text);
    }
    core::json::document number;
    core::json::parse(number, text);
    const bool literal = !number.HasParseError() && !number.IsString() && !text.empty();
    return literal ? text : quoted(text);
}

inline std::string to_json(const YAML::Node& node) {
    std::string out;
    if (node.IsMap()) {
        for (const auto& member : node) {
            out += (out.empty() ? "" : ",") + quoted(member.first.Scalar()) + ":" +
                   to_json(member.second);
        }
        return "{" + out + "}";
    }
    if (node.IsSequence()) {
        for (const auto& item : node) {
            out += (out.empty() ? "" : ",") + to_json(item);
        }
        return "[" + out + "]";
    }
    return node.IsNull() ? "null" : scalar_json(node);
}

inline const std::string published_folder = source_path("..") + "/shared/manifests";

/// The manifest as a job of the API server, JSON.
inline std::string published_json(const std::string& name) {
    auto tree = YAML::LoadFile(published_folder + "/" + name + ".yaml");
    tree["metadata"]["namespace"] = "default";
    tree["metadata"]["uid"] = "9dcea839-3a99-4b6f-b594-620d79f8377d";
    return to_json(tree);
}

/// A job as the operator compiles it.
struct published_job : typed_job<core::pytorch_spec> {
    core::parsed_job parsed;
    rendered source;  ///< the job's own object

    explicit published_job(const std::string& json)
        : typed_job(core::job_kind::pytorch, ""), parsed(core::parse_job(json)), source(json) {
        for (const auto& f : parsed.findings) {
            UNSCOPED_INFO(f.pointer << ": " << f.message);
        }
        REQUIRE(parsed.spec.has_value());
        meta = parsed.meta;
        spec = *parsed.spec;
        plan = core::compile_plan(meta, spec, findings);
        CHECK_FALSE(core::has_errors(findings));
    }
    std::string pod_name(std::size_t type, std::int32_t index) const {
        return core::pod_name(plan, {.type = type, .index = index});
    }
};

/// Every member of the user's container is in the pod's, but for what we own or add to.
inline void check_passed_through(const value& user, const value& ours, bool owns_program) {
    for (const auto& member : user.GetObject()) {
        const auto key = core::json::view(member.name);
        if (owns_program && (key == "command" || key == "args")) {
            continue;
        }
        CAPTURE(key);
        const value* found = find(ours, key);
        REQUIRE(found != nullptr);
        if (!member.value.IsArray() || key == "command" || key == "args") {
            CHECK(*found == member.value);
            continue;
        }
        for (const auto& item : member.value.GetArray()) {
            CHECK(std::find(found->Begin(), found->End(), item) != found->End());
        }
    }
}

/// The first container of a template.
inline const value& first_container(const value& pod_template) {
    return (*find(pod_template, "spec", "containers"))[0];
}

/// Every volume of the template is in the pod.
inline void check_volumes_kept(const value& pod_template, const rendered& pod) {
    const value* volumes = find(pod_template, "spec", "volumes");
    for (rapidjson::SizeType i = 0; volumes != nullptr && i < volumes->Size(); ++i) {
        const auto name = string_or_empty((*volumes)[i], "name");
        CAPTURE(name);
        const value* kept = volume(pod, name);
        REQUIRE(kept != nullptr);
        CHECK(*kept == (*volumes)[i]);
    }
}

/// A list of strings.
inline words words_of(const value* list) {
    words out;
    for (rapidjson::SizeType i = 0; list != nullptr && i < list->Size(); ++i) {
        out.emplace_back((*list)[i].GetString());
    }
    return out;
}

inline words joined(words first, const words& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

}  // namespace signalbox::test
