// SPDX-License-Identifier: Apache-2.0
#include "images/archive_handle.hpp"

#include "images/trouble.hpp"

#include <cerrno>
#include <clocale>
#include <new>
#include <utility>

#include <archive.h>
#include <archive_entry.h>

namespace signalbox::op::images {

namespace {

constexpr std::size_t archive_buffer = 256 * 1024;

}  // namespace

utf8_names::utf8_names()
    : made_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)),
      before_(made_ == nullptr ? nullptr : ::uselocale(made_)) {}

utf8_names::~utf8_names() {
    if (made_ != nullptr) {
        ::uselocale(before_);
        ::freelocale(made_);
    }
}

archive_reader::archive_reader(byte_stream& from, format what, std::string name)
    : from_(from), name_(std::move(name)), handle_(::archive_read_new()), buffer_(archive_buffer) {
    if (handle_ == nullptr) {
        throw std::bad_alloc();
    }
    ::archive_read_support_format_empty(handle_);
    if (what == format::raw) {
        ::archive_read_support_filter_gzip(handle_);
        ::archive_read_support_filter_zstd(handle_);
        ::archive_read_support_format_raw(handle_);
    } else {
        ::archive_read_support_format_tar(handle_);
    }
    const int opened = ::archive_read_open2(
        handle_, this, nullptr, &archive_reader::pull, &archive_reader::pass_over, nullptr
    );
    if (opened != ARCHIVE_OK && opened != ARCHIVE_WARN) {
        std::exception_ptr why;
        try {
            fail();
        } catch (...) {
            why = std::current_exception();
        }
        ::archive_read_free(handle_);
        std::rethrow_exception(why);
    }
}

archive_reader::~archive_reader() {
    ::archive_read_free(handle_);
}

// No exception goes through libarchive, which is C.
long archive_reader::pull(archive* self, void* reader, const void** buffer) {
    auto& own = *static_cast<archive_reader*>(reader);
    try {
        *buffer = own.buffer_.data();
        return static_cast<long>(own.from_.read(own.buffer_.data(), own.buffer_.size()));
    } catch (...) {
        own.trouble_ = std::current_exception();
        ::archive_set_error(self, EIO, "it cannot be read");
        return ARCHIVE_FATAL;
    }
}

std::int64_t archive_reader::pass_over(archive*, void* reader, std::int64_t size) {
    return static_cast<archive_reader*>(reader)->from_.skip(size);
}

void archive_reader::fail() {
    if (trouble_) {
        std::rethrow_exception(trouble_);
    }
    const char* why = ::archive_error_string(handle_);
    give_up("{}: {}", name_, why == nullptr ? "it is broken" : why);
}

archive_entry* archive_reader::next() {
    archive_entry* out = nullptr;
    const int got = ::archive_read_next_header(handle_, &out);
    if (got == ARCHIVE_EOF) {
        return nullptr;
    }
    // A warning is of a name or an attribute that is not as it should be; what came of it is used.
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
        fail();
    }
    return out;
}

std::size_t archive_reader::read(char* to, std::size_t size) {
    const auto got = ::archive_read_data(handle_, to, size);
    if (got < 0) {
        fail();
    }
    return static_cast<std::size_t>(got);
}

bool archive_reader::next_block(const char*& bytes, std::size_t& size, std::int64_t& at) {
    const void* found = nullptr;
    const int got = ::archive_read_data_block(handle_, &found, &size, &at);
    if (got == ARCHIVE_EOF) {
        return false;
    }
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
        fail();
    }
    bytes = static_cast<const char*>(found);
    return true;
}

std::int64_t archive_reader::header_position() const {
    return ::archive_read_header_position(handle_);
}

}  // namespace signalbox::op::images
