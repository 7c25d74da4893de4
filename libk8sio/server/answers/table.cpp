// SPDX-License-Identifier: Apache-2.0
//
// Tables (meta.k8s.io/v1): what `kubectl get` prints.
#include "server/answers/render.hpp"
#include "server/formats/json_path.hpp"
#include "server/values/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace signalbox::k8sio::server {
namespace {

using json::value;

value column_definition(const kind_info& kind, const column& c, json::arena& a) {
    const bool is_age = c.type == "date" && !c.raw && !kind.has(trait::custom);
    value v = json::object();
    json::set(v, "name", c.name, a);
    json::set(v, "type", is_age ? std::string_view("string") : c.type, a);
    json::set(v, "format", c.format, a);
    json::set(v, "description", c.description, a);
    json::set(v, "priority", value(c.priority), a);
    return v;
}

/// The cell of a custom kind's column: the first value there is, if it is of the column's type.
value custom_cell(const std::string& type, const value& found, wall_time now, json::arena& a) {
    if (type == "integer") {
        return found.IsInt64()    ? value(found.GetInt64())
               : found.IsNumber() ? value(static_cast<std::int64_t>(found.GetDouble()))
                                  : value();
    }
    if (type == "number" || type == "boolean") {
        return found.IsNumber() == (type == "number") && found.IsBool() == (type == "boolean")
                   ? json::copy(found, a)
                   : value();
    }
    if (type == "date") {
        return found.IsString() ? json::make_string(age(json::view(found), now), a) : value();
    }
    return json::make_string(found.IsNull() ? "<no value>" : json::scalar_text(found), a);
}

/// The cell of a built-in kind: an absent text is <none>, an absent counter 0.
value built_in_cell(const column& c, const value* found, wall_time now, json::arena& a) {
    const std::string_view text = found != nullptr && found->IsString() ? json::view(*found) : "";
    if (c.type == "date") {
        return json::make_string(c.raw ? std::string(text) : age(text, now), a);
    }
    if (c.type == "string") {
        return json::make_string(text.empty() && c.priority > 0 ? "<none>" : text, a);
    }
    if (found == nullptr || found->IsNull()) {
        return c.type == "boolean" ? value(false) : value(0);
    }
    return json::copy(*found, a);
}

value cell(
    const kind_info& kind, const column& c, const value& object, wall_time now, json::arena& a
) {
    if (c.print != nullptr) {
        const std::string text = c.print(object, now);
        return c.raw ? value(std::int64_t{std::stoll(text)}) : json::make_string(text, a);
    }
    const std::vector<const value*> found = json_path(object, c.path);
    const value* first = found.empty() ? nullptr : found.front();
    return !kind.has(trait::custom) ? built_in_cell(c, first, now, a)
           : first == nullptr       ? value()
                                    : custom_cell(c.type, *first, now, a);
}

}  // namespace

std::string render_table(
    const kind_info& kind,
    const std::vector<const record*>& items,
    const list_facts& facts,
    row_object rows,
    wall_time now
) {
    json::arena definitions;
    value columns = json::array();
    for (const column& c : kind.columns) {
        columns.PushBack(column_definition(kind, c, definitions).Move(), definitions);
    }
    std::string out = fmt::format(
        "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{{\"resourceVersion\":"
        "\"{}\"{}{}}},\"columnDefinitions\":{},\"rows\":[",
        facts.version,
        facts.continue_token.empty() ? "" : ",\"continue\":\"" + facts.continue_token + "\"",
        facts.remaining ? fmt::format(",\"remainingItemCount\":{}", *facts.remaining) : "",
        json::to_text(columns)
    );
    bool first = true;
    for (const record* r : items) {
        json::arena a;
        const value object = parse_record(kind.keeper(), *r, a);
        value cells = json::array();
        for (const column& c : kind.columns) {
            cells.PushBack(cell(kind, c, object, now, a).Move(), a);
        }
        out += first ? "" : ",";
        first = false;
        out += "{\"cells\":" + json::to_text(cells);
        if (rows != row_object::none) {
            const view v{
                rows == row_object::whole ? representation::plain : representation::partial, rows};
            out += ",\"object\":" + render_object(kind, *r, v, now);
        }
        out += "}";
    }
    return out + "]}";
}

}  // namespace signalbox::k8sio::server
