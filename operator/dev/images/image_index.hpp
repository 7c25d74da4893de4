// SPDX-License-Identifier: Apache-2.0
//
// Which images a folder or an archive has: `index.json` of an OCI layout, or `manifest.json` of
// `docker save` and `podman save`.
#pragma once

#include "images/blob_source.hpp"
#include "images/image_config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::images {

struct image_layer {
    std::string blob;                   ///< in the source
    std::string digest;                 ///< of the blob; empty: its name says none
    std::optional<std::uint64_t> size;  ///< of the blob
    std::string content;                ///< digest of the layer, decompressed
};

struct image_description {
    std::vector<std::string> names;  ///< as the archive has them; perhaps tags alone
    std::string id;                  ///< digest of the configuration
    image_config config;
    std::vector<image_layer> layers;  ///< the lowest first
};

/// The images for this machine: of several architectures its own. Documents are held to their
/// digests. Errors: image_trouble, also where there is none for it.
std::vector<image_description> read_images(const blob_source& source, const image_bounds& bounds);

/// `docker.io/library/debian:latest` for `debian`; as a kubelet takes names of images.
std::string full_image_name(std::string_view name);

/// The image that `wanted` names, or the only one. Errors: image_trouble, with the names that
/// there are.
const image_description& choose_image(
    const std::vector<image_description>& all, const std::string& wanted, const std::string& path
);

/// As images call this machine: `amd64`, `arm64`.
std::string machine_architecture();

}  // namespace signalbox::op::images
