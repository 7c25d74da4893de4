// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/sameness.hpp"

#include "engine/facts/line_words.hpp"
#include "strings/fnv1a.hpp"

#include <algorithm>
#include <cstddef>

namespace signalbox::core::engine {
namespace {

/// Goes over a text with each number as one sign; `next` gives 0 at the end.
class without_numbers {
public:
    explicit without_numbers(std::string_view text) : text_(text) {}
    char next() {
        if (at_ >= text_.size()) {
            return 0;
        }
        const bool digit = digits.find(text_[at_]) != digits.npos;
        if (!digit) {
            return text_[at_++];
        }
        at_ = std::min(text_.find_first_not_of(digits, at_), text_.size());
        return '0';
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

bool says_same(std::string_view a, std::string_view b) {
    without_numbers left(a), right(b);
    char one = 0;
    do {
        one = left.next();
        if (one != right.next()) {
            return false;
        }
    } while (one != 0);
    return true;
}

std::uint64_t sameness_of(std::string_view text, const code_place& place) {
    constexpr std::string_view end("", 1);  // of a part, so that they cannot run together
    fnv1a hash;
    without_numbers signs(text);
    for (char c = signs.next(); c != 0; c = signs.next()) {
        hash.bytes({&c, 1});
    }
    hash.bytes(end).bytes(place.file).bytes(end).bytes(place.line);
    return hash.value() | 1U;
}

}  // namespace signalbox::core::engine
