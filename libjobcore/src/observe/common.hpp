// SPDX-License-Identifier: Apache-2.0
//
// Small readings that pods and other children share.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core::observe {

/// A non-negative decimal number without sign and leading zeros, as we write it in labels.
inline std::optional<std::int32_t> label_number(std::string_view text) {
    std::int32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const bool plain =
        !text.empty() && text[0] >= '0' && text[0] <= '9' && (text[0] != '0' || text.size() == 1);
    if (!plain || error != std::errc{} || rest != end) {
        return std::nullopt;
    }
    return value;
}

constexpr bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// At most `limit` bytes from the beginning, whole UTF-8 characters.
inline std::string_view head(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return text;
    }
    while (limit > 0 && continues_character(text[limit])) {
        --limit;
    }
    return text.substr(0, limit);
}

/// At most `limit` bytes from the end, whole UTF-8 characters.
inline std::string_view tail(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return text;
    }
    std::size_t start = text.size() - limit;
    while (start < text.size() && continues_character(text[start])) {
        ++start;
    }
    return text.substr(start);
}

/// The controller among an object's owner references, read one after the other.
struct owner_reader {
    struct reference {
        std::string api_version, kind, name, uid;
        bool controller = false;
        bool block_deletion = false;
    };
    reference current;
    reference controller;  ///< empty UID: there is none

    void open() { current = {}; }
    void close() {
        if (current.controller) {
            controller = std::move(current);
        }
    }
};

}  // namespace signalbox::core::observe
