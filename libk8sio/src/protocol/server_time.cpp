// SPDX-License-Identifier: Apache-2.0
#include "protocol/server_time.hpp"

#include "protocol/api_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace signalbox::k8sio::protocol {

namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds small_step{60};  // taken from one answer
constexpr seconds agreement{5};    // of two answers, whole seconds and round trips included
constexpr seconds undisputed{10};  // no answer may contradict for so long
constexpr seconds notice_interval{600};

bool is_near(wall_time a, wall_time b, seconds bound) {
    return a > b ? a - b <= bound : b - a <= bound;
}

std::string signed_seconds(wall_time to, wall_time from) {
    return fmt::format("{:+} s", std::chrono::duration_cast<seconds>(to - from).count());
}

wall_time shifted(wall_time time, steady_time from, steady_time to) {
    return time + std::chrono::duration_cast<wall_time::duration>(to - from);
}

}  // namespace

bool is_api_answer(const http_response& answer) {
    api_error ignored;
    object_facts facts;
    if (answer.status >= 200 && answer.status < 300) {
        return read_object_facts(answer.body, facts) && !facts.kind.empty();
    }
    return read_status(answer.body, ignored);
}

wall_time server_time::at(steady_time now, wall_time local) const {
    return anchor_ ? shifted(anchor_->second, anchor_->first, now) : local;
}

void server_time::note(wall_time date, steady_time sent, steady_time received, wall_time local) {
    const wall_time believed = at(received, local);
    if (is_near(date, believed, small_step)) {
        anchor(date, sent, received, believed);
        return;
    }
    // Two witnesses against one, where API servers contradict each other.
    if (is_near(date, local, small_step)) {
        jump(date, received, believed);
        return;
    }
    const bool agreed =
        doubt_ && is_near(date, shifted(doubt_->date, doubt_->received, received), agreement);
    if (!agreed) {
        doubt_ = doubt{date, received};
        if (!doubt_told_ || received - *doubt_told_ >= notice_interval) {
            doubt_told_ = received;
            notice_ = fmt::format(
                "an answer of the server is {} off the time believed: not used unless another one "
                "agrees",
                signed_seconds(date, believed)
            );
        }
        return;
    }
    if (!anchor_ || received - doubt_->received >= undisputed) {
        jump(date, received, believed);
    }
}

void server_time::anchor(
    wall_time date, steady_time sent, steady_time received, wall_time believed
) {
    // The header was written between `sent` and `received` and has whole seconds. The estimate
    // moves only as far as this bound makes it, so that it does not jump to and fro by parts of a
    // second.
    const auto round_trip = std::chrono::duration_cast<wall_time::duration>(received - sent);
    const wall_time latest = date + seconds{1} + round_trip;
    anchor_.emplace(received, std::clamp<wall_time>(believed, date, latest));
    doubt_.reset();
}

void server_time::jump(wall_time date, steady_time received, wall_time believed) {
    notice_ = fmt::format("the server's time has jumped by {}", signed_seconds(date, believed));
    anchor_.emplace(received, date);
    doubt_.reset();
}

std::optional<std::string> server_time::take_notice() {
    return std::exchange(notice_, std::nullopt);
}

}  // namespace signalbox::k8sio::protocol
