// SPDX-License-Identifier: Apache-2.0
//
// A text as a string of JSON, without a document.
#pragma once

#include "kubernetes/utf8.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

/// Appends `text` with quotes. A byte that is no UTF-8 is U+FFFD, as Go's encoder writes it: what
/// programs say may be anything, and a server refuses a body with such a byte.
inline void append_json_string(std::string& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += '"';
    std::size_t bytes = 1;
    for (; !text.empty(); text.remove_prefix(bytes)) {
        const char c = text.front();
        bytes = 1;
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\r':
                out += "\\r";
                break;
            default: {
                const auto byte = static_cast<unsigned char>(c);
                if (byte < 0x20) {
                    out += "\\u00";
                    out += digits[byte >> 4U];
                    out += digits[byte & 15U];
                } else if (byte < 0x80) {
                    out += c;
                } else if (const character next = first_character(text); next.valid) {
                    bytes = next.bytes;
                    out += text.substr(0, bytes);
                } else {
                    out += "\\ufffd";
                }
            }
        }
    }
    out += '"';
}
/// That string alone.
inline std::string json_string(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

}  // namespace signalbox::kubernetes
