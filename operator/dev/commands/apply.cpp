// SPDX-License-Identifier: Apache-2.0
#include "commands/apply.hpp"

#include "manifests/json_edit.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <rapidjson/document.h>

namespace signalbox::op::cli {

namespace {

using k8sio::api_error;
using k8sio::resource_type;
using k8sio::result;

result<resource_type> find_resource(
    std::string_view list, const std::string& api_version, const std::string& kind
) {
    rapidjson::Document d;
    d.Parse<rapidjson::kParseIterativeFlag>(list.data(), list.size());
    const bool usable =
        !d.HasParseError() && d.IsObject() && d.HasMember("resources") && d["resources"].IsArray();
    const std::size_t slash = api_version.find('/');
    const bool core_group = slash == std::string::npos;
    for (rapidjson::SizeType i = 0; usable && i < d["resources"].Size(); ++i) {
        const rapidjson::Value& r = d["resources"][i];
        const bool whole = r.IsObject() && r.HasMember("kind") && r["kind"].IsString() &&
                           r.HasMember("name") && r["name"].IsString();
        if (!whole || r["kind"].GetString() != kind) {
            continue;
        }
        const std::string plural = r["name"].GetString();
        if (plural.find('/') != std::string::npos) {
            continue;  // a subresource
        }
        return resource_type(
            core_group ? "" : api_version.substr(0, slash),
            core_group ? api_version : api_version.substr(slash + 1),
            plural,
            kind,
            r.HasMember("namespaced") && r["namespaced"].IsTrue()
        );
    }
    return make_error(
        k8sio::errc::invalid_argument, fmt::format("the server has no {} {}", api_version, kind)
    );
}

}  // namespace

boost::asio::awaitable<result<resource_type>> applier::discover(
    std::string api_version, std::string kind
) {
    const bool core_group = api_version.find('/') == std::string::npos;
    std::string target = (core_group ? "/api/" : "/apis/") + api_version;
    std::string none;
    const result<std::string> answer = co_await api_.raw("GET", std::move(target), none, none);
    if (answer.has_error()) {
        co_return answer.error();
    }
    co_return find_resource(*answer, api_version, kind);
}

boost::asio::awaitable<result<std::string>> applier::create(const manifests::manifest& object) {
    std::string api_version(object.api_version());
    std::string kind(object.kind());
    const result<resource_type> type = co_await discover(std::move(api_version), std::move(kind));
    if (type.has_error()) {
        co_return type.error();
    }
    std::string body = object.json();
    std::string ns;
    if (type->namespaced()) {
        ns = manifests::string_at(body, "/metadata/namespace");
        if (ns.empty()) {
            ns = ns_;
            body = manifests::with_string(body, "/metadata/namespace", ns);
        }
        std::string namespace_object = fmt::format(
            R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":{}}}}})",
            core::json_string(ns)
        );
        // Exists already, or no such kind: the creation that follows tells.
        co_await api_.create(k8sio::resources::namespaces(), "", std::move(namespace_object));
    }
    co_return co_await api_.create(*type, ns, std::move(body));
}

}  // namespace signalbox::op::cli
