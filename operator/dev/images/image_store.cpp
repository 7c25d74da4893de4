// SPDX-License-Identifier: Apache-2.0
#include "images/image_store.hpp"

#include "containers/instance_folder.hpp"
#include "containers/unix.hpp"
#include "images/image_index.hpp"
#include "images/root_writer.hpp"
#include "images/trouble.hpp"

#include <boost/assert/source_location.hpp>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::images {

namespace {

namespace fs = std::filesystem;
using containers::error_words;
using containers::unique_fd;

constexpr std::string_view lock_suffix = ".lock";
constexpr std::string_view part_suffix = ".part";
constexpr std::time_t unused_for = 30 * std::time_t{24 * 60 * 60};

/// Locks the file of an image; `how` is LOCK_EX or LOCK_SH, perhaps with LOCK_NB. None if another
/// has it. A file that was removed meanwhile is not the one that others lock.
unique_fd lock_image(const std::string& path, int how) {
    for (;;) {
        unique_fd out(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!out || ::flock(out.get(), how) != 0) {
            return {};
        }
        struct stat held = {};
        struct stat named = {};
        if (::fstat(out.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
            held.st_ino == named.st_ino) {
            return out;
        }
    }
}

/// What is left of those that ended while they unpacked, and what no one has used for long.
void remove_unused(const std::string& folder) {
    std::error_code failed;
    std::vector<std::string> locks;
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
        if (entry.path().string().ends_with(lock_suffix)) {
            locks.push_back(entry.path().string());
        }
    }
    for (const std::string& path : locks) {
        const unique_fd lock = lock_image(path, LOCK_EX | LOCK_NB);
        struct stat is = {};
        if (!lock || ::fstat(lock.get(), &is) != 0) {
            continue;
        }
        const std::string image = path.substr(0, path.size() - lock_suffix.size());
        containers::may_fail(containers::remove_tree(image + std::string(part_suffix)));
        if (std::time(nullptr) - is.st_mtime > unused_for && containers::remove_tree(image) == 0) {
            ::unlink(path.c_str());
        }
    }
}

void unpack(
    const blob_source& source,
    const image_description& image,
    const image_bounds& bounds,
    const std::string& folder
) {
    if (const int failed = containers::make_folders(folder); failed != 0) {
        give_up("{}: {}", folder, error_words(failed));
    }
    root_writer root(folder, bounds);
    for (std::size_t i = 0; i < image.layers.size(); ++i) {
        const image_layer& layer = image.layers[i];
        const std::string name = fmt::format("{}, layer {} ({})", source.path(), i + 1, layer.blob);
        hashed_stream packed(source.open(layer.blob));
        hashed_stream plain(decompressed(packed, bounds, name));
        root.apply(plain, name);
        const std::string content = plain.finish();
        const std::string blob = packed.finish();
        if (!layer.digest.empty() && blob != layer.digest) {
            give_up(
                "{}: it is not what it was when the image was made: its digest is {}", name, blob
            );
        }
        if (layer.size && *layer.size != packed.size()) {
            give_up("{}: it has {} bytes, and should have {}", name, packed.size(), *layer.size);
        }
        if (content != layer.content) {
            give_up(
                "{}: its content has the digest {}, and the image is made of {}",
                name,
                content,
                layer.content
            );
        }
    }
    root.finish();
}

/// The root is for all users of a container, whatever the umask was.
std::string root_of(const std::string& image) {
    return image + "/root";
}

unpacked_image take_one(
    const blob_source& source,
    const image_description& image,
    const std::string& folder,
    const image_bounds& bounds,
    const std::function<void(const std::string&)>& say
) {
    const std::string path = folder + "/" + image.id;
    const std::string lock_path = path + std::string(lock_suffix);
    unique_fd lock = lock_image(lock_path, LOCK_SH);
    struct stat is = {};
    if (::lstat(path.c_str(), &is) != 0) {
        lock.reset();  // one's own lock would be waited for too
        lock = lock_image(lock_path, LOCK_EX);
        if (lock && ::lstat(path.c_str(), &is) != 0) {
            say(fmt::format(
                "unpacking {}, {} layer{}, into {}",
                source.path(),
                image.layers.size(),
                image.layers.size() == 1 ? "" : "s",
                path
            ));
            const std::string part = path + std::string(part_suffix);
            containers::may_fail(containers::remove_tree(part));
            try {
                unpack(source, image, bounds, root_of(part));
            } catch (...) {
                containers::may_fail(containers::remove_tree(part));
                throw;
            }
            ::chmod(part.c_str(), 0755);
            ::chmod(root_of(part).c_str(), 0755);
            if (::rename(part.c_str(), path.c_str()) != 0) {
                give_up("{}: {}", path, error_words(errno));
            }
        }
        if (lock) {
            ::flock(lock.get(), LOCK_SH);
        }
    }
    if (!lock) {
        give_up("{}: {}", lock_path, error_words(errno));
    }
    ::futimens(lock.get(), nullptr);  // used now
    unpacked_image out;
    out.names = image.names;
    out.digest = image.id;
    out.folder = root_of(path);
    out.config = image.config;
    out.held = std::make_shared<unique_fd>(std::move(lock));
    return out;
}

}  // namespace

void throw_exception_from_error(const image_error& e, const boost::source_location&) {
    throw std::runtime_error(e.message);
}

bool is_packed_image(const std::string& path) {
    std::error_code failed;
    return !fs::is_directory(path, failed) || fs::exists(fs::path(path) / "oci-layout", failed) ||
           (fs::exists(fs::path(path) / "index.json", failed) &&
            fs::is_directory(fs::path(path) / "blobs", failed));
}

std::string default_image_folder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache != nullptr && *cache == '/') {
        return std::string(cache) + "/signalbox/images";
    }
    return home != nullptr && *home == '/' ? std::string(home) + "/.cache/signalbox/images" : "";
}

image_store::image_store(
    std::string folder, std::function<void(const std::string&)> say, const image_bounds& bounds
)
    : folder_(std::move(folder)), say_(std::move(say)), bounds_(bounds) {}

result<std::vector<unpacked_image>> image_store::take(
    const std::string& path, const std::string& wanted
) {
    if (folder_.empty()) {
        return image_error{"there is no folder for unpacked images: HOME is not set"};
    }
    const auto own = containers::open_private_folder(folder_);
    if (own.has_error()) {
        return image_error{own.error().message};
    }
    try {
        remove_unused(own->path);
        std::error_code failed;
        const auto source = fs::is_directory(path, failed)
                                ? open_image_folder(path)
                                : open_image_archive(path, own->path, bounds_);
        const std::vector<image_description> all = read_images(*source, bounds_);
        std::vector<unpacked_image> out;
        if (!wanted.empty()) {
            const image_description& one = choose_image(all, wanted, path);
            out.push_back(take_one(*source, one, own->path, bounds_, say_));
            return out;
        }
        for (const image_description& each : all) {
            out.push_back(take_one(*source, each, own->path, bounds_, say_));
        }
        return out;
    } catch (const image_trouble& why) {
        return image_error{why.what()};
    }
}

}  // namespace signalbox::op::images
