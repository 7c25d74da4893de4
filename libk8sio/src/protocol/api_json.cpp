// SPDX-License-Identifier: Apache-2.0
#include "protocol/api_json.hpp"

#include "protocol/json_cursor.hpp"

namespace signalbox::k8sio::protocol {

namespace {

void read_causes(json_cursor& cursor, std::vector<status_cause>& causes) {
    if (!cursor.begin_array()) {
        cursor.skip();
        return;
    }
    while (cursor.next_element()) {
        status_cause cause;
        const bool object = read_members(
            cursor,
            {{"reason", &cause.reason}, {"message", &cause.message}, {"field", &cause.field}}
        );
        if (object) {
            causes.push_back(std::move(cause));
        }
    }
}

void read_details(json_cursor& cursor, api_error& error) {
    std::int64_t seconds = 0;
    const auto causes = [&error](json_cursor& inner) { read_causes(inner, error.causes); };
    read_members(cursor, {{"causes", causes}, {"retryAfterSeconds", &seconds}});
    if (seconds > 0) {
        error.retry_after = std::chrono::seconds{seconds};
    }
}

bool read_items(json_cursor& cursor, const resource_type& type, list_page& out) {
    if (!cursor.begin_array()) {
        return cursor.skip() == "null";  // L5
    }
    while (cursor.next_element()) {
        const std::string_view item = cursor.skip();
        if (item.empty() || item.front() != '{') {
            return false;
        }
        out.items.push_back(with_type(item, type));
    }
    return cursor.ok();
}

event_type type_of(std::string_view name) {
    if (name == "ADDED") {
        return event_type::added;
    }
    if (name == "MODIFIED") {
        return event_type::modified;
    }
    if (name == "DELETED") {
        return event_type::deleted;
    }
    if (name == "BOOKMARK") {
        return event_type::bookmark;
    }
    return name == "ERROR" ? event_type::error : event_type::unknown;
}

}  // namespace

bool read_object_facts(std::string_view object, object_facts& out) {
    json_cursor cursor(object);
    if (!cursor.begin_object()) {
        return false;
    }
    bool metadata = false;
    for (std::string key; cursor.next_member(key);) {
        if (key == "kind") {
            cursor.string(out.kind);
        } else if (key == "apiVersion") {
            cursor.string(out.api_version);
        } else if (key == "metadata") {
            read_members(cursor, {{"resourceVersion", &out.resource_version}});
            metadata = true;
        } else {
            cursor.skip();
        }
        if (metadata && !out.kind.empty() && !out.api_version.empty()) {
            return cursor.ok();  // the bulk of the object comes behind
        }
    }
    return cursor.ok();
}

std::string with_type(std::string_view item, const resource_type& type) {
    object_facts facts;
    read_object_facts(item, facts);
    std::string head = "{";
    if (facts.api_version.empty()) {
        head += "\"apiVersion\":\"" + type.api_version() + "\",";
    }
    if (facts.kind.empty()) {
        head += "\"kind\":\"" + type.kind() + "\",";
    }
    std::string_view rest = item.substr(1);
    if (head.size() > 1 && json_cursor(rest).skip().empty()) {
        head.pop_back();  // the item was {}
    }
    head.append(rest);
    return head;
}

bool read_status(std::string_view json, api_error& error) {
    json_cursor cursor(json);
    api_error found = error;
    std::string kind;
    std::int64_t code = 0;
    const auto details = [&found](json_cursor& inner) { read_details(inner, found); };
    read_members(
        cursor,
        {{"kind", &kind},
         {"reason", &found.reason},
         {"message", &found.message},
         {"details", details},
         {"code", &code}}
    );
    if (code >= 100 && code <= 999) {
        found.http_status = static_cast<int>(code);
    }
    if (!cursor.at_end() || kind != "Status") {
        return false;
    }
    error = std::move(found);
    return true;
}

bool read_list(std::string_view body, const resource_type& type, list_page& out) {
    json_cursor cursor(body);
    std::string kind;
    bool items_ok = true;
    const auto metadata = [&out](json_cursor& inner) {
        // remainingItemCount is a hint (L5)
        read_members(
            inner, {{"resourceVersion", &out.resource_version}, {"continue", &out.continue_token}}
        );
    };
    const auto items = [&](json_cursor& inner) { items_ok &= read_items(inner, type, out); };
    read_members(cursor, {{"kind", &kind}, {"metadata", metadata}, {"items", items}});
    // A Status or Table with status 200 is no list; the list kind of a custom type is free.
    const bool is_list = kind.size() > 4 && kind.compare(kind.size() - 4, 4, "List") == 0;
    return items_ok && is_list && cursor.at_end();
}

bool read_watch_event(std::string_view line, watch_event& out) {
    json_cursor cursor(line);
    std::string type;
    const auto object = [&out](json_cursor& inner) { out.object = inner.skip(); };
    read_members(cursor, {{"type", &type}, {"object", object}});
    out.type = type_of(type);
    return cursor.at_end() && !type.empty() && read_object_facts(out.object, out.facts);
}

}  // namespace signalbox::k8sio::protocol
