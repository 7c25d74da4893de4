// SPDX-License-Identifier: Apache-2.0
//
// Tables (meta.k8s.io/v1): what `kubectl get` prints.
#include "server/answers/render.hpp"
#include "server/formats/json_path.hpp"
#include "server/values/times.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::k8sio::server {
namespace {

using json::value;

value column_definition(const column& c, json::arena& a) {
    value v = json::object();
    json::set(v, "name", c.name, a);
    json::set(v, "type", c.type == "date" ? std::string_view("string") : c.type, a);
    json::set(v, "format", c.format, a);
    json::set(v, "description", c.description, a);
    json::set(v, "priority", value(c.priority), a);
    return v;
}

/// The cell of a JSON path column, as the table convertor of custom resources prints it.
value path_cell(const column& c, const value& object, wall_time now, json::arena& a) {
    const std::vector<const value*> found = json_path(object, c.path);
    if (found.empty()) {
        return c.type == "date" || c.type == "string"
                   ? json::make_string(c.type == "date" ? "<unknown>" : "", a)
                   : value();
    }
    const value& first = *found.front();
    if (c.type == "date") {
        return json::make_string(
            first.IsString() ? age(json::view(first), now) : std::string("<unknown>"), a
        );
    }
    if (c.type == "integer" || c.type == "number" || c.type == "boolean") {
        return json::copy(first, a);
    }
    std::string text;
    for (const value* v : found) {
        text += (text.empty() ? "" : ",") + json::scalar_text(*v);
    }
    return json::make_string(text, a);
}

value cell(
    const kind_info& kind, const column& c, const value& object, wall_time now, json::arena& a
) {
    if (c.print != nullptr) {
        return json::make_string(c.print(object, now), a);
    }
    value v = path_cell(c, object, now, a);
    // The printers of built-in kinds show an absent text as <none>, counters as 0.
    if (!kind.has(trait::custom)) {
        if (v.IsNull()) {
            v.SetInt(0);
        } else if (v.IsString() && v.GetStringLength() == 0) {
            v = json::make_string(c.priority > 0 ? "<none>" : "", a);
        }
    }
    return v;
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
        columns.PushBack(column_definition(c, definitions).Move(), definitions);
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
