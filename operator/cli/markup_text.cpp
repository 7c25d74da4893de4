// SPDX-License-Identifier: Apache-2.0
#include "cli/markup_text.hpp"

#include <jobcore/strings.hpp>

namespace signalbox::op::cli {

std::string markup_text(std::string_view text) {
    std::string out;
    for (const char c : core::in_one_line(text)) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

}  // namespace signalbox::op::cli
