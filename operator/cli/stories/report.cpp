// SPDX-License-Identifier: Apache-2.0
#include "cli/stories/report.hpp"

#include "cli/print_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace signalbox::op::stories {

namespace {

using lines = std::vector<std::string>;

/// `1:02:03`, since the story began.
std::string time_in_story(core::instant when) {
    const auto s = std::chrono::floor<core::seconds>(when - story_begin()).count();
    return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

/// The first line behind the word, the others below it.
void add_labelled(lines& to, std::string_view label, std::string_view text) {
    std::string first = fmt::format("  {:<10}", label);
    while (true) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        to.push_back(first + std::string(text.substr(0, end)));
        if (end == text.size()) {
            return;
        }
        text.remove_prefix(end + 1);
        first = std::string(12, ' ');
    }
}

std::string place_in(const story& of, const std::string& pointer) {
    return manifests::to_text(of.source->file(), of.source->locate(pointer));
}

lines details_of(const story& of, const played& how) {
    lines out;
    for (const mismatch& wrong : how.wrong) {
        out.push_back(fmt::format("{}: {}", place_in(of, wrong.pointer), wrong.pointer));
        add_labelled(out, "expected", wrong.expected);
        add_labelled(out, "found", wrong.found);
    }
    if (how.end == verdict::stopped) {
        out.push_back(fmt::format("{}: {}", place_in(of, how.stopped_at), how.stopped));
    }
    out.emplace_back("What happened");
    for (const timeline_entry& entry : how.timeline) {
        out.push_back(fmt::format("  {:>9}  {}", time_in_story(entry.time), entry.text));
    }
    out.emplace_back("What the job does, and why");
    for (const core::explain_line& line : how.explained) {
        const std::string rule = line.rule.empty() ? "" : fmt::format(" [{}]", line.rule);
        out.push_back(fmt::format("  - {}{}", line.sentence, rule));
    }
    return out;
}

std::string_view word_of(verdict end) {
    switch (end) {
        case verdict::passed:
            return "ok";
        case verdict::failed:
            return "FAILED";
        case verdict::stopped:
            return "STOPPED";
        case verdict::skipped:
            break;
    }
    return "skipped";
}

}  // namespace

told_story tell(const story& of, const played& how) {
    told_story out{of.source->file(), of.title, how.end, how.took, "", {}};
    if (is_right(how.end)) {
        return out;
    }
    out.details = details_of(of, how);
    if (how.end == verdict::stopped) {
        out.message = how.stopped;
    } else if (!how.wrong.empty()) {
        const mismatch& first = how.wrong.front();
        out.message =
            fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found);
    }
    return out;
}

void print_text(const std::vector<told_story>& all, std::ostream& out) {
    std::size_t wrong = 0, skipped = 0;
    for (const told_story& s : all) {
        cli::print_line(out, "{:<8}{}  {}", word_of(s.end), s.file, s.title);
        for (const std::string& line : s.details) {
            cli::print_line(out, "  {}", line);
        }
        wrong += is_right(s.end) ? 0U : 1U;
        skipped += s.end == verdict::skipped ? 1U : 0U;
    }
    cli::print_line(
        out,
        "{} {}, {} as expected, {} not{}",
        all.size(),
        all.size() == 1 ? "story" : "stories",
        all.size() - wrong - skipped,
        wrong,
        skipped == 0 ? "" : fmt::format(", {} for the engine alone", skipped)
    );
}

void print_tap(const std::vector<told_story>& all, std::ostream& out) {
    cli::print_line(out, "TAP version 13");
    cli::print_line(out, "1..{}", all.size());
    std::size_t number = 0;
    for (const told_story& s : all) {
        // A `#` would begin a directive.
        std::string title = s.title;
        std::ranges::replace(title, '#', ' ');
        cli::print_line(
            out,
            "{} {} - {}: {}{}",
            is_right(s.end) ? "ok" : "not ok",
            ++number,
            s.file,
            title,
            s.end == verdict::skipped ? " # SKIP for the engine alone" : ""
        );
        for (const std::string& line : s.details) {
            cli::print_line(out, "# {}", line);
        }
    }
}

std::string junit_of(const std::vector<told_story>& all) {
    std::vector<cli::test_case> cases;
    for (const told_story& s : all) {
        using end = cli::test_case::end;
        const end result = s.end == verdict::passed    ? end::passed
                           : s.end == verdict::skipped ? end::skipped
                           : s.end == verdict::failed  ? end::failed
                                                       : end::broken;
        cases.push_back(
            {s.file,
             s.title,
             std::chrono::duration<double>(s.took).count(),
             result,
             std::string(word_of(s.end)),
             s.message,
             fmt::format("{}", fmt::join(s.details, "\n"))}
        );
    }
    return cli::junit_text("signalbox test", cases);
}

}  // namespace signalbox::op::stories
