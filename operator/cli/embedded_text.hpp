// SPDX-License-Identifier: Apache-2.0
//
// Documents that the program carries with it. The build makes their definition from the files
// (signalbox_embed_texts in cmake/SignalboxHelpers.cmake), so that there is no second copy.
#pragma once

#include <span>
#include <string_view>

namespace signalbox::op::cli {

struct embedded_text {
    std::string_view path;  ///< in the repository
    std::string_view text;
};

/// The rule book of the operator, the facts about launchers, the requirements of the client.
std::span<const embedded_text> rule_book_texts();

/// First manifests, for `signalbox init`.
std::span<const embedded_text> starter_texts();

}  // namespace signalbox::op::cli
