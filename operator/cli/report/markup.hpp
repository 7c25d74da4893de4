// SPDX-License-Identifier: Apache-2.0
//
// HTML and SVG, written element by element, so that nothing of what others wrote is markup.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::op::report {

class markup {
public:
    /// A name is one of the program's own; a value may be anything.
    struct attribute {
        const char* name;
        std::string value;
    };
    using attributes = std::initializer_list<attribute>;

    markup& open(const char* tag, attributes with = {});
    /// Ends the element that was opened last.
    markup& close();
    /// In one line; what is markup is escaped, and what a terminal obeys is a space.
    markup& text(std::string_view text);
    /// An element with a text and nothing else.
    markup& leaf(const char* tag, attributes with, std::string_view text);
    markup& leaf(const char* tag, std::string_view text) { return leaf(tag, {}, text); }
    /// An element of SVG without content but, if it is not empty, what is shown where one points.
    markup& shape(const char* tag, attributes with, std::string_view title = {});
    /// `<meta ...>` and others of HTML that have no end.
    markup& single(const char* tag, attributes with);
    /// Of the program's own: as it is.
    markup& raw(const char* text);

    /// Once, when all elements are closed.
    std::string take() { return std::move(out_); }

private:
    void begin(const char* tag, attributes with);

    std::string out_;
    std::vector<const char*> open_;
};

}  // namespace signalbox::op::report
