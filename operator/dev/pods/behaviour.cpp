// SPDX-License-Identifier: Apache-2.0
#include "pods/behaviour.hpp"

#include <jobcore/status.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

namespace signalbox::op::pods {

namespace {

using problem = std::optional<std::string>;
using setter = std::function<problem(behaviour&, std::string_view)>;

problem wrong(std::string_view value, std::string_view wanted) {
    return fmt::format("`{}` is not {}", value, wanted);
}

template <class T>
setter time(T behaviour::*field) {
    return [field](behaviour& b, std::string_view value) -> problem {
        const std::optional<duration> parsed = parse_duration(value);
        if (!parsed) {
            return wrong(value, "a duration such as 300ms, 2s, 1m or never");
        }
        b.*field = *parsed;
        return std::nullopt;
    };
}

/// Faults that may have no end are also written as `true`.
setter time_or_true(std::optional<duration> behaviour::*field) {
    return [field](behaviour& b, std::string_view value) -> problem {
        if (value == "true" || value == "false") {
            b.*field = value == "true" ? std::optional(never) : std::nullopt;
            return std::nullopt;
        }
        return time(field)(b, value);
    };
}

setter number(std::int32_t behaviour::*field, std::int32_t most) {
    return [field, most](behaviour& b, std::string_view value) -> problem {
        const auto parsed = core::read_whole_number(value, most);
        if (!parsed) {
            return wrong(value, fmt::format("a number from 0 to {}", most));
        }
        b.*field = *parsed;
        return std::nullopt;
    };
}

setter any_text(std::string behaviour::*field) {
    return [field](behaviour& b, std::string_view value) -> problem {
        b.*field = std::string(value);
        return std::nullopt;
    };
}

problem set_sidecars(behaviour& b, std::string_view value) {
    if (value != "run" && value != "exit") {
        return wrong(value, "`run` or `exit`");
    }
    b.sidecars_end = value == "exit";
    return std::nullopt;
}

problem set_image_error(behaviour& b, std::string_view value) {
    if (!b.image_error_for) {
        b.image_error_for = never;
    }
    b.image_error = value == "true" ? "ImagePullBackOff" : std::string(value);
    return std::nullopt;
}

std::map<std::string_view, setter> make_setters() {
    std::map<std::string_view, setter> table{
        {"schedule-after", time(&behaviour::schedule_after)},
        {"start-after", time(&behaviour::start_after)},
        {"init-duration", time(&behaviour::init_duration)},
        {"ready-after", time(&behaviour::ready_after)},
        {"duration", time(&behaviour::run_for)},
        {"stop-after", time(&behaviour::stop_after)},
        {"sidecars", set_sidecars},
        {"exit-code", number(&behaviour::exit_code, 255)},
        {"message", any_text(&behaviour::message)},
        {"reason", any_text(&behaviour::reason)},
        {"unschedulable", time_or_true(&behaviour::unschedulable_for)},
        {"image-error", set_image_error},
        {"image-error-for", time(&behaviour::image_error_for)},
        {"init-exit-code", number(&behaviour::init_exit_code, 255)},
        {"fail-times", number(&behaviour::fail_times, 1'000'000)},
        {"only-index", any_text(&behaviour::only_index)},
        {"step-every", time(&behaviour::step_every)},
        {"total-steps", number(&behaviour::total_steps, 2'000'000'000)},
        {"checkpoint-every", number(&behaviour::checkpoint_every, 2'000'000'000)},
        {"stall-at", time(&behaviour::stall_at)},
    };
    for (const fault_setting& f : fault_settings) {
        table.emplace(f.key, time(f.at));
    }
    return table;
}

const std::map<std::string_view, setter>& setters() {
    static const std::map<std::string_view, setter> table = make_setters();
    return table;
}

/// It has a fault that is not the end of its training.
bool has_other_fault(const behaviour& b) {
    const bool timed = std::ranges::any_of(fault_settings, [&b](const fault_setting& f) {
        return f.what != fault::kill && b.*f.at;
    });
    return timed || b.stall_at || b.unschedulable_for || b.image_error_for || b.init_exit_code != 0;
}

}  // namespace

std::optional<std::string> set(behaviour& of, std::string_view key, std::string_view value) {
    const auto it = setters().find(key);
    if (it == setters().end()) {
        return fmt::format("there is no setting `{}`", key);
    }
    return it->second(of, value);
}

behaviour for_pod(behaviour general, std::int32_t index, std::int32_t nth) {
    const bool index_hit =
        general.only_index.empty() || core::index_set::parse(general.only_index).contains(index);
    const bool hit = index_hit && (general.fail_times == 0 || nth <= general.fail_times);
    if (hit) {
        const bool bounded = general.fail_times > 0 || !general.only_index.empty();
        // `fail-times: 2` alone already says that something fails.
        if ((general.fail_at || (bounded && !has_other_fault(general))) && general.exit_code == 0) {
            general.exit_code = 1;
        }
        return general;
    }
    general.exit_code = 0;
    general.message = {};
    general.reason = {};
    for (const fault_setting& f : fault_settings) {
        (general.*f.at).reset();
    }
    general.stall_at.reset();
    general.unschedulable_for.reset();
    general.image_error_for.reset();
    general.init_exit_code = 0;
    return general;
}

}  // namespace signalbox::op::pods
