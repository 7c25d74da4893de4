// SPDX-License-Identifier: Apache-2.0
#include "controller/schema_skew.hpp"

#include "jobcore/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/document.h>

#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

using rapidjson::Value;

constexpr unsigned openapi_flags = rapidjson::kParseIterativeFlag;

/// A member, or null.
const Value* at(const Value* object, const char* name) {
    if (object == nullptr || !object->IsObject()) {
        return nullptr;
    }
    const auto found = object->FindMember(name);
    return found == object->MemberEnd() ? nullptr : &found->value;
}

bool says(const Value& object, const char* name, std::string_view text) {
    const Value* value = at(&object, name);
    return value != nullptr && value->IsString() && value->GetString() == text;
}

/// The schema of the kind in an OpenAPI document; null if it has none.
const Value* schema_of(const rapidjson::Document& openapi, core::job_kind kind) {
    const Value* all = at(at(&openapi, "components"), "schemas");
    if (all == nullptr || !all->IsObject()) {
        return nullptr;
    }
    for (const auto& schema : all->GetObject()) {
        const Value* names = at(&schema.value, "x-kubernetes-group-version-kind");
        const bool single = names != nullptr && names->IsArray() && names->Size() == 1;
        if (single && says((*names)[0], "group", core::api_group) &&
            says((*names)[0], "kind", core::to_string(kind))) {
            return &schema.value;
        }
    }
    return nullptr;
}

struct place {
    std::string path;     ///< `status.restarts`
    std::string pointer;  ///< `/restarts` below the status; empty above it
    bool kept = true;     ///< in objects alone
};

/// Puts the members of `a` that `b` has not into `paths`, and the pointers of those that can be
/// kept into `pointers`, if it is not null.
void compare(
    const Value& a,
    const Value& b,
    const place& here,
    std::vector<std::string>& paths,
    std::vector<std::string>* pointers
) {
    const Value* items_a = at(&a, "items");
    const Value* items_b = at(&b, "items");
    if (items_a != nullptr && items_b != nullptr) {
        compare(*items_a, *items_b, {here.path, here.pointer, false}, paths, pointers);
    }
    const Value* members = at(&a, "properties");
    const Value* others = at(&b, "properties");
    // An object of which nothing is said takes everything, such as the template of pods.
    if (members == nullptr || others == nullptr) {
        return;
    }
    for (const auto& member : members->GetObject()) {
        const char* name = member.name.GetString();
        const bool top = here.path.empty();
        if (top && std::string_view(name) != "spec" && std::string_view(name) != "status") {
            continue;
        }
        place below{
            top ? name : here.path + "." + name,
            top ? std::string() : here.pointer + "/" + name,
            here.kept};
        const Value* other = at(others, name);
        if (other != nullptr) {
            compare(member.value, *other, below, paths, pointers);
            continue;
        }
        if (pointers != nullptr && below.kept && below.path.starts_with("status.")) {
            pointers->push_back(below.pointer);
        }
        paths.push_back(std::move(below.path));
    }
}

void tell(spdlog::logger& log, core::job_kind kind, const schema_skew& skew) {
    const std::string_view name = core::to_string(kind);
    if (!skew.dropped.empty()) {
        log.warn(
            "the CustomResourceDefinition of {} is older than this program: the server drops {}. "
            "What "
            "a job says there has no effect, and what a status says there is forgotten; signalbox "
            "crds | kubectl apply --server-side -f -",
            name,
            fmt::join(skew.dropped, ", ")
        );
    }
    if (!skew.unknown.empty()) {
        log.warn(
            "the CustomResourceDefinition of {} is newer than this program: it does not know {}. "
            "What "
            "a job says there has no effect; what a status says there is left as it is",
            name,
            fmt::join(skew.unknown, ", ")
        );
    }
}

}  // namespace

std::optional<schema_skew> find_skew(core::job_kind kind, std::string_view openapi) {
    rapidjson::Document served;
    served.Parse<openapi_flags>(openapi.data(), openapi.size());
    rapidjson::Document own;
    own.Parse<openapi_flags>(core::crd_json(kind));
    const Value* theirs = served.HasParseError() ? nullptr : schema_of(served, kind);
    if (theirs == nullptr) {
        return std::nullopt;
    }
    const Value* ours = at(at(&own["spec"]["versions"][0], "schema"), "openAPIV3Schema");
    schema_skew out;
    compare(*ours, *theirs, {}, out.dropped, nullptr);
    compare(*theirs, *ours, {}, out.unknown, &out.kept);
    return out;
}

asio::awaitable<void> look_for_skew(
    k8sio::client& api, controller& work, spdlog::logger& log, std::vector<core::job_kind> kinds
) {
    std::string target = fmt::format("/openapi/v3/apis/{}", core::api_version);
    std::string none;
    const auto answer = co_await api.raw("GET", std::move(target), none, none);
    if (answer.has_error()) {
        log.debug("the server does not say what it knows of jobs: {}", answer.error().text());
        co_return;
    }
    for (const core::job_kind kind : kinds) {
        auto skew = find_skew(kind, *answer);
        if (skew) {
            tell(log, kind, *skew);
            work.keep_status(kind, std::move(skew->kept));
        }
    }
}

}  // namespace signalbox::op
