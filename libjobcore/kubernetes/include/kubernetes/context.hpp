// SPDX-License-Identifier: Apache-2.0
//
// What the rules over several fields read beside the object at hand, and how they report.
#pragma once

#include "kubernetes/json_string.hpp"
#include "kubernetes/problem.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::kubernetes {

/// True if `values`, with `|` between them, has that text.
inline bool is_among(std::string_view text, std::string_view values) {
    for (std::size_t from = 0; from <= values.size();) {
        const std::size_t to = std::min(values.find('|', from), values.size());
        if (values.substr(from, to - from) == text) {
            return true;
        }
        from = to + 1;
    }
    return false;
}

struct rule_context {
    explicit rule_context(problem_list& into) : problems(into) {}

    problem_list& problems;
    const value* spec = nullptr;  ///< the pod's specification
    /// Its volumes by name; nothing outside of a pod.
    std::shared_ptr<const std::map<std::string_view, const value*>> volumes = {};
    /// Names of its claims of resources; nothing outside of a pod.
    std::shared_ptr<const std::set<std::string_view>> claims = {};
    const value* container = nullptr;  ///< the container that the object is in
    bool ends = false;                 ///< that is an init container which runs to its end
    bool volume = false;               ///< the object is in a volume

    void required(const place& at, std::string detail = {}) const {
        problems.add(fault::required, at, nullptr, std::move(detail));
    }
    void invalid(const place& at, const value& bad, std::string detail) const {
        problems.add(fault::invalid, at, &bad, std::move(detail));
    }
    /// `bad` is shown as a text.
    void invalid(const place& at, std::string_view bad, std::string detail) const {
        problems.add_text(fault::invalid, at, json_string(bad), std::move(detail));
    }
    void forbidden(const place& at, std::string detail) const {
        problems.add(fault::forbidden, at, nullptr, std::move(detail));
    }
    void duplicate(const place& at, std::string_view bad) const {
        problems.add_text(fault::duplicate, at, json_string(bad));
    }
    void not_found(const place& at, std::string_view bad, std::string detail = {}) const {
        problems.add_text(fault::not_found, at, json_string(bad), std::move(detail));
    }
    /// `values` with `|` between them.
    void unsupported(const place& at, std::string_view bad, std::string_view values) const {
        std::string list;
        for (std::size_t from = 0; from <= values.size();) {
            const std::size_t to = std::min(values.find('|', from), values.size());
            list += list.empty() ? "\"" : ", \"";
            list += values.substr(from, to - from);
            list += '"';
            from = to + 1;
        }
        problems.add_text(fault::unsupported, at, json_string(bad), "supported values: " + list);
    }
};

/// A rule over the fields of an object of one type.
using object_rule = void (*)(const value& v, const place& at, const rule_context& context);

/// The members of `names` that `v` has.
inline std::vector<std::string_view> present(
    const value& v, std::initializer_list<std::string_view> names
) {
    std::vector<std::string_view> out;
    for (const std::string_view name : names) {
        if (find(v, name) != nullptr) {
            out.push_back(name);
        }
    }
    return out;
}

}  // namespace signalbox::kubernetes
