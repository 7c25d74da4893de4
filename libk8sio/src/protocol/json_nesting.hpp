// SPDX-License-Identifier: Apache-2.0
//
// How deep in a JSON text the next byte lies: for readers that cut a stream into values before
// anything parses them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

class json_nesting {
public:
    enum class event {
        none,
        text_begins,  ///< the opening quote of a text
        text_ends,    ///< its closing quote
        opens,        ///< a bracket, from now on one deeper
        closes,       ///< a bracket, from now on one less deep
        mismatches,   ///< a bracket that closes nothing, or another one: no JSON
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
                open_ += '}';
                return event::opens;
            case '[':
                open_ += ']';
                return event::opens;
            case '}':
            case ']':
                if (open_.empty() || open_.back() != c) {
                    return event::mismatches;
                }
                open_.pop_back();
                return event::closes;
            default:
                return event::none;
        }
    }

    /// Where, from `at` on, the next byte stands that take() has to see: before it is only
    /// event::none.
    std::size_t next(std::string_view bytes, std::size_t at) const {
        if (escaped_) {
            return at;
        }
        if (in_text_) {
            while (at < bytes.size() && bytes[at] != '"' && bytes[at] != '\\') {
                ++at;
            }
            return at;
        }
        while (at < bytes.size() && !is_structure(bytes[at])) {
            ++at;
        }
        return at;
    }

    std::size_t depth() const { return open_.size(); }

private:
    static bool is_structure(char c) {
        return c == '"' || c == '{' || c == '}' || c == '[' || c == ']';
    }

    std::string open_;  // the brackets that are due
    bool in_text_ = false;
    bool escaped_ = false;
};

}  // namespace signalbox::k8sio::protocol
