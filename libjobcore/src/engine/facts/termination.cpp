// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/termination.hpp"

#include "engine/facts/error_lines.hpp"
#include "jobcore/strings.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <charconv>

namespace signalbox::core::engine {
namespace {

constexpr std::size_t note_limit = 1024;
constexpr std::string_view blanks = " \t\r\n";
/// With what our bootstrap begins what it says.
constexpr std::string_view bootstrap_prefix = "signalbox: ";

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos
               ? std::string_view()
               : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

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
    if (body->IsString()) {
        return termination_note{printable_tail(json::view(*body)), std::nullopt, false};
    }
    termination_note note{
        printable_tail(json::string_or_empty(*body, "message")), std::nullopt, false};
    const json::value* code = json::find(*body, "errorCode");
    if (code != nullptr && code->IsInt()) {
        note.error_code = code->GetInt();
    }
    return note;
}

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

/// As rfind, which compares at every byte: many pods that fail at once leave megabytes.
std::size_t find_last(std::string_view text, std::string_view what) {
    std::size_t last = text.npos;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) {
        last = at;
    }
    return last;
}

/// The last line of the traceback, which names the error.
std::string_view last_line(std::string_view text) {
    text = trimmed(text);
    const std::size_t start = text.rfind('\n');
    return trimmed(start == std::string_view::npos ? text : text.substr(start + 1));
}

/// `rank 3 on pod-1: ValueError: x (train.py:57, in step)`; what is not known, or is the pod
/// itself, is left out.
std::string located(
    std::optional<std::int32_t> rank,
    std::string_view on,
    std::string_view pod,
    std::string_view error,
    const code_place& place
) {
    const std::string text = std::string(error) + to_text(place);
    const std::string_view host = on.substr(0, on.find('.'));
    const std::string where = host.empty() || host == pod ? "" : fmt::format("on {}", host);
    const std::string who = rank ? fmt::format("rank {}", *rank) : "";
    const bool both = !who.empty() && !where.empty();
    const std::string from = who + (both ? " " : "") + where;
    return printable_tail(from.empty() ? text : fmt::format("{}: {}", from, text));
}

/// The report with which torchrun ends (torch.distributed.elastic, ChildFailedError).
std::optional<termination_note> read_failure_report(
    std::string_view message, std::string_view pod
) {
    constexpr std::string_view head = "Root Cause (first observed failure):";
    const std::size_t start = find_last(message, head);
    if (start == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view report = message.substr(start + head.size());
    report = report.substr(0, report.find("\n===="));
    const auto rank = leading_number(field_of(report, "rank"));
    const auto code = leading_number(field_of(report, "exitcode"));
    if (!rank || !code) {
        return std::nullopt;
    }
    termination_note note;
    // A negative code is a signal; shells and kubelets say 128 + n.
    note.error_code = *code < 0 && *code > -128 ? 128 - *code : *code;
    constexpr std::string_view traceback = "traceback :";
    const std::size_t at = report.find(traceback);
    const auto whole =
        at == report.npos ? std::string_view() : report.substr(at + traceback.size());
    std::string_view error = last_line(whole);
    code_place place = find_place(whole);
    // Only scripts under torch's @record leave one; the log above the report may have it.
    if (error.empty() || error.starts_with("To enable traceback see")) {
        const auto line = find_error_line(message.substr(0, start), *rank);
        const bool is_its = line && (!line->rank || line->rank == rank);
        error = is_its ? line->text : std::string_view();
        place = is_its ? line->place : code_place{};
    }
    note.secondary = is_secondary(error.empty() ? message : error);
    // A launcher's log has a report of each node: the last one may be of a node that suffered.
    const auto cause = note.secondary ? find_error_line(message) : std::nullopt;
    if (cause && !cause->secondary) {
        note.secondary = false;
        note.text = located(cause->rank, cause->pod, pod, cause->text, cause->place);
        return note;
    }
    note.text = error.empty() ? fmt::format("rank {} failed; its log says why", *rank)
                              : located(*rank, field_of(report, "host"), pod, error, place);
    return note;
}

}  // namespace

std::string printable_tail(std::string_view text) {
    const std::size_t end = text.find_last_not_of("\n\r ");
    return in_one_line(last_bytes(text.substr(0, end == text.npos ? 0 : end + 1), note_limit));
}

termination_note read_termination_message(std::string_view message, std::string_view pod) {
    if (auto note = read_error_file(message)) {
        return *note;
    }
    if (auto note = read_failure_report(message, pod)) {
        return *note;
    }
    if (const auto line = find_error_line(message)) {
        return {
            located(line->rank, line->pod, pod, line->text, line->place),
            std::nullopt,
            line->secondary,
            message.starts_with(bootstrap_prefix)};
    }
    return {
        printable_tail(message),
        std::nullopt,
        is_secondary(message),
        message.starts_with(bootstrap_prefix)};
}

}  // namespace signalbox::core::engine
