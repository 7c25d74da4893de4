// SPDX-License-Identifier: Apache-2.0
#include "protocol/list_stream.hpp"

#include "protocol/api_json.hpp"
#include "protocol/json_cursor.hpp"

namespace signalbox::k8sio::protocol {

namespace {

/// The memory of an item up to this size is used again for the next one.
constexpr std::size_t usual_item = 64u << 10;

}  // namespace

bool list_stream::feed(std::string_view bytes) {
    while (!failed_ && !bytes.empty()) {
        const std::size_t used = at_ == place::outside   ? skim(bytes)
                                 : at_ == place::between ? between(bytes)
                                                         : collect(bytes);
        bytes.remove_prefix(used);
        if (current_.size() > limit_ || rest_.size() > limit_) {
            too_large_ = "an item of the list is beyond the limit";
            failed_ = true;
        } else if (!count()) {
            too_large_ = "all lists together hold more than the limit";
            failed_ = true;
        }
    }
    return !failed_;
}

/// False if all lists hold too much. Of the whole capacity: it is what is taken.
bool list_stream::count() {
    const std::size_t now = current_.capacity() + rest_.capacity();
    all_->held += now - counted_;
    counted_ = now;
    return all_->held <= all_->limit;
}

/// Keeps what is no item, up to the bracket that opens `items`.
std::size_t list_stream::skim(std::string_view bytes) {
    using event = json_nesting::event;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        rest_ += bytes[i];
        const bool own_level = nesting_.depth() == 1;
        const event e = nesting_.take(bytes[i]);
        if (e == event::text_begins && own_level) {
            key_begin_ = rest_.size() - 1;
        } else if (e == event::text_ends && own_level) {
            key_end_ = rest_.size();
        } else if (e == event::opens && bytes[i] == '[' && own_level && !seen_items_ &&
                   last_key() == "\"items\"") {
            version_ = early_version();
            seen_items_ = true;
            at_ = place::between;
            return i + 1;
        } else if (e == event::mismatches) {
            failed_ = true;
            return i + 1;
        }
    }
    return bytes.size();
}

std::string_view list_stream::last_key() const {
    return std::string_view(rest_).substr(key_begin_, key_end_ - key_begin_);
}

std::size_t list_stream::between(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char c = bytes[i];
        if (is_blank(c)) {
            continue;
        }
        if (c == ',' && !first_ && !comma_) {
            comma_ = true;
        } else if (c == '{' && (first_ || comma_)) {
            first_ = comma_ = false;
            at_ = place::item;
            item_nesting_ = json_nesting();
            current_.clear();
            return i;
        } else if (c == ']' && !comma_) {
            rest_ += c;
            at_ = place::outside;
            nesting_.take(c);
            return i + 1;
        } else {
            failed_ = true;
            return i + 1;
        }
    }
    return bytes.size();
}

std::size_t list_stream::collect(std::string_view bytes) {
    const auto next = [&](std::size_t at) { return item_nesting_.next(bytes, at); };
    for (std::size_t i = next(0); i < bytes.size(); i = next(i + 1)) {
        const auto event = item_nesting_.take(bytes[i]);
        if (event == json_nesting::event::mismatches) {
            current_.append(bytes.substr(0, i + 1));  // it may be beyond the limit as well
            failed_ = true;
            return i + 1;
        }
        if (event != json_nesting::event::closes || item_nesting_.depth() > 0) {
            continue;
        }
        current_.append(bytes.substr(0, i + 1));
        if (current_.size() <= limit_) {
            at_ = place::between;
            item_(with_type(current_, *type_), version_);
            if (current_.capacity() > usual_item) {
                std::string().swap(current_);  // an assignment would keep its room
            }
        }
        return i + 1;
    }
    current_.append(bytes);
    return bytes.size();
}

/// The members before `items` are whole.
std::string list_stream::early_version() const {
    object_facts facts;
    std::string head = rest_.substr(0, key_begin_);
    const std::size_t last = head.find_last_not_of(" \t\r\n,");
    head.resize(last == std::string::npos ? 0 : last + 1);
    return read_object_facts(head + "}", facts) ? facts.resource_version : std::string();
}

bool list_stream::finish(list_page& out) {
    // Items that are still there are of a second `items`.
    return !failed_ && at_ == place::outside && read_list(rest_, *type_, out) && out.items.empty();
}

}  // namespace signalbox::k8sio::protocol
