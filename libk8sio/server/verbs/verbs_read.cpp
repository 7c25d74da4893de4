// SPDX-License-Identifier: Apache-2.0
//
// get, list and watch, as the client expects them (REQUIREMENTS.md V1-V5, L1-L6, W1-W10, S1-S4).
#include "server/values/text.hpp"
#include "server/verbs/front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

std::optional<std::uint64_t> parse_version(std::string_view text) {
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc{} && !text.empty() && end == text.data() + text.size()
               ? std::optional(n)
               : std::nullopt;
}

/// Where a paged list goes on: the version it shows (0: whatever is there) and the last key sent.
struct continuation {
    std::uint64_t version = 0;
    std::string key;
    /// Objects behind the key, where that is told: a list is counted once, not for each page.
    std::optional<std::uint64_t> left;
};

std::string encode(const continuation& c) {
    std::string out = fmt::format("v{}-{}-", c.version, c.left ? std::to_string(*c.left) : "");
    for (const char ch : c.key) {
        out += fmt::format("{:02x}", static_cast<unsigned char>(ch));
    }
    return out;
}

std::optional<continuation> decode(std::string_view token) {
    const std::size_t dash = token.find('-');
    const std::size_t second = token.find('-', dash + 1);
    if (token.empty() || token.front() != 'v' || second == std::string_view::npos) {
        return std::nullopt;
    }
    const auto version = parse_version(token.substr(1, dash - 1));
    const std::string_view left = token.substr(dash + 1, second - dash - 1);
    const std::string_view hex = token.substr(second + 1);
    continuation c;
    c.left = parse_version(left);
    if (!version || hex.size() % 2 != 0 || (!left.empty() && !c.left)) {
        return std::nullopt;
    }
    c.version = *version;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        unsigned byte = 0;
        const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
        if (error != std::errc{} || end != hex.data() + i + 2) {
            return std::nullopt;
        }
        c.key += static_cast<char>(byte);
    }
    return c;
}

refusal invalid_options(std::string_view field, std::string_view message) {
    refusal r;
    r.code = 422;
    r.reason = "Invalid";
    r.kind = "ListOptions";
    r.group = "meta.k8s.io";
    r.message =
        fmt::format("ListOptions.meta.k8s.io \"\" is invalid: {}: Forbidden: {}", field, message);
    r.causes.push_back(
        {"FieldValueForbidden", fmt::format("Forbidden: {}", message), std::string(field)}
    );
    return r;
}

refusal invalid_version(std::string_view text) {
    return bad_request(fmt::format(
        "invalid resource version: resourceVersion: Invalid value: {0}: strconv.ParseUint: parsing "
        "{0}: invalid syntax",
        quoted(text)
    ));
}

constexpr std::string_view continue_expired_text =
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list.";

}  // namespace

view front::wanted_view(const api_request& request) const {
    return {
        wanted_representation(request.accept), wanted_row_object(request.param("includeObject"))};
}

api_answer front::answer_object(
    const api_request& request, const target_object& t, int status, const record& r
) const {
    return {status, render_object(*t.kind->info, r, wanted_view(request), now())};
}

api_answer front::get(const api_request& request, const target_object& t) {
    const auto version = parse_version(request.param("resourceVersion"));
    if (version && *version > world_->objects().version()) {
        return too_large_version(*version, world_->objects().version());
    }
    const outcome<record_ptr> r = world_->get(*t.kind, t.ns, t.name);
    if (!r) {
        return r.error();
    }
    return answer_object(request, t, 200, **r);
}

outcome<std::vector<record_ptr>> front::select(const api_request& request, const target_object& t)
    const {
    const outcome<selector> filter = selector::parse(
        *t.kind->info, request.param("labelSelector"), request.param("fieldSelector")
    );
    if (!filter) {
        return filter.error();
    }
    std::vector<record_ptr> out = t.kind->table->list(t.ns);
    std::erase_if(out, [&filter](const record_ptr& r) { return !filter->matches(*r); });
    return out;
}

api_answer front::list(const api_request& request, const target_object& t) {
    const resource_table& table = *t.kind->table;
    const std::uint64_t newest = world_->objects().version();
    const outcome<selector> filter = selector::parse(
        *t.kind->info, request.param("labelSelector"), request.param("fieldSelector")
    );
    if (!filter) {
        return filter.error();
    }
    const std::string_view version_text = request.param("resourceVersion");
    const std::string_view match = request.param("resourceVersionMatch");
    const std::string_view token = request.param("continue");
    std::uint64_t version = newest;
    continuation from;
    if (!match.empty() && version_text.empty() && !request.flag("watch")) {
        return invalid_options(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden unless resourceVersion is provided"
        );
    }
    if (!version_text.empty()) {
        const auto asked = parse_version(version_text);
        if (!asked) {
            return invalid_version(version_text);
        }
        if (*asked > newest) {
            return too_large_version(*asked, newest);  // REQUIREMENTS.md V5
        }
        if (match == "Exact") {
            if (*asked == 0) {
                return invalid_options(
                    "resourceVersionMatch",
                    "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\""
                );
            }
            if (*asked < table.forgotten) {
                return expired(
                    fmt::format("The resourceVersion for the provided list is too old: {}", *asked)
                );
            }
            version = *asked;
        }
    }
    if (!token.empty()) {
        if (!version_text.empty() && version_text != "0") {  // REQUIREMENTS.md L1
            return bad_request("specifying resource version is not allowed when using continue");
        }
        const auto c = decode(token);
        if (!c) {
            return bad_request("invalid continue token: continue key is not valid");
        }
        from = *c;
        if (from.version != 0) {
            if (from.version < table.forgotten) {
                refusal r = expired(std::string(continue_expired_text));
                r.continue_token = encode({0, from.key, std::nullopt});
                return r;
            }
            version = from.version;
        }
    }
    const auto limit =
        static_cast<std::size_t>(std::max<std::int64_t>(request.number("limit").value_or(0), 0));
    const bool tells_left = filter->empty();
    std::vector<record_ptr> items;
    std::size_t left = 0;
    table.walk(t.ns, from.key, version, [&](const record_ptr& r) {
        if (!filter->matches(*r)) {
            return true;
        }
        if (limit == 0 || items.size() < limit) {
            items.push_back(r);
            return true;
        }
        ++left;
        return tells_left && !from.left;
    });
    list_facts facts;
    facts.version = std::to_string(version);
    if (left > 0) {
        continuation next{version, items.back()->key(), std::nullopt};
        if (tells_left) {
            next.left = from.left.value_or(0) > limit ? *from.left - limit : left;
            facts.remaining = next.left;
        }
        facts.continue_token = encode(next);
    }
    return {200, render_list(*t.kind->info, items, facts, wanted_view(request), now())};
}

api_answer front::watch(const api_request& request, const target_object& t) {
    const std::shared_ptr<const kind_info> kind = t.kind->info;
    std::string fields(request.param("fieldSelector"));
    if (!t.name.empty()) {
        fields += (fields.empty() ? "" : ",") + std::string("metadata.name=") + t.name;
    }
    outcome<selector> filter = selector::parse(*kind, request.param("labelSelector"), fields);
    if (!filter) {
        return filter.error();
    }
    watch_options options;
    options.ns = t.ns;
    options.filter = std::move(*filter);
    options.bookmarks = request.flag("allowWatchBookmarks");
    options.bookmark_interval = options_.bookmark_interval;
    if (const auto seconds = request.number("timeoutSeconds"); seconds && *seconds > 0) {
        options.timeout = std::chrono::seconds{*seconds};
    }
    const view v = wanted_view(request);
    options.bookmark_kind = v.as == representation::table     ? "Table"
                            : v.as == representation::partial ? "PartialObjectMetadata"
                                                              : kind->kind;
    options.bookmark_api_version =
        v.as == representation::plain ? kind->api_version() : "meta.k8s.io/v1";
    clock* time = &world_->time();
    options.render = [kind, v, time](const record& r) {
        return render_object(*kind, r, v, time->wall_now());
    };

    const std::uint64_t newest = world_->objects().version();
    const std::string_view version_text = request.param("resourceVersion");
    const auto asked = parse_version(version_text);
    if (!version_text.empty() && !asked) {
        return invalid_version(version_text);
    }
    const bool send_initial = request.flag("sendInitialEvents");
    const std::string_view match = request.param("resourceVersionMatch");
    if (request.query.count("sendInitialEvents") != 0 && match != "NotOlderThan") {
        return invalid_options(
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        );
    }
    if (!match.empty() && request.query.count("sendInitialEvents") == 0) {
        return invalid_options(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        );
    }
    if (send_initial && asked.value_or(0) > newest) {
        return too_large_version(*asked, newest);
    }
    // Unset and "0": the state now as ADDED first (REQUIREMENTS.md V2); sendInitialEvents likewise,
    // with a bookmark at its end (REQUIREMENTS.md S2).
    const bool from_state =
        request.query.count("sendInitialEvents") != 0 ? send_initial : asked.value_or(0) == 0;
    options.after = asked.value_or(0);
    if (from_state || asked.value_or(0) == 0) {
        options.after = newest;
    }
    if (from_state) {
        options.initial = t.kind->table->list(t.ns);
        std::erase_if(options.initial, [&options](const record_ptr& r) {
            return !options.filter.matches(*r);
        });
        options.mark_initial_end = send_initial && options.bookmarks;
    }
    api_answer a;
    a.stream = std::make_unique<watch_stream>(*world_, t.kind->table, std::move(options));
    return a;
}

}  // namespace signalbox::k8sio::server
