// SPDX-License-Identifier: Apache-2.0
//
// Routing: which document, kind and verb a request names.
#include "server/verbs/front.hpp"

#include "server/documents/discovery.hpp"
#include "server/documents/openapi.hpp"
#include "server/kinds/refusals.hpp"
#include "server/values/problems.hpp"
#include "server/values/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using segments = std::vector<std::string>;

api_answer plain_text(std::string body) {
    api_answer a(200, std::move(body));
    a.content_type = "text/plain; charset=utf-8";
    return a;
}

std::string version_document(const std::string& version) {
    // `v1.34.0` -> major 1, minor 34.
    const std::size_t dot = version.find('.');
    const std::size_t second = version.find('.', dot + 1);
    const std::string major = version.substr(1, dot - 1);
    const std::string minor = version.substr(dot + 1, second - dot - 1);
    return fmt::format(
        "{{\"major\":\"{}\",\"minor\":\"{}\",\"gitVersion\":\"{}\",\"gitCommit\":\"signalbox\","
        "\"gitTreeState\":\"clean\",\"buildDate\":\"1970-01-01T00:00:00Z\",\"goVersion\":\"none\","
        "\"compiler\":\"g++\",\"platform\":\"linux/amd64\"}}",
        major,
        minor,
        version
    );
}

/// As of a path that no handler of the server knows.
api_answer no_such_page() {
    api_answer a = plain_text("404 page not found\n");
    a.status = 404;
    return a;
}

api_answer openapi_v2_answer(const api_request& request, const registry& kinds) {
    if (request.accept.empty() || request.accept.find("json") != std::string::npos ||
        request.accept.find("*/*") != std::string::npos) {
        return {200, openapi_v2(kinds)};
    }
    // Asked for with an @, which no Content-Type may have.
    if (request.accept.find("application/com.github.proto-openapi.spec.v2@v1.0+protobuf") ==
        std::string::npos) {
        return not_acceptable();
    }
    api_answer a(200, openapi_v2_protobuf());
    a.content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    return a;
}

/// Splits what follows the version: `[namespaces/<ns>/]<plural>[/<name>[/<subresource>]]`.
struct resource_path {
    std::string ns, plural, name, subresource;
    bool valid = false;
};

resource_path split_resource(const segments& s, std::size_t at) {
    resource_path p;
    std::size_t left = s.size() - at;
    const bool namespace_itself =
        left <= 2 || (left == 3 && (s[at + 2] == "status" || s[at + 2] == "finalize"));
    if (left > 0 && s[at] == "namespaces" && !namespace_itself) {
        p.ns = s[at + 1];
        at += 2;
        left -= 2;
    }
    p.valid = left >= 1 && left <= 3;
    if (p.valid) {
        p.plural = s[at];
        p.name = left > 1 ? s[at + 1] : "";
        p.subresource = left > 2 ? s[at + 2] : "";
    }
    return p;
}

unknown_fields wanted_field_validation(std::string_view text) {
    return text == "Strict"   ? unknown_fields::strict
           : text == "Ignore" ? unknown_fields::ignore
                              : unknown_fields::warn;
}

}  // namespace

front::front(
    boost::asio::any_io_executor executor,
    model& world,
    custom_kinds& definitions,
    const server_options& options
)
    : executor_(std::move(executor)),
      world_(&world),
      definitions_(&definitions),
      options_(options) {}

api_answer front::handle(const api_request& request) {
    std::vector<std::string> warnings;
    api_answer answer = route(request, warnings);
    definitions_->settle();
    for (const std::string& w : warnings) {
        answer.headers.emplace_back("Warning", "299 - " + quoted(w));
    }
    return answer;
}

std::optional<api_answer> front::find_document(const api_request& request) const {
    const segments& s = request.segments;
    const registry& kinds = world_->kinds();
    const std::string_view root = s.empty() ? std::string_view{} : std::string_view(s[0]);
    if (s.empty()) {
        return api_answer(
            200,
            "{\"paths\":[\"/api\",\"/api/v1\",\"/apis\",\"/healthz\",\"/livez\",\"/openapi/v2\","
            "\"/openapi/v3\",\"/readyz\",\"/version\"]}"
        );
    }
    if (s.size() == 1 && root == "version") {
        return api_answer(200, version_document(options_.version));
    }
    if (root != "openapi" || s.size() < 2) {
        return std::nullopt;
    }
    if (s.size() == 2 && s[1] == "v2") {
        return openapi_v2_answer(request, kinds);
    }
    if (s.size() == 2 && s[1] == "v3") {
        return api_answer(200, openapi_v3_index(kinds));
    }
    if (s[1] == "v3") {
        std::string path = s[2];
        for (std::size_t i = 3; i < s.size(); ++i) {
            path += "/" + s[i];
        }
        std::string document = openapi_v3_document(kinds, path);
        return document.empty() ? no_such_page() : api_answer(200, std::move(document));
    }
    return std::nullopt;
}

std::optional<api_answer> front::find_discovery(const api_request& request) const {
    const segments& s = request.segments;
    const registry& kinds = world_->kinds();
    const bool core = s[0] == "api";
    if (s.size() == 1 && wants_aggregated_discovery(request.accept)) {
        api_answer a(200, aggregated_discovery(kinds, core ? api_root::core : api_root::groups));
        a.content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        return a;
    }
    if (s.size() == 1) {
        return api_answer(200, core ? discovery_versions() : discovery_groups(kinds));
    }
    if (s.size() == 2 && !core) {
        std::string document = discovery_group(kinds, s[1]);
        return document.empty() ? std::nullopt
                                : std::optional(api_answer(200, std::move(document)));
    }
    const std::string group = core ? "" : s[1];
    const std::string& version = s.back();
    return kinds.serves_group(group, version)
               ? std::optional(api_answer(200, discovery_resources(kinds, group, version)))
               : std::nullopt;
}

api_answer front::nothing_there(const api_request& request) const {
    const segments& s = request.segments;
    const auto& all = world_->kinds().all();
    const bool of_the_server =
        s[0] == "api" || (s.size() > 1 && std::any_of(all.begin(), all.end(), [&](const auto& k) {
                              return k.info->group == s[1] && !k.info->has(trait::custom);
                          }));
    // Groups of custom resources, and those that are not served, have no routes of their own.
    return of_the_server ? api_answer(no_such_resource()) : no_such_page();
}

api_answer front::route(const api_request& request, std::vector<std::string>& warnings) {
    const segments& s = request.segments;
    const bool reading = request.method == "GET";
    const std::string_view root = s.empty() ? std::string_view{} : std::string_view(s[0]);
    if (root == "healthz" || root == "readyz" || root == "livez") {
        return plain_text("ok");
    }
    if (root != "api" && root != "apis") {
        std::optional<api_answer> document = find_document(request);
        return !document ? no_such_page()
               : reading ? std::move(*document)
                         : api_answer(method_not_allowed());
    }
    const std::size_t at = root == "api" ? 2 : 3;
    if (s.size() <= at) {
        std::optional<api_answer> document = find_discovery(request);
        return !document ? nothing_there(request)
               : reading ? std::move(*document)
                         : api_answer(method_not_allowed());
    }
    const resource_path p = split_resource(s, at);
    const registry& kinds = world_->kinds();
    const served_kind* found =
        p.valid ? kinds.find(root == "api" ? "" : s[1], s[at - 1], p.plural) : nullptr;
    if (found == nullptr || (!p.ns.empty() && !found->info->namespaced())) {
        return nothing_there(request);
    }
    // The kind may be redefined by what the request does.
    const served_kind pinned = *found;
    const served_kind keeper =
        pinned.info->form == nullptr ? pinned : served_kind{pinned.info->form->kept, pinned.table};
    target_object t;
    t.kind = &pinned;
    t.keeper = &keeper;
    t.ns = p.ns;
    t.name = p.name;
    t.subresource = p.subresource;
    return route_resource(request, t, warnings);
}

api_answer front::route_resource(
    const api_request& request, const target_object& t, std::vector<std::string>& warnings
) {
    if (wanted_representation(request.accept) == representation::unacceptable) {
        const bool no_json = request.accept.find("application/json") == std::string::npos;
        return no_json && !t.kind->info->has(trait::custom) ? no_representation()
                                                            : not_acceptable();
    }
    for (const char* name : {"limit", "timeoutSeconds"}) {
        if (!request.param(name).empty() && !request.number(name)) {
            return bad_request(fmt::format(
                "strconv.ParseInt: parsing {}: invalid syntax", quoted(request.param(name))
            ));
        }
    }
    write_options options;
    options.unknown = wanted_field_validation(request.param("fieldValidation"));
    options.warnings = &warnings;
    const std::string_view dry_run = request.param("dryRun");
    if (!dry_run.empty() && dry_run != "All") {
        problems list;
        list.add(
            "FieldValueNotSupported",
            "dryRun",
            fmt::format("Unsupported value: [{}]: supported values: \"All\"", quoted(dry_run))
        );
        const std::string& verb = request.method;
        return invalid(
            options_kind(
                verb == "POST"    ? "CreateOptions"
                : verb == "PUT"   ? "UpdateOptions"
                : verb == "PATCH" ? "PatchOptions"
                                  : "DeleteOptions"
            ),
            "",
            list
        );
    }
    options.dry_run = dry_run == "All";
    const std::string& method = request.method;
    const bool all_namespaces = t.kind->info->namespaced() && t.ns.empty();
    if (t.kind->info->has(trait::review)) {
        return !t.name.empty()                       ? api_answer(no_such_resource())
               : method == "POST" && !all_namespaces ? review(request, t)
                                                     : api_answer(method_not_allowed());
    }
    if (t.name.empty()) {
        if (method == "GET") {
            return request.flag("watch") ? watch(request, t) : list(request, t);
        }
        if (method == "POST" && !all_namespaces) {
            return create(request, t, options);
        }
        if (method == "DELETE" && !all_namespaces && !t.kind->info->has(trait::deleted_singly)) {
            return remove_collection(request, t);
        }
        return method_not_allowed();
    }
    if (all_namespaces) {
        return no_such_resource();
    }
    if (!t.subresource.empty()) {
        return route_subresource(request, t, options);
    }
    if (method == "GET") {
        return request.flag("watch") ? watch(request, t) : get(request, t);
    }
    if (method == "PUT") {
        return update(request, t, update_part::main, options);
    }
    if (method == "PATCH") {
        return patch(request, t, update_part::main, options);
    }
    if (method == "DELETE") {
        return remove(request, t);
    }
    return method_not_allowed();
}

api_answer front::route_subresource(
    const api_request& request, const target_object& t, const write_options& options
) {
    const kind_info& kind = *t.kind->info;
    const std::string& method = request.method;
    const bool core_pod = kind.plural == "pods" && kind.group.empty();
    if (t.subresource == "status" && kind.has(trait::status)) {
        if (method == "GET") {
            return get(request, t);
        }
        if (method == "PUT") {
            return update(request, t, update_part::status, options);
        }
        if (method == "PATCH") {
            return patch(request, t, update_part::status, options);
        }
        return method_not_allowed();
    }
    if (t.subresource == "scale" && kind.scale != nullptr) {
        return scale(request, t, options);
    }
    if (core_pod && t.subresource == "binding") {
        return method == "POST" ? bind(request, t) : api_answer(method_not_allowed());
    }
    if (core_pod && t.subresource == "eviction") {
        return method == "POST" ? evict(request, t) : api_answer(method_not_allowed());
    }
    if (kind.plural == "serviceaccounts" && kind.group.empty() && t.subresource == "token") {
        return method == "POST" ? issue_token(request, t) : api_answer(method_not_allowed());
    }
    if (kind.plural == "namespaces" && t.subresource == "finalize" && method == "PUT") {
        return finalize(request, t);
    }
    static constexpr std::array<std::pair<std::string_view, pod_verb>, 5> pod_verbs = {{
        {"log", &front::pod_log},
        {"exec", &front::pod_process},
        {"attach", &front::pod_process},
        {"portforward", &front::pod_forward},
        {"proxy", &front::pod_proxy},
    }};
    for (const auto& [name, verb] : pod_verbs) {
        if (core_pod && t.subresource == name) {
            return (this->*verb)(request, t);
        }
    }
    return no_such_resource();
}

}  // namespace signalbox::k8sio::server
