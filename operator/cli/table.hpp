// SPDX-License-Identifier: Apache-2.0
//
// Tables of jobs, on a terminal and elsewhere.
#pragma once

#include "cli/colour.hpp"

#include <jobcore/status.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::cli {

using table_cells = std::vector<std::string>;

/// Columns as wide as their widest cell, three spaces apart, as kubectl prints them. Cells may have
/// sequences of colours, and no line breaks.
std::string table_text(const std::vector<table_cells>& rows);

/// What a cell shows where there is nothing: `-`.
std::string dash_if_empty(const std::string& text);
std::string phase_text(core::job_phase phase);

/// What a phase is shown in.
colour colour_of(core::job_phase phase);

/// Of standard output; 80 where that is no terminal.
std::size_t terminal_columns();

/// Lines cut to the terminal, and as many as it has but `spare_rows`: a line that wraps, or one
/// above its top, could not be erased again.
std::string fit_terminal(std::string_view text, std::size_t spare_rows);

}  // namespace signalbox::op::cli
