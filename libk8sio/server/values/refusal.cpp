// SPDX-License-Identifier: Apache-2.0
#include "server/values/refusal.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

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

}  // namespace

void throw_exception_from_error(const refusal& error, const boost::source_location&) {
    throw std::logic_error("unchecked refusal: " + error.message);
}

refusal no_such_resource() {
    return unrouted(404, "NotFound", "the server could not find the requested resource");
}

refusal bad_request(std::string message) {
    return plain(400, "BadRequest", std::move(message));
}

refusal internal_error(std::string why) {
    refusal r = plain(500, "InternalError", fmt::format("Internal error occurred: {}", why));
    r.causes.push_back({"", std::move(why), ""});
    return r;
}

refusal too_large_object() {
    return plain(500, "", "etcdserver: request is too large");
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
    if (r.code != 0) {
        w.Key("code");
        w.Int(r.code);
    }
    w.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace signalbox::k8sio::server
