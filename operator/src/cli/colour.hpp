// SPDX-License-Identifier: Apache-2.0
//
// Colours of a terminal. They repeat what the text says, and go wherever it is no terminal.
#pragma once

#include <string>
#include <string_view>

namespace signalbox::op::cli {

enum class colour { none, red, green, yellow, faint };

/// Whether a person looks at standard output: a terminal, without `NO_COLOR` and with a `TERM`
/// other than `dumb`.
bool output_has_colours();

/// The text between the sequences that begin and end the colour; of `none` as it is.
std::string painted(std::string_view text, colour c);

/// The first `most` characters of a line of UTF-8; sequences of colours take none, and are ended.
std::string cut_to(std::string_view line, std::size_t most);

}  // namespace signalbox::op::cli
