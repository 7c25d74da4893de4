// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/termination.hpp"

#include <jobcore/strings.hpp>

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

constexpr std::size_t of_one = 4096;
constexpr std::size_t of_all = 12 * 1024;
constexpr std::size_t of_log = 2048;
constexpr int lines_of_log = 80;

/// Without time, stream and tag; `P` entries have no line end.
void append_entry(std::string_view entry, std::string& to) {
    for (int i = 0; i < 2; ++i) {
        entry.remove_prefix(std::min(entry.find(' '), entry.size() - 1) + 1);
    }
    const bool part = entry.starts_with("P ");
    to += entry.substr(std::min<std::size_t>(2, entry.size()));
    to += part ? "" : "\n";
}

}  // namespace

std::size_t message_limit(std::size_t containers) {
    return std::min(of_one, of_all / std::max<std::size_t>(containers, 1));
}

std::string message_of_log(std::string_view log) {
    std::size_t start = log.size();
    for (int lines = 0; start > 0 && lines < lines_of_log; ++lines) {
        const std::size_t end = start == 1 ? std::string_view::npos : log.rfind('\n', start - 2);
        start = end == std::string_view::npos ? 0 : end + 1;
    }
    std::string out;
    std::string_view left = log.substr(start);
    while (!left.empty()) {
        const std::size_t end = std::min(left.find('\n'), left.size());
        if (end > 0) {
            append_entry(left.substr(0, end), out);
        }
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    return std::string(core::last_bytes(out, of_log));
}

}  // namespace signalbox::op::kubelet
