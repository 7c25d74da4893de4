// SPDX-License-Identifier: Apache-2.0
#include "images/byte_stream.hpp"

#include "images/archive_handle.hpp"
#include "images/trouble.hpp"

#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace signalbox::op::images {

namespace {

class file_stream : public byte_stream {
public:
    file_stream(containers::unique_fd file, std::string name)
        : file_(std::move(file)), name_(std::move(name)) {}

    std::size_t read(char* to, std::size_t size) override {
        for (;;) {
            const ssize_t got = ::read(file_.get(), to, size);
            if (got >= 0) {
                return static_cast<std::size_t>(got);
            }
            if (errno != EINTR) {
                give_up("{}: {}", name_, containers::error_words(errno));
            }
        }
    }

    std::int64_t skip(std::int64_t size) override {
        struct stat is = {};
        const off_t at = ::lseek(file_.get(), 0, SEEK_CUR);
        if (at < 0 || ::fstat(file_.get(), &is) != 0) {
            return 0;
        }
        const std::int64_t most = std::max<std::int64_t>(is.st_size - at, 0);
        const std::int64_t skipped = std::min(size, most);
        return ::lseek(file_.get(), at + skipped, SEEK_SET) < 0 ? 0 : skipped;
    }

private:
    containers::unique_fd file_;
    std::string name_;
};

/// What one that means no good packs: little that becomes much.
class decompressed_stream : public byte_stream {
public:
    decompressed_stream(hashed_stream& from, const image_bounds& bounds, const std::string& name)
        : from_(from),
          bounds_(bounds),
          name_(name),
          reader_(from, archive_reader::format::raw, name),
          is_empty_(reader_.next() == nullptr) {}

    std::size_t read(char* to, std::size_t size) override {
        if (is_empty_) {
            return 0;
        }
        const std::size_t got = reader_.read(to, size);
        count_ += got;
        if (count_ > bounds_.any_ratio && count_ / bounds_.ratio > from_.size()) {
            give_up(
                "{}: {} bytes become more than {} times as many: it is no layer of an image",
                name_,
                from_.size(),
                bounds_.ratio
            );
        }
        if (count_ > 2 * bounds_.bytes) {
            give_up("{}: it has more than {} bytes", name_, 2 * bounds_.bytes);
        }
        return got;
    }

private:
    hashed_stream& from_;
    image_bounds bounds_;
    std::string name_;
    archive_reader reader_;
    bool is_empty_;
    std::uint64_t count_ = 0;
};

}  // namespace

std::int64_t byte_stream::skip(std::int64_t) {
    return 0;
}

std::unique_ptr<byte_stream> stream_of_file(containers::unique_fd file, std::string name) {
    return std::make_unique<file_stream>(std::move(file), std::move(name));
}

struct hashed_stream::state {
    std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context{
        ::EVP_MD_CTX_new(), &::EVP_MD_CTX_free};
};

hashed_stream::hashed_stream(std::unique_ptr<byte_stream> from)
    : from_(std::move(from)), hash_(std::make_unique<state>()) {
    if (!hash_->context ||
        ::EVP_DigestInit_ex(hash_->context.get(), ::EVP_sha256(), nullptr) != 1) {
        give_up("SHA-256 cannot be computed here");
    }
}

hashed_stream::~hashed_stream() = default;

std::size_t hashed_stream::read(char* to, std::size_t size) {
    const std::size_t got = from_->read(to, size);
    ::EVP_DigestUpdate(hash_->context.get(), to, got);
    size_ += got;
    return got;
}

std::string hashed_stream::finish() {
    std::array<char, 64 * 1024> rest;
    while (read(rest.data(), rest.size()) > 0) {
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
    unsigned size = 0;
    ::EVP_DigestFinal_ex(hash_->context.get(), bytes.data(), &size);
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
        out += fmt::format("{:02x}", bytes[i]);
    }
    return out;
}

std::unique_ptr<byte_stream> decompressed(
    hashed_stream& from, const image_bounds& bounds, std::string name
) {
    return std::make_unique<decompressed_stream>(from, bounds, name);
}

std::string read_all(byte_stream& from, std::size_t most, const std::string& name) {
    std::string out;
    std::array<char, 64 * 1024> buffer;
    while (const std::size_t got = from.read(buffer.data(), buffer.size())) {
        out.append(buffer.data(), got);
        if (out.size() > most) {
            give_up("{}: it has more than {} bytes", name, most);
        }
    }
    return out;
}

}  // namespace signalbox::op::images
