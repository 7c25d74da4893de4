// SPDX-License-Identifier: Apache-2.0
//
// Small readings of texts that come from outside and may be hostile. The functions depend on their
// arguments alone, may be called from any thread, and throw nothing but for lack of memory. Views
// refer to the given text.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace signalbox::core {

/// Whether a byte of UTF-8 text is one of a character before it, and not its first one.
constexpr bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// The beginning of UTF-8 text, at most `limit` bytes of whole characters. Of bytes that are no
/// UTF-8 it loses at most three more than the limit asks for.
std::string_view first_bytes(std::string_view text, std::size_t limit);

/// The end of UTF-8 text, in the same way.
std::string_view last_bytes(std::string_view text, std::size_t limit);

/// Number of characters (code points) of UTF-8 text.
std::size_t count_characters(std::string_view text);

/// The text with a space for each byte of what a terminal obeys or a reader is misled by: it stays
/// in its line, and says nothing else than it shows. These are the control characters of C0 and C1,
/// the separators of lines and paragraphs, what changes the direction of writing, the mark of byte
/// order, and bytes that are no UTF-8 (BEHAVIOUR.md 11.4).
std::string in_one_line(std::string_view text);

/// The same characters as `\u001b`, other bytes as `\x9b`: for texts that name something.
std::string printable(std::string_view text);

/// Appends the text as a string of JSON that may be printed: the same characters as `\u001b`, and
/// U+FFFD for a byte that is no UTF-8.
void append_printable_json_string(std::string& out, std::string_view text);

/// Appends the text as a string of JSON with its quotes; U+FFFD for a byte that is no UTF-8.
void append_json_string(std::string& out, std::string_view text);
/// That string alone.
std::string json_string(std::string_view text);

/// The JSON pointer (RFC 6901) `parent` with one more token, which gets escaped.
std::string child_pointer(std::string_view parent, std::string_view token);
std::string child_pointer(std::string_view parent, std::size_t index);

/// The number that decimal digits alone stand for: no sign, no space, nothing before or behind
/// them. Leading zeros count for nothing. Nothing for any other text and for what does not fit.
std::optional<std::uint64_t> read_digits(std::string_view text);

/// The same from 0 to `most`.
template <std::integral Integer = std::int32_t>
std::optional<Integer> read_whole_number(
    std::string_view text, Integer most = std::numeric_limits<Integer>::max()
) {
    const std::optional<std::uint64_t> n = read_digits(text);
    return n && *n <= static_cast<std::uint64_t>(most) ? std::optional(static_cast<Integer>(*n))
                                                       : std::nullopt;
}

/// The number, with a fraction or without, that the whole text stands for in C: `-1.5e3`, also
/// `inf` and `nan`. Nothing for any other text and for what does not fit a double. Inline, as the
/// library itself reads no fractions, and must not need libm for them.
inline std::optional<double> read_number(std::string_view text) {
    double out = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, out);
    return error == std::errc{} && stop == end ? std::optional(out) : std::nullopt;
}

}  // namespace signalbox::core
