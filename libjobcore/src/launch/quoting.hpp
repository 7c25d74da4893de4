// SPDX-License-Identifier: Apache-2.0
//
// Texts of the user on their way through shells and other readers that take some characters as
// their own (BEHAVIOUR.md 3.8). One function per way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::launch {

/// One word of a POSIX shell's command line; as it is if it needs no quotes.
std::string shell_word(std::string_view text);

/// `set -- <words>`, a line of shell that makes exactly these the positional parameters.
std::string shell_set(const std::vector<std::string>& words);

/// What of `deepspeed` over pdsh the text is (LAUNCH.md 2.5).
enum class pdsh_place {
    script,    ///< file, module or program: the runner passes it on as it is
    argument,  ///< the runner puts quotes around one that contains a space
};
/// The argument of `deepspeed` that arrives as `text` at every rank started over pdsh.
std::string pdsh_word(std::string_view text, pdsh_place place);

/// A word of `command` or `args` of a container that the kubelet does not expand: `$(NAME)` stays.
std::string container_word(std::string_view text);

}  // namespace signalbox::core::launch
