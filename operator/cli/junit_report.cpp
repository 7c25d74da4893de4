// SPDX-License-Identifier: Apache-2.0
#include "cli/junit_report.hpp"

#include "cli/markup_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::cli {

namespace {

std::string xml_lines(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out += markup_text(text.substr(0, end)) + '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

}  // namespace

std::string junit_text(std::string_view suite, std::span<const test_case> cases) {
    std::string all;
    std::size_t failures = 0, errors = 0;
    double took = 0;
    for (const test_case& c : cases) {
        took += c.seconds;
        all += fmt::format(
            "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
            markup_text(c.class_name),
            markup_text(c.name),
            c.seconds
        );
        if (c.result == test_case::end::passed) {
            all += "/>\n";
            continue;
        }
        if (c.result == test_case::end::skipped) {
            all += "><skipped/></testcase>\n";
            continue;
        }
        const bool failed = c.result == test_case::end::failed;
        (failed ? failures : errors) += 1;
        const std::string_view element = failed ? "failure" : "error";
        all += fmt::format(
            ">\n    <{} type=\"{}\" message=\"{}\"",
            element,
            markup_text(c.type),
            markup_text(c.message)
        );
        all += c.details.empty() ? "/>" : fmt::format(">{}</{}>", xml_lines(c.details), element);
        all += "\n  </testcase>\n";
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\">\n"
        "{}</testsuite>\n",
        markup_text(suite),
        cases.size(),
        failures,
        errors,
        took,
        all
    );
}

}  // namespace signalbox::op::cli
