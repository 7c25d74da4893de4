// SPDX-License-Identifier: Apache-2.0
#include "server/schema/cel_declared.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server::cel {
namespace {

using json::value;

/// The shortest values in JSON: `""`, `true`, `0`, `[]` or `{}`.
constexpr std::int64_t empty_text = 2, shortest_truth = 4, shortest_number = 1, empty_brackets = 2;

declared_ptr simple(shape is, std::int64_t smallest, std::uint64_t most = 0) {
    declared out;
    out.is = is;
    out.smallest = smallest;
    out.most = most;
    return std::make_shared<const declared>(std::move(out));
}

std::optional<std::uint64_t> bound(const value& schema, std::string_view key) {
    const auto said = json::int_at(schema, {key});
    return said ? std::optional(static_cast<std::uint64_t>(std::max<std::int64_t>(*said, 0)))
                : std::nullopt;
}

/// A bound in characters, of which one may take four bytes. It wraps as there.
std::uint64_t text_bound(const value& schema) {
    constexpr std::uint64_t bytes_of_character = 4;
    const auto said = bound(schema, "maxLength");
    return said ? *said * bytes_of_character : static_cast<std::uint64_t>(max_request - empty_text);
}

/// Texts of a form have the sizes of that form, quotes included.
declared_ptr text_of_form(const value& schema) {
    struct form {
        std::string_view name;
        shape is;
        std::int64_t smallest;
        std::uint64_t most;
    };
    static constexpr std::array forms{
        form{"duration", shape::duration, 3, 32},
        form{"date", shape::moment, 12, 12},
        form{"date-time", shape::moment, 21, 32},
    };
    const std::string_view name = json::string_at(schema, {"format"});
    const auto* known =
        std::find_if(forms.begin(), forms.end(), [&](const form& f) { return f.name == name; });
    if (known != forms.end()) {
        return simple(known->is, known->smallest, known->most);
    }
    if (name == "byte") {
        const auto said = bound(schema, "maxLength");
        return simple(shape::bytes, empty_text, said.value_or(max_request - empty_text));
    }
    const value* choices = json::find(schema, "enum");
    if (!bound(schema, "maxLength") && choices != nullptr && choices->IsArray() &&
        !choices->Empty()) {
        std::size_t longest = 0;
        for (const value& one : choices->GetArray()) {
            longest = std::max(longest, one.IsString() ? json::view(one).size() : 0);
        }
        return simple(shape::text, empty_text, longest);
    }
    return simple(shape::text, empty_text, text_bound(schema));
}

/// As many as a request has room for, where the schema names no bound.
declared_ptr container(
    shape is, const value& schema, std::string_view bound_key, const value& of, std::int64_t around
) {
    declared out;
    out.is = is;
    out.element = declare(of, embedded_root(of));
    if (out.element == nullptr) {
        return nullptr;
    }
    out.smallest = empty_brackets;
    const std::int64_t fitting = (max_request - empty_brackets) / (out.element->smallest + around);
    out.most = bound(schema, bound_key).value_or(static_cast<std::uint64_t>(fitting));
    return std::make_shared<const declared>(std::move(out));
}

bool has_type(const value& schema, std::initializer_list<std::string_view> path, const char* type) {
    const value* at = json::find_path(schema, path);
    return at != nullptr && json::string_at(*at, {"type"}) == type;
}

bool names_itself(const value& schema) {
    return has_type(schema, {"properties", "kind"}, "string") &&
           has_type(schema, {"properties", "apiVersion"}, "string") &&
           has_type(schema, {"properties", "metadata"}, "object") &&
           has_type(schema, {"properties", "metadata", "properties", "name"}, "string") &&
           has_type(schema, {"properties", "metadata", "properties", "generateName"}, "string");
}

void add_names(declared& to) {
    const declared_ptr text =
        simple(shape::text, empty_text, static_cast<std::uint64_t>(max_request - empty_text));
    declared metadata;
    metadata.is = shape::object;
    metadata.smallest = empty_brackets;
    metadata.fields = {{"name", text}, {"generateName", text}};
    to.fields["kind"] = text;
    to.fields["apiVersion"] = text;
    to.fields["metadata"] = std::make_shared<const declared>(std::move(metadata));
}

declared_ptr object(const value& schema, resource_root root) {
    declared out;
    out.is = shape::object;
    out.smallest = empty_brackets;
    const value* properties = json::find(schema, "properties");
    if (properties != nullptr && properties->IsObject()) {
        for (const auto& m : properties->GetObject()) {
            if (declared_ptr field = declare(m.value, embedded_root(m.value))) {
                out.fields.emplace(json::text_of(m.name), std::move(field));
            }
        }
    }
    if (root == resource_root::yes && !names_itself(schema)) {
        add_names(out);
    }
    const value* required = json::find(schema, "required");
    if (required == nullptr || !required->IsArray()) {
        return std::make_shared<const declared>(std::move(out));
    }
    std::map<std::string_view, declared_ptr> wanted;
    for (const value& name : required->GetArray()) {
        const auto field = out.fields.find(name.IsString() ? json::view(name) : std::string_view());
        const value* said = field == out.fields.end() || properties == nullptr
                                ? nullptr
                                : json::member(*properties, field->first);
        // What the server fills in need not be in a request.
        if (field != out.fields.end() &&
            (said == nullptr || json::member(*said, "default") == nullptr)) {
            wanted.emplace(field->first, field->second);
        }
    }
    for (const auto& [name, field] : wanted) {
        constexpr std::int64_t marks = 4;  // `"":,`
        out.smallest += static_cast<std::int64_t>(name.size()) + field->smallest + marks;
    }
    return std::make_shared<const declared>(std::move(out));
}

}  // namespace

resource_root embedded_root(const value& schema) {
    return json::bool_at(schema, {"x-kubernetes-embedded-resource"}) ? resource_root::yes
                                                                     : resource_root::no;
}

declared_ptr declare(const value& schema, resource_root root) {
    if (json::bool_at(schema, {"x-kubernetes-int-or-string"})) {
        return simple(shape::dynamic, shortest_number, text_bound(schema));
    }
    const std::string_view type = json::string_at(schema, {"type"});
    if (type == "array") {
        const value* items = json::find(schema, "items");
        constexpr std::int64_t comma = 1;
        return items == nullptr || !items->IsObject()
                   ? nullptr
                   : container(shape::list, schema, "maxItems", *items, comma);
    }
    if (type == "object") {
        const value* more = json::find(schema, "additionalProperties");
        constexpr std::int64_t key = 6;  // two bytes, and `"":,`
        return more != nullptr && more->IsObject()
                   ? container(shape::map, schema, "maxProperties", *more, key)
                   : object(schema, root);
    }
    return type == "string"    ? text_of_form(schema)
           : type == "boolean" ? simple(shape::boolean, shortest_truth)
           : type == "integer" ? simple(shape::integer, shortest_number)
           : type == "number"  ? simple(shape::real, shortest_number)
                               : nullptr;
}

}  // namespace signalbox::k8sio::server::cel
