// SPDX-License-Identifier: Apache-2.0
//
// Results as systems for continuous integration read tests: JUnit's XML.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace signalbox::op::cli {

/// What became of one test.
struct test_case {
    enum class end { passed, failed, broken, skipped };

    std::string class_name, name;
    double seconds = 0;
    end result = end::passed;
    std::string type;     ///< of what is wrong, in a word
    std::string message;  ///< the same in a line
    std::string details;  ///< lines; empty: none
};

/// A `testsuite` with a `failure` for each test that failed, and an `error` for each that is
/// broken.
std::string junit_text(std::string_view suite, std::span<const test_case> cases);

}  // namespace signalbox::op::cli
