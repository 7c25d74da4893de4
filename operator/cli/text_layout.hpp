// SPDX-License-Identifier: Apache-2.0
//
// Text for people, laid out for the width that there is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::op::cli {

/// ASCII letters in lower case; the rest as it is.
std::string lower(std::string_view text);

/// A path as a word that a shell reads back: between quotes where it has any character that a shell
/// may take as its own.
std::string shell_word(const std::string& path);

/// Characters of a line: those of the terminal if standard output is one, at most 100; else 100.
std::size_t output_width();

/// `text` behind `first`, broken at spaces into lines of at most `width` characters, each further
/// one behind `rest`; a word that is too long has a line of its own, and sequences of colours take
/// no place. Ends with a newline.
std::string wrapped(
    std::string_view text, std::string_view first, std::string_view rest, std::size_t width
);

/// Each line of `text` wrapped; what it continues with has the line's own indentation.
std::string wrapped_lines(std::string_view text, std::size_t width);

/// A text in Markdown, laid out: paragraphs, lists, tables and blocks of code; links and bold text
/// without their marks. A line that starts with a word and a colon, as in `Why: ...`, begins a
/// paragraph.
std::string markdown_as_text(std::string_view markdown, std::size_t width);

}  // namespace signalbox::op::cli
