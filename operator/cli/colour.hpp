// SPDX-License-Identifier: Apache-2.0
//
// Colours of a terminal. They repeat what the text says, and go wherever it is no terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::op::cli {

enum class colour { none, red, green, yellow, blue, magenta, cyan, faint, bold };

/// Whether a person looks at standard output: a terminal, without `NO_COLOR` and with a `TERM`
/// other than `dumb`.
bool output_has_colours();

/// The text between the sequences that begin and end the colour; of `none` as it is.
std::string painted(std::string_view text, colour c);

/// Characters of UTF-8 text as a terminal shows them: sequences of colours are none.
std::size_t visible_width(std::string_view text);

/// The first `most` characters of a line of UTF-8; sequences of colours take none, and are ended.
std::string cut_to(std::string_view line, std::size_t most);

}  // namespace signalbox::op::cli
