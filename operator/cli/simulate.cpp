// SPDX-License-Identifier: Apache-2.0
//
// `signalbox simulate`: how long a job trains when nodes and programs fail by chance, by the
// decisions of the real engine.
#include "cli/check.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/json_report.hpp"
#include "cli/print_line.hpp"
#include "cli/settings.hpp"
#include "cli/simulation/training_run.hpp"
#include "manifests/duration.hpp"
#include "manifests/json_edit.hpp"
#include "manifests/stored_object.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::op::cli {

namespace {

using core::milliseconds;

/// What all runs of a job came to.
struct summary {
    std::string job;                 ///< `PyTorchTrainingJob mnist`
    bool without_scheduler = false;  ///< it names one, or a queue, which has no part in it
    std::size_t pods = 0;
    std::size_t runs = 0;
    std::map<std::string, std::size_t> ends;
    std::vector<milliseconds> finished;  ///< times of the runs that succeeded, the shortest first
    training_outcome sum;                ///< of all runs

    double mean(std::uint64_t total) const {
        return static_cast<double>(total) / static_cast<double>(runs);
    }
    double share(milliseconds of) const {
        return sum.total > milliseconds::zero()
                   ? static_cast<double>(of.count()) / static_cast<double>(sum.total.count())
                   : 0;
    }
    milliseconds mean_finish() const {
        milliseconds total{};
        for (const milliseconds one : finished) {
            total += one;
        }
        return finished.empty() ? total : total / std::ssize(finished);
    }
    /// The shortest time that so many of a hundred runs that succeed do not exceed.
    milliseconds percentile(int percent) const {
        const std::size_t rank = (finished.size() * static_cast<std::size_t>(percent) + 99) / 100;
        return finished.at(std::max<std::size_t>(rank, 1) - 1);
    }
};

constexpr std::array percentiles{10, 50, 90, 99};

/// `14d 6h`, `6h 20m`, `20m 5s`, `5s`.
std::string span_text(milliseconds span) {
    using namespace std::chrono;
    const auto s = floor<seconds>(span).count();
    struct unit {
        std::int64_t long_one, short_one;
        const char *long_name, *short_name;
    };
    constexpr std::array units{
        unit{86'400, 3'600, "d", "h"}, unit{3'600, 60, "h", "m"}, unit{60, 1, "m", "s"}};
    for (const unit& u : units) {
        if (s >= u.long_one) {
            const std::int64_t rest = s % u.long_one / u.short_one;
            return fmt::format("{}{} {}{}", s / u.long_one, u.long_name, rest, u.short_name);
        }
    }
    return fmt::format("{}s", s);
}

/// Of the label that asks for Kueue, as a JSON pointer.
constexpr const char* queue_label = "/metadata/labels/kueue.x-k8s.io~1queue-name";

/// A part of the time, and its names.
struct time_part {
    const char* key;
    const char* words;
    milliseconds (*of)(const training_outcome& sum);
};
constexpr std::array time_parts{
    time_part{"useful", "work that is kept", [](const training_outcome& o) { return o.useful; }},
    time_part{"lost", "work that is lost", [](const training_outcome& o) { return o.lost; }},
    time_part{"checkpoints", "checkpoints", [](const training_outcome& o) { return o.saving; }},
    time_part{
        "waiting", "starts and restarts", [](const training_outcome& o) { return o.waiting(); }},
};

core::result<summary> simulate_job(
    const checked_object& object,
    const simulate_options& options,
    const training_model& model,
    const core::policy& rules
) {
    summary out;
    out.job = title(object.source);
    // Whoever waits for room waits for other jobs, which are not here.
    const std::string stored = manifests::as_stored(object.source.json());
    const std::string json = manifests::with_value(
        manifests::without(stored, {"/spec/scheduler", queue_label}), "/metadata/generation", "1"
    );
    const auto named = core::parse_job(stored);
    out.without_scheduler = named.spec && named.spec->scheduler;
    const core::result<core::job_object> job = core::read_job(json);
    if (!job || !job->compiled->plan) {
        return core::unexpected{job ? "its specification has errors" : job.error()};
    }
    for (const core::type_plan& type : job->compiled->plan->types) {
        out.pods += static_cast<std::size_t>(type.wanted);
    }
    for (std::uint64_t run = 0; run < options.runs; ++run) {
        const training_outcome one = run_training(*job, json, model, rules, options.seed + run);
        ++out.runs;
        ++out.ends[one.end];
        if (one.end == "Succeeded") {
            out.finished.push_back(one.total);
        }
        out.sum.total += one.total;
        out.sum.useful += one.useful;
        out.sum.lost += one.lost;
        out.sum.saving += one.saving;
        out.sum.nodes += one.nodes;
        out.sum.programs += one.programs;
        out.sum.attempts += one.attempts;
    }
    std::ranges::sort(out.finished);
    return out;
}

void print_text(const summary& s, const simulate_options& options, std::ostream& out) {
    print_line(
        out,
        "{}: {} pod{}, {} run{}, seeds from {}",
        s.job,
        s.pods,
        s.pods == 1 ? "" : "s",
        s.runs,
        s.runs == 1 ? "" : "s",
        options.seed
    );
    if (s.without_scheduler) {
        print_line(out, "  without its scheduler and queue: its pods have their places at once");
    }
    std::string ends;
    for (const auto& [end, count] : s.ends) {
        const double part = 100 * s.mean(count);
        ends += fmt::format("{}{} {:.1f} %", ends.empty() ? "" : ", ", end, part);
    }
    print_line(out, "  ends      {}", ends);
    if (!s.finished.empty()) {
        std::string times;
        for (const int percent : percentiles) {
            times += fmt::format("p{} {}, ", percent, span_text(s.percentile(percent)));
        }
        print_line(out, "  finishes  {}mean {}", times, span_text(s.mean_finish()));
    }
    std::string parts;
    for (const time_part& part : time_parts) {
        const double percent = 100 * s.share(part.of(s.sum));
        parts += fmt::format("{}{} {:.1f} %", parts.empty() ? "" : ", ", part.words, percent);
    }
    print_line(out, "  time      {}", parts);
    print_line(
        out,
        "  failures  {:.1f} nodes and {:.1f} programs in a run, {:.1f} attempts",
        s.mean(s.sum.nodes),
        s.mean(s.sum.programs),
        s.mean(s.sum.attempts)
    );
}

void write_json(const summary& s, const simulate_options& options, json_report& to) {
    const auto seconds = [](milliseconds of) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(of.count() / 1000, 0));
    };
    json_report::writer_type& w = to.writer();
    const auto real = [&w](const char* key, double value) {
        w.Key(key);
        w.Double(value);
    };
    w.StartObject();
    to.text("job", s.job);
    to.number("pods", s.pods);
    to.number("runs", s.runs);
    to.number("seed", options.seed);
    to.flag("withoutScheduler", s.without_scheduler);
    w.Key("ends");
    w.StartObject();
    for (const auto& [end, count] : s.ends) {
        to.number(core::printable(end).c_str(), count);
    }
    w.EndObject();
    w.Key("finishSeconds");
    w.StartObject();
    if (!s.finished.empty()) {
        for (const int percent : percentiles) {
            to.number(fmt::format("p{}", percent).c_str(), seconds(s.percentile(percent)));
        }
        to.number("mean", seconds(s.mean_finish()));
    }
    w.EndObject();
    w.Key("timeShares");
    w.StartObject();
    for (const time_part& part : time_parts) {
        real(part.key, s.share(part.of(s.sum)));
    }
    w.EndObject();
    real("nodesLost", s.mean(s.sum.nodes));
    real("programsFailed", s.mean(s.sum.programs));
    real("attempts", s.mean(s.sum.attempts));
    w.EndObject();
}

/// An option that is a time.
struct time_option {
    const char* name;
    std::string simulate_options::*text;
    milliseconds training_model::*to;
    bool may_be_zero;
    bool may_be_never;  ///< it does not happen then
};

using so = simulate_options;
using model_of = training_model;
constexpr std::array time_options{
    time_option{"--training-time", &so::training_time, &model_of::work, false, false},
    time_option{
        "--checkpoint-every", &so::checkpoint_every, &model_of::checkpoint_every, false, true},
    time_option{
        "--checkpoint-takes", &so::checkpoint_takes, &model_of::checkpoint_takes, true, false},
    time_option{"--start-takes", &so::start_takes, &model_of::start_takes, true, false},
    time_option{"--node-mtbf", &so::node_mtbf, &model_of::node_mtbf, false, true},
    time_option{"--program-mtbf", &so::program_mtbf, &model_of::program_mtbf, false, true},
    time_option{"--limit", &so::limit, &model_of::limit, false, false},
};

/// All that is wrong, a line each.
std::vector<std::string> read_model(const simulate_options& options, training_model& model) {
    std::vector<std::string> wrong;
    for (const time_option& option : time_options) {
        const std::string& text = options.*option.text;
        const std::optional<duration> time = parse_duration(text);
        const bool is_never = time == never;
        const bool fits = time && (is_never ? option.may_be_never
                                            : option.may_be_zero || *time >= milliseconds(1));
        if (!fits) {
            wrong.push_back(fmt::format(
                "{}: `{}` is no time such as 30s, 10m, 2h, 7d{}{}",
                option.name,
                text,
                option.may_be_never ? " or never" : "",
                option.may_be_zero ? "" : ", and more than 0"
            ));
        } else if (!is_never) {
            model.*option.to = std::chrono::floor<milliseconds>(*time);
        }
    }
    return wrong;
}

}  // namespace

int simulate(const simulate_options& options, std::ostream& out, std::ostream& err) {
    training_model model;
    core::policy rules;
    std::vector<std::string> wrong = read_model(options, model);
    if (const auto error = set_policy(rules, options.policy)) {
        wrong.push_back(*error);
    }
    for (const std::string& line : wrong) {
        print_line(err, "signalbox simulate: {}", line);
    }
    const check_result checked = check(options.files);
    for (const finding& f : checked.findings) {
        print_line(err, "{}", to_text(f));
    }
    if (!wrong.empty() || checked.errors > 0) {
        return exit_refused;
    }
    if (checked.jobs() == 0) {
        fmt::print(err, "signalbox simulate: no training job in these files\n");
        return exit_refused;
    }
    int code = exit_ok;
    std::vector<summary> summaries;
    for (const checked_object& object : checked.objects) {
        if (!object.is_job) {
            continue;
        }
        core::result<summary> one = simulate_job(object, options, model, rules);
        if (!one) {
            print_line(err, "signalbox simulate: {}: {}", title(object.source), one.error());
            code = exit_failed;
        } else if (options.output == output_format::text) {
            print_text(*one, options, out);
        } else {
            summaries.push_back(*std::move(one));
        }
    }
    if (options.output == output_format::json) {
        json_report report(out);
        report.writer().StartObject();
        report.list("jobs", summaries, [&](const summary& s) { write_json(s, options, report); });
        report.writer().EndObject();
        out << '\n';
    }
    return code;
}

}  // namespace signalbox::op::cli
