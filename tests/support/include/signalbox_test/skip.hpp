// SPDX-License-Identifier: Apache-2.0
//
// How a suite of Catch2 says that it cannot run here (tests/README.md); one in Python has
// tests/support/skips.py.
#pragma once

#include <string>

namespace signalbox::test {

/// Skips the whole suite where something is missing. It is asked before the first test case, so
/// that a skip never hides a failure. At namespace scope, once in a suite:
///
///     const suite_needs programs(what_is_missing);
class suite_needs {
public:
    /// `missing` says what is missing, as a text; an empty one if all is there.
    explicit suite_needs(std::string (*missing)());
};

}  // namespace signalbox::test
