// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::core {

enum class base64_alphabet { standard, url };

/// RFC 4648, padded.
inline std::string base64(std::string_view bytes, base64_alphabet alphabet) {
    std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    digits += alphabet == base64_alphabet::url ? "-_" : "+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            out += j <= count ? digits[group >> (18 - 6 * j) & 63] : '=';
        }
    }
    return out;
}

}  // namespace signalbox::core
