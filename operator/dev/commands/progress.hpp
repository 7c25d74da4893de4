// SPDX-License-Identifier: Apache-2.0
//
// What a person sees while jobs run: a line for each step, and a table of all jobs; on a terminal
// the table stays at the bottom and is drawn anew, elsewhere it is printed once at the end.
#pragma once

#include "cli/colour.hpp"

#include <jobcore/status.hpp>

#include <chrono>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::cli {

struct job_row {
    std::string name;  ///< `namespace/name` outside of the namespace `default`
    std::string kind;
    core::job_phase phase = core::job_phase::none;
    std::string ready;
    std::int64_t restarts = 0;
    std::string reason;
    std::string duration;
    std::string message;  ///< why it failed, or what it waits for
    std::chrono::milliseconds took{0};
    std::string hindrance;  ///< why a pod cannot start; empty: nothing is known to hinder it
    bool runs = false;      ///< a pod of it does
    std::string training;   ///< how far it is, as its processes report; empty: they do not
    std::optional<std::int32_t> percentage;  ///< of that
    std::string last_line;                   ///< of its logs; kept by progress
};

struct job_event {
    std::string type;
    std::string reason;
    std::string message;
    std::string from;
    std::int64_t count = 1;
    std::chrono::nanoseconds at{0};  ///< from the start of the session
};

class progress {
public:
    /// `terminal`: redraw. `colours`: phases and warnings have theirs. `out` must outlive it.
    progress(std::ostream& out, bool terminal, bool colours);

    /// A job's state, as often as it is seen. A line is printed for each change of phase, reason or
    /// readiness. How far training is a terminal's table shows at once, as a bar; elsewhere a line
    /// is printed for each tenth of it, or each minute where no percentage is reported.
    void job(const std::string& uid, job_row row, std::chrono::nanoseconds at);
    void job_gone(const std::string& uid, std::chrono::nanoseconds at);
    /// An event about the job of that name.
    void event(const std::string& job, job_event seen);
    /// A line that a replica of the job with that UID wrote.
    void log(
        const std::string& uid,
        const std::string& replica,
        const std::string& text,
        std::chrono::nanoseconds at
    );
    /// What a replica draws in a line that has not ended, a progress bar, as often as it does: the
    /// table shows it at once, and it is printed once a second.
    void drawn(
        const std::string& uid,
        const std::string& replica,
        const std::string& text,
        std::chrono::nanoseconds at
    );
    /// Whether lines of logs are printed; without, only the table shows the last one of each job.
    void show_logs(bool on) { show_logs_ = on; }
    bool shows_logs() const { return show_logs_; }
    /// Any other line.
    void note(const std::string& text);

    /// The table, for the end: without the last lines of logs.
    std::string table() const { return table(false); }
    /// The events of each job, in the form of `kubectl describe`.
    std::string events(std::chrono::nanoseconds now) const;

    /// In the order in which they were seen.
    std::vector<job_row> jobs() const;
    bool all_final(const std::vector<std::string>& uids) const;
    bool all_succeeded(const std::vector<std::string>& uids) const;
    /// What hinders those of these jobs that have not ended, a line for each; empty if one of them
    /// has a pod that runs or is hindered by nothing, or if all have ended.
    std::string hindered(const std::vector<std::string>& uids) const;
    /// The terminal has another size.
    void resized();
    /// Takes the table off the terminal; nothing may be drawn after.
    void close();

private:
    void tell_phase(const job_row& row, std::int64_t restarts_before, std::chrono::nanoseconds at);
    void tell_training(const std::string& uid, const job_row& row, std::chrono::nanoseconds at);
    void line(std::chrono::nanoseconds at, const std::string& job, const std::string& text);
    void print(const std::string& text);
    std::string paint(const std::string& text, colour c) const;
    std::string phase_cell(const job_row& row) const;
    std::string table(bool with_logs) const;
    void erase_table();
    void draw_table();
    void redraw_table();
    /// True if the row showed something else before.
    bool set_last_line(job_row& row, const std::string& replica, const std::string& text);

    std::ostream& out_;
    bool terminal_;
    bool colours_;
    bool show_logs_ = false;
    std::vector<std::size_t> drawn_;       ///< widths of the table's lines on the terminal
    std::map<std::string, job_row> rows_;  // by UID
    std::vector<std::string> order_;
    std::map<std::string, std::vector<job_event>> events_;      // by job
    std::map<std::string, std::chrono::nanoseconds> drawn_at_;  // by UID and replica
    /// What was said last of how far training is.
    struct told_training {
        std::int32_t tenth = -1;  ///< of the percentage; -1: nothing was said, or there is none
        std::chrono::nanoseconds at{0};
    };
    std::map<std::string, told_training> told_;  // by UID
};

}  // namespace signalbox::op::cli
