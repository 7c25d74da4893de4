// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox::op::images {

/// What an image may take, so that one that means no good costs little. All are above what images
/// of trainings have.
struct image_bounds {
    std::uint64_t bytes = std::uint64_t{64} << 30U;  ///< of all files, unpacked
    std::uint64_t entries = 4'000'000;               ///< files, folders and links of all layers
    /// Bytes of a layer for each of its compressed bytes, beyond the first `any_ratio`.
    std::uint64_t ratio = 300;
    std::uint64_t any_ratio = std::uint64_t{256} << 20U;
    std::size_t depth = 256;             ///< names in one path
    std::size_t document = 8U << 20U;    ///< bytes of a manifest or configuration
    std::size_t index_depth = 4;         ///< indexes in indexes
    std::size_t archive_files = 20'000;  ///< in an archive that holds images
};

}  // namespace signalbox::op::images
