// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

namespace signalbox::mutants {

/// The file for the trace (SIGNALBOX_MUTANT_TRACE), null if there is none.
const char* trace_file();

/// The switches that were asked for since the last call, while there is a trace.
std::set<int> take_reached();

}  // namespace signalbox::mutants
