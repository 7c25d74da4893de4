// SPDX-License-Identifier: Apache-2.0
//
// Members of records of which a controller holds many thousands: they read like the standard types
// that they stand for and take a pointer's room. Like those, an object may be read from several
// threads and written from one.
#pragma once

#include "jobcore/time.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core {

/// A text that most records do not have. Reads as a std::string; an empty one holds no memory.
class rare_text {
public:
    rare_text() = default;
    rare_text(const char* text) : rare_text(std::string_view(text)) {}
    explicit rare_text(std::string_view text) { *this = text; }
    rare_text(const rare_text& other) : rare_text(other.str()) {}
    rare_text(rare_text&&) noexcept = default;
    rare_text& operator=(const rare_text& other) { return *this = std::string_view(other.str()); }
    rare_text& operator=(rare_text&&) noexcept = default;
    rare_text& operator=(const char* text) { return *this = std::string_view(text); }
    rare_text& operator=(std::string_view text) {
        text_ = text.empty() ? nullptr : std::make_unique<const std::string>(text);
        return *this;
    }
    ~rare_text() = default;

    /// Valid until the next assignment.
    const std::string& str() const {
        static const std::string none;
        return text_ ? *text_ : none;
    }
    operator const std::string&() const { return str(); }
    operator std::string_view() const { return str(); }
    bool empty() const { return text_ == nullptr; }
    std::size_t size() const { return str().size(); }

    friend bool operator==(const rare_text& a, const rare_text& b) { return a.str() == b.str(); }
    friend bool operator==(const rare_text& a, std::string_view b) { return a.str() == b; }
    friend bool operator==(const rare_text& a, const char* b) { return a.str() == b; }

private:
    std::unique_ptr<const std::string> text_;
};

/// A point in time, or none: std::optional<instant> without the flag. The earliest instant there is
/// stands for none.
class optional_instant {
public:
    constexpr optional_instant() = default;
    constexpr optional_instant(std::nullopt_t) {}
    constexpr optional_instant(instant t) : value_(t) {}
    constexpr optional_instant(const std::optional<instant>& t) : value_(t.value_or(none)) {}

    constexpr bool has_value() const { return value_ != none; }
    constexpr explicit operator bool() const { return has_value(); }
    /// Only if there is one.
    constexpr instant operator*() const { return value_; }
    constexpr instant value_or(instant other) const { return has_value() ? value_ : other; }
    constexpr void reset() { value_ = none; }

    friend constexpr bool operator==(optional_instant, optional_instant) = default;

private:
    static constexpr instant none = instant::min();
    instant value_ = none;
};

}  // namespace signalbox::core
