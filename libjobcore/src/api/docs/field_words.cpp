// SPDX-License-Identifier: Apache-2.0
#include "api/docs/field_words.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace signalbox::core::schema {
namespace {

void add_part(std::string& out, const std::string& part) {
    if (!part.empty()) {
        out += (out.empty() ? "" : "; ") + part;
    }
}

std::string range_words(const field& row) {
    const bool bounded = row.maximum < std::numeric_limits<std::int32_t>::max();
    if (row.type != value_type::integer ||
        row.minimum == std::numeric_limits<std::int32_t>::min()) {
        return {};
    }
    return bounded ? fmt::format("{} to {}", row.minimum, row.maximum)
                   : fmt::format("at least {}", row.minimum);
}

bool form_tells_length(const field& row) {
    return row.form != nullptr && row.form->tells_length;
}

std::string size_words(const field& row) {
    const std::string items =
        row.max_items == 0 ? std::string() : fmt::format("at most {} items", row.max_items);
    switch (row.type) {
        case value_type::string:
            return row.values.empty() && row.max_length > 0 && !form_tells_length(row)
                       ? fmt::format("at most {} characters", row.max_length)
                       : std::string();
        case value_type::string_list:
            return fmt::format("{} of {} characters", items, row.max_length);
        case value_type::integer_list:
            return fmt::format("{} from {} to {}", items, row.minimum, row.maximum);
        case value_type::object_list:
        case value_type::opaque_list:
            return items;
        default:
            return {};
    }
}

}  // namespace

std::string type_words(const field& row) {
    switch (row.type) {
        case value_type::object:
            return "object";
        case value_type::object_list:
            return "list of objects";
        case value_type::string:
            return "string";
        case value_type::string_list:
            return "list of strings";
        case value_type::integer_list:
            return "list of int32";
        case value_type::boolean:
            return "boolean";
        case value_type::integer:
            return row.maximum > std::numeric_limits<std::int32_t>::max() ? "int64" : "int32";
        case value_type::int_or_string:
            return "string or integer";
        case value_type::time:
            return "RFC 3339 time";
        case value_type::opaque_object:
            return "object, passed through";
        case value_type::opaque_list:
            return "list of objects, passed through";
    }
    return {};
}

std::string value_words(const field& row) {
    std::string out;
    for (const enum_value& v : row.values) {
        out += fmt::format("{}`{}`", out.empty() ? "" : ", ", v.name);
        if (!v.alias.empty()) {
            out += fmt::format(" (old spelling: `{}`)", v.alias);
        }
    }
    return out;
}

std::string bound_words(const field& row) {
    std::string out(row.form == nullptr ? std::string_view() : row.form->words);
    add_part(out, range_words(row));
    add_part(out, size_words(row));
    return out;
}

std::string rule_words(const field& row) {
    std::string out = row.required ? "required" : "";
    add_part(out, value_words(row));
    add_part(out, bound_words(row));
    for (const std::string_view alias : row.aliases) {
        add_part(out, fmt::format("old name: `{}`", alias));
    }
    if (!row.moved_to.empty()) {
        add_part(out, fmt::format("now `{}`", row.moved_to));
    }
    return out;
}

std::string_view change_words(change when) {
    switch (when) {
        case change::any_time:
            return "any time";
        case change::never:
            return "never";
        case change::by_own_rule:
            return "as the new name";
        case change::inherit:
            break;
    }
    return "while paused";
}

std::string default_words(const field& row) {
    return row.fallback.empty() ? std::string() : fmt::format("`{}`", row.fallback);
}

}  // namespace signalbox::core::schema
