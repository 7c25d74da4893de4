// SPDX-License-Identifier: Apache-2.0
#include "protocol/watch_frames.hpp"

#include "protocol/json_cursor.hpp"

#include <cstring>

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

/// W7: the server writes each event as one line. What has a line end within is the front of one
/// event and the whole of another, and could go on to swallow all that follow.
bool watch_frames::has_line_end(std::size_t from) const {
    return std::memchr(buffer_.data() + from, '\n', scanned_ - from) != nullptr;
}

watch_frames::outcome watch_frames::scan_document() {
    const std::size_t from = scanned_;
    auto found = outcome::more;
    while (found == outcome::more && (scanned_ = nesting_.next(buffer_, scanned_)) < buffer_.size()
    ) {
        const auto event = nesting_.take(buffer_[scanned_++]);
        if (event == json_nesting::event::mismatches) {
            found = outcome::malformed;
        } else if (event == json_nesting::event::closes && nesting_.depth() == 0) {
            found = outcome::document;
        }
    }
    return has_line_end(from) ? outcome::malformed : found;
}

}  // namespace signalbox::k8sio::protocol
