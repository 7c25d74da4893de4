// SPDX-License-Identifier: Apache-2.0
#include "cli/rule_book.hpp"

#include "cli/text_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace signalbox::op::cli {
namespace {

/// What the headings of a book number if they do not say so themselves.
struct series_of_book {
    std::string_view file;
    std::string_view series;
};
constexpr std::array books_known{
    series_of_book{"BEHAVIOUR.md", "behaviour"},
    series_of_book{"LAUNCH.md", "launch"},
    series_of_book{"REQUIREMENTS.md", "requirement"},
};
constexpr std::string_view api_prefix = "api ";

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

std::string_view series_for(std::string_view path) {
    const auto known = std::ranges::find_if(books_known, [&](const series_of_book& book) {
        return path.ends_with(book.file);
    });
    return known == books_known.end() ? path : known->series;
}

/// `5`, `5.8`, `I7`, and of a chapter `T`: a letter or none, then numbers joined by dots.
bool is_number(std::string_view text) {
    if (!text.empty() && is_letter(text.front())) {
        text.remove_prefix(1);
        if (text.empty()) {
            return true;
        }
    }
    bool digit_before = false;
    for (const char c : text) {
        if (!is_digit(c) && (c != '.' || !digit_before)) {
            return false;
        }
        digit_before = is_digit(c);
    }
    return digit_before;
}

/// A letter says by itself which book a number is of.
bool has_letter(std::string_view number) {
    return is_letter(number.front());
}

/// What a heading after its marks says: `api 6.3 Room for names`, `5. Failure`, `Invariants`.
void read_heading(std::string_view heading, rule_entry& entry) {
    if (heading.starts_with(api_prefix)) {
        entry.series = "api";
        heading.remove_prefix(api_prefix.size());
    }
    const std::size_t space = std::min(heading.find(' '), heading.size());
    std::string_view number = heading.substr(0, space);
    number.remove_suffix(number.ends_with('.') ? 1 : 0);
    if (is_number(number) && space < heading.size()) {
        entry.has_number = true;
        entry.number = number;
        entry.title = heading.substr(space + 1);
    } else {
        entry.number = lower(heading);
        entry.title = heading;
    }
}

void read_book(const embedded_text& book, std::vector<rule_entry>& entries) {
    bool code = false;
    std::size_t chapter = 0;
    rule_entry* open = nullptr;
    std::size_t text_begin = 0;
    const auto close = [&](std::size_t end) {
        if (open != nullptr) {
            open->text = book.text.substr(text_begin, end - text_begin);
        }
    };
    for (std::size_t begin = 0; begin < book.text.size();) {
        const std::size_t end = std::min(book.text.find('\n', begin), book.text.size());
        const std::string_view line = book.text.substr(begin, end - begin);
        code = line.starts_with("```") ? !code : code;
        const bool is_chapter = line.starts_with("## ");
        if (!code && (is_chapter || line.starts_with("### "))) {
            close(begin);
            chapter = is_chapter ? entries.size() : chapter;
            entries.push_back({
                .path = book.path,
                .series = series_for(book.path),
                .number = {},
                .title = {},
                .text = {},
                .is_chapter = is_chapter,
                .chapter = chapter,
            });
            open = &entries.back();
            read_heading(line.substr(is_chapter ? 3 : 4), *open);
            text_begin = std::min(end + 1, book.text.size());
        }
        begin = end + 1;
    }
    close(book.text.size());
}

/// The numbers of what matches, as a reader would say it: `5.1 to 5.14`.
template <class Condition>
std::string numbers(std::span<const rule_entry> book, Condition matches) {
    std::string first;
    std::string last;
    for (const rule_entry& entry : book) {
        if (matches(entry)) {
            first = first.empty() ? entry.number : first;
            last = entry.number;
        }
    }
    return first == last ? first : fmt::format("{} to {}", first, last);
}

class rule_finder {
public:
    explicit rule_finder(std::span<const rule_entry> book) : book_(book) {}

    void read(std::string_view word) {
        if (take_series(word)) {
            return;
        }
        const std::size_t dash = word.find('-');
        const std::string_view first = word.substr(0, dash);
        const std::optional<std::size_t> from = find(first);
        if (!from) {
            choice_.errors.push_back(error(first));
            return;
        }
        std::size_t to = *from;
        if (dash != std::string_view::npos) {
            const std::optional<std::size_t> last = find(word.substr(dash + 1));
            if (!last || *last < *from) {
                choice_.errors.push_back(error(word.substr(dash + 1)));
                return;
            }
            to = *last;
        }
        for (std::size_t i = *from; i <= to; ++i) {
            if (book_[i].is_chapter == book_[*from].is_chapter) {
                choice_.entries.push_back(i);
            }
        }
    }

    rule_choice take() && { return std::move(choice_); }

private:
    bool take_series(std::string_view word) {
        const std::string wanted = lower(word);
        if (wanted == "api") {
            series_ = "api";
            return true;
        }
        for (const series_of_book& known : books_known) {
            const std::string file = lower(known.file);
            if (wanted == file || wanted.ends_with("/" + file) || wanted == known.series ||
                wanted == std::string(known.series) + "s") {
                series_ = known.series;
                return true;
            }
        }
        return false;
    }

    std::optional<std::size_t> find(std::string_view number) const {
        const std::string wanted = lower(number);
        for (std::size_t i = 0; i < book_.size(); ++i) {
            const rule_entry& entry = book_[i];
            if (lower(entry.number) == wanted &&
                (entry.series == series_ || has_letter(entry.number))) {
                return i;
            }
        }
        return std::nullopt;
    }

    /// What there is in place of `number`.
    std::string error(std::string_view number) const {
        if (!is_number(number)) {
            return fmt::format(
                "`{}` is no number of a rule, such as 5.8, api 6.3, I7, launch 2.5 or W3", number
            );
        }
        const std::string wanted = lower(number);
        const bool letter = has_letter(wanted);
        const std::string chapter(wanted.substr(0, letter ? 1 : wanted.find('.')));
        const std::string name =
            letter ? std::string(number) : fmt::format("{} {}", series_, number);
        const std::string near = numbers(book_, [&](const rule_entry& entry) {
            const rule_entry& in = book_[entry.chapter];
            const std::string_view start =
                letter ? std::string_view(entry.number).substr(0, 1) : in.number;
            return !entry.is_chapter && lower(start) == chapter &&
                   (letter || entry.series == series_);
        });
        if (!near.empty()) {
            return fmt::format("there is no rule {}; the nearest are {}", name, near);
        }
        const std::string chapters = numbers(book_, [&](const rule_entry& entry) {
            return entry.is_chapter && entry.series == series_ && is_number(entry.number);
        });
        if (letter || chapters.empty()) {
            return fmt::format(
                "there is no rule {}; `signalbox docs rule` lists all chapters", name
            );
        }
        return fmt::format(
            "there is no rule {}; the chapters of {} are {}", name, series_, chapters
        );
    }

    std::span<const rule_entry> book_;
    std::string_view series_ = "behaviour";
    rule_choice choice_;
};

}  // namespace

std::string rule_entry::name() const {
    return has_letter(number) ? number : fmt::format("{} {}", series, number);
}

std::vector<rule_entry> read_rule_books(std::span<const embedded_text> books) {
    std::vector<rule_entry> entries;
    for (const embedded_text& book : books) {
        read_book(book, entries);
    }
    return entries;
}

rule_choice choose_rules(std::span<const rule_entry> book, std::span<const std::string> arguments) {
    constexpr std::string_view separators = " ,;[]()`";
    rule_finder finder(book);
    for (const std::string& argument : arguments) {
        std::string_view rest = argument;
        while (true) {
            rest.remove_prefix(std::min(rest.find_first_not_of(separators), rest.size()));
            if (rest.empty()) {
                break;
            }
            const std::size_t end = std::min(rest.find_first_of(separators), rest.size());
            finder.read(rest.substr(0, end));
            rest.remove_prefix(end);
        }
    }
    return std::move(finder).take();
}

}  // namespace signalbox::op::cli
