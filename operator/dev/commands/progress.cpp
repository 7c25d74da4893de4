// SPDX-License-Identifier: Apache-2.0
#include "commands/progress.hpp"

#include "cli/table.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace signalbox::op::cli {

namespace {

std::string age(std::chrono::nanoseconds t) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(t).count();
    return whole >= 120 ? fmt::format("{}m{}s", whole / 60, whole % 60) : fmt::format("{}s", whole);
}

/// Between `REASON` and `DURATION`.
constexpr std::ptrdiff_t training_column = 6;

/// `[####------] step 12 of 30 (40 %)`
std::string training_cell(const job_row& row) {
    constexpr std::int32_t length = 10;
    if (!row.percentage || core::is_final(row.phase)) {
        return dash_if_empty(row.training);
    }
    const auto done = static_cast<std::size_t>(std::clamp(*row.percentage / length, 0, length));
    return fmt::format("[{:-<{}}] {}", std::string(done, '#'), length, row.training);
}

}  // namespace

progress::progress(std::ostream& out, bool terminal, bool colours)
    : out_(out), terminal_(terminal), colours_(colours) {}

std::string progress::paint(const std::string& text, colour c) const {
    return colours_ ? painted(text, c) : text;
}

std::string progress::phase_cell(const job_row& row) const {
    return paint(phase_text(row.phase), colour_of(row.phase));
}

void progress::job(const std::string& uid, job_row row, std::chrono::nanoseconds at) {
    for (std::string* text :
         {&row.ready, &row.reason, &row.duration, &row.hindrance, &row.training}) {
        *text = core::in_one_line(*text);
    }
    const auto [it, fresh] = rows_.try_emplace(uid, row);
    if (fresh) {
        order_.push_back(uid);
    }
    row.last_line = it->second.last_line;
    const job_row before = std::exchange(it->second, row);
    const bool hinders = !row.hindrance.empty() && row.hindrance != before.hindrance;
    const bool moved = fresh || before.phase != row.phase || before.reason != row.reason ||
                       before.ready != row.ready || before.restarts != row.restarts;
    if (moved) {
        tell_phase(row, before.restarts, at);
    }
    // What does not come by itself is said where one looks, and not in an event of a pod alone.
    if (fresh ? !row.hindrance.empty() : hinders) {
        line(at, row.name, "  " + paint("! waits: " + row.hindrance, colour::yellow));
    }
    if (!row.training.empty() && (fresh || row.training != before.training)) {
        tell_training(uid, row, at);
    }
}

void progress::tell_training(
    const std::string& uid, const job_row& row, std::chrono::nanoseconds at
) {
    if (terminal_) {
        redraw_table();
        return;
    }
    const std::int32_t tenth = row.percentage ? *row.percentage / 10 : -1;
    const auto [last, first] = told_.try_emplace(uid, told_training{tenth, at});
    const bool moved = row.percentage ? tenth != last->second.tenth
                                      : at - last->second.at >= std::chrono::minutes{1};
    if (first || moved) {
        last->second = {tenth, at};
        line(at, row.name, "  training: " + row.training);
    }
}

void progress::tell_phase(
    const job_row& row, std::int64_t restarts_before, std::chrono::nanoseconds at
) {
    std::string text = phase_cell(row);
    if (!row.reason.empty() && row.reason != phase_text(row.phase)) {
        text += " (" + row.reason + ")";
    }
    if (!row.ready.empty()) {
        text += fmt::format(", {} ready", row.ready);
    }
    if (row.restarts != restarts_before) {
        text += fmt::format(", restart {}", row.restarts);
    }
    line(at, row.name, row.phase == core::job_phase::none ? "accepted" : text);
}

void progress::job_gone(const std::string& uid, std::chrono::nanoseconds at) {
    const auto it = rows_.find(uid);
    if (it != rows_.end()) {
        line(at, it->second.name, "deleted");
        rows_.erase(it);
        std::erase(order_, uid);
        redraw_table();
    }
}

void progress::event(const std::string& job, job_event seen) {
    std::vector<job_event>& known = events_[job];
    const auto same = std::ranges::find_if(known, [&](const job_event& e) {
        return e.reason == seen.reason && e.message == seen.message;
    });
    const bool normal = seen.type == "Normal";
    const std::string text =
        core::in_one_line(fmt::format("{}{}: {}", normal ? "" : "! ", seen.reason, seen.message));
    line(seen.at, job, "  " + paint(text, normal ? colour::faint : colour::yellow));
    if (same != known.end()) {
        same->count = std::max(same->count, seen.count);
        return;
    }
    known.push_back(std::move(seen));
}

bool progress::set_last_line(job_row& row, const std::string& replica, const std::string& text) {
    std::string line = fmt::format("{}: {}", replica, core::in_one_line(text));
    const std::string before = std::exchange(row.last_line, std::move(line));
    return row.last_line != before;
}

void progress::log(
    const std::string& uid,
    const std::string& replica,
    const std::string& text,
    std::chrono::nanoseconds at
) {
    const auto it = rows_.find(uid);
    if (it == rows_.end()) {
        return;
    }
    set_last_line(it->second, replica, text);
    if (show_logs_) {
        line(at, it->second.name, fmt::format("  {} | {}", replica, core::in_one_line(text)));
    } else if (terminal_) {
        redraw_table();
    }
}

void progress::drawn(
    const std::string& uid,
    const std::string& replica,
    const std::string& text,
    std::chrono::nanoseconds at
) {
    const auto it = rows_.find(uid);
    if (it == rows_.end()) {
        return;
    }
    const auto [last, fresh] = drawn_at_.try_emplace(uid + replica, at);
    if (!show_logs_ || (!fresh && at - last->second < std::chrono::seconds{1})) {
        if (set_last_line(it->second, replica, text) && terminal_) {
            redraw_table();
        }
        return;
    }
    last->second = at;
    log(uid, replica, text, at);
}

void progress::note(const std::string& text) {
    print(text + "\n");
}

std::string progress::table(bool with_logs) const {
    std::vector<table_cells> rows{
        {"JOB", "KIND", "PHASE", "READY", "RESTARTS", "REASON", "DURATION"}};
    const bool logs = with_logs && std::ranges::any_of(rows_, [](const auto& r) {
                          return !r.second.last_line.empty();
                      });
    if (logs) {
        rows.front().emplace_back("LAST LOG LINE");
    }
    const bool trains =
        std::ranges::any_of(rows_, [](const auto& r) { return !r.second.training.empty(); });
    if (trains) {
        rows.front().insert(rows.front().begin() + training_column, "TRAINING");
    }
    for (const std::string& uid : order_) {
        const job_row& r = rows_.at(uid);
        rows.push_back(
            {r.name,
             r.kind,
             phase_cell(r),
             dash_if_empty(r.ready),
             std::to_string(r.restarts),
             dash_if_empty(r.reason),
             dash_if_empty(r.duration)}
        );
        if (trains) {
            rows.back().insert(rows.back().begin() + training_column, training_cell(r));
        }
        if (logs) {
            rows.back().push_back(dash_if_empty(r.last_line));
        }
    }
    return table_text(rows);
}

std::string progress::events(std::chrono::nanoseconds now) const {
    std::string out;
    for (const std::string& uid : order_) {
        const std::string& job = rows_.at(uid).name;
        out += fmt::format("Events of {}:\n", job);
        const auto it = events_.find(job);
        if (it == events_.end()) {
            out += "  <none>\n";
            continue;
        }
        std::vector<table_cells> rows{{"  Type", "Reason", "Age", "From", "Message"}};
        for (const job_event& e : it->second) {
            const std::string when =
                e.count > 1 ? fmt::format("{} (x{})", age(now - e.at), e.count) : age(now - e.at);
            const std::string type =
                e.type == "Normal" ? e.type : paint(core::in_one_line(e.type), colour::yellow);
            rows.push_back(
                {"  " + type,
                 core::in_one_line(e.reason),
                 when,
                 core::in_one_line(e.from),
                 core::in_one_line(e.message)}
            );
        }
        out += table_text(rows);
    }
    return out;
}

std::vector<job_row> progress::jobs() const {
    std::vector<job_row> out;
    for (const std::string& uid : order_) {
        out.push_back(rows_.at(uid));
    }
    return out;
}

bool progress::all_final(const std::vector<std::string>& uids) const {
    return std::ranges::all_of(uids, [&](const std::string& uid) {
        const auto it = rows_.find(uid);
        return it != rows_.end() && core::is_final(it->second.phase);
    });
}

bool progress::all_succeeded(const std::vector<std::string>& uids) const {
    return std::ranges::all_of(uids, [&](const std::string& uid) {
        const auto it = rows_.find(uid);
        return it != rows_.end() && it->second.phase == core::job_phase::succeeded;
    });
}

std::string progress::hindered(const std::vector<std::string>& uids) const {
    std::string out;
    for (const std::string& uid : uids) {
        const auto it = rows_.find(uid);
        if (it == rows_.end() || it->second.runs) {
            return {};
        }
        if (core::is_final(it->second.phase)) {
            continue;
        }
        if (it->second.hindrance.empty()) {
            return {};
        }
        out += fmt::format("\n  {}: {}", it->second.name, it->second.hindrance);
    }
    return out;
}

void progress::close() {
    erase_table();
    terminal_ = false;
    out_.flush();
}

void progress::line(std::chrono::nanoseconds at, const std::string& job, const std::string& text) {
    const double seconds = std::chrono::duration<double>(at).count();
    print(fmt::format("{:>6.1f}s  {:<16} {}\n", seconds, job, text));
}

void progress::print(const std::string& text) {
    erase_table();
    out_ << text;
    draw_table();
    out_.flush();
}

void progress::resized() {
    if (terminal_) {
        redraw_table();
    }
}

void progress::erase_table() {
    if (!terminal_ || drawn_.empty()) {
        return;
    }
    // A terminal that has become narrower has wrapped the lines.
    const std::size_t columns = terminal_columns();
    std::size_t rows = 0;
    for (const std::size_t width : drawn_) {
        rows += std::max<std::size_t>((width + columns - 1) / columns, 1);
    }
    fmt::print(out_, "\x1b[{}A\x1b[J", rows);
    drawn_.clear();
}

void progress::redraw_table() {
    erase_table();
    draw_table();
}

void progress::draw_table() {
    if (!terminal_ || order_.empty()) {
        return;
    }
    const std::string text = "\n" + fit_terminal(table(true), 3);
    out_ << text;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        drawn_.push_back(visible_width(std::string_view(text).substr(begin, end - begin)));
        begin = end + 1;
    }
    out_.flush();
}

}  // namespace signalbox::op::cli
