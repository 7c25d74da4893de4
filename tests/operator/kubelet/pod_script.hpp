// SPDX-License-Identifier: Apache-2.0
//
// A pod's state machine with a clock that a test turns.
#pragma once

#include "kubelet/machine/pod_machine.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::test {

/// `members`: of its spec.
inline kubelet::pod_spec spec_of(const std::string& members) {
    return kubelet::read_pod_spec(
               R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{)" + members + "}}"
    )
        .value();
}

class pod_script {
public:
    explicit pod_script(
        const kubelet::pod_spec& pod, const pods::behaviour& faults = pods::behaviour()
    )
        : machine(pod, faults, "10.0.0.1", kubelet::moment()) {
        machine.on_time(now);
    }

    void pass(std::chrono::nanoseconds time) {
        now.steady += time;
        now.server += std::chrono::duration_cast<core::milliseconds>(time);
    }

    /// What it wants done, in words; events of the pod only if they are asked for.
    enum class events { left_out, told };
    std::string take(events which = events::left_out) {
        last = machine.take_commands();
        std::vector<std::string> out;
        for (const kubelet::pod_command& c : last) {
            if (which == events::told || !std::holds_alternative<kubelet::pod_commands::tell>(c)) {
                out.push_back(kubelet::to_string(c));
            }
        }
        return fmt::format("{}", fmt::join(out, ", "));
    }
    /// As take(); statuses that are to be written are taken by the server.
    std::string settle() {
        std::string out;
        for (std::string more = take(); !more.empty(); more = take()) {
            out += (out.empty() ? "" : ", ") + more;
            if (more.find("write ") != std::string::npos) {
                machine.on_written(now, kubelet::write_answer::done);
            }
        }
        return out;
    }
    /// The message of the last event of this reason among what take() gave last.
    std::string message_of(std::string_view reason) const {
        std::string out;
        for (const kubelet::pod_command& c : last) {
            const auto* tell = std::get_if<kubelet::pod_commands::tell>(&c);
            if (tell != nullptr && tell->reason == reason) {
                out = tell->message;
            }
        }
        return out;
    }
    void end(int code, std::size_t container = 0) {
        kubelet::run_end how;
        how.code = code;
        machine.on_ended(now, container, how);
    }

    kubelet::moment now;
    kubelet::pod_machine machine;
    std::vector<kubelet::pod_command> last;
};

}  // namespace signalbox::op::test
