// SPDX-License-Identifier: Apache-2.0
//
// A bound in bytes on what is kept of many objects and could be had again: what was not used for
// longest goes first, large things before small ones (REQUIREMENTS.md Q13). No I/O, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>

namespace signalbox::k8sio {

/// What a byte_budget notes of an item, kept in the item.
class byte_share {
public:
    /// That the item was said to take.
    std::size_t bytes() const { return bytes_; }

private:
    template <class Item>
    friend class byte_budget;

    std::size_t bytes_ = 0;
    std::uint64_t used_ = 0;  ///< by the count of uses
    bool pinned_ = false;
};

/// `Item` has a member `byte_share share`.
///
/// Lifetimes: an item stays in place until drop().
/// Thread: one.
template <class Item>
class byte_budget {
public:
    /// Items of more bytes go before all others.
    explicit byte_budget(std::size_t large = 64u << 10) : large_(large) {}

    /// The item is used now, and takes so much. With 0 bytes nothing of it is kept.
    void use(Item& item, std::size_t bytes) {
        remove(item);
        bytes_ = bytes_ - item.share.bytes_ + bytes;
        item.share.bytes_ = bytes;
        item.share.used_ = ++uses_;
        insert(item);
    }
    /// An item that is pinned counts, and is never to go.
    void pin(Item& item, bool pinned) {
        remove(item);
        item.share.pinned_ = pinned;
        insert(item);
    }
    /// Nothing is known of the item any more.
    void drop(Item& item) {
        use(item, 0);
        pin(item, false);
    }

    /// What all items take.
    std::size_t bytes() const { return bytes_; }
    /// What has to go next; null if nothing may.
    Item* first_to_go() const { return order_.empty() ? nullptr : std::get<2>(*order_.begin()); }

private:
    using place = std::tuple<bool, std::uint64_t, Item*>;

    place place_of(Item& item) const {
        return {item.share.bytes_ <= large_, item.share.used_, &item};
    }
    void remove(Item& item) { order_.erase(place_of(item)); }
    void insert(Item& item) {
        if (item.share.bytes_ > 0 && !item.share.pinned_) {
            order_.insert(place_of(item));
        }
    }

    std::size_t large_;
    std::size_t bytes_ = 0;
    std::uint64_t uses_ = 0;
    std::set<place> order_;
};

}  // namespace signalbox::k8sio
