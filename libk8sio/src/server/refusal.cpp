// SPDX-License-Identifier: Apache-2.0
#include "server/refusal.hpp"

#include "server/kinds.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using writer = rapidjson::Writer<rapidjson::StringBuffer>;

void put(writer& w, const char* key, const std::string& text) {
    if (!text.empty()) {
        w.Key(key);
        w.String(text);
    }
}

refusal about(
    const kind_info& kind, std::string_view name, int code, std::string reason, std::string message
) {
    refusal r;
    r.code = code;
    r.reason = std::move(reason);
    r.message = std::move(message);
    r.name = name;
    r.group = kind.group;
    r.kind = kind.plural;
    return r;
}

refusal plain(int code, std::string reason, std::string message) {
    refusal r;
    r.code = code;
    r.reason = std::move(reason);
    r.message = std::move(message);
    return r;
}

refusal unrouted(int code, std::string reason, std::string message) {
    refusal r = plain(code, std::move(reason), std::move(message));
    r.routed = false;
    return r;
}

std::string shown(const json::value& bad) {
    return bad.IsString() ? quoted(json::view(bad)) : json::to_text(bad);
}

std::string with_detail(std::string text, std::string_view detail) {
    if (!detail.empty()) {
        text += ": ";
        text += detail;
    }
    return text;
}

}  // namespace

void throw_exception_from_error(const refusal& error, const boost::source_location&) {
    throw std::logic_error("unchecked refusal: " + error.message);
}

void problems::add(std::string reason, std::string field, std::string body) {
    list_.push_back({std::move(reason), std::move(body), std::move(field)});
}

void problems::required(std::string field, std::string_view detail) {
    add("FieldValueRequired", std::move(field), with_detail("Required value", detail));
}

void problems::forbidden(std::string field, std::string_view detail) {
    add("FieldValueForbidden", std::move(field), with_detail("Forbidden", detail));
}

void problems::invalid(std::string field, const json::value& bad, std::string_view detail) {
    add("FieldValueInvalid", std::move(field), with_detail("Invalid value: " + shown(bad), detail));
}

void problems::invalid(std::string field, std::string_view bad, std::string_view detail) {
    add("FieldValueInvalid", std::move(field), with_detail("Invalid value: " + quoted(bad), detail)
    );
}

void problems::wrong_type(std::string field, const json::value& bad, std::string_view wanted) {
    // The real validator shows the JSON type of anything but a string or boolean as text.
    const std::string type = bad.IsString()   ? "string"
                             : bad.IsBool()   ? "boolean"
                             : bad.IsObject() ? "object"
                             : bad.IsArray()  ? "array"
                             : bad.IsNull()   ? "null"
                             : bad.IsInt64()  ? "integer"
                                              : "number";
    std::string body = fmt::format(
        "Invalid value: \"{}\": {} in body must be of type {}: \"{}\"", type, field, wanted, type
    );
    add("FieldValueTypeInvalid", std::move(field), std::move(body));
}

void problems::unsupported(
    std::string field, const json::value& bad, const std::vector<std::string>& supported
) {
    std::string list;
    for (const std::string& s : supported) {
        list += (list.empty() ? "" : ", ") + quoted(s);
    }
    add("FieldValueNotSupported",
        std::move(field),
        fmt::format("Unsupported value: {}: supported values: {}", shown(bad), list));
}

void problems::too_long(std::string field, std::size_t most) {
    add("FieldValueTooLong",
        std::move(field),
        fmt::format("Too long: may not be more than {} bytes", most));
}

void problems::too_many(std::string field, std::size_t count, std::size_t most) {
    add("FieldValueTooMany",
        std::move(field),
        fmt::format("Too many: {}: must have at most {} items", count, most));
}

void problems::duplicate(std::string field, const json::value& bad) {
    add("FieldValueDuplicate", std::move(field), "Duplicate value: " + shown(bad));
}

bool problems::forbids_rules() const {
    static constexpr std::array<std::string_view, 5> reasons{
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid"};
    return std::any_of(list_.begin(), list_.end(), [](const status_cause& cause) {
        return std::find(reasons.begin(), reasons.end(), cause.reason) != reasons.end();
    });
}

void complain(
    const std::vector<std::string>& bad,
    const std::string& field,
    std::string_view shown,
    problems& list
) {
    for (const std::string& text : bad) {
        list.invalid(field, shown, text);
    }
}

refusal not_found(const kind_info& kind, std::string_view name) {
    return about(
        kind, name, 404, "NotFound", fmt::format("{} \"{}\" not found", kind.qualified(), name)
    );
}

refusal no_such_resource() {
    return unrouted(404, "NotFound", "the server could not find the requested resource");
}

refusal already_exists(const kind_info& kind, std::string_view name) {
    return about(
        kind,
        name,
        409,
        "AlreadyExists",
        fmt::format("{} \"{}\" already exists", kind.qualified(), name)
    );
}

refusal conflict(const kind_info& kind, std::string_view name, std::string_view detail) {
    return about(
        kind,
        name,
        409,
        "Conflict",
        fmt::format(
            "Operation cannot be fulfilled on {} \"{}\": {}", kind.qualified(), name, detail
        )
    );
}

refusal stale_write(const kind_info& kind, std::string_view name) {
    return conflict(
        kind,
        name,
        "the object has been modified; please apply your changes to the latest version and try "
        "again"
    );
}

refusal invalid(const kind_info& kind, std::string_view name, problems& list) {
    std::vector<status_cause> causes = list.take();
    std::string text;
    for (const status_cause& cause : causes) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", cause.field, cause.message);
    }
    if (causes.size() > 1) {
        text = "[" + text + "]";
    }
    const std::string type = kind.group.empty() ? kind.kind : kind.kind + "." + kind.group;
    refusal r = about(
        kind, name, 422, "Invalid", fmt::format("{} \"{}\" is invalid: {}", type, name, text)
    );
    r.kind = kind.kind;
    r.causes = std::move(causes);
    return r;
}

refusal forbidden(const kind_info& kind, std::string_view name, std::string_view detail) {
    return about(
        kind,
        name,
        403,
        "Forbidden",
        fmt::format("{} \"{}\" is forbidden: {}", kind.qualified(), name, detail)
    );
}

refusal bad_request(std::string message) {
    return plain(400, "BadRequest", std::move(message));
}

refusal expired(std::string message) {
    return plain(410, "Expired", std::move(message));
}

refusal method_not_allowed() {
    return unrouted(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    );
}

refusal unsupported_media_type(std::string_view supported) {
    return plain(
        415,
        "UnsupportedMediaType",
        fmt::format(
            "the body of the request was in an unknown format - accepted media types include: {}",
            supported
        )
    );
}

refusal unsupported_patch_type() {
    return unrouted(415, "UnsupportedMediaType", "415: Unsupported Media Type");
}

refusal no_representation() {
    return unrouted(
        406,
        "NotAcceptable",
        "406: Not Acceptable\n\nAvailable representations: application/json, "
        "application/json;stream=watch"
    );
}

refusal not_acceptable() {
    return plain(
        406, "NotAcceptable", "only the following media types are accepted: application/json"
    );
}

refusal too_large_version(std::uint64_t asked, std::uint64_t current) {
    refusal r = plain(
        504,
        "Timeout",
        fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current)
    );
    r.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
    r.retry_after = 1;
    return r;
}

std::string status_text(const refusal& r) {
    rapidjson::StringBuffer buffer;
    writer w(buffer);
    w.StartObject();
    put(w, "kind", "Status");
    put(w, "apiVersion", "v1");
    w.Key("metadata");
    w.StartObject();
    put(w, "continue", r.continue_token);
    w.EndObject();
    put(w, "status", "Failure");
    put(w, "message", r.message);
    put(w, "reason", r.reason);
    if (!r.name.empty() || !r.kind.empty() || !r.causes.empty() || r.retry_after > 0 || !r.routed) {
        w.Key("details");
        w.StartObject();
        put(w, "name", r.name);
        put(w, "group", r.group);
        put(w, "kind", r.kind);
        put(w, "uid", r.uid);
        if (!r.causes.empty()) {
            w.Key("causes");
            w.StartArray();
            for (const status_cause& cause : r.causes) {
                w.StartObject();
                put(w, "reason", cause.reason);
                put(w, "message", cause.message);
                put(w, "field", cause.field);
                w.EndObject();
            }
            w.EndArray();
        }
        if (r.retry_after > 0) {
            w.Key("retryAfterSeconds");
            w.Int(r.retry_after);
        }
        w.EndObject();
    }
    w.Key("code");
    w.Int(r.code);
    w.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

std::string success_text(const kind_info& kind, std::string_view name, std::string_view uid) {
    rapidjson::StringBuffer buffer;
    writer w(buffer);
    w.StartObject();
    put(w, "kind", "Status");
    put(w, "apiVersion", "v1");
    w.Key("metadata");
    w.StartObject();
    w.EndObject();
    put(w, "status", "Success");
    if (!name.empty()) {
        w.Key("details");
        w.StartObject();
        put(w, "name", std::string(name));
        put(w, "group", kind.group);
        put(w, "kind", kind.plural);
        put(w, "uid", std::string(uid));
        w.EndObject();
    }
    w.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else {
            out += c;
        }
    }
    return out + "\"";
}

}  // namespace signalbox::k8sio::server
