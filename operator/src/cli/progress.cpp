// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <ostream>

#include <unistd.h>

namespace signalbox::op::cli {

namespace {

using cells = std::vector<std::string>;

/// Characters on a terminal: without the sequences of colours.
std::size_t visible(const std::string& cell) {
    std::size_t out = core::count_characters(cell);
    for (std::size_t at = cell.find('\x1b'); at != std::string::npos;
         at = cell.find('\x1b', at + 1)) {
        out -= cell.find('m', at) - at + 1;
    }
    return out;
}

/// Columns as wide as their widest cell, three spaces apart, as kubectl prints them.
std::string columns(const std::vector<cells>& rows) {
    std::vector<std::size_t> widths;
    for (const cells& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], visible(row[i]));
        }
    }
    std::string out;
    for (const cells& row : rows) {
        std::string text;
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += row[i] + std::string(widths[i] - visible(row[i]) + 3, ' ');
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + '\n';
    }
    return out;
}

std::string age(std::chrono::nanoseconds t) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(t).count();
    return whole >= 120 ? fmt::format("{}m{}s", whole / 60, whole % 60) : fmt::format("{}s", whole);
}

std::string dash_if_empty(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string phase_text(const job_row& row) {
    return row.phase == core::job_phase::none ? "-" : std::string(core::to_string(row.phase));
}

colour colour_of(core::job_phase phase) {
    switch (phase) {
        case core::job_phase::succeeded:
            return colour::green;
        case core::job_phase::failed:
            return colour::red;
        case core::job_phase::paused:
        case core::job_phase::resuming:
        case core::job_phase::pending:
        case core::job_phase::unknown:
            return colour::yellow;
        case core::job_phase::none:
        case core::job_phase::running:
            break;
    }
    return colour::none;
}

/// Texts of users and servers must not move the cursor.
std::string printable(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' '
    );
    return text;
}

/// Cut to the terminal: a line that wraps, or one above its top, could not be erased again.
std::string fit_terminal(const std::string& text) {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const std::size_t columns = known ? size.ws_col : 80;
    const std::size_t rows = known && size.ws_row > 4 ? size.ws_row - 3U : 20;
    std::string out;
    std::size_t line = 0;
    for (std::size_t begin = 0; begin < text.size() && line < rows; ++line) {
        const std::size_t end = text.find('\n', begin);
        out += cut_to(std::string_view(text).substr(begin, end - begin), columns - 1) + '\n';
        begin = end + 1;
    }
    return out;
}

}  // namespace

progress::progress(std::ostream& out, bool terminal, bool colours)
    : out_(out), terminal_(terminal), colours_(colours) {}

std::string progress::paint(const std::string& text, colour c) const {
    return colours_ ? painted(text, c) : text;
}

std::string progress::phase_cell(const job_row& row) const {
    return paint(phase_text(row), colour_of(row.phase));
}

void progress::job(const std::string& uid, job_row row, std::chrono::nanoseconds at) {
    for (std::string* text : {&row.ready, &row.reason, &row.duration}) {
        *text = printable(std::move(*text));
    }
    const auto [it, fresh] = rows_.try_emplace(uid, row);
    if (fresh) {
        order_.push_back(uid);
    }
    const job_row before = std::exchange(it->second, row);
    const bool moved = fresh || before.phase != row.phase || before.reason != row.reason ||
                       before.ready != row.ready || before.restarts != row.restarts;
    if (!moved) {
        return;
    }
    std::string text = phase_cell(row);
    if (!row.reason.empty() && row.reason != phase_text(row)) {
        text += " (" + row.reason + ")";
    }
    if (!row.ready.empty()) {
        text += fmt::format(", {} ready", row.ready);
    }
    if (row.restarts != before.restarts) {
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
        erase_table();
        draw_table();
    }
}

void progress::event(const std::string& job, job_event seen) {
    std::vector<job_event>& known = events_[job];
    const auto same = std::ranges::find_if(known, [&](const job_event& e) {
        return e.reason == seen.reason && e.message == seen.message;
    });
    const bool normal = seen.type == "Normal";
    const std::string text =
        printable(fmt::format("{}{}: {}", normal ? "" : "! ", seen.reason, seen.message));
    line(seen.at, job, "  " + paint(text, normal ? colour::faint : colour::yellow));
    if (same != known.end()) {
        same->count = std::max(same->count, seen.count);
        return;
    }
    known.push_back(std::move(seen));
}

void progress::note(const std::string& text) {
    print(text + "\n");
}

std::string progress::table() const {
    std::vector<cells> rows{{"JOB", "KIND", "PHASE", "READY", "RESTARTS", "REASON", "DURATION"}};
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
    }
    return columns(rows);
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
        std::vector<cells> rows{{"  Type", "Reason", "Age", "From", "Message"}};
        for (const job_event& e : it->second) {
            const std::string when =
                e.count > 1 ? fmt::format("{} (x{})", age(now - e.at), e.count) : age(now - e.at);
            const std::string type =
                e.type == "Normal" ? e.type : paint(printable(e.type), colour::yellow);
            rows.push_back({"  " + type, e.reason, when, e.from, printable(e.message)});
        }
        out += columns(rows);
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

void progress::erase_table() {
    if (terminal_ && drawn_ > 0) {
        fmt::print(out_, "\x1b[{}A\x1b[J", drawn_);
        drawn_ = 0;
    }
}

void progress::draw_table() {
    if (!terminal_ || order_.empty()) {
        return;
    }
    const std::string text = "\n" + fit_terminal(table());
    out_ << text;
    drawn_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    out_.flush();
}

}  // namespace signalbox::op::cli
