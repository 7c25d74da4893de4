// SPDX-License-Identifier: Apache-2.0
#include "server/answers/http_message.hpp"

#include "k8sio/resource.hpp"
#include "server/answers/body_stream.hpp"
#include "server/values/text.hpp"

#include <algorithm>
#include <charconv>

namespace signalbox::k8sio::server {
namespace {

/// Of a query, in which `+` is a blank.
std::string decode_query(std::string_view text) {
    std::string blanks(text);
    std::replace(blanks.begin(), blanks.end(), '+', ' ');
    return percent_decode(blanks);
}

template <class Function>
void split(std::string_view text, char separator, Function f) {
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        f(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
}

struct media_range {
    std::string_view type, as, group, version;
};

std::vector<media_range> media_ranges(std::string_view accept) {
    std::vector<media_range> out;
    split(accept, ',', [&out](std::string_view part) {
        media_range m;
        split(part, ';', [&m](std::string_view piece) {
            piece = without_blanks(piece);
            const std::size_t equals = piece.find('=');
            const std::string_view key = piece.substr(0, equals);
            const std::string_view value =
                equals == std::string_view::npos ? std::string_view{} : piece.substr(equals + 1);
            if (m.type.empty()) {
                m.type = piece;
            } else if (key == "as") {
                m.as = value;
            } else if (key == "g") {
                m.group = value;
            } else if (key == "v") {
                m.version = value;
            }
        });
        out.push_back(m);
    });
    return out;
}

bool is_json(std::string_view type) {
    return type == "application/json" || type == "*/*" || type == "application/*";
}

}  // namespace

std::string_view api_request::param(std::string_view name) const {
    const auto it = query.find(std::string(name));
    return it == query.end() ? std::string_view{} : std::string_view(it->second.front());
}

std::vector<std::string> api_request::params(std::string_view name) const {
    const auto it = query.find(std::string(name));
    return it == query.end() ? std::vector<std::string>{} : it->second;
}

bool api_request::flag(std::string_view name) const {
    const std::string_view text = param(name);
    return text == "true" || text == "1" || text == "True";
}

std::optional<std::int64_t> api_request::number(std::string_view name) const {
    const std::string_view text = param(name);
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc{} && !text.empty() && end == text.data() + text.size()
               ? std::optional(n)
               : std::nullopt;
}

api_request make_request(
    std::string method,
    std::string_view target,
    std::string_view content_type,
    std::string accept,
    std::string body
) {
    api_request r;
    r.method = std::move(method);
    const std::size_t mark = target.find('?');
    r.path = target.substr(0, mark);
    split(r.path, '/', [&r](std::string_view segment) {
        if (!segment.empty()) {
            r.segments.push_back(percent_decode(segment));
        }
    });
    if (mark != std::string_view::npos) {
        split(target.substr(mark + 1), '&', [&r](std::string_view pair) {
            const std::size_t equals = pair.find('=');
            const std::string_view value =
                equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
            // `watch` alone means `watch=true` to the real server's decoder as well.
            std::string text = equals == std::string_view::npos ? "true" : decode_query(value);
            r.query[decode_query(pair.substr(0, equals))].push_back(std::move(text));
        });
    }
    r.content_type = without_blanks(content_type.substr(0, content_type.find(';')));
    r.accept = std::move(accept);
    r.body = std::move(body);
    return r;
}

api_answer::api_answer() = default;
api_answer::api_answer(int code, std::string text) : status(code), body(std::move(text)) {}
api_answer::api_answer(const refusal& r) : status(r.code), body(status_text(r)) {
    if (r.retry_after > 0) {
        headers.emplace_back("Retry-After", std::to_string(r.retry_after));
    }
}
api_answer::api_answer(api_answer&&) noexcept = default;
api_answer& api_answer::operator=(api_answer&&) noexcept = default;
api_answer::~api_answer() = default;

representation wanted_representation(std::string_view accept) {
    if (accept.empty()) {
        return representation::plain;
    }
    for (const media_range& m : media_ranges(accept)) {
        if (!is_json(m.type)) {
            continue;  // protobuf, CBOR, YAML: the next range is tried, usually JSON
        }
        if (m.as.empty()) {
            return representation::plain;
        }
        if (m.group != "meta.k8s.io" || m.version != "v1") {
            continue;
        }
        if (m.as == "Table") {
            return representation::table;
        }
        if (m.as == "PartialObjectMetadata" || m.as == "PartialObjectMetadataList") {
            return representation::partial;
        }
    }
    return representation::unacceptable;
}

bool wants_aggregated_discovery(std::string_view accept) {
    for (const media_range& m : media_ranges(accept)) {
        if (is_json(m.type) && m.as == "APIGroupDiscoveryList" && m.version == "v2" &&
            m.group == "apidiscovery.k8s.io") {
            return true;
        }
    }
    return false;
}

}  // namespace signalbox::k8sio::server
