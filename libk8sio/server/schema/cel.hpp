// SPDX-License-Identifier: Apache-2.0
//
// Rules of CustomResourceDefinitions (x-kubernetes-validations), in the part of CEL that such rules
// mostly need: README.md says which. Immutable after parse.
#pragma once

#include "server/values/json.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server::cel {

struct library_function;

enum class op {
    literal_null,
    literal_bool,
    literal_int,
    literal_double,
    literal_text,
    list,      ///< parts: the items
    variable,  ///< text: the name
    member,    ///< parts: of what; text: the name, as the schema has it
    has,       ///< as member
    index,     ///< parts: of what, at what
    call,      ///< parts: the arguments, of a method its object first; text: the name
    macro,  ///< parts: list, expression, for map with a filter the filter; text: name of the macro
    negate,
    logical_not,
    logical_and,
    logical_or,
    conditional,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    add,
    subtract,
    multiply,
    divide,
    remainder,
};

/// A node of a parsed expression.
struct expression {
    op what = op::literal_null;
    std::string text;
    std::string bound;    ///< the variable of a macro
    bool method = false;  ///< of a call: `a.f(b)`, not `f(a, b)`
    std::int64_t integer = 0;
    double real = 0;
    std::vector<std::unique_ptr<expression>> parts;
    std::shared_ptr<const re2::RE2> pattern;  ///< of `matches`, where it is a literal
    /// Of a call that is not evaluated here, and whose cost is known; else null.
    const library_function* library = nullptr;
};
using expression_ptr = std::unique_ptr<expression>;

/// An error: why the text is no expression that can be evaluated here.
struct parse_error {
    std::string text;
};
[[noreturn]] void throw_exception_from_error(const parse_error& e, const boost::source_location&);

boost::system::result<expression_ptr, parse_error> parse(std::string_view text);
/// Whether all functions that it calls are evaluated here. `evaluate` must not be asked otherwise.
bool can_evaluate(const expression& e);
/// Whether the expression names that variable.
bool names(const expression& e, std::string_view variable);

/// What one evaluation may cost, and those of one object together (k8s.io/apiserver,
/// pkg/apis/cel/config.go).
inline constexpr std::uint64_t evaluation_limit = 1'000'000;
inline constexpr std::int64_t object_budget = 10'000'000;

/// What a list costs that an expression makes.
inline constexpr std::uint64_t list_cost = 10;

/// What a rule says of a value.
struct verdict {
    bool holds = false;
    std::string error;  ///< why it could not be evaluated to a boolean; empty if it could
    std::uint64_t cost = 0;
    bool cancelled = false;  ///< it costs more than evaluation_limit; the error says so
};
/// `old_self`: nullptr if there was none; then a rule that names it must not be asked.
verdict evaluate(const expression& rule, const json::value& self, const json::value* old_self);

}  // namespace signalbox::k8sio::server::cel
