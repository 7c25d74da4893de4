// SPDX-License-Identifier: Apache-2.0
//
// A loop whose time a test moves, for tests that put a few parts of the operator together by
// themselves; world.hpp has a whole cluster.
#pragma once

#include "k8sio/clock.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace signalbox::test {

struct virtual_time {
    /// Everything that is due in this time happens.
    void run_for(std::chrono::nanoseconds duration) {
        const auto end = time.steady_now() + duration;
        do {
            loop.restart();
            while (loop.poll() > 0) {
            }
            if (after_step) {
                after_step();
            }
        } while (time.has_pending() && time.next_at() <= end && time.advance_to_next());
        time.advance(end - time.steady_now());
    }

    /// Runs an operation that takes no time, and gives its result.
    template <class T>
    T finish(boost::asio::awaitable<T> operation) {
        std::optional<T> value;
        boost::asio::co_spawn(loop, std::move(operation), [&](std::exception_ptr, T result) {
            value.emplace(std::move(result));
        });
        run_for(std::chrono::seconds{0});
        REQUIRE(value);
        return std::move(*value);
    }

    boost::asio::io_context loop;
    k8sio::virtual_clock time{loop.get_executor(), k8sio::wall_time(story_start)};
    /// What must hold at every moment; may be empty.
    std::function<void()> after_step;
};

/// How often `what` stands in a log.
inline long count_in(const std::string& log, const std::string& what) {
    long count = 0;
    for (std::size_t at = log.find(what); at != log.npos; at = log.find(what, at + 1)) {
        ++count;
    }
    return count;
}

/// The job as a user writes it: without what the server sets.
std::string as_written(const std::string& job_json);

}  // namespace signalbox::test
