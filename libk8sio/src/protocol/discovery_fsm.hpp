// SPDX-License-Identifier: Apache-2.0
//
// Which of some resources a server serves, asked again and again, as a state machine
// (REQUIREMENTS.md Q12): it is told what discovery answered, and says what to do next. No I/O, no
// clock: steady times come in.
#pragma once

#include "k8sio/discovery_timing.hpp"
#include "k8sio/time.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <variant>

namespace signalbox::k8sio::protocol {

class discovery_fsm {
public:
    /// Discovery is to be asked for this resource, then answered().
    struct ask {
        std::size_t resource = 0;
    };
    struct sleep {
        steady_time until;
    };
    using action = std::variant<ask, sleep>;

    /// `resources`: how many there are.
    discovery_fsm(discovery_timing timing, std::size_t resources)
        : timing_(timing), resources_(resources), retry_(timing.first_retry), state_(looking()) {}

    /// `lists_complete`: what is known to be served has been listed. Called when the action before
    /// has been carried out; a sleep may have ended early, once lists are complete.
    action next(steady_time now, bool lists_complete);
    /// What the server said of the resource that was asked for; nothing: no usable answer.
    void answered(std::optional<bool> served);

    /// The first look is over, and what is served has been listed or had the time for it.
    bool settled(bool lists_complete) const;

private:
    struct looking {
        std::size_t resource = 0;
        bool all_answered = true;
    };
    struct awaiting_lists {
        steady_time until;
        bool all_answered;
    };
    struct resting {
        steady_time until;
    };

    void rest(steady_time now, bool all_answered);

    discovery_timing timing_;
    std::size_t resources_;
    std::chrono::nanoseconds retry_;
    bool first_ = true;  // no look is over yet
    std::variant<looking, awaiting_lists, resting> state_;
};

}  // namespace signalbox::k8sio::protocol
