// SPDX-License-Identifier: Apache-2.0
//
// What fuzz targets share. A target is one function of bytes: libFuzzer calls it with inputs that
// it makes up, the replay program with those of the corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace signalbox::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {size == 0 ? "" : reinterpret_cast<const char*>(data), size};
}

/// Ends the program unless `holds`: a fuzzer keeps the input that did it.
inline void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "violated: %s\n", what);
        std::abort();
    }
}

}  // namespace signalbox::fuzz
