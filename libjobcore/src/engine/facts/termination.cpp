// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/termination.hpp"

#include "engine/facts/error_lines.hpp"
#include "engine/facts/line_words.hpp"
#include "engine/facts/pod_facts.hpp"
#include "engine/facts/sameness.hpp"
#include "engine/facts/signals.hpp"
#include "engine/facts/torchrun_report.hpp"
#include "jobcore/evidence.hpp"
#include "jobcore/strings.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace signalbox::core {
namespace engine {
namespace {

constexpr std::size_t note_limit = 1024;
/// What a kubelet takes of a log under FallbackToLogsOnError: bytes, and lines.
constexpr std::size_t kubelet_tail = 2048;
constexpr std::ptrdiff_t kubelet_lines = 80;
/// With what our bootstrap begins what it says.
constexpr std::string_view bootstrap_prefix = "signalbox: ";

/// torchrun writes `{"message": {"message": ..., "errorCode": ...}}`, or a plain text as `message`.
std::optional<termination_note> read_error_file(std::string_view message) {
    if (message.empty() || message.front() != '{') {
        return std::nullopt;
    }
    json::document document;
    json::parse(document, message);
    if (document.HasParseError()) {
        return std::nullopt;
    }
    const json::value* body = json::find(document, "message");
    if (body == nullptr) {
        return std::nullopt;
    }
    const std::string_view text =
        body->IsString() ? json::view(*body) : json::string_or_empty(*body, "message");
    termination_note note;
    note.text = printable_tail(text);
    note.secondary = is_secondary(text);
    note.names_error = !text.empty();
    note.sameness = sameness_of(text, {});
    if (body->IsString()) {
        return note;
    }
    const json::value* code = json::find(*body, "errorCode");
    if (code != nullptr && code->IsInt()) {
        note.error_code = code->GetInt();
    }
    return note;
}

/// `rank 3 on pod-1`; what is not known, or is the pod itself, is left out.
std::string name_of(std::optional<std::int32_t> rank, std::string_view on, std::string_view pod) {
    const std::string_view host = on.substr(0, on.find('.'));
    const std::string where = host.empty() || host == pod ? "" : fmt::format("on {}", host);
    const std::string who = rank ? fmt::format("rank {}", *rank) : "";
    const bool both = !who.empty() && !where.empty();
    return who + (both ? " " : "") + where;
}

/// `rank 3 on pod-1: ValueError: x (train.py:57, in step)`
std::string located(
    std::optional<std::int32_t> rank,
    std::string_view on,
    std::string_view pod,
    const std::string& error
) {
    const std::string from = name_of(rank, on, pod);
    return printable_tail(from.empty() ? error : fmt::format("{}: {}", from, error));
}

/// Where in the message a part of it stands; nothing for other texts.
std::optional<std::size_t> place_in(std::string_view message, std::string_view part) {
    const std::less_equal<const char*> before;
    const bool inside = !part.empty() && before(message.data(), part.data()) &&
                        before(part.data() + part.size(), message.data() + message.size());
    return inside ? std::optional(static_cast<std::size_t>(part.data() - message.data()))
                  : std::nullopt;
}

/// A program that ends while threads of libraries run says so, and nothing of why it ends.
std::string_view without_abort(std::string_view message) {
    const auto last = last_line(message);
    const bool aborts = last == "terminate called without an active exception";
    return aborts ? message.substr(0, static_cast<std::size_t>(last.data() - message.data()))
                  : message;
}

/// Note of the line of the error; its rank may be told by others.
void tell(
    const error_line& line,
    std::optional<std::int32_t> rank,
    std::string_view on,
    std::string_view message,
    std::string_view pod,
    termination_note& note
) {
    note.text = located(rank, on, pod, to_text(line));
    note.secondary = line.secondary;
    note.names_error = true;
    note.sameness = sameness_of(line.text, line.place);
    note.at = place_in(message, line.last_line);
    note.suffered_at = place_in(message, line.suffered);
    note.raised = line.raised;
    note.rank = rank;
}

/// Of several reports each is of a node; a line without a rank may be of any of them.
bool is_of_report(const error_line& line, bool several) {
    const bool of_victim = several && line.secondary;
    return line.rank ? line.of_asked || of_victim : !several && !line.several;
}

std::string silent_end(
    std::optional<std::int32_t> rank, std::string_view on, std::string_view pod
) {
    const std::string who = name_of(rank, on, pod);
    return printable_tail((who.empty() ? "a rank" : who) + " failed; its log says why");
}

/// Those that no error in the log is of.
std::vector<failed_rank> without_error(
    std::span<const failed_rank> ended, const std::set<std::int32_t>& heard
) {
    std::vector<failed_rank> out;
    std::ranges::copy_if(ended, std::back_inserter(out), [&](const failed_rank& one) {
        return one.rank && !heard.contains(*one.rank);
    });
    return out;
}

/// Where each other rank that ended by itself tells in the log what it suffered: the one that does
/// not. In a log of several nodes, where only victims tell, somebody else was first: one of those
/// that tell nothing, though of a victim the words may be torn, or come before its launcher ended
/// it. Without the prefixes of torch, or in mixed reports, their number tells that there is one,
/// and not which.
std::optional<failed_rank> find_silent(const ends_of_ranks& ends, std::string_view message) {
    const heard_errors heard = find_heard_errors(message);
    const bool several = ends.report_count > 1;
    if (several && ends.lacks_report) {
        return std::nullopt;
    }
    if (heard.ranks.empty() || ends.mixed) {
        const std::size_t told = std::max(heard.tracebacks, heard.ranks.size());
        const bool one = several ? told < ends.raised.size() + ends.stopped_count
                                 : told + 1 == ends.raised.size();
        return told > 0 && one ? std::optional(failed_rank()) : std::nullopt;
    }
    auto silent = without_error(ends.raised, heard.ranks);
    if (several && silent.empty()) {
        silent = without_error(ends.stopped, heard.ranks);
        // Who leaves without a word may be ended on the way out: that is no end of its own.
        std::ranges::for_each(silent, [](failed_rank& one) { one.code = failed_rank().code; });
    }
    if (silent.size() == 1) {
        return silent.front();
    }
    return several && !silent.empty() ? std::optional(failed_rank()) : std::nullopt;
}

/// Which rank torchrun saw first is chance, a victim where another one was killed: one that ended
/// in a way of its own is told where no one names an error that follows from no other.
void tell_own_end(
    const ends_of_ranks& ends,
    std::string_view message,
    std::string_view pod,
    bool whole,
    termination_note& note
) {
    const auto told = ends.own || !whole ? ends.own : find_silent(ends, message);
    if (!told) {
        return;
    }
    const failed_rank& own = *told;
    const std::int32_t signal = crash_signal(own.code);
    note.error_code = own.code;
    note.rank = own.rank;
    note.secondary = false;
    note.text = signal != 0 ? located(own.rank, own.host, pod, std::string(killed_by(signal)))
                            : silent_end(own.rank, own.host, pod);
    note.names_error = signal != 0;
    note.silent = signal == 0;
    note.raised = false;
    note.sameness = 0;
    note.at = place_in(message, own.line);
    note.suffered_at.reset();
}

/// The report with which torchrun ends (torch.distributed.elastic, ChildFailedError).
std::optional<termination_note> read_failure_report(
    std::string_view message, std::string_view pod, bool whole
) {
    const auto report = find_failure_report(message);
    if (!report) {
        return std::nullopt;
    }
    const auto& [start, text, root, several, lowest] = *report;
    termination_note note;
    note.error_code = root.code;
    const ends_of_ranks ends = read_ends(message);
    const failed_rank who = ends.mixed ? failed_rank() : lowest;
    error_line told = read_traceback(text);
    auto other = find_error_line(message.substr(0, start), several ? std::nullopt : root.rank);
    // Only a script under torch's @record leaves a traceback in a report, of the rank that was seen
    // first: where the log above has such errors too, it counts.
    if (other && other->rank && (is_same(*other, told) || (several && !other->secondary))) {
        told = {};
    }
    // Whoever suffers says so before it is aborted.
    const bool alone = whole && !several && !other && root.code == aborted;
    if (alone) {
        told = {};
    }
    if (!told.text.empty()) {
        // It was said when it was raised, and is told again at the end.
        told.last_line = message.substr(message.find(told.text), told.text.size());
        if (ends.mixed_texts) {
            told.place = {};
        } else {
            told.rank = lowest_that_says(told, message);
        }
        other.reset();
    } else if (other && is_of_report(*other, several)) {
        told = *other;
        other.reset();
    }
    note.secondary = told.text.empty() ? !alone && is_secondary(message) : told.secondary;
    note.text = silent_end(who.rank, who.host, pod);
    note.rank = who.rank;
    if (!told.text.empty()) {
        const bool of_report = !told.rank && !ends.mixed_texts;
        const auto whose = of_report ? root.rank : told.rank;
        const auto on = of_report && told.pod.empty() ? root.host : ends.place_of(told);
        tell(told, whose, on, message, pod, note);
    }
    // A launcher's log has a report of each node: the last one may be of a node that suffered. A
    // rank that names no error may have been stopped because of another one that does.
    const bool stopped = is_victims_code(root.code);
    const bool of_any = other && !other->secondary && (!other->rank || stopped);
    const auto cause = of_any ? other : note.secondary ? find_error_line(message) : std::nullopt;
    if (cause && !cause->secondary) {
        tell(*cause, cause->rank, ends.place_of(*cause), message, pod, note);
    }
    // `Signal 9 (SIGKILL) received by PID 45` is told in the same words wherever it comes from, and
    // of the lowest of those that ended so.
    const bool by_signal = crash_signal(root.code) != 0 && !note.raised;
    if (note.secondary || !note.names_error || by_signal) {
        tell_own_end(ends, message, pod, whole, note);
    }
    note.silent = !note.names_error && !note.secondary;
    return note;
}

}  // namespace

std::string printable_tail(std::string_view text) {
    const std::size_t end = text.find_last_not_of("\n\r ");
    return in_one_line(last_bytes(text.substr(0, end == text.npos ? 0 : end + 1), note_limit));
}

namespace {

/// `whole`: nothing is cut off in front.
termination_note read_words(std::string_view message, std::string_view pod, bool whole) {
    if (auto note = read_error_file(message)) {
        return *note;
    }
    if (auto note = read_failure_report(message, pod, whole)) {
        return *note;
    }
    termination_note note;
    note.from_bootstrap = message.starts_with(bootstrap_prefix);
    const ends_of_ranks ends = read_ends(message);
    if (const auto line = find_error_line(message)) {
        tell(*line, line->rank, ends.place_of(*line), message, pod, note);
        if (note.secondary) {
            tell_own_end(ends, message, pod, whole, note);
        }
        return note;
    }
    message = without_abort(message);
    note.text = printable_tail(message);
    note.last_line = printable_tail(last_line(message));
    // A report of torchrun's that is cut says only that some rank failed.
    note.secondary = is_secondary(message) || message.find("ChildFailedError") != message.npos;
    if (note.secondary) {
        tell_own_end(ends, message, pod, whole, note);
    }
    return note;
}

}  // namespace

termination_note read_termination_message(std::string_view message, std::string_view pod) {
    const bool whole =
        message.size() < kubelet_tail && std::ranges::count(message, '\n') < kubelet_lines;
    return read_words(message, pod, whole);
}

namespace {

/// A log without the times in front of its lines.
struct untimed_log {
    std::string text;
    std::vector<std::pair<std::size_t, instant>> times;  ///< by where their lines begin
};

untimed_log without_times(std::string_view log) {
    untimed_log out;
    out.text.reserve(log.size());
    while (!log.empty()) {
        std::string_view line = log.substr(0, log.find('\n'));
        log.remove_prefix(std::min(line.size() + 1, log.size()));
        // The API server leaves out the blank of an empty line.
        const std::size_t blank = std::min(line.find(' '), line.size());
        constexpr std::size_t shortest = 20, longest = 35;  // 2026-01-31T12:00:00.123456789+08:00
        const auto time = blank >= shortest && blank <= longest ? parse_time(line.substr(0, blank))
                                                                : std::nullopt;
        if (time) {
            out.times.emplace_back(out.text.size(), *time);
            line.remove_prefix(std::min(blank + 1, line.size()));
        }
        out.text.append(line).push_back('\n');
    }
    return out;
}

/// When the line was written that stands there.
std::optional<instant> time_of(const untimed_log& log, std::optional<std::size_t> at) {
    if (!at) {
        return std::nullopt;
    }
    const auto behind =
        std::ranges::upper_bound(log.times, *at, {}, &std::pair<std::size_t, instant>::first);
    return behind == log.times.begin() ? std::nullopt : std::optional(std::prev(behind)->second);
}

}  // namespace

log_note read_log_end(std::string_view log, std::string_view pod) {
    const untimed_log lines = without_times(log);
    log_note out;
    out.said = read_words(lines.text, pod, true);
    out.time = time_of(lines, out.said.at);
    out.suffered = time_of(lines, out.said.suffered_at);
    const std::string_view end = last_bytes(lines.text, kubelet_tail);
    out.end_sameness = read_termination_message(end, pod).sameness;
    return out;
}

void take_words(const log_evidence& log, termination_note& said) {
    said.text = log.text;
    said.rank.reset();
    said.error_code = log.error_code;
    said.names_error = log.names_error;
    said.silent = log.silent;
    said.raised = log.raised;
    said.secondary = log.secondary;
    said.sameness = log.sameness;
    said.suffered_at.reset();
}

}  // namespace engine

log_evidence judge_log(std::string pod_uid, std::string_view pod_name, std::string_view log) {
    log_evidence out;
    out.pod_uid = std::move(pod_uid);
    engine::log_note read = engine::read_log_end(log, pod_name);
    if (read.said.names_error || read.said.silent) {
        out.text = std::move(read.said.text);
        out.error_code = read.said.error_code;
        out.names_error = read.said.names_error;
        out.silent = read.said.silent;
        out.raised = read.said.raised;
        out.secondary = read.said.secondary;
        out.sameness = read.said.sameness;
        out.time = read.time;
        out.suffered = read.suffered;
        out.end_sameness = read.end_sameness;
    }
    return out;
}

std::vector<std::string> find_error_block(std::string_view log) {
    constexpr std::size_t most_lines = 20, most_without = 10;
    const engine::untimed_log lines = engine::without_times(log);
    const std::string_view text = lines.text;
    const auto error = engine::find_error_line(text);
    std::vector<std::string> out;
    const std::size_t from = error ? engine::place_in(text, error->first_line).value_or(0) : 0;
    const std::size_t to =
        error ? engine::place_in(text, error->last_line).value_or(0) + error->last_line.size()
              : text.size();
    std::string_view rest = text.substr(from, to - from);
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!error || line.starts_with(error->prefix)) {
            out.push_back(in_one_line(first_bytes(line, engine::note_limit)));
        }
    }
    const std::size_t most = error ? most_lines : most_without;
    if (out.size() > most) {
        out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(most));
    }
    return out;
}

}  // namespace signalbox::core
