// SPDX-License-Identifier: Apache-2.0
//
// libarchive as this folder uses it: reading alone.
#pragma once

#include "images/byte_stream.hpp"

#include <clocale>
#include <exception>
#include <memory>
#include <string>
#include <vector>

struct archive;
struct archive_entry;

namespace signalbox::op::images {

/// Names in archives are UTF-8, whatever the locale of the user is: libarchive goes by the
/// thread's.
class utf8_names {
public:
    utf8_names();
    utf8_names(const utf8_names&) = delete;
    utf8_names& operator=(const utf8_names&) = delete;
    ~utf8_names();

private:
    locale_t made_;
    locale_t before_;
};

/// An archive that is being read. Errors: image_trouble, with `name`.
class archive_reader {
public:
    enum class format {
        tar,  ///< not compressed
        raw,  ///< one entry: the bytes, decompressed
    };
    /// `from` must outlive it.
    archive_reader(byte_stream& from, format what, std::string name);
    ~archive_reader();
    archive_reader(const archive_reader&) = delete;
    archive_reader& operator=(const archive_reader&) = delete;

    /// Null at the end.
    archive_entry* next();
    std::size_t read(char* to, std::size_t size);
    /// The next part of a file that may have holes; false at the end.
    bool next_block(const char*& bytes, std::size_t& size, std::int64_t& at);
    /// Where the header of the last entry begins.
    std::int64_t header_position() const;

private:
    static long pull(archive* self, void* reader, const void** buffer);
    static std::int64_t pass_over(archive* self, void* reader, std::int64_t size);
    [[noreturn]] void fail();

    byte_stream& from_;
    std::string name_;
    archive* handle_;
    std::vector<char> buffer_;
    std::exception_ptr trouble_;
    utf8_names names_;
};

}  // namespace signalbox::op::images
