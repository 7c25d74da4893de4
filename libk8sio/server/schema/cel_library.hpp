// SPDX-License-Identifier: Apache-2.0
//
// Functions that rules of definitions may call and that are not evaluated here: what they cost is
// known, so that a rule is refused here where a real server refuses it (k8s.io/apiserver,
// pkg/cel/library and cost.go; cel-go, ext).
#pragma once

#include "server/schema/cel_declared.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server::cel {

/// What a call costs beside what its parts cost. "Text" means that of the object, or of the
/// argument where there is no object.
enum class price {
    step,   ///< 1, whatever the arguments are
    reads,  ///< passes over the text
    reads_twice,
    keeps_text,      ///< passes over the text; gives one that is no longer
    quotes,          ///< passes over the text; gives one of twice the length and two signs
    to_bytes,        ///< passes over the text; a character is four bytes at most
    compares_items,  ///< of a list each with one other, of a text its characters
    replaces,
    splits,
    joins,
    finds,           ///< a pattern in a text
    checks_name,     ///< a text with the pattern of a format
    compares_pairs,  ///< each item of a list with each of another
    compares_pairs_twice,
    compares_address,  ///< of an address or a text with a range
    compares_range,
};

/// Immutable; lasts as long as the program.
struct library_function {
    std::string_view name;  ///< `sets.contains` of one in a namespace
    bool method = false;    ///< `a.f(b)`, not `f(a, b)`
    std::size_t least = 0;  ///< arguments, without the object of a method
    std::size_t most = 0;
    price costs = price::step;
    shape gives = shape::opaque;
};

/// Null if there is no such function, or none with so many arguments.
const library_function* find_library_function(
    std::string_view name, bool method, std::size_t arguments
);
/// Whether functions are named `<name>.<something>`.
bool is_library_namespace(std::string_view name);

}  // namespace signalbox::k8sio::server::cel
