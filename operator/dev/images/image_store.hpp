// SPDX-License-Identifier: Apache-2.0
//
// Images of users as folders that containers can have: unpacked once, kept by digest.
#pragma once

#include "images/bounds.hpp"
#include "images/image_config.hpp"

#include <boost/system/result.hpp>

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::op::images {

/// Why an image cannot be used, in a sentence that names file and layer.
struct image_error {
    std::string message;
};
/// Called by result::value() on an error: throws std::runtime_error with the message.
[[noreturn]] void throw_exception_from_error(
    const image_error& e, const boost::source_location& at
);

template <class T>
using result = boost::system::result<T, image_error>;

struct unpacked_image {
    std::vector<std::string> names;  ///< as its archive has them
    std::string digest;              ///< of its configuration, which is what it is known by
    std::string folder;              ///< its root file system, not to be changed
    image_config config;
    std::shared_ptr<void> held;  ///< as long as this lives the folder stays
};

/// Is it an OCI layout or a file, and no root file system?
bool is_packed_image(const std::string& path);

/// The folder that a user's images are kept in: `signalbox/images` in $XDG_CACHE_HOME or
/// `~/.cache`. Empty if there is no such place.
std::string default_image_folder();

class image_store {
public:
    /// `folder` is made, for its owner alone, with the first image; `say` gets what takes long.
    image_store(
        std::string folder,
        std::function<void(const std::string&)> say,
        const image_bounds& bounds = image_bounds()
    );

    /// The image that `wanted` names in an OCI layout (a folder, or an archive of one), or in what
    /// `docker save` or `podman save` has written; or all images, if `wanted` is empty. What is
    /// unpacked already is taken as it is. Images that no one has used for 30 days go.
    result<std::vector<unpacked_image>> take(const std::string& path, const std::string& wanted);

private:
    std::string folder_;
    std::function<void(const std::string&)> say_;
    image_bounds bounds_;
};

}  // namespace signalbox::op::images
