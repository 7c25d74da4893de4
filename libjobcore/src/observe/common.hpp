// SPDX-License-Identifier: Apache-2.0
//
// Small readings that pods and other children share.
#pragma once

#include "jobcore/strings.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core::observe {

/// A non-negative decimal number without sign and leading zeros, as we write it in labels.
inline std::optional<std::int32_t> label_number(std::string_view text) {
    const bool has_zeros = text.size() > 1 && text.front() == '0';
    return has_zeros ? std::nullopt : read_whole_number(text);
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
