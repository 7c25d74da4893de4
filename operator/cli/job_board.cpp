// SPDX-License-Identifier: Apache-2.0
#include "cli/job_board.hpp"

#include "cli/table.hpp"
#include "manifests/json_edit.hpp"

#include <jobcore/account.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

namespace signalbox::op::cli {

namespace {

constexpr std::array all_phases{
    core::job_phase::none,
    core::job_phase::pending,
    core::job_phase::running,
    core::job_phase::paused,
    core::job_phase::resuming,
    core::job_phase::unknown,
    core::job_phase::succeeded,
    core::job_phase::failed};

}  // namespace

std::string_view short_kind(core::job_kind kind) {
    switch (kind) {
        case core::job_kind::pytorch:
            return "pj";
        case core::job_kind::deepspeed:
            return "dj";
        case core::job_kind::colossalai:
            break;
    }
    return "caij";
}

std::string short_age(core::milliseconds age) {
    using namespace std::chrono;
    const auto s = std::max<std::int64_t>(0, floor<seconds>(age).count());
    constexpr std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour;
    if (s < 2 * minute) {
        return fmt::format("{}s", s);
    }
    if (s < 10 * minute) {
        return s % minute == 0 ? fmt::format("{}m", s / minute)
                               : fmt::format("{}m{}s", s / minute, s % minute);
    }
    if (s < 3 * hour) {
        return fmt::format("{}m", s / minute);
    }
    if (s < 8 * hour && s % hour >= minute) {
        return fmt::format("{}h{}m", s / hour, s % hour / minute);
    }
    if (s < 2 * day) {
        return fmt::format("{}h", s / hour);
    }
    if (s < 8 * day && s % day >= hour) {
        return fmt::format("{}d{}h", s / day, s % day / hour);
    }
    return fmt::format("{}d", s / day);
}

std::string job_board::put(core::job_kind kind, std::string_view object_json) {
    const core::job_status status = core::parse_status(object_json);
    row r;
    r.kind = kind;
    r.ns = core::in_one_line(manifests::string_at(object_json, "/metadata/namespace"));
    r.name = core::in_one_line(manifests::string_at(object_json, "/metadata/name"));
    r.phase = status.phase;
    r.ready = core::in_one_line(status.ready);
    r.restarts = status.backoff_count;
    r.disruptions = status.restarts.disruptions;
    r.reason = core::in_one_line(status.reason);
    const core::condition* stalled = core::find_condition(status, "Stalled");
    r.stall = stalled != nullptr && stalled->status ? core::in_one_line(stalled->message) : "";
    r.reports.phase = status.phase;
    r.reports.attempt = status.attempt;
    r.reports.progress = status.progress;
    r.created = core::parse_time(manifests::string_at(object_json, "/metadata/creationTimestamp"));
    std::string uid = manifests::string_at(object_json, "/metadata/uid");
    rows_.insert_or_assign(uid, std::move(r));
    return uid;
}

void job_board::erase(std::string_view object_json) {
    rows_.erase(manifests::string_at(object_json, "/metadata/uid"));
}

void job_board::keep_only(core::job_kind kind, const std::set<std::string>& uids) {
    std::erase_if(rows_, [&](const auto& entry) {
        return entry.second.kind == kind && uids.count(entry.first) == 0;
    });
}

std::string job_board::phase_cell(const row& r) const {
    const std::string text = phase_text(r.phase);
    return colours_ ? painted(text, colour_of(r.phase)) : text;
}

std::string job_board::progress_cell(const row& r) const {
    if (r.stall.empty()) {
        return core::progress_in_words(r.reports, now_);
    }
    return colours_ ? painted(r.stall, colour::yellow) : r.stall;
}

std::string job_board::summary() const {
    std::map<core::job_phase, std::size_t> phases;
    std::int64_t up = 0;
    std::int64_t wanted = 0;
    for (const auto& [uid, r] : rows_) {
        ++phases[r.phase];
        const std::size_t slash = std::min(r.ready.find('/'), r.ready.size());
        const std::string_view ready = r.ready;
        const bool counts = !core::is_final(r.phase) && slash < ready.size();
        up += counts ? core::read_whole_number(ready.substr(0, slash)).value_or(0) : 0;
        wanted += counts ? core::read_whole_number(ready.substr(slash + 1)).value_or(0) : 0;
    }
    std::string out = fmt::format("{} job{}", rows_.size(), rows_.size() == 1 ? "" : "s");
    std::string_view before = ": ";
    for (const core::job_phase phase : all_phases) {
        if (phases[phase] > 0) {
            const std::string text = phase == core::job_phase::none ? "new" : phase_text(phase);
            out += fmt::format("{}{} {}", before, phases[phase], text);
            before = ", ";
        }
    }
    return out + fmt::format("; {} of {} replicas ready", up, wanted);
}

std::string job_board::table() const {
    std::vector<const row*> sorted;
    for (const auto& [uid, r] : rows_) {
        sorted.push_back(&r);
    }
    const auto key = [](const row& r) {
        return std::tuple<bool, const std::string&, const std::string&, core::job_kind>(
            core::is_final(r.phase), r.ns, r.name, r.kind
        );
    };
    std::ranges::sort(sorted, [&](const row* a, const row* b) { return key(*a) < key(*b); });
    std::vector<table_cells> rows{
        {"NAMESPACE", "JOB", "PHASE", "READY", "RESTARTS", "DISRUPTIONS", "AGE", "REASON"}};
    std::vector<std::string> progress;
    for (const row* r : sorted) {
        progress.push_back(progress_cell(*r));
        rows.push_back(
            {r->ns,
             fmt::format("{}/{}", short_kind(r->kind), r->name),
             phase_cell(*r),
             dash_if_empty(r->ready),
             fmt::to_string(r->restarts),
             fmt::to_string(r->disruptions),
             r->created ? short_age(now_ - *r->created) : "-",
             dash_if_empty(r->reason)}
        );
    }
    if (std::ranges::any_of(progress, [](const std::string& cell) { return !cell.empty(); })) {
        rows.front().emplace_back("PROGRESS");
        for (std::size_t i = 0; i < progress.size(); ++i) {
            rows[i + 1].push_back(dash_if_empty(progress[i]));
        }
    }
    if (!namespaces_) {
        for (table_cells& cells : rows) {
            cells.erase(cells.begin());
        }
    }
    return table_text(rows);
}

}  // namespace signalbox::op::cli
