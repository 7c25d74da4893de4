// SPDX-License-Identifier: Apache-2.0
//
// Words of what follows from the end of another process (BEHAVIOUR.md 3.9).
#pragma once

#include <string_view>

namespace signalbox::core::engine {

/// True for what follows from the end of another process: a closed connection, a collective that
/// was given up.
bool is_secondary(std::string_view text);
/// The same of an error of NCCL with its own last words, which may name what this machine lacks.
bool is_secondary(std::string_view text, std::string_view last_words);

}  // namespace signalbox::core::engine
