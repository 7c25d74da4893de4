// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with an image, inside of this folder alone: image_store gives it as a value.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace signalbox::op::images {

/// Why an image cannot be used, in a sentence that names file and layer.
class image_trouble : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void give_up(fmt::format_string<Args...> text, Args&&... args) {
    throw image_trouble(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace signalbox::op::images
