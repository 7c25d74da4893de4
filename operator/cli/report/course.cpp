// SPDX-License-Identifier: Apache-2.0
#include "cli/report/drawing.hpp"
#include "cli/report/plots.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::report {

namespace {

struct point {
    core::instant time;
    double value = 0;
};

/// Nothing for what is no number, or none that can be drawn.
std::optional<double> number_of(const std::string& text) {
    constexpr double most = 1e30;
    const auto n = core::read_number(text);
    return n && std::abs(*n) < most ? n : std::nullopt;
}

/// The course on record, and behind it where training is.
std::vector<core::progress_point> course_of(const job_report& job) {
    const auto& p = job.status.progress;
    if (!p) {
        return {};
    }
    std::vector<core::progress_point> out = p->course;
    if (p->last_updated && p->current_step) {
        out.push_back({p->last_updated, *p->current_step, std::string(core::loss_of(*p))});
    }
    std::erase_if(out, [](const auto& one) { return !one.time; });
    std::ranges::stable_sort(out, {}, &core::progress_point::time);
    return out;
}

/// A line through at least two points.
void draw_course(markup& to, const std::vector<point>& points, std::string_view what) {
    constexpr double height = 160, top = 8;
    const auto [least, most] = std::ranges::minmax(points, {}, &point::value);
    const value_axis values(least.value, most.value, top, height);
    const time_axis times(points.front().time, points.back().time, value_width);
    open_svg(to, height + axis_height, what);
    times.draw(to, height);
    values.draw(to);
    std::string path;
    for (const point& p : points) {
        path += fmt::format("{},{} ", number(times.at(p.time)), number(values.at(p.value)));
    }
    path.pop_back();
    to.shape(
        "polyline",
        {{"fill", "none"}, {"stroke", fill_of("running")}, {"stroke-width", "2"}, {"points", path}}
    );
    to.close();
}

}  // namespace

void plot_course(markup& to, const job_report& job) {
    std::vector<point> steps, losses;
    for (const core::progress_point& one : course_of(job)) {
        steps.push_back({*one.time, static_cast<double>(one.step)});
        if (const auto loss = number_of(one.loss)) {
            losses.push_back({*one.time, *loss});
        }
    }
    if (steps.size() > 1) {
        to.leaf("h3", "Steps over time");
        draw_course(to, steps, "Steps over time");
    }
    if (losses.size() > 1) {
        to.leaf("h3", "Loss over time");
        draw_course(to, losses, "Loss over time");
    }
}

}  // namespace signalbox::op::report
