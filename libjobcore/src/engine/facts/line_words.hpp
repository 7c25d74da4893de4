// SPDX-License-Identifier: Apache-2.0
//
// The lines of a log, and what a single one says: the prefixes in front of it, and whether it names
// an error (BEHAVIOUR.md 3.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace signalbox::core::engine {

inline constexpr std::string_view digits = "0123456789";

/// Without blanks and line breaks at its ends.
std::string_view trimmed(std::string_view text);
/// The last line that is not empty, without blanks at its ends.
std::string_view last_line(std::string_view text);
/// `read` gets each line, without blanks at its end.
template <class Read>
void for_each_line(std::string_view log, Read read) {
    while (!log.empty()) {
        const std::size_t end = log.find('\n');
        std::string_view line = log.substr(0, end);
        while (line.ends_with('\r') || line.ends_with(' ')) {
            line.remove_suffix(1);
        }
        read(line);
        log.remove_prefix(end == log.npos ? log.size() : end + 1);
    }
}
/// Takes `<pod>: ` off the front, as pdsh puts it there.
std::string_view take_pod(std::string_view& line);
/// Takes `[rank3]: ` off the front; torch leaves out the blank of an empty line.
std::optional<std::int32_t> take_rank(std::string_view& line);
/// Takes `[default0]:` off the front, which torchrun puts there with `--tee`.
void take_local_prefix(std::string_view& line);
/// `package.SomeError` or `package.SomeError: text`.
bool names_error(std::string_view line);
/// `package.Anything` or `package.Anything: text`, as a traceback of an exception with such a name
/// ends.
bool is_name(std::string_view line);
/// Where in a line another one begins, which a launcher of several nodes wrote into the middle of
/// it; npos: nowhere.
std::size_t find_torn(std::string_view line);
/// `package.Anything: text`: directly below a line of a traceback it is the exception, whatever it
/// is called.
bool names_exception(std::string_view line);
/// The line above a traceback of what ends no program: a destructor, a handler of the log, what is
/// called at the exit.
bool introduces_harmless(std::string_view line);
/// That above one of a thread or a process.
bool introduces_thread(std::string_view line);
/// torch's words for an error of NCCL, which it explains in the lines below.
bool is_of_nccl(std::string_view text);
/// The line below them: `ncclSystemError: System call (e.g. socket, malloc) or ... failed.`
bool is_kind_of_nccl(std::string_view line);
/// What programs say that cannot start, or that are aborted: Python without its script, a command
/// line that is refused, an interpreter that crashes, a shell without the program.
bool is_refusal(std::string_view line);
/// `Fatal Python error: Aborted`, as Python's faulthandler tells of a signal, which torch's @record
/// turns on.
bool is_of_interpreter(std::string_view line);
/// Below it, in place of the places of a thread: it has none.
bool is_of_no_frame(std::string_view line);
/// What DeepSpeed's launcher says of a rank that a signal ended; empty for any other line.
std::string_view killed_rank(std::string_view line);
/// `return code = 3` of what it says of a rank that failed; empty for any other line.
std::string_view return_code(std::string_view line);
/// `3` of `CalledProcessError: Command '...' returned non-zero exit status 3.`; empty for any other
/// text.
std::string_view status_of_child(std::string_view error);

}  // namespace signalbox::core::engine
