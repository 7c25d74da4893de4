// SPDX-License-Identifier: Apache-2.0
//
// The command line: what `signalbox` understands, and where each command begins.
#pragma once

#include <iosfwd>

namespace signalbox::op::cli {

/// Exit codes of every command.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;   ///< it was done, and the result is a failure
inline constexpr int exit_refused = 2;  ///< the command line, a file or a setting is wrong
inline constexpr int exit_time_is_up = 3;

/// Runs the command that `argv` names. Results go to `out`, complaints to `err`.
int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace signalbox::op::cli
