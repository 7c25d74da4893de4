// SPDX-License-Identifier: Apache-2.0
//
// The bound of requests in flight: who is beyond it waits, first come first served.
#include "runtime/virtual_loop.hpp"
#include "transport/connection_pool.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

/// Requests that enter a pool with room for one, and leave when they are told to.
struct queue_of_requests {
    using request = test::task<result<pool_permit>>;

    request& enter(std::chrono::seconds patience = 60s) {
        all.push_back(std::make_unique<request>(loop, pool.enter(loop.time.steady_now() + patience))
        );
        loop.settle();
        return *all.back();
    }
    void leave(request& one) {
        one.result = result<pool_permit>();
        loop.settle();
    }

    test::virtual_loop loop;
    connection_pool pool{loop.time, 1, 1};
    std::vector<std::unique_ptr<request>> all;
};

}  // namespace

TEST_CASE("[requirement R1] requests beyond the bound wait for their turn, in order") {
    queue_of_requests queue;
    auto& first = queue.enter();
    auto& second = queue.enter();
    auto& third = queue.enter();
    CHECK(first.done);
    CHECK_FALSE(second.done);
    queue.leave(first);
    REQUIRE(second.done);
    CHECK(second.result.has_value());
    CHECK_FALSE(third.done);
    queue.leave(second);
    REQUIRE(third.done);
    CHECK(third.result.has_value());
    queue.leave(third);
    CHECK(queue.enter().done);
}

TEST_CASE("[requirement R1] one that waited too long, or was cancelled, leaves its place") {
    queue_of_requests queue;
    auto& first = queue.enter();
    auto& late = queue.enter(5s);
    auto& cancelled = queue.enter();
    auto& last = queue.enter();
    queue.loop.run_for(5s);
    REQUIRE(late.done);
    CHECK(late.result.error().code == errc::connect);  // nothing was sent
    cancelled.cancel();
    queue.loop.settle();
    REQUIRE(cancelled.done);
    CHECK(cancelled.result.error().code == errc::cancelled);
    CHECK_FALSE(last.done);
    queue.leave(first);
    REQUIRE(last.done);
    CHECK(last.result.has_value());
}
