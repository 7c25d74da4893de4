// SPDX-License-Identifier: Apache-2.0
#include "protocol/printable.hpp"

#include "kubernetes/utf8.hpp"

#include <cstdint>

namespace signalbox::k8sio::protocol {

namespace {

/// Moves a terminal's cursor, or begins a line somewhere.
bool is_blank_or_control(std::uint32_t code) {
    return code <= 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0x2028 || code == 0x2029;
}

}  // namespace

std::string cut_utf8(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return std::string(text);
    }
    std::size_t end = limit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
        --end;
    }
    return std::string(text.substr(0, end));
}

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    bool blank = false;
    while (!text.empty()) {
        const kubernetes::character next = kubernetes::first_character(text);
        const std::string_view bytes = next.valid ? text.substr(0, next.bytes) : "?";
        text.remove_prefix(next.bytes);
        if (next.valid && is_blank_or_control(next.code)) {
            blank = !out.empty();
            continue;
        }
        if (out.size() + (blank ? 1u : 0u) + bytes.size() > limit) {
            break;
        }
        if (blank) {
            out += ' ';
            blank = false;
        }
        out += bytes;
    }
    return out;
}

}  // namespace signalbox::k8sio::protocol
