// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/error_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace signalbox::core::engine {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view lower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

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

/// Takes `[default0]:` off the front, which torchrun puts there with `--tee`.
void take_local_prefix(std::string_view& line) {
    const std::size_t end = line.find("]:");
    if (!line.starts_with('[') || end == line.npos || end < 3 || end > 40) {
        return;
    }
    const auto name = line.substr(1, end - 1);
    const std::size_t number = name.find_last_not_of(digits) + 1;
    if (number > 0 && number < name.size() && made_of(name.substr(0, number), lower, "_", "-")) {
        line.remove_prefix(end + 2);
    }
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

/// `run.sh: line 3:    12 Killed      python train.py`, as a shell tells of a child.
bool is_death_in_shell(std::string_view line) {
    constexpr std::array<std::string_view, 6> deaths{
        " Killed ",
        " Aborted",
        " Bus error",
        " Floating point exception",
        " Illegal instruction",
        " Segmentation fault"};
    const std::size_t at = line.find(": line ");
    return at != line.npos && std::ranges::any_of(deaths, [&](auto death) {
               return line.find(death, at) != line.npos;
           });
}

/// A shell, or `env`, that does not find or may not run what it is to run.
bool is_refusal_of_shell(std::string_view line) {
    const auto who = line.substr(0, line.find(": "));
    const bool shell = who.ends_with("sh") || who.ends_with("env");
    return shell &&
           (line.ends_with(": not found") || line.ends_with(": Permission denied") ||
            line.ends_with(": No such file") || line.ends_with(": No such file or directory"));
}

/// What programs say that cannot start, or that are aborted: Python without its script, a command
/// line that is refused, an interpreter that crashes, a shell without the program.
bool is_refusal(std::string_view line) {
    const std::size_t error = line.find(": error: ");
    const bool of_arguments =
        error != line.npos && error > 0 && line.substr(0, error).find_first_of(" \t:") == line.npos;
    const bool of_python =
        line.find(": can't open file '") != line.npos || line.starts_with("Fatal Python error: ") ||
        (line.find("python") != line.npos && line.find(": No module named ") != line.npos);
    const bool of_library = line.find(": Assertion `") != line.npos && line.ends_with("' failed.");
    return of_arguments || of_python || of_library || is_refusal_of_shell(line) ||
           is_death_in_shell(line) || line.ends_with(": command not found") ||
           (line.ends_with(": not found") && line.find("sh: ") != line.npos);
}

/// What DeepSpeed's launcher says of a rank that a signal ended; empty for any other line.
std::string_view killed_rank(std::string_view line) {
    constexpr std::string_view words = "exits with return code = -";
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> signals{{
        {"4", "a rank was killed by signal 4, SIGILL"},
        {"6", "a rank was killed by signal 6, SIGABRT"},
        {"7", "a rank was killed by signal 7, SIGBUS"},
        {"8", "a rank was killed by signal 8, SIGFPE"},
        {"9", "a rank was killed by signal 9, SIGKILL"},
        {"11", "a rank was killed by signal 11, SIGSEGV"},
    }};
    const std::size_t at = line.find(words);
    const auto number = at == line.npos ? std::string_view() : line.substr(at + words.size());
    for (const auto& [n, text] : signals) {
        if (number == n) {
            return text;
        }
    }
    return {};
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

/// How an exception hangs together with the one before it in a log.
enum class chained { no, caused_by, while_handling, original };

chained link_of(std::string_view line) {
    if (line.starts_with("The above exception was the direct cause of the following exception")) {
        return chained::caused_by;
    }
    return line.starts_with("During handling of the above exception, another exception occurred")
               ? chained::while_handling
               : chained::no;
}

/// Goes over a text with each number as one sign; `next` gives 0 at the end.
class without_numbers {
public:
    explicit without_numbers(std::string_view text) : text_(text) {}
    char next() {
        if (at_ >= text_.size()) {
            return 0;
        }
        const bool digit = digits.find(text_[at_]) != digits.npos;
        if (!digit) {
            return text_[at_++];
        }
        at_ = std::min(text_.find_first_not_of(digits, at_), text_.size());
        return '0';
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;
};

/// The same text, but for numbers.
bool says_same(const error_line& a, const error_line& b) {
    without_numbers left(a.text), right(b.text);
    char one = 0;
    do {
        one = left.next();
        if (one != right.next()) {
            return false;
        }
    } while (one != 0);
    return true;
}

/// An error that was kept, and when it came among all.
struct kept_error {
    error_line error;
    std::size_t number = 0;
};

/// What was read from one source.
struct source {
    said before = said::nothing;
    /// Tracebacks whose error is to come: those of ranks without a prefix lie in between each
    /// other.
    int open = 0;
    code_place place;
    /// Whose the places are cannot be said: two tracebacks were open.
    bool mixed = false;
    chained link = chained::no;     ///< of the next error to the one before
    std::string_view first_line{};  ///< of the traceback, or of a chain of them
    std::string_view aborted{};     ///< `terminate called after ...`: what() is to come
    error_line last{};
    kept_error cause{}, consequence{}, refusal{};

    void begin_traceback(std::string_view line) {
        forget_place();
        mixed = open > 0;
        if (open == 0 && link == chained::no) {
            first_line = line;
        }
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
        found.last_line = found.first_line = line;
        found.pod = take_pod(line);
        found.rank = take_rank(line);
        take_local_prefix(line);
        found.prefix = found.last_line.substr(0, found.last_line.size() - line.size());
        source& own = sources_[std::string(found.prefix)];
        const bool original = line.starts_with("Original Traceback (most recent call last)");
        const bool begins = original || line.starts_with("Traceback (most recent call last)");
        if (begins || line.starts_with(' ') || line.starts_with('\t')) {
            own.before = said::traceback;
            if (begins) {
                own.link = original ? chained::original : own.link;
                own.begin_traceback(found.first_line);
            } else if (const auto place = read_place(line)) {
                keep_innermost(own.place, *place);
            } else if (!own.aborted.empty()) {
                read_abort(line, found, own);
            }
        } else if ((found.rank || own.before != said::other || own.open > 0) && names_error(line)) {
            own.before = said::error;
            found.place = own.mixed ? code_place{} : own.place;
            found.first_line = own.first_line.empty() ? found.last_line : own.first_line;
            own.end_traceback();
            found.text = line;
            found.secondary = is_secondary(line);
            keep(found, own);
        } else if (!line.empty()) {
            own.before = said::other;
            own.open -= own.open == 1 && is_name(line) ? 1 : 0;
            own.forget_place();
            own.link = own.mixed ? chained::no : link_of(line);
            own.first_line = own.link == chained::no ? std::string_view() : own.first_line;
            const bool aborts = line.starts_with("terminate called after throwing an instance of");
            own.aborted = aborts ? found.last_line : std::string_view();
            read_refusal(line, found, own);
        }
    }
    /// Of a rank the first, else the last of each source.
    std::optional<error_line> best(std::optional<std::int32_t> rank) const {
        const kept_error* out = nullptr;
        bool out_refused = false;
        const auto order = [&](const kept_error& k, bool refused) {
            const error_line& e = k.error;
            return std::tuple(
                !(rank && e.rank == rank), e.secondary, !e.rank.has_value(), refused, k.number
            );
        };
        for_each_kept([&](const kept_error& k, bool refused) {
            if (out == nullptr || order(k, refused) < order(*out, out_refused)) {
                out = &k;
                out_refused = refused;
            }
        });
        return out == nullptr ? std::nullopt : std::optional(lowest_of(out->error, rank));
    }

private:
    template <class Visit>
    void for_each_kept(Visit visit) const {
        for (const auto& [name, own] : sources_) {
            for (const kept_error* k : {&own.cause, &own.consequence, &own.refusal}) {
                if (!k->error.text.empty()) {
                    visit(*k, k == &own.refusal);
                }
            }
        }
    }

    /// All ranks run into a mistake of the script: which of them is first is chance.
    error_line lowest_of(const error_line& found, std::optional<std::int32_t> rank) const {
        const auto order = [](const error_line& e) {
            return std::tuple(e.rank.value_or(-1), e.pod.size(), e.pod);
        };
        error_line out = found;
        for_each_kept([&](const kept_error& k, bool) {
            const error_line& e = k.error;
            const bool of_that_rank = rank && found.rank == rank && e.rank != rank;
            if (!of_that_rank && e.rank.has_value() == found.rank.has_value() &&
                order(e) < order(out) && is_same(e, found)) {
                out = e;
            }
        });
        return out;
    }

    /// `  what():  CUDA error: ...`
    void read_abort(std::string_view line, error_line& found, source& own) {
        constexpr std::string_view head = "what():";
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        const std::size_t text = line.find_first_not_of(' ', head.size());
        if (line.starts_with(head) && text != line.npos) {
            found.first_line = own.aborted;
            keep_refusal(line.substr(text), found, own);
        }
        own.aborted = {};
    }

    void read_refusal(std::string_view line, error_line& found, source& own) {
        if (const auto killed = killed_rank(line); !killed.empty()) {
            keep_refusal(killed, found, own);
        } else if (is_refusal(line)) {
            keep_refusal(line, found, own);
        }
    }

    /// The first of a source.
    void keep_refusal(std::string_view text, error_line& found, source& own) {
        found.text = text;
        found.secondary = is_secondary(text);
        const error_line& kept = own.refusal.error;
        if (kept.text.empty() || (kept.secondary && !found.secondary)) {
            own.refusal = {found, ++number_};
        }
    }

    void keep(error_line& e, source& own) {
        const chained link = std::exchange(own.link, chained::no);
        const error_line& before = own.last;
        if (link != chained::no && !before.text.empty()) {
            e.secondary = e.secondary || before.secondary;
            if (link != chained::original) {
                const bool first = before.root.empty();
                e.root = first ? before.text : before.root;
                e.root_place = first ? before.place : before.root_place;
                e.while_handling = link == chained::while_handling;
            }
        }
        kept_error& slot = e.secondary ? own.consequence : own.cause;
        const bool goes_on = link != chained::no && slot.error.text.data() == before.text.data();
        if (slot.error.text.empty() || !e.rank || goes_on) {
            const bool other = !slot.error.text.empty() && !goes_on && !says_same(slot.error, e);
            e.several = slot.error.several || other;
            slot = {e, ++number_};
        }
        own.last = e;
    }

    std::map<std::string, source> sources_;
    std::size_t number_ = 0;
};

}  // namespace

bool is_same(const error_line& a, const error_line& b) {
    return a.place.file == b.place.file && a.place.line == b.place.line &&
           a.secondary == b.secondary && says_same(a, b);
}

std::uint64_t sameness_of(std::string_view text, const code_place& place) {
    constexpr std::uint64_t prime = 1099511628211U;
    std::uint64_t hash = 14695981039346656037U;
    const auto add = [&](char c) { hash = (hash ^ static_cast<unsigned char>(c)) * prime; };
    without_numbers signs(text);
    for (char c = signs.next(); c != 0; c = signs.next()) {
        add(c);
    }
    for (const std::string_view part : {place.file, place.line}) {
        add(0);
        std::ranges::for_each(part, add);
    }
    return hash | 1U;
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

std::string to_text(const error_line& line) {
    std::string out = std::string(line.text) + to_text(line.place);
    if (!line.root.empty()) {
        out += line.while_handling ? ", while handling " : ", caused by ";
        out += std::string(line.root) + to_text(line.root_place);
    }
    return out;
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
