// SPDX-License-Identifier: Apache-2.0
//
// Characters of texts that may be no UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace signalbox::kubernetes {

struct character {
    std::uint32_t code = 0;
    std::size_t bytes = 1;
    bool valid = false;  ///< else a byte that begins no character
};

/// The first character of a text that is not empty.
inline character first_character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) {
        return {lead, 1, true};
    }
    const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) {
        return {};
    }
    std::uint32_t code = lead & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) {
            return {};
        }
        code = code << 6U | (byte(i) & 0x3FU);
    }
    const bool longer_than_needed = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    return longer_than_needed || surrogate || code > 0x10FFFF ? character{}
                                                              : character{code, bytes, true};
}

}  // namespace signalbox::kubernetes
