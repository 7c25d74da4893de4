// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/error_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <tuple>

namespace signalbox::core::engine {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view lower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

constexpr std::array<std::string_view, 27> secondary_signs{
    "Broken pipe",
    "Connection closed by peer",
    "Connection closed by remote peer",
    "Connection reset by peer",
    "Connection was likely closed",
    "Failed to recv, got 0 bytes",
    "NCCL communicator was aborted",
    "RendezvousClosedError",
    "RendezvousConnectionError",
    "RendezvousTimeoutError",
    "Signal 15 (SIGTERM)",
    "Signal 6 (SIGABRT)",
    "Socket Timeout",
    "Timed out after",
    "Timed out waiting",
    "Watchdog caught collective operation timeout",
    "failed to connect",
    "failed to recv, got 0 bytes",
    "gloo/transport",
    "got signal: 15",
    "ncclRemoteError",
    "ncclSystemError",
    "remote process exited",
    "socket has timed out",
    "store->get(",
    "terminate called without an active exception",
    "unhandled system error",
};

constexpr std::array<std::string_view, 6> error_ends{
    "Error", "Exception", "Exit", "Interrupt", "Failure", "Timeout"};

template <class Read>
void for_each_line(std::string_view log, Read read) {
    while (!log.empty()) {
        const std::size_t end = log.find('\n');
        std::string_view line = log.substr(0, end);
        while (line.ends_with('\r') || line.ends_with(' ')) {
            line.remove_suffix(1);
        }
        read(line);
        log.remove_prefix(end == log.npos ? log.size() : end + 1);
    }
}

bool made_of(std::string_view text, std::string_view a, std::string_view b, std::string_view c) {
    return std::ranges::all_of(text, [&](char one) {
        return a.find(one) != a.npos || b.find(one) != b.npos || c.find(one) != c.npos;
    });
}

/// Takes `<pod>: ` off the front, as pdsh puts it there.
std::string_view take_pod(std::string_view& line) {
    const std::size_t colon = line.find(": ");
    const auto name = line.substr(0, std::min(colon, line.size()));
    // `python3: `, `bash: ` and names of scripts are programs; a pod of ours has a hyphen in its
    // name.
    const bool of_pod = name.find('-') != name.npos && !name.ends_with(".py");
    if (colon == line.npos || !of_pod || !made_of(name, lower, digits, ".-")) {
        return {};
    }
    line.remove_prefix(colon + 2);
    return name;
}

/// Takes `[rank3]: ` off the front; torch leaves out the blank of an empty line.
std::optional<std::int32_t> take_rank(std::string_view& line) {
    constexpr std::string_view head = "[rank";
    const std::size_t end = line.find("]:");
    if (!line.starts_with(head) || end == line.npos) {
        return std::nullopt;
    }
    const auto number = line.substr(head.size(), end - head.size());
    std::int32_t rank = 0;
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
    if (error != std::errc{} || stop != number.data() + number.size()) {
        return std::nullopt;
    }
    line.remove_prefix(std::min(end + 3, line.size()));
    return rank;
}

/// `package.SomeError` or `package.SomeError: text`.
bool names_error(std::string_view line) {
    const auto name = line.substr(0, line.find(':'));
    constexpr std::string_view others = "0123456789._";
    return std::ranges::any_of(error_ends, [&](auto end) { return name.ends_with(end); }) &&
           !name.ends_with("ChildFailedError") && made_of(name, lower, upper, others);
}

/// `package.Anything` or `package.Anything: text`, as a traceback of an exception with such a name
/// ends.
bool is_name(std::string_view line) {
    constexpr std::string_view others = "0123456789._<>";
    const std::size_t end = line.find(": ");
    return !line.empty() && made_of(line.substr(0, end), lower, upper, others);
}

/// What programs say that cannot start: Python without its script, a command line that is refused,
/// an interpreter that crashes, a shell without the program.
bool is_refusal(std::string_view line) {
    const std::size_t error = line.find(": error: ");
    const bool of_arguments =
        error != line.npos && error > 0 && line.substr(0, error).find_first_of(" \t:") == line.npos;
    return of_arguments || line.find(": can't open file '") != line.npos ||
           line.starts_with("Fatal Python error: ") || line.ends_with(": command not found") ||
           (line.ends_with(": not found") && line.find("sh: ") != line.npos);
}

/// `File "train.py", line 57, in step`, with blanks in front.
std::optional<code_place> read_place(std::string_view line) {
    constexpr std::string_view head = "File \"", middle = "\", line ", function = ", in ";
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == line.npos || !line.substr(start).starts_with(head)) {
        return std::nullopt;
    }
    line.remove_prefix(start + head.size());
    const std::size_t quote = line.find(middle);
    if (quote == line.npos || quote == 0) {
        return std::nullopt;
    }
    code_place out;
    out.file = line.substr(0, quote);
    line.remove_prefix(quote + middle.size());
    out.line = line.substr(0, std::min(line.find_first_not_of(digits), line.size()));
    line.remove_prefix(out.line.size());
    if (line.starts_with(function)) {
        out.function = line.substr(function.size());
    }
    return out.line.empty() ? std::nullopt : std::optional(out);
}

/// Not of a library, and not of Python itself.
bool is_own(const code_place& place) {
    constexpr std::array<std::string_view, 3> others{
        "/site-packages/", "/dist-packages/", "/lib/python3"};
    return !place.file.empty() && place.file.front() != '<' &&
           std::ranges::none_of(others, [&](auto part) {
               return place.file.find(part) != place.file.npos;
           });
}

/// Keeps the innermost place of the user's own, else the innermost.
void keep_innermost(code_place& kept, const code_place& next) {
    if (is_own(next) || !is_own(kept)) {
        kept = next;
    }
}

enum class said { nothing, traceback, error, other };

/// What was read from one source.
struct source {
    said before = said::nothing;
    /// Tracebacks whose error is to come: those of ranks without a prefix lie in between each
    /// other.
    int open = 0;
    code_place place;
    /// Whose the places are cannot be said: two tracebacks were open.
    bool mixed = false;

    void begin_traceback() {
        forget_place();
        mixed = open > 0;
        ++open;
    }
    void end_traceback() {
        open = std::max(open - 1, 0);
        forget_place();
    }
    void forget_place() {
        if (open == 0) {
            place = {};
            mixed = false;
        }
    }
};

/// Goes through a log line by line. Lines of several pods and ranks lie in between each other.
class reader {
public:
    void read(std::string_view line) {
        error_line found;
        const std::string_view whole = line;
        found.pod = take_pod(line);
        found.rank = take_rank(line);
        const auto from = whole.substr(0, whole.size() - line.size());
        source& own = sources_[std::string(from)];
        const bool begins = line.starts_with("Traceback (most recent call last)");
        if (begins || line.starts_with(' ') || line.starts_with('\t')) {
            own.before = said::traceback;
            if (begins) {
                own.begin_traceback();
            } else if (const auto place = read_place(line)) {
                keep_innermost(own.place, *place);
            }
        } else if ((found.rank || own.before != said::other || own.open > 0) && names_error(line)) {
            own.before = said::error;
            found.place = own.mixed ? code_place{} : own.place;
            own.end_traceback();
            found.text = line;
            found.secondary = is_secondary(line);
            keep(found);
        } else if (!line.empty()) {
            own.before = said::other;
            own.open -= own.open == 1 && is_name(line) ? 1 : 0;
            own.forget_place();
            if (refused_.text.empty() && is_refusal(line)) {
                refused_ = found;
                refused_.text = line;
            }
        }
    }
    /// Of a rank the first, else the last.
    std::optional<error_line> best(std::optional<std::int32_t> rank) const {
        std::optional<error_line> out;
        const auto value = [&](const error_line& e) {
            return std::tuple(rank && e.rank == rank, !e.secondary, e.rank.has_value());
        };
        for (const error_line& e :
             {ranked_[0], plain_[0], of_rank_(rank), refused_, ranked_[1], plain_[1]}) {
            if (!e.text.empty() && (!out || value(e) > value(*out))) {
                out = e;
            }
        }
        return out;
    }

private:
    void keep(const error_line& e) {
        const std::size_t n = e.secondary ? 1 : 0;
        if (!e.rank) {
            plain_[n] = e;
            return;
        }
        if (ranked_[n].text.empty()) {
            ranked_[n] = e;
        }
        auto& own = by_rank_[*e.rank];
        if (own.text.empty() || (own.secondary && !e.secondary)) {
            own = e;
        }
    }
    error_line of_rank_(std::optional<std::int32_t> rank) const {
        const auto it = rank ? by_rank_.find(*rank) : by_rank_.end();
        return it == by_rank_.end() ? error_line{} : it->second;
    }

    std::array<error_line, 2> ranked_, plain_;  // primary, secondary
    error_line refused_;
    std::map<std::int32_t, error_line> by_rank_;
    std::map<std::string, source> sources_;
};

}  // namespace

bool is_secondary(std::string_view text) {
    return std::ranges::any_of(secondary_signs, [&](auto sign) {
        return text.find(sign) != text.npos;
    });
}

std::string to_text(const code_place& place) {
    if (place.file.empty()) {
        return {};
    }
    std::string out = " (" + std::string(place.file) + ":" + std::string(place.line);
    if (!place.function.empty()) {
        out += ", in " + std::string(place.function);
    }
    return out + ")";
}

code_place find_place(std::string_view traceback) {
    code_place out;
    for_each_line(traceback, [&](std::string_view line) {
        if (const auto place = read_place(line)) {
            keep_innermost(out, *place);
        }
    });
    return out;
}

std::optional<error_line> find_error_line(std::string_view log, std::optional<std::int32_t> rank) {
    reader lines;
    for_each_line(log, [&](std::string_view line) { lines.read(line); });
    return lines.best(rank);
}

}  // namespace signalbox::core::engine
