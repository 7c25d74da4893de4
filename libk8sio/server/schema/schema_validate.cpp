// SPDX-License-Identifier: Apache-2.0
//
// Validation against a structural schema; texts as k8s.io/kube-openapi/pkg/validation gives them,
// those of rules as k8s.io/apiextensions-apiserver does.
#include "protocol/http_date.hpp"
#include "server/schema/schema.hpp"
#include "server/values/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server {
namespace {

using json::value;

std::string shown(const std::string& path) {
    return path.empty() ? std::string("<nil>") : path;
}

std::int64_t code_points(std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    });
}

std::string number_text(double d) {
    return d == std::floor(d) && std::abs(d) < 1e15 ? fmt::format("{:.0f}", d)
                                                    : fmt::format("{}", d);
}

/// RFC 3339, of which the real server takes small letters too.
bool is_date_time(std::string_view text) {
    std::string capitals(text);
    std::replace(capitals.begin(), capitals.end(), 't', 'T');
    std::replace(capitals.begin(), capitals.end(), 'z', 'Z');
    return protocol::parse_api_time(capitals).has_value();
}

}  // namespace

bool schema_node::type_matches(const value& v) const {
    if (int_or_string_) {
        return v.IsInt64() || v.IsUint64() || v.IsString();
    }
    switch (type_) {
        case type::any:
            return true;
        case type::object:
            return v.IsObject();
        case type::array:
            return v.IsArray();
        case type::string:
            return v.IsString();
        case type::integer:
            // Go reads what is beyond as a float, and takes only exact ones for whole numbers.
            return v.IsInt64() || (v.IsDouble() && v.GetDouble() == std::floor(v.GetDouble()) &&
                                   std::abs(v.GetDouble()) <= 9007199254740991.0);
        case type::number:
            return v.IsNumber();
        case type::boolean:
            return v.IsBool();
    }
    return false;
}

void schema_node::validate(const value& v, const std::string& path, problems& list) const {
    if (v.IsNull() && nullable_) {
        return;
    }
    if (!type_matches(v)) {
        list.wrong_type(path, v, int_or_string_ ? "integer,string" : type_name_);
        return;
    }
    if (!enum_texts_.empty() &&
        std::find(enum_texts_.begin(), enum_texts_.end(), json::to_text(v)) == enum_texts_.end()) {
        std::vector<std::string> names;
        for (const std::string& text : enum_texts_) {
            const bool is_string = text.size() >= 2 && text.front() == '"';
            names.push_back(is_string ? text.substr(1, text.size() - 2) : text);
        }
        list.unsupported(path, v, names);
    }
    if (v.IsNumber()) {
        validate_number(v, path, list);
    } else if (v.IsString()) {
        validate_string(v, path, list);
    } else if (v.IsArray()) {
        validate_array(v, path, list);
    } else if (v.IsObject()) {
        validate_object(v, path, list);
    }
    validate_junctors(v, path, list);
}

void schema_node::validate_number(const value& v, const std::string& path, problems& list) const {
    const double d = v.GetDouble();
    const auto complain = [&](std::string_view what, double limit) {
        list.invalid(
            path, v, fmt::format("{} in body should be {} {}", path, what, number_text(limit))
        );
    };
    if (minimum_ && (exclusive_minimum_ ? d <= *minimum_ : d < *minimum_)) {
        complain(exclusive_minimum_ ? "greater than" : "greater than or equal to", *minimum_);
    }
    if (maximum_ && (exclusive_maximum_ ? d >= *maximum_ : d > *maximum_)) {
        complain(exclusive_maximum_ ? "less than" : "less than or equal to", *maximum_);
    }
    if (multiple_of_ && std::fmod(d, *multiple_of_) != 0.0) {
        complain("a multiple of", *multiple_of_);
    }
}

void schema_node::validate_string(const value& v, const std::string& path, problems& list) const {
    const std::string_view text = json::view(v);
    const std::int64_t length = code_points(text);
    if (max_length_ && length > *max_length_) {
        list.too_long(path, static_cast<std::size_t>(*max_length_));
        return;
    }
    if (min_length_ && length < *min_length_) {
        list.invalid(
            path, v, fmt::format("{} in body should be at least {} chars long", path, *min_length_)
        );
    }
    if (pattern_ && !RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *pattern_)) {
        list.invalid(path, v, fmt::format("{} in body should match '{}'", path, pattern_text_));
    }
    if (format_ == "date-time" && !is_date_time(text)) {
        list.invalid(
            path, v, fmt::format("{} in body must be of type date-time: {}", path, quoted(text))
        );
    }
}

void schema_node::validate_array(const value& v, const std::string& path, problems& list) const {
    const auto size = static_cast<std::int64_t>(v.Size());
    if (max_items_ && size > *max_items_) {
        list.too_many(path, v.Size(), static_cast<std::size_t>(*max_items_));
    }
    if (min_items_ && size < *min_items_) {
        list.invalid(
            path,
            value(size),
            fmt::format("{} in body should have at least {} items", path, *min_items_)
        );
    }
    std::set<std::string> seen;
    for (rapidjson::SizeType i = 0; i < v.Size(); ++i) {
        const std::string at = fmt::format("{}[{}]", path, i);
        if (items_ != nullptr) {
            items_->validate(v[i], at, list);
        }
        std::string identity;
        if (is_set_ || unique_items_) {
            identity = json::to_text(v[i]);
        } else if (!map_keys_.empty() && v[i].IsObject()) {
            for (const std::string& key : map_keys_) {
                const value* part = json::find(v[i], key);
                identity += part == nullptr ? "null," : json::to_text(*part) + ",";
            }
        } else {
            continue;
        }
        if (!seen.insert(identity).second) {
            list.duplicate(at, v[i]);
        }
    }
}

void schema_node::validate_object(const value& v, const std::string& path, problems& list) const {
    for (const std::string& name : required_) {
        if (json::member(v, name) == nullptr) {
            list.required(member_path(path, name));
        }
    }
    const auto size = static_cast<std::int64_t>(v.MemberCount());
    if (max_properties_ && size > *max_properties_) {
        list.too_many(path, v.MemberCount(), static_cast<std::size_t>(*max_properties_));
    }
    if (min_properties_ && size < *min_properties_) {
        list.invalid(
            path,
            v,
            fmt::format("{} in body should have at least {} properties", path, *min_properties_)
        );
    }
    for (const auto& m : v.GetObject()) {
        const std::string_view name = json::view(m.name);
        const schema_node* child = property(name);
        if (child == nullptr) {
            child = additional_.get();
        }
        if (child != nullptr) {
            child->validate(m.value, member_path(path, name), list);
        }
    }
}

/// Why an evaluation gave no boolean, in the words of the real server.
std::string schema_node::failure_text(const rule& r, const cel::verdict& said) {
    if (said.cancelled) {
        return fmt::format(
            "'{}': no further validation rules will be run due to call cost exceeds limit for "
            "rule: {}",
            said.error,
            r.shown
        );
    }
    if (said.error.starts_with("no such overload")) {
        return fmt::format(
            "'{}': call arguments did not match a supported operator, function or macro signature "
            "for rule: {}",
            said.error,
            r.shown
        );
    }
    return fmt::format("{} evaluating rule: {}", said.error, r.shown);
}

bool schema_node::check_rule(
    const rule& r,
    const value& v,
    const value* before,
    const std::string& path,
    problems& list,
    std::int64_t& budget
) const {
    const cel::verdict said = cel::evaluate(*r.condition, v, before);
    const bool spent = static_cast<std::int64_t>(said.cost) > budget;
    budget = spent || said.cancelled ? -1 : budget - static_cast<std::int64_t>(said.cost);
    if (said.holds && !spent) {
        return true;
    }
    const bool told_at_field = said.error.empty() && !spent;
    std::string field = told_at_field ? path + r.field_path : path;
    field = path.empty() && !field.empty() ? field.substr(1) : shown(field);
    const std::string why =
        spent ? "validation failed due to running out of cost budget, no further validation rules "
                "will be run"
        : told_at_field ? r.message
                        : failure_text(r, said);
    // The real server shows the type in place of the value.
    list.add(
        "FieldValueInvalid",
        std::move(field),
        fmt::format("Invalid value: {}: {}", quoted(type_name_), why)
    );
    return budget >= 0;
}

void schema_node::check_rules(
    const value& v,
    const value* before,
    const std::string& path,
    problems& list,
    std::int64_t& budget
) const {
    if (!has_rules_ || budget < 0) {
        return;
    }
    const bool changed = rules_.empty() || before == nullptr || !json::equal(*before, v);
    for (const rule& r : rules_) {
        if ((r.compares ? before != nullptr : changed) &&
            !check_rule(r, v, before, path, list, budget)) {
            return;
        }
    }
    if (v.IsObject()) {
        for (const auto& m : v.GetObject()) {
            const std::string_view name = json::view(m.name);
            const schema_node* declared = property(name);
            const schema_node* child = declared == nullptr ? additional_.get() : declared;
            if (child != nullptr && !m.value.IsNull()) {
                child->check_rules(
                    m.value,
                    before == nullptr ? nullptr : json::find(*before, name),
                    declared != nullptr ? member_path(path, name)
                                        : fmt::format("{}[{}]", path, name),
                    list,
                    budget
                );
            }
        }
    } else if (v.IsArray() && items_ != nullptr) {
        // Items of a list have no former ones (of lists with keys they would).
        for (rapidjson::SizeType i = 0; changed && i < v.Size(); ++i) {
            items_->check_rules(v[i], nullptr, fmt::format("{}[{}]", path, i), list, budget);
        }
    }
}

void schema_node::validate_junctors(const value& v, const std::string& path, problems& list) const {
    const auto passing = [&](const std::vector<node_ptr>& nodes) {
        return std::count_if(nodes.begin(), nodes.end(), [&](const node_ptr& n) {
            problems inner;
            n->validate(v, path, inner);
            return inner.empty();
        });
    };
    for (const node_ptr& n : all_of_) {
        n->validate(v, path, list);
    }
    if (!any_of_.empty() && passing(any_of_) == 0) {
        list.invalid(
            path,
            v,
            fmt::format("{} in body must validate at least one schema (anyOf)", shown(path))
        );
    }
    if (!one_of_.empty() && passing(one_of_) != 1) {
        list.invalid(
            path,
            v,
            fmt::format("{} in body must validate one and only one schema (oneOf)", shown(path))
        );
    }
    if (not_ != nullptr) {
        problems inner;
        not_->validate(v, path, inner);
        if (inner.empty()) {
            list.invalid(
                path, v, fmt::format("{} in body must not validate the schema (not)", shown(path))
            );
        }
    }
}

}  // namespace signalbox::k8sio::server
