// SPDX-License-Identifier: Apache-2.0
//
// Base64 (RFC 4648), with padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

enum class base64_alphabet { standard, url };

constexpr std::string_view base64_digits(base64_alphabet alphabet) {
    return alphabet == base64_alphabet::url
               ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
               : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

inline std::string base64_encode(
    std::string_view bytes, base64_alphabet alphabet = base64_alphabet::standard
) {
    const std::string_view digits = base64_digits(alphabet);
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

/// Where a text stops to be base64, if it does; line breaks do not count.
inline std::optional<std::size_t> base64_error(std::string_view text) {
    constexpr std::string_view all = base64_digits(base64_alphabet::standard);
    std::size_t digits = 0;
    std::size_t padding = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\n' || c == '\r') {
            continue;
        }
        if (c == '=' && digits % 4 >= 2 && padding < 4 - digits % 4) {
            ++padding;
        } else if (padding > 0 || all.find(c) == std::string_view::npos) {
            return i;
        } else {
            ++digits;
        }
    }
    return (digits + padding) % 4 == 0 ? std::nullopt : std::optional(text.size());
}

/// The bytes of `text`, in which blanks and line breaks do not count; nothing if it is no base64.
inline std::optional<std::string> base64_decode(std::string_view text) {
    std::string digits;
    digits.reserve(text.size());
    for (const char c : text) {
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
            digits += c;
        }
    }
    if (base64_error(digits)) {
        return std::nullopt;
    }
    constexpr std::string_view all = base64_digits(base64_alphabet::standard);
    std::string out;
    out.reserve(digits.size() / 4 * 3);
    std::uint32_t group = 0;
    unsigned bits = 0;
    for (const char c : digits) {
        if (c == '=') {
            break;
        }
        group = group << 6 | static_cast<std::uint32_t>(all.find(c));
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out += static_cast<char>(group >> bits & 255U);
        }
    }
    return out;
}

}  // namespace signalbox::kubernetes
