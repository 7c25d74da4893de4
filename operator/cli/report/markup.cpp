// SPDX-License-Identifier: Apache-2.0
#include "cli/report/markup.hpp"

#include "cli/markup_text.hpp"

namespace signalbox::op::report {

void markup::begin(const char* tag, attributes with) {
    out_ += '<';
    out_ += tag;
    for (const attribute& a : with) {
        out_ += ' ';
        out_ += a.name;
        out_ += "=\"" + cli::markup_text(a.value) + '"';
    }
}

markup& markup::open(const char* tag, attributes with) {
    begin(tag, with);
    out_ += '>';
    open_.push_back(tag);
    return *this;
}

markup& markup::close() {
    out_ += "</";
    out_ += open_.back();
    out_ += ">\n";
    open_.pop_back();
    return *this;
}

markup& markup::text(std::string_view text) {
    out_ += cli::markup_text(text);
    return *this;
}

markup& markup::leaf(const char* tag, attributes with, std::string_view text) {
    return open(tag, with).text(text).close();
}

markup& markup::shape(const char* tag, attributes with, std::string_view title) {
    if (!title.empty()) {
        return open(tag, with).leaf("title", title).close();
    }
    begin(tag, with);
    out_ += "/>\n";
    return *this;
}

markup& markup::single(const char* tag, attributes with) {
    begin(tag, with);
    out_ += ">\n";
    return *this;
}

markup& markup::raw(const char* text) {
    out_ += text;
    return *this;
}

}  // namespace signalbox::op::report
