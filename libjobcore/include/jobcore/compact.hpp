// SPDX-License-Identifier: Apache-2.0
//
// Members of records of which a controller holds many thousands: they read like the standard types
// that they stand for and take a pointer's room. Like those, an object may be read from several
// threads and written from one.
#pragma once

#include "jobcore/time.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace signalbox::core {

/// A text that most records do not have, or that many have in common. Reads as a std::string;
/// copies share its memory, an empty one holds none.
class compact_text {
public:
    compact_text() = default;
    compact_text(const char* text) : compact_text(std::string_view(text)) {}
    explicit compact_text(std::string_view text)
        : shared_(text.empty() ? nullptr : new shared(text)) {}
    compact_text(const compact_text& other) : shared_(other.shared_) {
        if (shared_ != nullptr) {
            shared_->holders.fetch_add(1, std::memory_order_relaxed);
        }
    }
    compact_text(compact_text&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
    compact_text& operator=(const compact_text& other) {
        compact_text copy(other);
        std::swap(shared_, copy.shared_);
        return *this;
    }
    compact_text& operator=(compact_text&& other) noexcept {
        std::swap(shared_, other.shared_);
        return *this;
    }
    compact_text& operator=(const char* text) { return *this = compact_text(text); }
    compact_text& operator=(std::string_view text) { return *this = compact_text(text); }
    ~compact_text() {
        if (shared_ != nullptr && shared_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete shared_;
        }
    }

    /// Valid until the next assignment.
    const std::string& str() const {
        static const std::string none;
        return shared_ != nullptr ? shared_->text : none;
    }
    operator const std::string&() const { return str(); }
    operator std::string_view() const {
        return shared_ != nullptr ? std::string_view(shared_->text) : std::string_view();
    }
    bool empty() const { return shared_ == nullptr; }
    std::size_t size() const { return std::string_view(*this).size(); }
    /// Another one has its memory too.
    bool is_shared() const {
        return shared_ != nullptr && shared_->holders.load(std::memory_order_relaxed) > 1;
    }

    friend bool operator==(const compact_text& a, const compact_text& b) {
        return a.shared_ == b.shared_ || std::string_view(a) == std::string_view(b);
    }
    friend bool operator==(const compact_text& a, std::string_view b) {
        return std::string_view(a) == b;
    }
    friend bool operator==(const compact_text& a, const char* b) {
        return a == std::string_view(b);
    }

private:
    struct shared {
        explicit shared(std::string_view from) : text(from) {}
        std::atomic<std::uint32_t> holders{1};
        const std::string text;
    };
    shared* shared_ = nullptr;
};

/// Has equal texts share their memory. To be used from one thread.
class text_pool {
public:
    void share(compact_text& text);
    /// Number of texts that it keeps. Those that it alone holds are at most as many as those that
    /// others hold too, or a few.
    std::size_t size() const { return known_.size(); }

private:
    struct hash {
        std::size_t operator()(const compact_text& text) const {
            return std::hash<std::string_view>()(text);
        }
    };
    std::unordered_set<compact_text, hash> known_;
    std::size_t full_ = 0;  ///< size at which those that it alone holds go
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
