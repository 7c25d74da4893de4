// SPDX-License-Identifier: Apache-2.0
//
// `signalbox docs`, `docs rule` and `docs fields`.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/print_line.hpp"
#include "cli/rule_book.hpp"
#include "cli/text_layout.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

namespace signalbox::op::cli {
namespace {

using rule_entries = std::vector<rule_entry>;

/// A row of a table of contents.
void print_row(
    std::ostream& out, std::string_view name, std::string_view title, std::size_t width
) {
    out << wrapped(title, fmt::format("  {:16}", name), std::string(18, ' '), width);
}

std::string heading(const rule_entry& entry) {
    return entry.has_number ? fmt::format("{}  {}", entry.name(), entry.title)
                            : std::string(entry.title);
}

void print_contents(const rule_entries& book, std::ostream& out) {
    std::string_view path;
    for (const rule_entry& entry : book) {
        if (entry.path != path) {
            fmt::print(out, "{}{}\n", path.empty() ? "" : "\n", entry.path);
            path = entry.path;
        }
        // What has neither number nor a name of one word introduces the book.
        if (entry.is_chapter && entry.number.find(' ') == std::string::npos) {
            print_row(out, entry.name(), entry.title, output_width());
        }
    }
    fmt::print(out, "\n`signalbox docs rule 5` lists the rules of a chapter, `5.8` shows one.\n");
}

void print_entry(const rule_entries& book, std::size_t index, std::ostream& out) {
    const rule_entry& entry = book[index];
    const std::size_t width = output_width();
    out << wrapped(heading(entry), "", "  ", width);
    out << wrapped(
        entry.is_chapter ? std::string(entry.path)
                         : fmt::format("{}, {}", entry.path, heading(book[entry.chapter])),
        "",
        "  ",
        width
    );
    const std::string text = markdown_as_text(entry.text, width);
    out << (text.empty() ? "" : "\n") << text;
    if (!entry.is_chapter) {
        return;
    }
    std::string_view gap = "\n";
    for (std::size_t i = index + 1; i < book.size() && !book[i].is_chapter; ++i) {
        out << gap;
        gap = "";
        print_row(out, book[i].name(), book[i].title, width);
    }
}

}  // namespace

int docs(std::ostream& out) {
    out << core::api_reference_markdown();
    return exit_ok;
}

int docs_rule(const docs_rule_options& options, std::ostream& out, std::ostream& err) {
    const rule_entries book = read_rule_books(rule_book_texts());
    const rule_choice choice = choose_rules(book, options.rules);
    for (const std::string& error : choice.errors) {
        print_line(err, "signalbox docs rule: {}", error);
    }
    if (!choice.errors.empty()) {
        return exit_refused;
    }
    if (choice.entries.empty()) {
        print_contents(book, out);
    }
    std::string_view gap;
    for (const std::size_t index : choice.entries) {
        out << gap;
        gap = "\n\n";
        print_entry(book, index, out);
    }
    return exit_ok;
}

int docs_fields(const docs_fields_options& options, std::ostream& out, std::ostream& err) {
    const core::field_text found = core::field_reference(options.path, options.recursive);
    if (!found.error.empty()) {
        print_line(err, "signalbox docs fields: {}", found.error);
        return exit_refused;
    }
    out << wrapped_lines(found.text, output_width());
    return exit_ok;
}

}  // namespace signalbox::op::cli
