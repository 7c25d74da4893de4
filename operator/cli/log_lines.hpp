// SPDX-License-Identifier: Apache-2.0
//
// Lines of several logs, put into one, and what they are of.
#pragma once

#include "cli/colour.hpp"

#include <jobcore/observed.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::op::cli {

/// Takes lines with the server's timestamps from sources that are numbered, and gives them in order
/// of time. A source that is open and has no line holds the others back, unless `live`.
class log_merge {
public:
    using print_function = std::function<void(std::size_t source, std::string_view line)>;
    log_merge(bool live, print_function print) : live_(live), print_(std::move(print)) {}

    void open(std::size_t source);
    /// Bytes as they come, in any pieces.
    void feed(std::size_t source, std::string_view bytes);
    /// An unfinished line counts as one.
    void close(std::size_t source);

    /// A source that is not read further for now: so many bytes of it wait for others.
    bool is_full(std::size_t source) const;

private:
    struct state {
        std::string waiting;  ///< lines, and the beginning of one
        bool open = true;
    };
    static std::optional<std::string_view> first_line(const state& of);
    void print();

    bool live_;
    print_function print_;
    std::map<std::size_t, state> sources_;
};

/// `2026-01-31T03:00:00.1Z text` without its first word, if that is a timestamp.
std::string_view without_timestamp(std::string_view line);

/// What a terminal shows of a line in which a progress bar was drawn over and over: what is behind
/// the last carriage return that has anything behind it.
std::string_view last_drawn(std::string_view line);

/// The pod's program is the sshd of a worker (LAUNCH.md 5.3).
bool is_sshd(std::string_view pod_json);
/// A line that such an sshd writes when a probe opens its port and goes: once every some seconds.
bool is_probe_noise(std::string_view line);

/// Name of the container that trains (BEHAVIOUR.md 1.6), else of the first. `pod` has containers.
const std::string& training_container(const core::pod_record& pod);
/// `worker-0`
std::string replica_name(const core::pod_record& pod);

/// The colour of the n-th source; neighbours differ.
colour colour_of_source(std::size_t number);

}  // namespace signalbox::op::cli
