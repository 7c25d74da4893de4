// SPDX-License-Identifier: Apache-2.0
//
// How many requests a server shall have at a time: as many as it answers about as fast as a few
// (REQUIREMENTS.md R10). No I/O, no clock.
#pragma once

#include "k8sio/time.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

namespace signalbox::k8sio {

/// Begins with the least, so that the best times are not measured under a load of our own. Each
/// answer is compared with the best time of its kind. When a round of answers, as many as may be in
/// flight, took more than half as long again, a quarter fewer are allowed, else a quarter more.
class in_flight_limit {
public:
    /// `least`: that many are always allowed; at least 1. `most`: not less than that.
    in_flight_limit(std::size_t least, std::size_t most);

    std::size_t size() const { return size_; }
    /// A request ended at `now`, `took` after it was sent. `kind`: of what takes about as long,
    /// e.g. `create pod`; some hundreds at most, as each is kept. `worked`: the server did what it
    /// was asked. A refusal, or a connection that is not made, is no measure of that, unless it
    /// took longer.
    void note(
        const std::string& kind, std::chrono::nanoseconds took, steady_time now, bool worked = true
    );

private:
    using seconds = std::chrono::duration<double>;
    struct times {
        seconds best{};     ///< mean of a few answers in a row; zero: none yet
        steady_time since;  ///< what `best` is of
        seconds sum{};      ///< of the answers that come next
        std::size_t answers = 0;
    };
    static void learn(times& of, seconds took, steady_time now);

    std::size_t least_, most_, size_;
    std::unordered_map<std::string, times> kinds_;
    std::size_t answers_ = 0;  ///< since size_ was looked at
    seconds took_{}, at_best_{};
};

}  // namespace signalbox::k8sio
