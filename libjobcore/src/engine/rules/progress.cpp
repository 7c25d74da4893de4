// SPDX-License-Identifier: Apache-2.0
#include "engine/rules/progress.hpp"

#include "jobcore/strings.hpp"

#include <algorithm>
#include <span>

namespace signalbox::core::engine {
namespace {

constexpr std::size_t most_name = 64, most_value = 32;

/// The first of those that are furthest behind: in a collective all others stop for it.
std::optional<slowest_rank> find_slowest(std::span<const rank_progress> ranks) {
    std::optional<slowest_rank> out;
    std::int64_t first = 0;
    std::size_t known = 0;
    for (const rank_progress& r : ranks) {
        if (!r.step) {
            continue;
        }
        ++known;
        first = std::max(first, *r.step);
        const bool slower = !out || *r.step < out->step ||
                            (*r.step == out->step && round_down_to_second(r.advanced) < *out->time);
        if (slower) {
            out = slowest_rank{r.rank, *r.step, 0, round_down_to_second(r.advanced)};
        }
    }
    if (known < 2) {
        return std::nullopt;
    }
    out->behind = first - out->step;
    return out;
}

std::vector<progress_metric> bounded(const std::vector<progress_metric>& metrics) {
    std::vector<progress_metric> out;
    for (const progress_metric& m : metrics) {
        if (out.size() < most_metrics) {
            out.push_back(
                {in_one_line(first_bytes(m.name, most_name)),
                 in_one_line(first_bytes(m.value, most_value))}
            );
        }
    }
    return out;
}

/// A resume that reports 0 before it has loaded its checkpoint is no step back.
bool is_from_nothing(const progress_report& said) {
    return said.current_step.value_or(0) == 0 && said.percentage.value_or(0) == 0;
}

/// It says of the attempt what is on record.
bool says_the_same(const progress_status& before, const progress_report& said) {
    const bool tells = said.current_step || said.percentage;
    return tells && before.attempt == said.attempt && before.advanced &&
           before.current_step.value_or(0) == said.current_step.value_or(0) &&
           (!said.percentage || before.percentage == said.percentage);
}

std::optional<std::int32_t> percentage_of(const progress_report& said) {
    if (said.percentage) {
        return std::clamp(*said.percentage, 0, 100);
    }
    if (!said.current_step || said.total_steps.value_or(0) <= 0) {
        return std::nullopt;
    }
    const double share =
        static_cast<double>(*said.current_step) / static_cast<double>(*said.total_steps);
    return static_cast<std::int32_t>(std::clamp(share, 0.0, 1.0) * 100);
}

template <class Value>
void take_known(std::optional<Value>& into, const std::optional<Value>& said) {
    into = said ? said : into;
}

/// Nothing was reported later than now, and times of a status are whole seconds.
instant known_time(const inputs& in, instant t) {
    return round_down_to_second(std::min(t, in.now));
}

void take_checkpoint(progress_status& into, const progress_report& said, instant written) {
    into.checkpoint_step = said.checkpoint_step;
    into.checkpoint_time = written;
    into.checkpoint_seconds = said.checkpoint_seconds;
}

/// Points are a sixteenth of the time apart over which they go, or more.
bool is_apart(const progress_status& p) {
    constexpr seconds least(15);
    const instant first = p.course.front().time.value_or(*p.last_updated);
    const instant last = p.course.back().time.value_or(first);
    return *p.last_updated - last >= std::max<instant::duration>(least, (last - first) / 16);
}

enum class points { apart, any };

/// Where there are too many points every other one goes, but the first.
void note_course(progress_status& p, points wanted) {
    std::vector<progress_point>& course = p.course;
    if (!p.current_step || !p.last_updated) {
        return;
    }
    std::erase_if(course, [&](const progress_point& one) { return one.time > p.last_updated; });
    const bool moved = course.empty() || *p.current_step != course.back().step;
    if (!moved || (wanted == points::apart && !course.empty() && !is_apart(p))) {
        return;
    }
    if (course.size() >= most_points) {
        std::size_t number = 0;
        std::erase_if(course, [&](const progress_point&) { return number++ % 2 != 0; });
    }
    course.push_back({p.last_updated, *p.current_step, std::string(loss_of(p))});
}

/// What a checkpoint holds that pods wrote in the grace of their deletion was not lost (13.1).
void note_late_checkpoint(const inputs& in, job_status& status) {
    const progress_report* said = in.seen.progress;
    time_spent& t = status.time;
    if (said == nullptr || !said->checkpoint_step || !may_save_work(status, said->attempt)) {
        return;
    }
    const instant written = known_time(in, said->checkpoint_time.value_or(said->time));
    const auto& before = status.progress;
    const bool on_record = before && before->attempt == said->attempt &&
                           before->checkpoint_step >= said->checkpoint_step;
    if (on_record || written < *t.since) {
        return;
    }
    t.lost -= t.recoverable;
    t.running += t.recoverable;
    t.recoverable = 0;
    if (!status.progress) {
        status.progress.emplace();
        status.progress->attempt = said->attempt;
        status.progress->rank = said->rank;
        status.progress->last_updated = written;
    }
    take_checkpoint(*status.progress, *said, written);
}

}  // namespace

void note_progress(const inputs& in, job_status& status) {
    note_late_checkpoint(in, status);
    const progress_report* said = in.seen.progress;
    const bool counts = said != nullptr && said->attempt > 0 && said->attempt == status.attempt &&
                        !in.was_paused() && !is_final(status.phase);
    if (!counts) {
        return;
    }
    const auto known = [&](instant t) { return known_time(in, t); };
    progress_status out = status.progress.value_or(progress_status{});
    if (out.attempt != said->attempt) {
        note_course(out, points::any);
    }
    const bool same = says_the_same(out, *said);
    const bool got_somewhere = out.current_step.value_or(0) > 0 || out.percentage.value_or(0) > 0;
    if (!got_somewhere || !is_from_nothing(*said)) {
        take_known(out.current_step, said->current_step);
        take_known(out.percentage, percentage_of(*said));
        out.remaining_seconds = said->remaining_seconds;
    }
    take_known(out.total_steps, said->total_steps);
    out.attempt = said->attempt;
    out.rank = said->rank;
    out.last_updated = known(said->time);
    out.advanced = same ? out.advanced : std::optional(known(said->advanced));
    if (said->checkpoint_step) {
        take_checkpoint(out, *said, known(said->checkpoint_time.value_or(said->time)));
    }
    if (!said->metrics.empty()) {
        out.metrics = bounded(said->metrics);
    }
    out.slowest = find_slowest(said->ranks);
    const bool older = status.progress && status.progress->attempt == said->attempt &&
                       status.progress->last_updated &&
                       *out.last_updated < *status.progress->last_updated;
    if (!older) {
        note_course(out, points::apart);
        status.progress = std::move(out);
    }
}

bool is_urgent_progress(const job_status& before, const job_status& after) {
    const auto& a = before.progress;
    const auto& b = after.progress;
    if (!b) {
        return a.has_value();
    }
    return !a || a->attempt != b->attempt ||
           (b->percentage.value_or(0) == 100 && a->percentage.value_or(0) != 100);
}

}  // namespace signalbox::core::engine
