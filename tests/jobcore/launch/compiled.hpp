// SPDX-License-Identifier: Apache-2.0
//
// A job compiled from its JSON, and readings of the pods that it renders: tests compare meaning,
// not saved text.
#pragma once

#include "json/json.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::test {

using core::json::find;
using core::json::string_or_empty;
using core::json::value;

/// A rendered object. Copies share the document.
class rendered {
public:
    explicit rendered(const std::string& text)
        : document_(std::make_shared<core::json::document>()) {
        core::json::parse(*document_, text);
        INFO(text);
        REQUIRE_FALSE(document_->HasParseError());
    }

    const value& root() const { return *document_; }
    const value& spec() const { return *find(*document_, "spec"); }
    std::string label(std::string_view key) const { return string_in("labels", key); }
    std::string annotation(std::string_view key) const { return string_in("annotations", key); }
    std::string name() const {
        return std::string(string_or_empty(*find(*document_, "metadata"), "name"));
    }

    const value& container(std::string_view name, std::string_view list = "containers") const {
        const value* items = find(spec(), list);
        REQUIRE(items != nullptr);
        for (const auto& item : items->GetArray()) {
            if (string_or_empty(item, "name") == name) {
                return item;
            }
        }
        FAIL("no container " << name);
        return spec();
    }

    /// The words of a string list of a container; empty if absent.
    std::vector<std::string> words(std::string_view key, std::string_view name = "pytorch") const {
        std::vector<std::string> out;
        if (const value* list = find(container(name), key)) {
            for (const auto& word : list->GetArray()) {
                out.emplace_back(word.GetString());
            }
        }
        return out;
    }

    /// Names of a container's variables, in order.
    std::vector<std::string> env_names(
        std::string_view name = "pytorch", std::string_view list = "containers"
    ) const {
        std::vector<std::string> out;
        if (const value* env = find(container(name, list), "env")) {
            for (const auto& e : env->GetArray()) {
                out.emplace_back(string_or_empty(e, "name"));
            }
        }
        return out;
    }

    /// The value of a variable of the container `pytorch`; `<none>` if it has none.
    std::string env(std::string_view variable, std::string_view name = "pytorch") const {
        if (const value* env = find(container(name), "env")) {
            for (const auto& e : env->GetArray()) {
                if (string_or_empty(e, "name") == variable) {
                    return std::string(string_or_empty(e, "value"));
                }
            }
        }
        return "<none>";
    }

private:
    std::string string_in(std::string_view map, std::string_view key) const {
        const value* v = find(*document_, "metadata", map, key);
        return v == nullptr || !v->IsString() ? "<none>" : v->GetString();
    }

    std::shared_ptr<core::json::document> document_;
};

struct compiled {
    core::parsed_job parsed;
    std::vector<core::diagnostic> findings;  ///< of the compiler
    core::job_plan plan;

    explicit compiled(const job_builder& job) : compiled(job.json()) {}
    /// `elastic` is put into the typed specification: the compiler knows it before the parser
    /// lets it through.
    explicit compiled(
        const std::string& json, const std::optional<core::elastic_config>& elastic = {}
    )
        : parsed(core::parse_job(json)) {
        for (const auto& f : parsed.findings) {
            UNSCOPED_INFO(f.pointer << ": " << f.message);
        }
        REQUIRE(parsed.spec.has_value());
        if (elastic) {
            parsed.spec->elastic = elastic;
        }
        plan = core::compile_plan(parsed.meta, *parsed.spec, findings);
    }

    rendered pod(core::pod_identity identity = {}, const core::render_options& options = {}) const {
        CHECK_FALSE(core::has_errors(findings));
        return rendered(core::render_pod(plan, identity, options));
    }
    bool warns(std::string_view pointer) const {
        return std::any_of(plan.warnings.begin(), plan.warnings.end(), [&](const auto& w) {
            return w.pointer == pointer && w.level == core::severity::warning;
        });
    }
};

inline bool contains(const std::vector<std::string>& list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

/// Values written as in Kubernetes are compared as values: member order means nothing.
inline bool same_json(const std::string& a, const std::string& b) {
    core::json::document left, right;
    core::json::parse(left, a);
    core::json::parse(right, b);
    return !left.HasParseError() && !right.HasParseError() && left == right;
}

inline const core::render_options resumed{.resumed = true, .wanted = {}};

/// The mount of a container at that path; nullptr if there is none.
inline const value* mount_at(
    const rendered& pod, std::string_view path, std::string_view container = "worker"
) {
    const value* mounts = find(pod.container(container), "volumeMounts");
    for (rapidjson::SizeType i = 0; mounts != nullptr && i < mounts->Size(); ++i) {
        if (string_or_empty((*mounts)[i], "mountPath") == path) {
            return &(*mounts)[i];
        }
    }
    return nullptr;
}

}  // namespace signalbox::test
