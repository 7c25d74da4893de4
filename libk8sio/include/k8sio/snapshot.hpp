// SPDX-License-Identifier: Apache-2.0
//
// What a store gives: a record as it was then, which stays so for as long as it is held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace signalbox::k8sio {

namespace detail {

/// A record, how many hold it, and where it is in the lists of its keys.
template <class Record, std::size_t Indexes>
struct shared_record {
    explicit shared_record(Record of) : record(std::move(of)) {}

    Record record;
    std::uint32_t holders = 1;  // whoever made it
    std::array<std::uint32_t, Indexes> position{};
};

struct let_go {
    template <class Shared>
    void operator()(Shared* one) const {
        if (--one->holders == 0) {
            delete one;
        }
    }
};

}  // namespace detail

/// A pointer to a record as a store of `Indexes` indexes held it when it was asked, or null. The
/// record stays as it is over changes of the store and its end: hold a snapshot, and no pointer
/// that get() gave, over a `co_await`.
///
/// Thread: that of the store.
template <class Record, std::size_t Indexes>
class snapshot {
public:
    snapshot() = default;
    /// For stores.
    explicit snapshot(detail::shared_record<Record, Indexes>* of) : held_(of) { hold(); }
    snapshot(const snapshot& other) : held_(other.held_) { hold(); }
    snapshot(snapshot&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    snapshot& operator=(snapshot other) noexcept {
        std::swap(held_, other.held_);
        return *this;
    }
    ~snapshot() {
        if (held_ != nullptr) {
            detail::let_go()(held_);
        }
    }

    const Record* get() const& { return held_ == nullptr ? nullptr : &held_->record; }
    const Record& operator*() const& { return held_->record; }
    const Record* operator->() const { return &held_->record; }
    // A snapshot that is not held by a name may be the last: what it gave would be gone with it.
    const Record* get() && = delete;
    const Record& operator*() && = delete;

    explicit operator bool() const { return held_ != nullptr; }
    friend bool operator==(const snapshot& s, std::nullptr_t) { return s.held_ == nullptr; }

private:
    void hold() const {
        if (held_ != nullptr) {
            ++held_->holders;
        }
    }

    detail::shared_record<Record, Indexes>* held_ = nullptr;
};

}  // namespace signalbox::k8sio
