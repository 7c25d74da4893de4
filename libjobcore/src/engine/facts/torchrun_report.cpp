// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/torchrun_report.hpp"

#include "engine/facts/code_place.hpp"
#include "engine/facts/line_words.hpp"
#include "engine/facts/pod_facts.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace signalbox::core::engine {
namespace {

/// Behind the rank, in each entry of a report.
constexpr std::string_view local_rank = " (local_rank: ";
constexpr std::string_view root_cause = "Root Cause (first observed failure):";
/// What ColossalAI's launcher says of each node that failed, also of one that it has lost.
constexpr std::string_view node_failed = "Error: failed to run ";

/// `exitcode  : -9 (pid: 45)` among the lines of a report; empty if it has none of that name.
std::string_view field_of(std::string_view report, std::string_view name) {
    while (!report.empty()) {
        const std::size_t end = report.find('\n');
        const std::string_view line = trimmed(report.substr(0, end));
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == name) {
            return trimmed(line.substr(colon + 1));
        }
        report.remove_prefix(end == std::string_view::npos ? report.size() : end + 1);
    }
    return {};
}

std::optional<std::int32_t> leading_number(std::string_view text) {
    std::int32_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc{} ? std::optional(n) : std::nullopt;
}

/// A negative code is a signal; shells and kubelets say 128 + n.
std::int32_t code_of_shells(std::int32_t code) {
    return code < 0 && code > -128 ? 128 - code : code;
}

/// Of those that end in the same way, who was seen first is chance.
bool is_lower(const failed_rank& a, const failed_rank& b) {
    return a.code == b.code && a.rank && b.rank && *a.rank < *b.rank;
}

/// ` : -9 (pid: 45)`, wherever in a line: with that a report tells how a rank ended. What stands
/// before it may be of another report, whose lines were cut in between.
std::optional<std::int32_t> read_exit_code(std::string_view line) {
    const auto before_number = [&](std::size_t end) {
        const std::size_t last = line.substr(0, end).find_last_not_of(digits);
        const bool negative = last != line.npos && line[last] == '-';
        return last == line.npos ? 0 : negative ? last : last + 1;
    };
    for (std::size_t at = line.find(" (pid: "); at != line.npos;
         at = line.find(" (pid: ", at + 1)) {
        const std::size_t number = before_number(at);
        const auto head = line.substr(0, number);
        if (head == ": " || head.ends_with(" : ")) {
            return leading_number(line.substr(number));
        }
    }
    return std::nullopt;
}

/// Goes through reports line by line.
class ends_reader {
public:
    void read(std::string_view line) {
        line = trimmed(line);
        read_frame(line);
        closed_count_ += line.find("closing signal SIG") != line.npos ? 1U : 0U;
        failed_nodes_ += line.starts_with(node_failed) ? 1U : 0U;
        const std::size_t colon = line.find(':');
        const auto name = trimmed(line.substr(0, colon));
        const auto value =
            colon == line.npos ? std::string_view() : trimmed(line.substr(colon + 1));
        if (line.starts_with("host      :")) {
            begin(part::host);
            now_.host = value;
        } else if (name == "rank" && value.find(local_rank) != value.npos) {
            begin(part::rank);
            now_.rank = leading_number(value);
            if (now_.rank && !now_.host.empty()) {
                hosts_.emplace(*now_.rank, now_.host);
            }
        } else if (const auto code = name == "exitcode" ? leading_number(value) : read_exit_code(line)) {
            end_entry(line, code_of_shells(*code));
        }
    }
    ends_of_ranks take() && {
        if (mixed_ && own_) {
            own_->rank.reset();
            own_->host = {};
        }
        if (mixed_hosts_) {
            hosts_.clear();
        }
        const std::size_t listed = stopped_.size();
        return {
            own_,
            std::move(raised_),
            std::move(stopped_),
            listed > 0 ? listed : closed_count_,
            report_count_,
            failed_nodes_ > report_count_,
            mixed_,
            mixed_ || mixed_frames_,
            std::move(hosts_)};
    }

private:
    /// A report begins and ends with a border, and has its root cause in between.
    void read_frame(std::string_view line) {
        borders_ += line.starts_with("====") ? 1 : 0;
        if (line == root_cause) {
            ++report_count_;
            mixed_frames_ = mixed_frames_ || borders_ < 2;
            borders_ = 0;
        }
    }

    enum class part { none, host, rank, code };

    /// Host, rank and code come in that order; old reports have no host.
    void begin(part next) {
        const bool goes_on = next == part::rank && before_ == part::host;
        const bool cut_host = before_ == part::host && !goes_on;
        mixed_hosts_ = mixed_hosts_ || cut_host;
        mixed_ = mixed_ || cut_host || before_ == part::rank;
        now_ = goes_on ? now_ : failed_rank();
        before_ = next;
    }

    /// A text may begin in the middle of a report.
    void end_entry(std::string_view line, std::int32_t code) {
        mixed_ = mixed_ || (before_ != part::rank && before_ != part::none);
        now_.code = code;
        now_.line = line;
        if (now_.distance() < (own_ ? own_->distance() : 3) || (own_ && is_lower(now_, *own_))) {
            own_ = now_;
        }
        const bool raised = code == 1 || code == aborted;
        if (raised) {
            raised_.push_back(now_);
        } else if (is_victims_code(code)) {
            stopped_.push_back(now_);
        }
        now_ = failed_rank();
        before_ = part::code;
    }

    part before_ = part::none;
    failed_rank now_;
    std::optional<failed_rank> own_;
    std::vector<failed_rank> raised_, stopped_;
    std::size_t report_count_ = 0, failed_nodes_ = 0;
    std::size_t closed_count_ = 0;  ///< `Sending process 45 closing signal SIGTERM`
    bool mixed_ = false;
    std::map<std::int32_t, std::string_view> hosts_;  ///< by rank
    bool mixed_hosts_ = false;
    int borders_ = 2;  ///< since the last root cause; a text may begin behind them
    bool mixed_frames_ = false;
};

/// The line below the last place, which is indented less; what says more may stand below it.
/// Nothing if the text ends before.
std::string_view error_of(std::string_view traceback) {
    std::size_t indent = 0;  ///< of the last place; 0: none, or its error was read
    bool has_place = false;
    std::string_view out;
    for_each_line(traceback, [&](std::string_view line) {
        const std::size_t first = line.find_first_not_of(' ');
        if (first != line.npos && line.substr(first).starts_with("File \"")) {
            indent = first;
            has_place = true;
            out = {};
        } else if (first < indent) {
            indent = 0;
            out = line.substr(first);
        }
    });
    return has_place ? out : last_line(traceback);
}

std::optional<failed_rank> read_root(std::string_view report) {
    failed_rank out;
    out.rank = leading_number(field_of(report, "rank"));
    const auto code = leading_number(field_of(report, "exitcode"));
    if (!out.rank || !code) {
        return std::nullopt;
    }
    out.code = code_of_shells(*code);
    out.host = field_of(report, "host");
    return out;
}

}  // namespace

int failed_rank::distance() const {
    constexpr std::int32_t killed = 137;
    return is_victims_code(code) ? 3 : code == killed ? 0 : crash_signal(code) != 0 ? 1 : 2;
}

ends_of_ranks read_ends(std::string_view text) {
    ends_reader reader;
    if (text.find(local_rank) != text.npos) {
        for_each_line(text, [&](std::string_view line) { reader.read(line); });
    }
    return std::move(reader).take();
}

error_line read_traceback(std::string_view entry) {
    constexpr std::string_view head = "traceback :";
    const std::size_t at = entry.find(head);
    const auto whole = at == entry.npos ? std::string_view() : entry.substr(at + head.size());
    error_line out;
    out.text = error_of(whole);
    // Of most scripts it says only how there would be one.
    if (out.text.starts_with("To enable traceback see")) {
        out.text = {};
    }
    if (!out.text.empty()) {
        out.place = find_place(whole);
        out.secondary = is_secondary(out.text);
        out.raised = names_error(out.text);
    }
    return out;
}

std::optional<std::int32_t> lowest_that_says(const error_line& error, std::string_view reports) {
    std::optional<std::int32_t> out;
    for (std::size_t at = reports.find(local_rank); at != reports.npos;) {
        const auto before = reports.substr(0, at);
        const auto rank = leading_number(before.substr(before.find_last_not_of(digits) + 1));
        const std::size_t next = reports.find(local_rank, at + 1);
        auto entry = reports.substr(at, next == reports.npos ? next : next - at);
        // The lines of an entry begin with a blank.
        for (const std::string_view end : {"\n[", "\n-", "\n="}) {
            entry = entry.substr(0, entry.find(end));
        }
        if (rank && (!out || *rank < *out) && is_same(read_traceback(entry), error)) {
            out = rank;
        }
        at = next;
    }
    return out;
}

std::optional<failure_report> find_failure_report(std::string_view text) {
    failure_report out;
    const std::size_t first = text.find(root_cause);
    std::optional<failed_rank> root;
    for (std::size_t at = first; at != text.npos;) {
        const std::size_t begin = at + root_cause.size();
        const std::size_t next = text.find(root_cause, begin);
        out.start = at;
        out.text = text.substr(begin, next == text.npos ? next : next - begin);
        out.text = out.text.substr(0, out.text.find("\n===="));
        root = read_root(out.text);
        out.lowest = !root || is_lower(out.lowest, *root) ? out.lowest : *root;
        at = next;
    }
    if (!root) {
        return std::nullopt;
    }
    out.several = first != out.start;
    out.root = *root;
    return out;
}

}  // namespace signalbox::core::engine
