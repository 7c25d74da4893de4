// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/line_words.hpp"

#include "engine/facts/signals.hpp"
#include "jobcore/strings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace signalbox::core::engine {
namespace {

constexpr std::string_view lower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

constexpr std::array<std::string_view, 6> error_ends{
    "Error", "Exception", "Exit", "Interrupt", "Failure", "Timeout"};

/// torchrun's own error, which names none, whole or cut in front.
bool is_of_child(std::string_view name, std::string_view line) {
    constexpr std::string_view own = "ChildFailedError";
    const bool bare = line.substr(std::min(name.size() + 1, line.size())).find_first_not_of(' ') ==
                      std::string_view::npos;
    return name.ends_with(own) || (bare && line.size() > name.size() && own.ends_with(name));
}

bool made_of(std::string_view text, std::string_view a, std::string_view b, std::string_view c) {
    return std::ranges::all_of(text, [&](char one) {
        return a.find(one) != a.npos || b.find(one) != b.npos || c.find(one) != c.npos;
    });
}

/// What stands behind the last `words`; empty where they are not.
std::string_view behind_last(std::string_view line, std::string_view words) {
    const std::size_t at = line.rfind(words);
    return at == line.npos ? std::string_view() : line.substr(at + words.size());
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

}  // namespace

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos
               ? std::string_view()
               : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string_view last_line(std::string_view text) {
    text = trimmed(text);
    const std::size_t start = text.rfind('\n');
    return trimmed(start == std::string_view::npos ? text : text.substr(start + 1));
}

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
    line.remove_prefix(end + 2);
    line.remove_prefix(line.starts_with(' ') ? 1 : 0);
    return rank;
}

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

bool names_error(std::string_view line) {
    const auto name = line.substr(0, line.find(':'));
    constexpr std::string_view others = "0123456789._";
    return std::ranges::any_of(error_ends, [&](auto end) { return name.ends_with(end); }) &&
           !is_of_child(name, line) && made_of(name, lower, upper, others);
}

bool is_name(std::string_view line) {
    constexpr std::string_view others = "0123456789._<>";
    const std::size_t end = line.find(": ");
    return !line.empty() && made_of(line.substr(0, end), lower, upper, others);
}

std::size_t find_torn(std::string_view line) {
    constexpr std::array<std::string_view, 3> beginnings{
        "Traceback (most recent call last)",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
        "Root Cause (first observed failure)"};
    std::size_t first = line.npos;
    for (const std::string_view each : beginnings) {
        const std::size_t at = line.find(each);
        first = at == 0 ? first : std::min(first, at);
    }
    return first;
}

bool names_exception(std::string_view line) {
    const auto name = line.substr(0, line.find(": "));
    const std::size_t dot = name.rfind('.');
    const auto last = name.substr(dot == name.npos ? name.size() : dot + 1);
    return is_name(name) && dot != 0 && !last.empty() && upper.find(last.front()) != upper.npos;
}

bool introduces_harmless(std::string_view line) {
    constexpr std::array<std::string_view, 4> heads{
        "Exception ignored in", "Exception ignored on", "--- Logging error", "Error in atexit."};
    return std::ranges::any_of(heads, [&](auto head) { return line.starts_with(head); });
}

bool introduces_thread(std::string_view line) {
    return line.starts_with("Exception in thread ") ||
           (line.starts_with("Process ") && line.ends_with(':'));
}

bool is_kind_of_nccl(std::string_view line) {
    return line == "Unknown NCCL error!" || (line.starts_with("nccl") && is_name(line));
}

bool is_of_nccl(std::string_view text) {
    return text.starts_with("nccl") || text.find("NCCL error") != text.npos;
}

bool is_refusal(std::string_view line) {
    const std::size_t error = line.find(": error: ");
    const bool of_arguments =
        error != line.npos && error > 0 && line.substr(0, error).find_first_of(" \t:") == line.npos;
    const bool of_python =
        line.find(": can't open file '") != line.npos || is_of_interpreter(line) ||
        (line.find("python") != line.npos && line.find(": No module named ") != line.npos);
    const bool of_library = line.find(": Assertion `") != line.npos && line.ends_with("' failed.");
    return of_arguments || of_python || of_library || is_refusal_of_shell(line) ||
           is_death_in_shell(line) || line.ends_with(": command not found") ||
           (line.ends_with(": not found") && line.find("sh: ") != line.npos);
}

bool is_of_interpreter(std::string_view line) {
    return line.starts_with("Fatal Python error: ");
}

bool is_of_no_frame(std::string_view line) {
    return trimmed(line) == "<no Python frame>";
}

std::string_view return_code(std::string_view line) {
    constexpr std::string_view code = "return code = ";
    const auto out = behind_last(line, " exits with ");
    const auto number = out.substr(std::min(code.size(), out.size()));
    const bool good = out.starts_with(code) && !number.empty() && made_of(number, digits, "", "");
    return good && number != "0" ? out : std::string_view();
}

std::string_view status_of_child(std::string_view error) {
    auto out = behind_last(error, "returned non-zero exit status ");
    out.remove_suffix(out.ends_with('.') ? 1 : 0);
    return made_of(out, digits, "", "") ? out : std::string_view();
}

std::string_view killed_rank(std::string_view line) {
    constexpr std::string_view words = "exits with return code = -";
    constexpr std::int32_t asked_to_end = 15;
    const std::size_t at = line.find(words);
    const auto number = at == line.npos ? std::string_view() : line.substr(at + words.size());
    const std::int32_t signal = read_whole_number(number).value_or(0);
    return signal == asked_to_end ? std::string_view() : rank_killed_by(signal);
}

}  // namespace signalbox::core::engine
