// SPDX-License-Identifier: Apache-2.0
//
// Compiling, pruning and defaulting; validation is in schema_validate.cpp.
#include "server/schema/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::value;

std::optional<std::int64_t> count_at(const value& schema, std::string_view key) {
    return json::int_at(schema, {key});
}

std::optional<double> number_at(const value& schema, std::string_view key) {
    const value* v = json::find(schema, key);
    return v != nullptr && v->IsNumber() ? std::optional(v->GetDouble()) : std::nullopt;
}

std::vector<std::string> strings_at(const value& schema, std::string_view key) {
    std::vector<std::string> out;
    if (const value* list = json::find(schema, key); list && list->IsArray()) {
        for (const value& e : list->GetArray()) {
            out.push_back(json::scalar_text(e));
        }
    }
    return out;
}

bool is_envelope(std::string_view name) {
    return name == "apiVersion" || name == "kind" || name == "metadata";
}

}  // namespace

std::string member_path(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::shared_ptr<const schema_node> schema_node::compile(const value& schema) {
    static constexpr std::array<std::pair<std::string_view, type>, 6> types{{
        {"object", type::object},
        {"array", type::array},
        {"string", type::string},
        {"integer", type::integer},
        {"number", type::number},
        {"boolean", type::boolean},
    }};
    auto n = std::make_shared<schema_node>();
    n->type_name_ = json::string_at(schema, {"type"});
    for (const auto& [name, t] : types) {
        if (name == n->type_name_) {
            n->type_ = t;
        }
    }
    n->int_or_string_ = json::bool_at(schema, {"x-kubernetes-int-or-string"});
    n->nullable_ = json::bool_at(schema, {"nullable"});
    n->preserve_unknown_ = json::bool_at(schema, {"x-kubernetes-preserve-unknown-fields"});
    n->embedded_ = json::bool_at(schema, {"x-kubernetes-embedded-resource"});
    if (const value* list = json::find(schema, "properties"); list && list->IsObject()) {
        for (const auto& m : list->GetObject()) {
            n->properties_.emplace_back(json::text_of(m.name), compile(m.value));
        }
        std::sort(n->properties_.begin(), n->properties_.end(), [](const auto& a, const auto& b) {
            return a.first < b.first;
        });
    }
    if (const value* more = json::find(schema, "additionalProperties")) {
        if (more->IsObject()) {
            n->additional_ = compile(*more);
        } else {
            n->additional_any_ = more->IsTrue();
        }
    }
    if (const value* items = json::find(schema, "items"); items && items->IsObject()) {
        n->items_ = compile(*items);
    }
    if (const value* v = json::member(schema, "default")) {
        n->default_ = json::to_text(*v);
    }
    n->read_limits(schema);
    const std::array<std::pair<std::string_view, std::vector<node_ptr>*>, 3> junctors{{
        {"allOf", &n->all_of_},
        {"anyOf", &n->any_of_},
        {"oneOf", &n->one_of_},
    }};
    for (const auto& [key, into] : junctors) {
        if (const value* list = json::find(schema, key); list && list->IsArray()) {
            for (const value& e : list->GetArray()) {
                into->push_back(compile(e));
            }
        }
    }
    if (const value* v = json::find(schema, "not")) {
        n->not_ = compile(*v);
    }
    n->read_rules(schema);
    return n;
}

void schema_node::read_rules(const value& schema) {
    if (const value* list = json::find(schema, "x-kubernetes-validations");
        list && list->IsArray()) {
        for (const value& e : list->GetArray()) {
            const std::string_view text = json::string_at(e, {"rule"});
            auto condition = cel::parse(text);
            if (!condition || !cel::can_evaluate(**condition)) {
                continue;  // README.md: not evaluated
            }
            rule r;
            r.compares = cel::names(**condition, "oldSelf");
            r.condition = std::move(*condition);
            r.message = json::string_at(e, {"message"});
            r.shown = r.message.empty() ? std::string(text) : r.message;
            if (r.message.empty()) {
                r.message = fmt::format("failed rule: {}", text);
            }
            r.field_path = json::string_at(e, {"fieldPath"});
            rules_.push_back(std::move(r));
        }
    }
    const auto below = [](const node_ptr& n) { return n != nullptr && n->has_rules_; };
    has_rules_ = !rules_.empty() || below(items_) || below(additional_) ||
                 std::any_of(properties_.begin(), properties_.end(), [&](const auto& p) {
                     return below(p.second);
                 });
}

void schema_node::read_limits(const value& schema) {
    required_ = strings_at(schema, "required");
    if (const value* list = json::find(schema, "enum"); list && list->IsArray()) {
        for (const value& e : list->GetArray()) {
            enum_texts_.push_back(json::to_text(e));
        }
    }
    minimum_ = number_at(schema, "minimum");
    maximum_ = number_at(schema, "maximum");
    multiple_of_ = number_at(schema, "multipleOf");
    exclusive_minimum_ = json::bool_at(schema, {"exclusiveMinimum"});
    exclusive_maximum_ = json::bool_at(schema, {"exclusiveMaximum"});
    min_length_ = count_at(schema, "minLength");
    max_length_ = count_at(schema, "maxLength");
    min_items_ = count_at(schema, "minItems");
    max_items_ = count_at(schema, "maxItems");
    min_properties_ = count_at(schema, "minProperties");
    max_properties_ = count_at(schema, "maxProperties");
    format_ = json::string_at(schema, {"format"});
    unique_items_ = json::bool_at(schema, {"uniqueItems"});
    is_set_ = json::string_at(schema, {"x-kubernetes-list-type"}) == "set";
    if (json::string_at(schema, {"x-kubernetes-list-type"}) == "map") {
        map_keys_ = strings_at(schema, "x-kubernetes-list-map-keys");
    }
    pattern_text_ = json::string_at(schema, {"pattern"});
    if (!pattern_text_.empty()) {
        auto pattern = std::make_unique<re2::RE2>(pattern_text_, RE2::Quiet);
        if (pattern->ok()) {
            pattern_ = std::move(pattern);
        }
    }
}

const schema_node* schema_node::property(std::string_view name) const {
    const auto it = std::lower_bound(
        properties_.begin(),
        properties_.end(),
        name,
        [](const auto& p, std::string_view n) { return p.first < n; }
    );
    return it != properties_.end() && it->first == name ? it->second.get() : nullptr;
}

void schema_node::prune(value& v, const std::string& path, std::vector<std::string>& unknown)
    const {
    if (v.IsObject()) {
        prune_object(v, path, path.empty() ? is_root::yes : is_root::no, unknown);
    } else if (v.IsArray() && items_ != nullptr) {
        for (rapidjson::SizeType i = 0; i < v.Size(); ++i) {
            items_->prune(v[i], fmt::format("{}[{}]", path, i), unknown);
        }
    }
}

void schema_node::prune_object(
    value& v, const std::string& path, is_root root, std::vector<std::string>& unknown
) const {
    const bool envelope = root == is_root::yes || embedded_;
    json::erase_members(v, [&](value::Member& m) {
        const std::string_view name = json::view(m.name);
        if (envelope && is_envelope(name)) {
            return false;
        }
        const schema_node* child = property(name);
        if (child == nullptr) {
            child = additional_.get();
        }
        if (child == nullptr && !preserve_unknown_ && !additional_any_) {
            unknown.push_back(member_path(path, name));
            return true;
        }
        // Nulls where null is not allowed are dropped before defaulting (API conventions of CRDs).
        if (child != nullptr && m.value.IsNull() && !child->nullable_) {
            return true;
        }
        if (child != nullptr) {
            child->prune(m.value, member_path(path, name), unknown);
        }
        return false;
    });
}

void schema_node::apply_defaults(value& v, json::arena& a) const {
    if (v.IsObject()) {
        for (const auto& [name, child] : properties_) {
            value* at = json::member(v, name);
            if (at == nullptr && child->default_) {
                value fresh;
                json::parse(fresh, *child->default_, a);
                json::set(v, name, std::move(fresh), a);
                at = json::member(v, name);
            }
            if (at != nullptr) {
                child->apply_defaults(*at, a);
            }
        }
        if (additional_ != nullptr) {
            for (auto& m : v.GetObject()) {
                if (property(json::view(m.name)) == nullptr) {
                    additional_->apply_defaults(m.value, a);
                }
            }
        }
    } else if (v.IsArray() && items_ != nullptr) {
        for (value& e : v.GetArray()) {
            items_->apply_defaults(e, a);
        }
    }
}

}  // namespace signalbox::k8sio::server
