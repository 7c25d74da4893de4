// SPDX-License-Identifier: Apache-2.0
#include "api/walk/findings.hpp"

#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::core {
namespace {

constexpr std::size_t most_pointer = 1024;
constexpr std::size_t most_message = 2048;

/// `place` is `around`, or a place in it.
bool is_within(std::string_view place, std::string_view around) {
    return place.starts_with(around) &&
           (place.size() == around.size() || place[around.size()] == '/');
}

std::string printable_pointer(std::string_view pointer) {
    // Escaped it may be longer, never shorter.
    std::string out = printable(pointer.substr(0, most_pointer + 1));
    if (out.size() > most_pointer) {
        out.resize(out.rfind('/', most_pointer));
    }
    return out;
}

std::string printable_message(std::string_view message) {
    const std::string_view cut = first_bytes(message, most_message);
    return printable(cut) + (cut.size() < message.size() ? "..." : "");
}

}  // namespace

diagnostic make_diagnostic(
    severity level, std::string_view pointer, std::string_view message, std::string reason
) {
    return {level, printable_pointer(pointer), printable_message(message), std::move(reason)};
}

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
                   is_within(d.pointer, other.pointer);
        };
        if (d.level != severity::error || std::none_of(to.begin(), to.begin() + last, is_told)) {
            to.push_back(std::move(d));
        }
    }
}

namespace schema {

void findings_collector::error(
    std::size_t order, std::string_view pointer, std::string_view message, std::string_view reason
) {
    add(severity::error, order, pointer, message, reason);
}

void findings_collector::warning(
    std::size_t order, std::string_view pointer, std::string_view message, std::string_view reason
) {
    add(severity::warning, order, pointer, message, reason);
}

bool findings_collector::count_if_full(severity level) {
    std::size_t& count = level == severity::error ? errors_ : warnings_;
    if (count < limit) {
        return false;
    }
    ++count;
    return true;
}

void findings_collector::add(
    severity level,
    std::size_t order,
    std::string_view pointer,
    std::string_view message,
    std::string_view reason
) {
    if (!count_if_full(level)) {
        ++(level == severity::error ? errors_ : warnings_);
        entries_.push_back({order, make_diagnostic(level, pointer, message, std::string(reason))});
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
