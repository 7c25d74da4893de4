// SPDX-License-Identifier: Apache-2.0
#include "server/built_in/event_form.hpp"

#include <array>
#include <utility>

namespace signalbox::k8sio::server::event_form {
namespace {

using json::arena;
using json::value;

/// The names of a field in v1 and in events.k8s.io/v1.
struct names {
    std::string_view stored;
    std::string_view newer;
};

constexpr std::array fields{
    names{"metadata", "metadata"},
    names{"eventTime", "eventTime"},
    names{"series", "series"},
    names{"reportingComponent", "reportingController"},
    names{"reportingInstance", "reportingInstance"},
    names{"action", "action"},
    names{"reason", "reason"},
    names{"involvedObject", "regarding"},
    names{"related", "related"},
    names{"message", "note"},
    names{"type", "type"},
    names{"source", "deprecatedSource"},
    names{"firstTimestamp", "deprecatedFirstTimestamp"},
    names{"lastTimestamp", "deprecatedLastTimestamp"},
    names{"count", "deprecatedCount"}};

void convert(
    value& event,
    std::string_view names::*from,
    std::string_view names::*to,
    std::string_view from_version,
    std::string_view to_version,
    arena& a
) {
    value out = json::object();
    const std::string_view version = json::string_at(event, {"apiVersion"});
    // Another version than that of the path is refused by who knows what was asked for.
    json::set(
        out, "apiVersion", version.empty() || version == from_version ? to_version : version, a
    );
    if (value* kind = json::member(event, "kind")) {
        json::set(out, "kind", std::move(*kind), a);
    }
    for (const names& f : fields) {
        if (value* found = json::member(event, f.*from)) {
            json::set(out, f.*to, std::move(*found), a);
        }
    }
    event = std::move(out);
}

}  // namespace

void to_stored(value& event, arena& a) {
    convert(event, &names::newer, &names::stored, "events.k8s.io/v1", "v1", a);
}

void from_stored(value& event, arena& a) {
    convert(event, &names::stored, &names::newer, "v1", "events.k8s.io/v1", a);
}

void validate(const value& event, problems& list) {
    if (!json::string_at(event, {"metadata", "resourceVersion"}).empty()) {
        return;  // there already, perhaps written in the older form
    }
    if (json::find(event, "eventTime") == nullptr) {
        list.required("eventTime");
    }
    const std::string_view type = json::string_at(event, {"type"});
    if (type != "Normal" && type != "Warning") {
        list.invalid("type", type, "has invalid value: " + std::string(type));
    }
}

void validate_update(const value& before, const value& after, problems& list) {
    const value none;
    for (const names& f : fields) {
        const value* old = json::find(before, f.stored);
        const value* now = json::find(after, f.stored);
        const bool same = old == nullptr || now == nullptr ? old == now : json::equal(*old, *now);
        if (!same && f.stored != "metadata" && f.stored != "series") {
            list.invalid(std::string(f.stored), now == nullptr ? none : *now, "field is immutable");
        }
    }
}

}  // namespace signalbox::k8sio::server::event_form
