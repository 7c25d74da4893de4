// SPDX-License-Identifier: Apache-2.0
//
// A file that may be replaced at any time: a token, a certificate.
#pragma once

#include <cstdint>
#include <string>

namespace signalbox::op {

class changing_file {
public:
    /// An empty path: no file, and an empty text.
    explicit changing_file(std::string path) : path_(std::move(path)) {}

    /// Reads it if it has changed since; true if so. One that cannot be read leaves the text as it
    /// is.
    bool refresh();
    const std::string& text() const { return text_; }
    /// Why the last refresh() could not read it, or empty.
    const std::string& problem() const { return problem_; }

private:
    std::string path_;
    std::string text_;
    std::string problem_;
    std::int64_t changed_at_ = 0;  ///< nanoseconds, of what was read
    std::uint64_t inode_ = 0;
};

}  // namespace signalbox::op
