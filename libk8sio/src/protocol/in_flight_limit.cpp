// SPDX-License-Identifier: Apache-2.0
#include "k8sio/in_flight_limit.hpp"

#include <algorithm>

namespace signalbox::k8sio {

namespace {

/// Answers whose mean counts as one time: a single one may be fast by chance.
constexpr std::size_t answers_of_a_mean = 8;
constexpr double too_slow = 1.5;
/// A server that has become slower for good is believed in steps, so that one which is overloaded
/// for an hour is not taken for one that is so by nature.
constexpr std::chrono::minutes believed_for{10};
constexpr double slower_at_most = 1.25;

}  // namespace

in_flight_limit::in_flight_limit(std::size_t least, std::size_t most)
    : least_(std::max<std::size_t>(least, 1)), most_(std::max(most, least_)), size_(least_) {}

void in_flight_limit::learn(times& of, seconds took, steady_time now) {
    of.sum += took;
    if (++of.answers < answers_of_a_mean) {
        return;
    }
    const seconds mean = of.sum / static_cast<double>(of.answers);
    of.sum = seconds{};
    of.answers = 0;
    if (of.best == seconds{} || mean <= of.best) {
        of.best = mean;
        of.since = now;
    } else if (now - of.since >= believed_for) {
        of.best = std::min(mean, of.best * slower_at_most);
        of.since = now;
    }
}

void in_flight_limit::note(
    const std::string& kind, std::chrono::nanoseconds took, steady_time now, bool worked
) {
    times& of = kinds_[kind];
    // Zero stands for no time yet.
    took = std::max<std::chrono::nanoseconds>(took, std::chrono::microseconds{1});
    if (worked) {
        learn(of, took, now);
    }
    if (of.best == seconds{} || (!worked && took < of.best)) {
        return;
    }
    took_ += took;
    at_best_ += of.best;
    if (++answers_ < size_) {
        return;
    }
    const std::size_t quarter = (size_ + 3) / 4;
    size_ = took_ > too_slow * at_best_ ? std::max(least_, size_ - quarter)
                                        : std::min(most_, size_ + quarter);
    answers_ = 0;
    took_ = at_best_ = seconds{};
}

}  // namespace signalbox::k8sio
