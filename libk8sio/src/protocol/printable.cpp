// SPDX-License-Identifier: Apache-2.0
#include "protocol/printable.hpp"

namespace signalbox::k8sio::protocol {

namespace {

struct code_point {
    char32_t value = 0;
    std::size_t bytes = 1;
    bool valid = false;
};

/// The first one of `text`, which is not empty. An invalid one has one byte.
code_point first_of(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    if (lead < 0x80) {
        return {lead, 1, true};
    }
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size) {
        return {};
    }
    char32_t value = lead & (0x7Fu >> size);
    for (std::size_t i = 1; i < size; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte & 0xC0) != 0x80) {
            return {};
        }
        value = value << 6 | (byte & 0x3Fu);
    }
    constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < smallest[size] || value > 0x10FFFF || surrogate) {
        return {};
    }
    return {value, size, true};
}

/// Moves a terminal's cursor, or begins a line somewhere.
bool is_blank_or_control(char32_t value) {
    return value <= 0x20 || (value >= 0x7F && value <= 0xA0) || value == 0x2028 || value == 0x2029;
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
        const code_point next = first_of(text);
        const std::string_view bytes = next.valid ? text.substr(0, next.bytes) : "?";
        text.remove_prefix(next.bytes);
        if (next.valid && is_blank_or_control(next.value)) {
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
