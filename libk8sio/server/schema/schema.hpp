// SPDX-License-Identifier: Apache-2.0
//
// Structural schemas of custom resources (apiextensions.k8s.io/v1): pruning, defaulting,
// validation, and the rules of x-kubernetes-validations.
#pragma once

#include "server/schema/cel.hpp"
#include "server/values/json.hpp"
#include "server/values/problems.hpp"

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {

/// `name` below `path`, with a dot between them unless `path` is empty.
std::string member_path(const std::string& path, std::string_view name);

/// One compiled node of a schema. Immutable after compile.
class schema_node {
public:
    static std::shared_ptr<const schema_node> compile(const json::value& schema);

    /// Removes what the schema does not know and nulls where they are not allowed. `unknown` gets
    /// the paths of removed fields. The root's apiVersion, kind and metadata are left alone.
    void prune(json::value& v, const std::string& path, std::vector<std::string>& unknown) const;
    void apply_defaults(json::value& v, json::arena& a) const;
    void validate(const json::value& v, const std::string& path, problems& list) const;
    bool has_rules() const { return has_rules_; }
    /// The rules of this node and below. `before`: what was there, nullptr if nothing was; where
    /// nothing changed only the rules that compare with it are asked. `budget`: what they may cost
    /// (cel::object_budget); negative once that was not enough, and none was asked after that.
    void check_rules(
        const json::value& v,
        const json::value* before,
        const std::string& path,
        problems& list,
        std::int64_t& budget
    ) const;

private:
    struct rule {
        cel::expression_ptr condition;
        bool compares = false;  ///< names oldSelf
        std::string message;
        std::string shown;  ///< in errors: the message, or the rule itself
        std::string field_path;
    };

    enum class type { any, object, array, string, integer, number, boolean };
    enum class is_root { no, yes };

    void read_limits(const json::value& schema);
    void read_rules(const json::value& schema);
    void prune_object(
        json::value& v, const std::string& path, is_root root, std::vector<std::string>& unknown
    ) const;
    bool type_matches(const json::value& v) const;
    void validate_number(const json::value& v, const std::string& path, problems& list) const;
    void validate_string(const json::value& v, const std::string& path, problems& list) const;
    void validate_array(const json::value& v, const std::string& path, problems& list) const;
    void validate_object(const json::value& v, const std::string& path, problems& list) const;
    void validate_junctors(const json::value& v, const std::string& path, problems& list) const;
    const schema_node* property(std::string_view name) const;
    static std::string failure_text(const rule& r, const cel::verdict& said);
    /// False if no further rule may be asked.
    bool check_rule(
        const rule& r,
        const json::value& v,
        const json::value* before,
        const std::string& path,
        problems& list,
        std::int64_t& budget
    ) const;

    using node_ptr = std::shared_ptr<const schema_node>;

    type type_ = type::any;
    std::string type_name_;
    bool int_or_string_ = false;
    bool nullable_ = false;
    bool preserve_unknown_ = false;
    bool embedded_ = false;
    std::vector<std::pair<std::string, node_ptr>> properties_;
    node_ptr additional_;  ///< additionalProperties as a schema
    bool additional_any_ = false;
    node_ptr items_;
    std::vector<std::string> required_;
    std::optional<std::string> default_;
    std::vector<std::string> enum_texts_;  ///< JSON texts
    std::optional<double> minimum_, maximum_, multiple_of_;
    bool exclusive_minimum_ = false;
    bool exclusive_maximum_ = false;
    std::optional<std::int64_t> min_length_, max_length_, min_items_, max_items_, min_properties_,
        max_properties_;
    std::unique_ptr<const re2::RE2> pattern_;  ///< null: none
    std::string pattern_text_;
    std::string format_;
    bool unique_items_ = false;
    std::vector<std::string> map_keys_;
    bool is_set_ = false;
    std::vector<node_ptr> all_of_, any_of_, one_of_;
    node_ptr not_;
    std::vector<rule> rules_;
    bool has_rules_ = false;  ///< here or below
};

}  // namespace signalbox::k8sio::server
