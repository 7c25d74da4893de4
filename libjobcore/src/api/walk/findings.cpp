// SPDX-License-Identifier: Apache-2.0
#include "api/walk/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::core {

bool has_errors(std::span<const diagnostic> findings) {
    return std::any_of(findings.begin(), findings.end(), [](const diagnostic& d) {
        return d.level == severity::error;
    });
}

void add_findings(std::vector<diagnostic>& to, std::vector<diagnostic> more) {
    const auto last = static_cast<std::ptrdiff_t>(to.size());
    for (diagnostic& d : more) {
        const auto is_told = [&d](const diagnostic& other) {
            return other.level == severity::error && !other.pointer.empty() &&
                   (d.pointer == other.pointer || d.pointer.starts_with(other.pointer + '/'));
        };
        if (d.level != severity::error || std::none_of(to.begin(), to.begin() + last, is_told)) {
            to.push_back(std::move(d));
        }
    }
}

namespace schema {

void findings_collector::error(
    std::size_t order, std::string pointer, std::string message, std::string_view reason
) {
    add(order, {severity::error, std::move(pointer), std::move(message), std::string(reason)});
}

void findings_collector::warning(
    std::size_t order, std::string pointer, std::string message, std::string_view reason
) {
    add(order, {severity::warning, std::move(pointer), std::move(message), std::string(reason)});
}

bool findings_collector::count_if_full(severity level) {
    std::size_t& count = level == severity::error ? errors_ : warnings_;
    if (count < limit) {
        return false;
    }
    ++count;
    return true;
}

void findings_collector::add(std::size_t order, diagnostic what) {
    std::size_t& count = what.level == severity::error ? errors_ : warnings_;
    if (++count <= limit) {
        entries_.push_back({order, std::move(what)});
    }
}

std::vector<diagnostic> findings_collector::take() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const entry& a, const entry& b) {
        return a.order < b.order;
    });
    std::vector<diagnostic> findings;
    findings.reserve(entries_.size());
    for (entry& e : entries_) {
        findings.push_back(std::move(e.what));
    }
    const auto left_out = [&](std::size_t count, severity level, std::string_view what) {
        if (count > limit) {
            findings.push_back(
                {level,
                 "",
                 fmt::format("{} more {} are not listed", count - limit, what),
                 std::string(invalid_spec)}
            );
        }
    };
    left_out(errors_, severity::error, "errors");
    left_out(warnings_, severity::warning, "warnings");
    *this = {};
    return findings;
}

}  // namespace schema
}  // namespace signalbox::core
