// SPDX-License-Identifier: Apache-2.0
//
// Cuts the body of a watch, which arrives in pieces of any size, into JSON documents
// (REQUIREMENTS.md T5, T6, T7). By nesting, not by line ends: proxies may change those. But a line
// end within a document means that the document was cut (W7).
#pragma once

#include "protocol/json_nesting.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

class watch_frames {
public:
    /// `limit`: the largest document in bytes; the stream as a whole has none.
    explicit watch_frames(std::size_t limit = 16u << 20) : limit_(limit) {}

    enum class outcome {
        document,   ///< one whole document was found
        more,       ///< feed more bytes
        too_large,  ///< a document exceeds the limit; final
        malformed,  ///< no JSON object, or one with a wrong bracket or a line end in it; final
    };

    /// Takes the next bytes. Views given out before become invalid.
    void feed(std::string_view bytes);
    /// The next document; the view is valid until the next feed(). Each byte is looked at once.
    outcome next(std::string_view& document);
    /// No part of a document is held: here a stream may end.
    bool at_boundary() const { return nesting_.depth() == 0 && scanned_ == buffer_.size(); }

private:
    /// Scans on from scanned_ to the end of the document.
    outcome scan_document();
    bool has_line_end(std::size_t from) const;

    std::size_t limit_;
    std::string buffer_;
    std::size_t begin_ = 0;    // of the document being scanned
    std::size_t scanned_ = 0;  // first byte not yet looked at
    json_nesting nesting_;
    outcome final_ = outcome::more;
};

}  // namespace signalbox::k8sio::protocol
