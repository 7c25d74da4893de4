// SPDX-License-Identifier: Apache-2.0
//
// Files of the source tree that tests read. One unit alone knows where the tree lies, so that the
// others compile to the same in every clone.
#pragma once

#include <string>
#include <string_view>

namespace signalbox::test {

/// `file` is relative to the root of the repository.
std::string source_path(std::string_view file);

/// The whole content; throws std::runtime_error if it cannot be read.
std::string source_text(std::string_view file);

}  // namespace signalbox::test
