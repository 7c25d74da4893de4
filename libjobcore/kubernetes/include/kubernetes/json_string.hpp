// SPDX-License-Identifier: Apache-2.0
//
// A text as a string of JSON, without a document.
#pragma once

#include <string>
#include <string_view>

namespace signalbox::kubernetes {

/// Appends `text` with quotes; what is no UTF-8 stays as it is.
inline void append_json_string(std::string& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
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
                } else {
                    out += c;
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
