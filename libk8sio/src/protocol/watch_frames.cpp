// SPDX-License-Identifier: Apache-2.0
#include "protocol/watch_frames.hpp"

#include "protocol/json_cursor.hpp"

namespace signalbox::k8sio::protocol {

namespace {

/// A buffer larger than this is given back after a burst: there is one for each watch, for as long
/// as the program runs.
constexpr std::size_t keep_capacity = 256u << 10;

}  // namespace

void watch_frames::feed(std::string_view bytes) {
    if (begin_ == buffer_.size()) {
        buffer_.clear();
        if (buffer_.capacity() > keep_capacity) {
            buffer_.shrink_to_fit();
        }
        scanned_ = begin_ = 0;
    } else if (begin_ > buffer_.size() / 2) {
        // Moving at most what is kept, and only after as much was consumed: linear in total.
        buffer_.erase(0, begin_);
        scanned_ -= begin_;
        begin_ = 0;
    }
    buffer_.append(bytes);
}

watch_frames::outcome watch_frames::next(std::string_view& document) {
    if (final_ != outcome::more) {
        return final_;
    }
    while (nesting_.depth() == 0 && scanned_ < buffer_.size() && is_blank(buffer_[scanned_])) {
        begin_ = ++scanned_;
    }
    if (scanned_ == buffer_.size() && nesting_.depth() == 0) {
        return outcome::more;
    }
    if (nesting_.depth() == 0 && buffer_[scanned_] != '{') {
        return final_ = outcome::malformed;
    }
    const outcome found = scan_document();
    if (scanned_ - begin_ > limit_) {
        return final_ = outcome::too_large;
    }
    if (found != outcome::document) {
        return final_ = found;
    }
    document = std::string_view(buffer_).substr(begin_, scanned_ - begin_);
    begin_ = scanned_;
    return outcome::document;
}

watch_frames::outcome watch_frames::scan_document() {
    while ((scanned_ = nesting_.next(buffer_, scanned_)) < buffer_.size()) {
        const auto event = nesting_.take(buffer_[scanned_++]);
        if (event == json_nesting::event::mismatches) {
            return outcome::malformed;
        }
        if (event == json_nesting::event::closes && nesting_.depth() == 0) {
            return outcome::document;
        }
    }
    return outcome::more;
}

}  // namespace signalbox::k8sio::protocol
