// SPDX-License-Identifier: Apache-2.0
//
// Sanitizers make a test ten to twenty times as slow. What is exhaustive in an ordinary build may
// take a fixed sample under them: they look for what is done to memory, not for the rule.
#pragma once

namespace signalbox::test {

#if defined(__has_feature)
#define SIGNALBOX_TEST_HAS_FEATURE(x) __has_feature(x)
#else
#define SIGNALBOX_TEST_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    SIGNALBOX_TEST_HAS_FEATURE(address_sanitizer) || SIGNALBOX_TEST_HAS_FEATURE(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

#undef SIGNALBOX_TEST_HAS_FEATURE

}  // namespace signalbox::test
