// SPDX-License-Identifier: Apache-2.0
//
// The files of an image as users have them: in a folder, or in an archive of one.
#pragma once

#include "images/byte_stream.hpp"

#include <memory>
#include <string>

namespace signalbox::op::images {

/// Names are paths below the folder, with slashes. Errors: image_trouble.
class blob_source {
public:
    virtual ~blob_source() = default;
    virtual bool has(const std::string& name) const = 0;
    virtual std::unique_ptr<byte_stream> open(const std::string& name) const = 0;
    /// As the user called it, for messages.
    virtual const std::string& path() const = 0;
};

/// A folder; no link leads out of it.
std::unique_ptr<blob_source> open_image_folder(const std::string& path);

/// A tar archive, perhaps compressed; `scratch` is a folder for what has to be decompressed first.
std::unique_ptr<blob_source> open_image_archive(
    const std::string& path, const std::string& scratch, const image_bounds& bounds
);

}  // namespace signalbox::op::images
