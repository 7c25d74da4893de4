// SPDX-License-Identifier: Apache-2.0
//
// What objects of schedulers say, in the conventions of the Kubernetes API.
#pragma once

#include "json/json.hpp"

#include <string>
#include <string_view>

namespace signalbox::core::gang {

/// An entry of `status.conditions`. Views into the object.
struct condition_words {
    bool is_true = false;
    bool is_false = false;
    std::string_view reason;
    std::string_view message;
    std::string_view since;  ///< `lastTransitionTime`

    /// `<reason>: <message>`, as far as they are there, at most 512 bytes.
    std::string text() const;
};

/// The last condition of that type; empty if there is none. Takes any JSON.
condition_words find_words(const json::value& object, std::string_view type);

/// `status.phase`; empty if there is none. A view into the object. Takes any JSON.
std::string_view phase_of(const json::value& object);

/// At most 512 bytes, cut at a character.
std::string bounded(std::string_view text);

}  // namespace signalbox::core::gang
