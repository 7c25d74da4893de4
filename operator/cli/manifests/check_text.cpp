// SPDX-License-Identifier: Apache-2.0
#include "manifests/reader.hpp"

#include <fmt/format.h>
#include <kubernetes/utf8.hpp>

#include <algorithm>

namespace signalbox::op::manifests {

namespace {

bool is_control(unsigned char c) {
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
}

std::optional<problem> check_characters(std::string_view text) {
    position at{1, 1};
    bool blank = true;
    for (std::size_t i = 0; i < text.size();) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (is_control(c)) {
            return problem{at, {}, fmt::format("not a text file: it has the byte 0x{:02x}", c)};
        }
        const kubernetes::character next = kubernetes::first_character(text.substr(i));
        if (!next.valid) {
            return problem{at, {}, fmt::format("not valid UTF-8: byte 0x{:02x}", c)};
        }
        blank = blank && (c == ' ' || c == '\t' || c == '\n' || c == '\r');
        at = c == '\n' ? position{at.line + 1, 1} : position{at.line, at.column + 1};
        i += next.bytes;
    }
    if (blank) {
        return problem{{}, {}, "the file is empty"};
    }
    return std::nullopt;
}

}  // namespace

std::optional<problem> check_lines(std::string_view text, const limits& bounds) {
    std::uint32_t line = 1;
    while (!text.empty()) {
        const std::size_t length = std::min(text.find('\n'), text.size());
        if (length > bounds.max_line) {
            return problem{
                {line, 1}, {}, fmt::format("a line longer than {} KiB", bounds.max_line >> 10)};
        }
        text.remove_prefix(std::min(length + 1, text.size()));
        ++line;
    }
    return std::nullopt;
}

std::optional<problem> check_text(std::string_view text, const limits& bounds) {
    if (text.size() > bounds.max_bytes) {
        return problem{
            {},
            {},
            fmt::format(
                "larger than {} MiB: no API server takes an object of half that size, so this is "
                "hardly a manifest",
                bounds.max_bytes >> 20
            )};
    }
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
        return problem{{1, 1}, {}, "encoded in UTF-16: save it as UTF-8"};
    }
    return check_characters(text);
}

}  // namespace signalbox::op::manifests
