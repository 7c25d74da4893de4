// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <sys/ioctl.h>

#include <algorithm>

#include <unistd.h>

namespace signalbox::op::cli {

std::string table_text(const std::vector<table_cells>& rows) {
    std::vector<std::size_t> widths;
    for (const table_cells& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], visible_width(row[i]));
        }
    }
    std::string out;
    for (const table_cells& row : rows) {
        std::string text;
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += row[i] + std::string(widths[i] - visible_width(row[i]) + 3, ' ');
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + '\n';
    }
    return out;
}

std::string dash_if_empty(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string phase_text(core::job_phase phase) {
    return dash_if_empty(std::string(core::to_string(phase)));
}

colour colour_of(core::job_phase phase) {
    switch (phase) {
        case core::job_phase::succeeded:
            return colour::green;
        case core::job_phase::failed:
            return colour::red;
        case core::job_phase::paused:
        case core::job_phase::resuming:
        case core::job_phase::pending:
        case core::job_phase::unknown:
            return colour::yellow;
        case core::job_phase::none:
        case core::job_phase::running:
            break;
    }
    return colour::none;
}

namespace {

/// Zeros where there is no terminal.
winsize terminal_size() {
    winsize out{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &out) == 0 ? out : winsize();
}

}  // namespace

std::size_t terminal_columns() {
    const winsize size = terminal_size();
    return size.ws_col > 0 ? size.ws_col : 80;
}

std::string fit_terminal(std::string_view text, std::size_t spare_rows) {
    const winsize size = terminal_size();
    const std::size_t columns = terminal_columns();
    const std::size_t rows = size.ws_row > spare_rows + 1 ? size.ws_row - spare_rows : 20;
    std::string out;
    std::size_t line = 0;
    for (std::size_t begin = 0; begin < text.size() && line < rows; ++line) {
        const std::size_t end = text.find('\n', begin);
        out += cut_to(text.substr(begin, end - begin), columns - 1) + '\n';
        begin = end + 1;
    }
    return out;
}

}  // namespace signalbox::op::cli
