// SPDX-License-Identifier: Apache-2.0
//
// Cuts a list that arrives in pieces of any size into its items (REQUIREMENTS.md L7): no more than
// one of them is held at a time.
#pragma once

#include "k8sio/request_options.hpp"
#include "k8sio/resource.hpp"
#include "protocol/json_nesting.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

/// What the lists that are under way at one time hold together, in bytes.
class list_memory {
public:
    explicit list_memory(std::size_t l) : limit(l) {}
    std::size_t limit;
    std::size_t held = 0;
};

class list_stream {
public:
    /// `item` gets each one as it is complete, with apiVersion and kind (L6), and the list's
    /// version if that came before. `limit`: the largest item in bytes, and the largest rest of the
    /// list. `all`, which must outlive this, counts what this list holds with the others.
    list_stream(
        const resource_type& type,
        list_item_function item,
        list_memory& all,
        std::size_t limit = 16u << 20
    )
        : type_(&type), item_(std::move(item)), all_(&all), limit_(limit) {}
    ~list_stream() { all_->held -= counted_; }
    list_stream(const list_stream&) = delete;
    list_stream& operator=(const list_stream&) = delete;

    /// False if the text is no list, or beyond a limit; final.
    bool feed(std::string_view bytes);
    /// The end. False if the list is not complete; otherwise `out` has all but the items.
    bool finish(list_page& out);
    /// Which limit the text was beyond; empty: none.
    const char* too_large() const { return too_large_; }

private:
    std::string early_version() const;
    std::string_view last_key() const;
    std::size_t skim(std::string_view bytes);
    std::size_t between(std::string_view bytes);
    std::size_t collect(std::string_view bytes);
    bool count();

    enum class place {
        outside,  ///< whatever is no item
        between,  ///< inside of `items`, between two of them
        item,
    };

    const resource_type* type_;
    list_item_function item_;
    list_memory* all_;
    std::size_t limit_;
    std::size_t counted_ = 0;  // of all_->held
    place at_ = place::outside;
    std::string rest_;  // the list with an empty `items`
    std::string current_;
    std::string version_;        // the list's, if it came before the items
    json_nesting nesting_;       // of rest_
    json_nesting item_nesting_;  // of current_
    std::size_t key_begin_ = 0;  // in rest_: of the last text at the list's own level
    std::size_t key_end_ = 0;
    bool first_ = true;   // no comma is due
    bool comma_ = false;  // an item has to follow
    bool seen_items_ = false;
    bool failed_ = false;
    const char* too_large_ = "";
};

}  // namespace signalbox::k8sio::protocol
