// SPDX-License-Identifier: Apache-2.0
//
// The Markdown of the rule books on a terminal. Only what these documents use is known.
#include "cli/text_layout.hpp"

#include <jobcore/strings.hpp>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace signalbox::op::cli {
namespace {

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// Without the marks of links and of bold text. Code in backquotes stays as it is.
std::string plain(std::string_view text) {
    std::string out;
    bool code = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '`') {
            code = !code;
        }
        if (!code && text.substr(i).starts_with("**")) {
            ++i;
            continue;
        }
        if (!code && text[i] == '[') {
            const std::size_t middle = text.find("](", i);
            const std::size_t end = text.find(')', i);
            if (middle != std::string_view::npos && middle < end && end != std::string_view::npos &&
                text.substr(i, middle - i).find(']') == std::string_view::npos) {
                out += plain(text.substr(i + 1, middle - i - 1));
                i = end;
                continue;
            }
        }
        out += text[i];
    }
    return out;
}

/// Whether a line begins a paragraph with a word such as `Why:` or `Seen on:`.
bool has_lead(std::string_view line) {
    const std::size_t colon = line.find(": ");
    const std::string_view lead = line.substr(0, colon);
    const auto is_small = [](char c) { return c == ' ' || (c >= 'a' && c <= 'z'); };
    return colon != std::string_view::npos && lead.size() > 1 && lead[0] >= 'A' && lead[0] <= 'Z' &&
           std::ranges::all_of(lead.substr(1), is_small) && std::ranges::count(lead, ' ') <= 1;
}

/// `- `, `* ` or `1. ` at the start, else empty.
std::string_view list_mark(std::string_view line) {
    std::size_t end = 0;
    while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) {
        ++end;
    }
    if (end > 0 && line.substr(end).starts_with(". ")) {
        return line.substr(0, end + 2);
    }
    return line.starts_with("- ") || line.starts_with("* ") ? line.substr(0, 2) : "";
}

using table_row = std::vector<std::string>;

table_row cells_of(std::string_view line) {
    table_row cells;
    std::string cell;
    bool code = false;
    for (std::size_t i = 1; i < line.size(); ++i) {
        code = line[i] == '`' ? !code : code;
        const bool escaped = line.substr(i).starts_with("\\|");
        if (escaped) {
            cell += line[++i];
        } else if (line[i] == '|' && !code) {
            cells.push_back(plain(trimmed(cell)));
            cell.clear();
        } else {
            cell += line[i];
        }
    }
    return cells;
}

bool is_ruler(std::string_view line) {
    return line.find_first_not_of("|-: ") == std::string_view::npos;
}

/// The widths of the columns: as wide as their texts, the widest narrowed until all fit.
std::vector<std::size_t> fit_columns(const std::vector<table_row>& rows, std::size_t width) {
    constexpr std::size_t narrowest = 8;
    std::vector<std::size_t> widths;
    for (const table_row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], core::count_characters(row[i]));
        }
    }
    const auto total = [&] {
        return std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
    };
    while (!widths.empty() && total() > width) {
        const auto widest = std::ranges::max_element(widths);
        if (*widest <= narrowest) {
            break;
        }
        --*widest;
    }
    return widths;
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

std::string laid_out(const std::vector<table_row>& rows, std::size_t width) {
    const std::vector<std::size_t> widths = fit_columns(rows, width);
    std::string out;
    for (const table_row& row : rows) {
        std::vector<std::vector<std::string>> cells;
        std::size_t height = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            cells.push_back(lines_of(wrapped(row[i], "", "", widths[i])));
            height = std::max(height, cells.back().size());
        }
        for (std::size_t line = 0; line < height; ++line) {
            std::string text;
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const std::string part = line < cells[i].size() ? cells[i][line] : "";
                text += (i == 0 ? "" : "  ") + part;
                text +=
                    std::string(widths[i] - std::min(widths[i], core::count_characters(part)), ' ');
            }
            out += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
        }
    }
    return out;
}

/// Gathers lines into blocks and lays each out as it ends.
class markdown_layout {
public:
    explicit markdown_layout(std::size_t width) : width_(width) {}

    std::string lay_out(std::string_view markdown) {
        for (const std::string& line : lines_of(markdown)) {
            add(line);
        }
        end_block();
        return std::move(out_);
    }

private:
    void add(const std::string& line) {
        const std::string_view text = trimmed(line);
        if (text.starts_with("```")) {
            end_block();
            code_ = !code_;
            gap_ = true;
        } else if (code_) {
            begin_output();
            out_ += "    " + line + '\n';
        } else if (text.empty()) {
            end_block();
            gap_ = true;
        } else if (text.starts_with("|")) {
            if (!paragraph_.empty()) {
                end_block();
            }
            if (!is_ruler(text)) {
                table_.push_back(cells_of(text));
            }
        } else {
            add_text(line, text);
        }
    }

    void add_text(std::string_view line, std::string_view text) {
        const std::string_view mark = list_mark(text);
        const bool is_lead = has_lead(text);
        if (!mark.empty() || is_lead || !table_.empty()) {
            end_block();
        }
        if (paragraph_.empty()) {
            const bool item = !mark.empty();
            // Items of an inner list keep their depth.
            const std::size_t depth = item ? line.find_first_not_of(' ') : 0;
            first_ = std::string(depth, ' ') + std::string(mark);
            rest_ = std::string(item ? first_.size() : is_lead ? 2 : 0, ' ');
            gap_ = gap_ || is_lead;
            paragraph_ = text.substr(mark.size());
        } else {
            paragraph_ += ' ';
            paragraph_ += text;
        }
    }

    void end_block() {
        if (!paragraph_.empty()) {
            begin_output();
            out_ += wrapped(plain(paragraph_), first_, rest_, width_);
            paragraph_.clear();
        }
        if (!table_.empty()) {
            begin_output();
            out_ += laid_out(table_, width_);
            table_.clear();
        }
    }

    void begin_output() {
        if (gap_ && !out_.empty()) {
            out_ += '\n';
        }
        gap_ = false;
    }

    std::size_t width_;
    std::string out_;
    std::string paragraph_;
    std::string first_;
    std::string rest_;
    std::vector<table_row> table_;
    bool code_ = false;
    bool gap_ = false;  ///< an empty line comes before the next block
};

}  // namespace

std::string markdown_as_text(std::string_view markdown, std::size_t width) {
    return markdown_layout(width).lay_out(markdown);
}

}  // namespace signalbox::op::cli
