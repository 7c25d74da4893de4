// SPDX-License-Identifier: Apache-2.0
//
// How much memory a program has from its allocator, for tests that bound it.
#pragma once

#include "signalbox_test/sanitized.hpp"

#include <cstddef>

#include <malloc.h>

extern "C" {
// Of the sanitizers' allocator; elsewhere there is none.
std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));
}

namespace signalbox::test {

/// Bytes in use now, of all threads, what the allocator adds included.
inline std::size_t heap_in_use() {
    if constexpr (sanitized) {
        return __sanitizer_get_current_allocated_bytes();
    } else {
        const auto all = ::mallinfo2();
        return all.uordblks + all.hblkhd;
    }
}

}  // namespace signalbox::test
