// SPDX-License-Identifier: Apache-2.0
#include "protocol/event_series.hpp"

#include "protocol/http_date.hpp"
#include "protocol/json_cursor.hpp"
#include "protocol/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace signalbox::k8sio::protocol {

namespace {

constexpr std::size_t message_limit = 1023;  // N4
constexpr std::size_t reason_limit = 128;
constexpr std::size_t name_limit = 253;
constexpr std::chrono::minutes same_event{10};  // N1

std::string key_of(const event_note& note) {
    const object_reference& about = note.regarding;
    std::string key;
    for (const std::string* part :
         {&about.kind, &about.ns, &about.name, &about.uid, &note.reason, &note.message}) {
        key += *part;
        key += '\0';
    }
    return key + (note.warning ? 'W' : 'N');
}

void add(std::string& out, std::string_view key, std::string_view value) {
    if (value.empty()) {
        return;
    }
    out += out.back() == '{' ? "\"" : ",\"";
    out += key;
    out += "\":";
    append_json_string(out, value);
}

/// Of its Event: the object's name, and what makes it unique.
std::string name_of(const event_note& note, std::int64_t stamp) {
    const std::string suffix = fmt::format(".{:x}", stamp);
    return cut_utf8(note.regarding.name, name_limit - suffix.size()) + suffix;
}

}  // namespace

std::string namespace_of(const event_note& note) {
    return note.regarding.ns.empty() ? "default" : note.regarding.ns;
}

event_series::event_series(std::string component, std::size_t capacity)
    : component_(std::move(component)), capacity_(capacity) {}

event_write event_series::next(const event_note& note, wall_time now) {
    event_write write;
    write.ns = namespace_of(note);
    std::string key = key_of(note);
    const auto found = by_key_.find(key);
    if (found != by_key_.end() && now - found->second->last <= same_event) {
        entries_.splice(entries_.begin(), entries_, found->second);
        entry& known = entries_.front();
        ++known.count;
        known.last = now;
        write.create = false;
        write.name = name_of(note, known.stamp);
        write.body = fmt::format(
            R"({{"count":{},"lastTimestamp":"{}"}})", known.count, format_api_time(now)
        );
        return write;
    }
    if (found != by_key_.end()) {
        drop(found->second);
    }
    entries_.push_front(entry{std::move(key), next_stamp(now), 1, now});
    by_key_.emplace(entries_.front().key, entries_.begin());
    while (entries_.size() > capacity_ || now - entries_.back().last > same_event) {
        drop(std::prev(entries_.end()));
    }
    write.name = name_of(note, entries_.front().stamp);
    write.body = create_body(note, entries_.front());
    return write;
}

void event_series::forget(const event_note& note) {
    const auto found = by_key_.find(key_of(note));
    if (found != by_key_.end()) {
        drop(found->second);
    }
}

void event_series::drop(entries::iterator known) {
    by_key_.erase(known->key);
    entries_.erase(known);
}

/// No two are the same, also of one instant.
std::int64_t event_series::next_stamp(wall_time now) {
    const auto stamp =
        std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    last_stamp_ = std::max<std::int64_t>(stamp, last_stamp_ + 1);
    return last_stamp_;
}

std::string event_series::create_body(const event_note& note, const entry& fresh) const {
    const object_reference& about = note.regarding;
    std::string body = R"({"apiVersion":"v1","kind":"Event","metadata":{)";
    add(body, "name", name_of(note, fresh.stamp));
    add(body, "namespace", namespace_of(note));
    body += R"(},"involvedObject":{)";
    add(body, "apiVersion", about.api_version);
    add(body, "kind", about.kind);
    add(body, "namespace", about.ns);
    add(body, "name", about.name);
    add(body, "uid", about.uid);
    add(body, "resourceVersion", about.resource_version);
    body += R"(},"source":{)";
    add(body, "component", component_);
    body += "}";
    add(body, "reportingComponent", component_);
    add(body, "type", note.warning ? "Warning" : "Normal");
    add(body, "reason", cut_utf8(note.reason, reason_limit));
    add(body, "message", cut_utf8(note.message, message_limit));
    add(body, "firstTimestamp", format_api_time(fresh.last));
    add(body, "lastTimestamp", format_api_time(fresh.last));
    return body + R"(,"count":1})";
}

}  // namespace signalbox::k8sio::protocol
