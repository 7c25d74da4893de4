// SPDX-License-Identifier: Apache-2.0
#include "cli/report/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace signalbox::op::report {

namespace {

/// As attributes and not as a style sheet: a picture that is taken out of the page keeps them.
struct paint {
    std::string_view kind;
    const char* fill;
};
constexpr std::array paints{
    paint{"running", "#2b8a3e"},
    paint{"Succeeded", "#2b8a3e"},
    paint{"lost", "#c92a2a"},
    paint{"failed", "#c92a2a"},
    paint{"stalled", "#862e9c"},
    paint{"restarting", "#e8590c"},
    paint{"starting", "#fab005"},
    paint{"queued", "#74c0fc"},
    paint{"paused", "#adb5bd"},
    paint{"quiet", "#adb5bd"},
    paint{"life", "#e9ecef"},
};

/// Seconds between marks of an axis, so that there are few.
std::int64_t time_step(std::int64_t span) {
    constexpr std::int64_t minute = 60, hour = 3600, day = 86'400;
    constexpr std::array<std::int64_t, 17> steps{
        1,
        5,
        10,
        30,
        minute,
        5 * minute,
        10 * minute,
        30 * minute,
        hour,
        3 * hour,
        6 * hour,
        12 * hour,
        day,
        2 * day,
        7 * day,
        30 * day,
        90 * day};
    constexpr std::int64_t most_marks = 5;
    const auto* const found =
        std::ranges::find_if(steps, [&](std::int64_t step) { return span / step <= most_marks; });
    return found != steps.end() ? *found : std::max<std::int64_t>(span / most_marks, 1);
}

/// 1, 2 or 5 times a power of ten: at most five of them make `most`, which is above 0.
double number_step(double most) {
    const double rough = most / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double times : {1.0, 2.0, 5.0}) {
        if (rough <= times * power) {
            return times * power;
        }
    }
    return 10 * power;
}

/// Between marks of an axis; by the size of the values where their difference is too small for the
/// digits of the marks.
double value_step(double least, double most, bool whole) {
    constexpr double smallest = 1e-30, least_share = 1e-8;
    const double size = std::max(std::abs(least), std::abs(most));
    const bool differ = most - least > std::max(size, smallest) * least_share;
    const double step = number_step(differ ? most - least : std::max(size, 1.0));
    return whole ? std::max(step, 1.0) : step;
}

}  // namespace

std::string number(double n) {
    return fmt::format("{:.1f}", n);
}

std::string fill_of(std::string_view kind) {
    return std::ranges::find(paints, kind, &paint::kind)->fill;
}

void open_svg(markup& to, double height, std::string_view what) {
    to.open(
        "svg",
        {{"xmlns", "http://www.w3.org/2000/svg"},
         {"viewBox", fmt::format("0 0 {} {}", number(width), number(height))},
         {"width", number(width)},
         {"height", number(height)},
         {"font-family", "sans-serif"},
         {"font-size", "12"},
         {"fill", "#333333"},
         {"role", "img"},
         {"aria-label", std::string(what)}}
    );
}

void add_bar(
    markup& to, std::string_view kind, double x, double y, double length, std::string_view title
) {
    to.shape(
        "rect",
        {{"class", std::string(kind)},
         {"fill", fill_of(kind)},
         {"x", number(x)},
         {"y", number(y)},
         {"width", number(std::max(length, 1.0))},
         {"height", number(bar_height)}},
        title
    );
}

void add_line(markup& to, line kind, double x1, double y1, double x2, double y2) {
    const bool grid = kind == line::grid;
    to.shape(
        "line",
        {{"stroke", grid ? "#cccccc" : "#333333"},
         {"stroke-dasharray", grid ? "none" : "5 3"},
         {"x1", number(x1)},
         {"y1", number(y1)},
         {"x2", number(x2)},
         {"y2", number(y2)}}
    );
}

void add_text(markup& to, double x, double y, const char* anchor, std::string_view text) {
    to.leaf("text", {{"x", number(x)}, {"y", number(y)}, {"text-anchor", anchor}}, text);
}

value_axis::value_axis(double least, double most, double top, double bottom, bool whole)
    : step_(value_step(least, most, whole)),
      least_(std::floor(least / step_) * step_),
      most_(std::max(std::ceil(most / step_) * step_, least_ + step_)),
      top_(top),
      bottom_(bottom) {}

double value_axis::at(double value) const {
    return top_ + (bottom_ - top_) * (most_ - value) / (most_ - least_);
}

void value_axis::draw(markup& to) const {
    const double marks = std::round((most_ - least_) / step_);
    for (double mark = 0; mark <= marks; ++mark) {
        const double value = least_ + mark * step_;
        add_line(to, line::grid, value_width, at(value), width, at(value));
        add_text(to, value_width - 6, at(value) + 4, "end", fmt::format("{:.10g}", value));
    }
}

time_axis::time_axis(core::instant from, core::instant to, double left)
    : from_(from), to_(std::max(to, from)), left_(left) {}

double time_axis::at(core::instant t) const {
    const double span = static_cast<double>(std::max<std::int64_t>((to_ - from_).count(), 1));
    const auto offset = static_cast<double>((std::clamp(t, from_, to_) - from_).count());
    return left_ + (width - left_) * offset / span;
}

void time_axis::draw(markup& to, double height) const {
    const std::int64_t span = std::chrono::floor<core::seconds>(to_ - from_).count();
    const std::int64_t step = time_step(span);
    for (std::int64_t t = 0; t <= span; t += step) {
        const double x = at(from_ + core::seconds(t));
        add_line(to, line::grid, x, 0, x, height);
        const bool last = x > width - 40;
        const std::string text = t == 0 ? "0" : core::in_words(core::seconds(t));
        add_text(to, x, height + 15, last ? "end" : t == 0 ? "start" : "middle", text);
    }
}

}  // namespace signalbox::op::report
