// SPDX-License-Identifier: Apache-2.0
//
// How commands print lines in which texts of others may be: names, values, paths, what a server
// says.
#pragma once

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <ostream>
#include <utility>

namespace signalbox::op::cli {

/// One line, whatever is in it: line ends and what a terminal obeys are shown as their numbers
/// (BEHAVIOUR.md 11.4). Not for lines with colours.
template <class... Args>
void print_line(std::ostream& out, fmt::format_string<Args...> form, Args&&... args) {
    out << core::printable(fmt::format(form, std::forward<Args>(args)...)) << '\n';
}

}  // namespace signalbox::op::cli
