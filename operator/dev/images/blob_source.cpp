// SPDX-License-Identifier: Apache-2.0
#include "images/blob_source.hpp"

#include "containers/mounts.hpp"
#include "images/archive_handle.hpp"
#include "images/trouble.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::images {

namespace {

using containers::error_words;
using containers::unique_fd;

/// A descriptor of its own, so that each reader has its own place in the file.
unique_fd open_again(int file) {
    return unique_fd(::open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDONLY | O_CLOEXEC));
}

class folder_source : public blob_source {
public:
    explicit folder_source(std::string path)
        : path_(std::move(path)), folder_(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
        if (!folder_) {
            give_up("{}: {}", path_, error_words(errno));
        }
    }

    bool has(const std::string& name) const override { return static_cast<bool>(find(name)); }

    std::unique_ptr<byte_stream> open(const std::string& name) const override {
        const unique_fd found = find(name);
        const std::string shown = path_ + "/" + name;
        if (!found) {
            give_up("{}: {}", shown, error_words(errno));
        }
        unique_fd file = open_again(found.get());
        if (!file) {
            give_up("{}: {}", shown, error_words(errno));
        }
        return stream_of_file(std::move(file), shown);
    }

    const std::string& path() const override { return path_; }

private:
    unique_fd find(const std::string& name) const {
        unique_fd out = containers::open_beneath(folder_.get(), name);
        struct stat is = {};
        if (out && (::fstat(out.get(), &is) != 0 || !S_ISREG(is.st_mode))) {
            out.reset();
            errno = EINVAL;
        }
        return out;
    }

    std::string path_;
    unique_fd folder_;
};

/// `./a//b` is `a/b`; nothing for what leads out.
std::string inner_name(std::string_view name) {
    std::string out;
    while (!name.empty()) {
        const std::size_t end = std::min(name.find('/'), name.size());
        const std::string_view part = name.substr(0, end);
        name.remove_prefix(std::min(end + 1, name.size()));
        if (part == "..") {
            const std::size_t slash = out.find_last_of('/');
            if (out.empty()) {
                return "";
            }
            out.resize(slash == std::string::npos ? 0 : slash);
        } else if (!part.empty() && part != ".") {
            out += out.empty() ? "" : "/";
            out += part;
        }
    }
    return out;
}

/// One file of an archive, from its header on.
class archived_file : public byte_stream {
public:
    archived_file(unique_fd file, const std::string& name)
        : stream_(stream_of_file(std::move(file), name)),
          reader_(*stream_, archive_reader::format::tar, name) {
        reader_.next();
    }

    std::size_t read(char* to, std::size_t size) override { return reader_.read(to, size); }

private:
    std::unique_ptr<byte_stream> stream_;
    archive_reader reader_;
};

class archive_source : public blob_source {
public:
    archive_source(std::string path, const std::string& scratch, const image_bounds& bounds)
        : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        struct stat is = {};
        if (!file_ || ::fstat(file_.get(), &is) != 0) {
            give_up("{}: {}", path_, error_words(errno));
        }
        if (!S_ISREG(is.st_mode)) {
            give_up("{}: it is no file", path_);
        }
        refuse_other_compression();
        if (is_compressed()) {
            decompress(scratch, bounds);
        }
        read_names(bounds);
    }

    bool has(const std::string& name) const override { return find(name) >= 0; }

    std::unique_ptr<byte_stream> open(const std::string& name) const override {
        const std::int64_t at = find(name);
        if (at < 0) {
            give_up("{}: there is no file {} in it", path_, name);
        }
        unique_fd file = open_again(file_.get());
        if (!file || ::lseek(file.get(), at, SEEK_SET) != at) {
            give_up("{}: {}", path_, error_words(errno));
        }
        return std::make_unique<archived_file>(std::move(file), path_ + ", " + name);
    }

    const std::string& path() const override { return path_; }

private:
    bool begins_with(std::string_view magic) const {
        std::string there(magic.size(), '\0');
        const ssize_t got = ::pread(file_.get(), there.data(), there.size(), 0);
        return got == static_cast<ssize_t>(magic.size()) && there == magic;
    }

    bool is_compressed() const {
        return begins_with("\x1f\x8b") || begins_with("\x28\xb5\x2f\xfd");
    }

    void refuse_other_compression() const {
        for (const auto& [magic, program] :
             {std::pair<std::string_view, const char*>{
                  "\xfd"
                  "7zXZ",
                  "xz"},
              {"BZh", "bzip2"},
              {"\x04\x22\x4d\x18", "lz4"}}) {
            if (begins_with(magic)) {
                give_up(
                    "{}: it is compressed with {}, and known here are gzip and zstd: {} -d first",
                    path_,
                    program,
                    program
                );
            }
        }
    }

    /// Into a file that has no name and goes with its descriptor.
    void decompress(const std::string& scratch, const image_bounds& bounds) {
        std::string name = scratch + "/archive-XXXXXX";
        unique_fd plain(::mkostemp(name.data(), O_CLOEXEC));
        if (!plain) {
            give_up("{}: {}", name, error_words(errno));
        }
        ::unlink(name.c_str());
        hashed_stream from(stream_of_file(open_again(file_.get()), path_));
        const auto bytes = decompressed(from, bounds, path_);
        std::vector<char> buffer(std::size_t{1} << 20U);
        while (const std::size_t size = bytes->read(buffer.data(), buffer.size())) {
            for (std::size_t done = 0; done < size;) {
                const ssize_t wrote = ::write(plain.get(), buffer.data() + done, size - done);
                if (wrote <= 0) {
                    give_up(
                        "{} cannot be decompressed in {}: {}", path_, scratch, error_words(errno)
                    );
                }
                done += static_cast<std::size_t>(wrote);
            }
        }
        file_ = std::move(plain);
    }

    void read_names(const image_bounds& bounds) {
        unique_fd from = open_again(file_.get());
        if (!from) {
            give_up("{}: {}", path_, error_words(errno));
        }
        const auto stream = stream_of_file(std::move(from), path_);
        archive_reader reader(*stream, archive_reader::format::tar, path_);
        while (archive_entry* entry = reader.next()) {
            const char* said = ::archive_entry_pathname(entry);
            const std::string name = inner_name(said == nullptr ? "" : said);
            const char* hard = ::archive_entry_hardlink(entry);
            const char* soft = ::archive_entry_symlink(entry);
            if (name.empty()) {
                continue;
            }
            if (hard != nullptr) {
                links_[name] = inner_name(hard);
            } else if (soft != nullptr) {
                const std::size_t slash = name.find_last_of('/');
                links_[name] = inner_name(
                    (slash == std::string::npos ? "" : name.substr(0, slash + 1)) + soft
                );
            } else if (::archive_entry_filetype(entry) == AE_IFREG) {
                files_[name] = reader.header_position();
            }
            if (files_.size() + links_.size() > bounds.archive_files) {
                give_up("{}: it has more than {} files", path_, bounds.archive_files);
            }
        }
    }

    /// Where its header is; below 0 if there is no such file.
    std::int64_t find(std::string name) const {
        constexpr int most_links = 8;
        for (int i = 0; i < most_links; ++i) {
            if (const auto file = files_.find(name); file != files_.end()) {
                return file->second;
            }
            const auto link = links_.find(name);
            if (link == links_.end()) {
                break;
            }
            name = link->second;
        }
        return -1;
    }

    std::string path_;
    unique_fd file_;
    std::map<std::string, std::int64_t> files_;
    std::map<std::string, std::string> links_;
};

}  // namespace

std::unique_ptr<blob_source> open_image_folder(const std::string& path) {
    return std::make_unique<folder_source>(path);
}

std::unique_ptr<blob_source> open_image_archive(
    const std::string& path, const std::string& scratch, const image_bounds& bounds
) {
    return std::make_unique<archive_source>(path, scratch, bounds);
}

}  // namespace signalbox::op::images
