// SPDX-License-Identifier: Apache-2.0
//
// How deep in a JSON text the next byte lies: for readers that cut a stream into values before
// anything parses them.
#pragma once

#include <cstddef>

namespace signalbox::k8sio::protocol {

class json_nesting {
public:
    enum class event {
        none,
        text_begins,  ///< the opening quote of a text
        text_ends,    ///< its closing quote
        opens,        ///< a bracket, from now on one deeper
        closes,       ///< a bracket, from now on one less deep
        overcloses,   ///< a closing bracket at depth 0: no JSON
    };

    event take(char c) {
        if (in_text_) {
            const bool ends = c == '"' && !escaped_;
            escaped_ = c == '\\' && !escaped_;
            in_text_ = !ends;
            return ends ? event::text_ends : event::none;
        }
        switch (c) {
            case '"':
                in_text_ = true;
                return event::text_begins;
            case '{':
            case '[':
                ++depth_;
                return event::opens;
            case '}':
            case ']':
                if (depth_ == 0) {
                    return event::overcloses;
                }
                --depth_;
                return event::closes;
            default:
                return event::none;
        }
    }

    std::size_t depth() const { return depth_; }
    /// Outside of texts only.
    void set_depth(std::size_t depth) { depth_ = depth; }

private:
    std::size_t depth_ = 0;
    bool in_text_ = false;
    bool escaped_ = false;
};

}  // namespace signalbox::k8sio::protocol
