// SPDX-License-Identifier: Apache-2.0
#include "protocol/api_json.hpp"

#include "protocol/json_cursor.hpp"

namespace signalbox::k8sio::protocol {

namespace {

void read_metadata_version(json_cursor& cursor, std::string& version) {
    if (!cursor.begin_object()) {
        cursor.skip();
        return;
    }
    for (std::string key; cursor.next_member(key);) {
        if (key == "resourceVersion") {
            cursor.string(version);
        } else {
            cursor.skip();
        }
    }
}

void read_causes(json_cursor& cursor, std::vector<status_cause>& causes) {
    if (!cursor.begin_array()) {
        cursor.skip();
        return;
    }
    while (cursor.next_element()) {
        status_cause cause;
        if (!cursor.begin_object()) {
            cursor.skip();
            continue;
        }
        for (std::string key; cursor.next_member(key);) {
            if (key == "reason") {
                cursor.string(cause.reason);
            } else if (key == "message") {
                cursor.string(cause.message);
            } else if (key == "field") {
                cursor.string(cause.field);
            } else {
                cursor.skip();
            }
        }
        causes.push_back(std::move(cause));
    }
}

void read_details(json_cursor& cursor, api_error& error) {
    if (!cursor.begin_object()) {
        cursor.skip();
        return;
    }
    for (std::string key; cursor.next_member(key);) {
        std::int64_t seconds = 0;
        if (key == "causes") {
            read_causes(cursor, error.causes);
        } else if (key == "retryAfterSeconds") {
            if (cursor.integer(seconds) && seconds > 0) {
                error.retry_after = std::chrono::seconds{seconds};
            }
        } else {
            cursor.skip();
        }
    }
}

void read_list_metadata(json_cursor& cursor, list_page& out) {
    if (!cursor.begin_object()) {
        cursor.skip();
        return;
    }
    for (std::string key; cursor.next_member(key);) {
        if (key == "resourceVersion") {
            cursor.string(out.resource_version);
        } else if (key == "continue") {
            cursor.string(out.continue_token);
        } else {
            cursor.skip();  // remainingItemCount is a hint (L5)
        }
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
            read_metadata_version(cursor, out.resource_version);
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
    if (!cursor.begin_object()) {
        return false;
    }
    api_error found = error;
    std::string kind;
    for (std::string key; cursor.next_member(key);) {
        std::int64_t code = 0;
        if (key == "kind") {
            cursor.string(kind);
        } else if (key == "reason") {
            cursor.string(found.reason);
        } else if (key == "message") {
            cursor.string(found.message);
        } else if (key == "details") {
            read_details(cursor, found);
        } else if (key == "code") {
            if (cursor.integer(code) && code >= 100 && code <= 999) {
                found.http_status = static_cast<int>(code);
            }
        } else {
            cursor.skip();
        }
    }
    if (!cursor.at_end() || kind != "Status") {
        return false;
    }
    error = std::move(found);
    return true;
}

bool read_list(std::string_view body, const resource_type& type, list_page& out) {
    json_cursor cursor(body);
    if (!cursor.begin_object()) {
        return false;
    }
    std::string kind;
    bool items_ok = true;
    for (std::string key; items_ok && cursor.next_member(key);) {
        if (key == "kind") {
            cursor.string(kind);
        } else if (key == "metadata") {
            read_list_metadata(cursor, out);
        } else if (key == "items") {
            items_ok = read_items(cursor, type, out);
        } else {
            cursor.skip();
        }
    }
    // A Status or Table with status 200 is no list; the list kind of a custom type is free.
    const bool is_list = kind.size() > 4 && kind.compare(kind.size() - 4, 4, "List") == 0;
    return items_ok && is_list && cursor.at_end();
}

bool read_watch_event(std::string_view line, watch_event& out) {
    json_cursor cursor(line);
    if (!cursor.begin_object()) {
        return false;
    }
    std::string type;
    for (std::string key; cursor.next_member(key);) {
        if (key == "type") {
            cursor.string(type);
        } else if (key == "object") {
            out.object = cursor.skip();
        } else {
            cursor.skip();
        }
    }
    out.type = type_of(type);
    return cursor.at_end() && !type.empty() && read_object_facts(out.object, out.facts);
}

}  // namespace signalbox::k8sio::protocol
