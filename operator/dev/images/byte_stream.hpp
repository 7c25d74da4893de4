// SPDX-License-Identifier: Apache-2.0
//
// Bytes that are read once: of a file, of a part of an archive, decompressed, counted and hashed on
// the way.
#pragma once

#include "containers/unix.hpp"
#include "images/bounds.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace signalbox::op::images {

/// Errors: image_trouble.
class byte_stream {
public:
    virtual ~byte_stream() = default;
    /// How many came; 0 at the end.
    virtual std::size_t read(char* to, std::size_t size) = 0;
    /// Passes over bytes without reading them; how many, at most `size`.
    virtual std::int64_t skip(std::int64_t size);
};

/// A file from where it stands.
std::unique_ptr<byte_stream> stream_of_file(containers::unique_fd file, std::string name);

/// SHA-256 and size of what goes through.
class hashed_stream : public byte_stream {
public:
    explicit hashed_stream(std::unique_ptr<byte_stream> from);
    ~hashed_stream() override;

    std::size_t read(char* to, std::size_t size) override;
    /// Reads what is left, and gives the hash in hexadecimal digits.
    std::string finish();
    std::uint64_t size() const { return size_; }

private:
    struct state;

    std::unique_ptr<byte_stream> from_;
    std::unique_ptr<state> hash_;
    std::uint64_t size_ = 0;
};

/// `from` decompressed, if it is compressed with gzip or zstd; `name` is what it is called in
/// messages. `from` must outlive it.
std::unique_ptr<byte_stream> decompressed(
    hashed_stream& from, const image_bounds& bounds, std::string name
);

/// All of it, which must not be more than `most`.
std::string read_all(byte_stream& from, std::size_t most, const std::string& name);

}  // namespace signalbox::op::images
