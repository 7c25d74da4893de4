// SPDX-License-Identifier: Apache-2.0
#include "jobcore/status.hpp"
#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace signalbox::core {
namespace {

/// A whole, non-negative number below the largest index; nothing for any other text.
std::optional<std::int32_t> read_index(std::string_view text) {
    return read_whole_number(text, std::numeric_limits<std::int32_t>::max() - 1);
}

}  // namespace

bool index_set::contains(std::int32_t index) const {
    const auto it = std::upper_bound(
        ranges_.begin(),
        ranges_.end(),
        index,
        [](std::int32_t i, const auto& range) { return i < range.first; }
    );
    return it != ranges_.begin() && std::prev(it)->second >= index;
}

void index_set::insert(std::int32_t index) {
    auto it = std::lower_bound(
        ranges_.begin(),
        ranges_.end(),
        index,
        [](const auto& range, std::int32_t i) { return range.second < i; }
    );
    if (it != ranges_.end() && it->first <= index) {
        return;
    }
    const bool joins_right = it != ranges_.end() && it->first == index + 1;
    const bool joins_left = it != ranges_.begin() && std::prev(it)->second == index - 1;
    if (joins_left && joins_right) {
        std::prev(it)->second = it->second;
        ranges_.erase(it);
    } else if (joins_left) {
        std::prev(it)->second = index;
    } else if (joins_right) {
        it->first = index;
    } else {
        ranges_.insert(it, {index, index});
    }
}

void index_set::erase(std::int32_t index) {
    const auto it = std::lower_bound(
        ranges_.begin(),
        ranges_.end(),
        index,
        [](const auto& range, std::int32_t i) { return range.second < i; }
    );
    if (it == ranges_.end() || it->first > index) {
        return;
    }
    const auto [first, last] = *it;
    if (first == last) {
        ranges_.erase(it);
    } else if (first == index) {
        it->first = index + 1;
    } else if (last == index) {
        it->second = index - 1;
    } else {
        it->second = index - 1;
        ranges_.insert(std::next(it), {index + 1, last});
    }
}

void index_set::erase_from(std::int32_t index) {
    std::erase_if(ranges_, [&](const auto& range) { return range.first >= index; });
    if (!ranges_.empty()) {
        ranges_.back().second = std::min(ranges_.back().second, index - 1);
    }
}

std::int64_t index_set::size() const {
    std::int64_t n = 0;
    for (const auto& [first, last] : ranges_) {
        n += std::int64_t{last} - first + 1;
    }
    return n;
}

std::string index_set::text() const {
    std::string out;
    for (const auto& [first, last] : ranges_) {
        out += out.empty() ? "" : ",";
        const fmt::format_int begin(first);
        out.append(begin.data(), begin.size());
        if (last != first) {
            const fmt::format_int end(last);
            out += '-';
            out.append(end.data(), end.size());
        }
    }
    return out;
}

index_set index_set::parse(std::string_view text) {
    std::vector<std::pair<std::int32_t, std::int32_t>> ranges;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t dash = part.find('-');
        const auto first = read_index(part.substr(0, dash));
        const auto last = dash == part.npos ? first : read_index(part.substr(dash + 1));
        if (first && last && *first <= *last) {
            ranges.emplace_back(*first, *last);
        }
    }
    std::sort(ranges.begin(), ranges.end());
    index_set set;
    for (const auto& range : ranges) {
        if (!set.ranges_.empty() && range.first <= set.ranges_.back().second + 1) {
            set.ranges_.back().second = std::max(set.ranges_.back().second, range.second);
        } else {
            set.ranges_.push_back(range);
        }
    }
    return set;
}

}  // namespace signalbox::core
