// SPDX-License-Identifier: Apache-2.0
//
// Cuts a list that arrives in pieces of any size into its items (REQUIREMENTS.md L7): no more than
// one of them is held at a time.
#pragma once

#include "k8sio/client.hpp"
#include "k8sio/resource.hpp"
#include "protocol/json_nesting.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

class list_stream {
public:
    /// `item` gets each one as it is complete, with apiVersion and kind (L6), and the list's
    /// version if that came before. `limit`: the largest item in bytes, and the largest rest of the
    /// list.
    list_stream(
        const resource_type& type, client::item_function item, std::size_t limit = 16u << 20
    )
        : type_(&type), item_(std::move(item)), limit_(limit) {}

    /// False if the text is no list, or beyond the limit; final.
    bool feed(std::string_view bytes);
    /// The end. False if the list is not complete; otherwise `out` has all but the items.
    bool finish(list_page& out);
    bool too_large() const { return too_large_; }

private:
    std::string early_version() const;
    std::string_view last_key() const;
    std::size_t skim(std::string_view bytes);
    std::size_t between(std::string_view bytes);
    std::size_t collect(std::string_view bytes);

    enum class place {
        outside,  ///< whatever is no item
        between,  ///< inside of `items`, between two of them
        item,
    };

    const resource_type* type_;
    client::item_function item_;
    std::size_t limit_;
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
    bool too_large_ = false;
};

}  // namespace signalbox::k8sio::protocol
