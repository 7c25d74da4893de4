// SPDX-License-Identifier: Apache-2.0
//
// Lines, bars and axes of SVG, of which the pictures of a report are made.
#pragma once

#include "cli/report/markup.hpp"

#include <jobcore/strings.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::op::report {

constexpr double width = 760;
constexpr double label_width = 210;
constexpr double row_height = 20;
constexpr double axis_height = 22;
constexpr double bar_height = 12;

/// With one digit behind the point.
std::string number(double n);
/// The colour of a share of the time, or of how something ended; the names are in the table of its
/// source.
std::string fill_of(std::string_view kind);

void open_svg(markup& to, double height, std::string_view what);
void add_bar(
    markup& to, std::string_view kind, double x, double y, double length, std::string_view title
);
enum class line { grid, mark };
void add_line(markup& to, line kind, double x1, double y1, double x2, double y2);
void add_text(markup& to, double x, double y, const char* anchor, std::string_view text);

/// The width of what an axis of values says beside the picture.
constexpr double value_width = 90;

/// Values from the bottom up, beside what they stand for.
class value_axis {
public:
    /// From one round value to another, with the given ones between them; with marks at whole
    /// numbers alone if `whole`.
    value_axis(double least, double most, double top, double bottom, bool whole = false);

    double at(double value) const;
    /// Lines from side to side, and what they stand for.
    void draw(markup& to) const;

private:
    double step_;
    double least_;
    double most_;
    double top_;
    double bottom_;
};

/// Times from left to right, behind labels of this width.
class time_axis {
public:
    time_axis(core::instant from, core::instant to, double left = label_width);

    double at(core::instant t) const;
    /// Lines from the top to this height, and what they stand for below.
    void draw(markup& to, double height) const;

private:
    core::instant from_;
    core::instant to_;
    double left_;
};

}  // namespace signalbox::op::report
