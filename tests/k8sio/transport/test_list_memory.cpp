// SPDX-License-Identifier: Apache-2.0
//
// What lists take of the heap while they are read: over the transport, from a peer that makes up
// its answer while it is read, so that all that grows belongs to the client.
#include "k8sio/reflector.hpp"
#include "runtime/virtual_loop.hpp"
#include "signalbox_test/heap.hpp"
#include "transport/http_transport.hpp"
#include "transport/scripted_network.hpp"

#include <boost/asio/detached.hpp>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <numeric>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using signalbox::test::heap_in_use;

namespace {

constexpr std::size_t kib = 1024;

/// How each list looks, and what was seen while they were read.
struct lists {
    explicit lists(signalbox::k8sio::clock& c) : time(&c) {}

    signalbox::k8sio::clock* time;
    std::size_t items = 0;
    std::size_t item_size = 0;
    std::size_t at_start = heap_in_use();
    std::size_t peak = 0;   // above at_start
    std::size_t bytes = 0;  // read, of all lists
    int requests = 0;

    void look() {
        const std::size_t now = heap_in_use();
        peak = std::max(peak, now - std::min(at_start, now));
    }
};

/// A connection that answers a list, and keeps silent after the head of a watch.
class list_peer final : public byte_stream {
public:
    explicit list_peer(lists& shared) : lists_(&shared) {}

    boost::asio::awaitable<result<std::size_t>> read_some(char* data, std::size_t size) override {
        const auto executor = co_await boost::asio::this_coro::executor;
        co_await boost::asio::post(executor, boost::asio::use_awaitable);  // each list in turn
        lists_->look();
        while (ready_.size() < size && (left_ > 0 || next_ <= lists_->items)) {
            render();
        }
        if (ready_.empty()) {
            const steady_time far = lists_->time->steady_now() + 1000h;
            co_await sleep_until(*lists_->time, far, waker_);
            co_return test::failure(errc::cancelled);
        }
        const std::size_t count = std::min(size, ready_.size());
        ready_.copy(data, count);
        ready_.erase(0, count);
        lists_->bytes += count;
        co_return count;
    }
    boost::asio::awaitable<result<std::size_t>> write_all(std::string_view bytes) override {
        const bool watch = bytes.find("watch=") != std::string_view::npos;
        co_await boost::asio::post(boost::asio::use_awaitable);
        ready_ = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        next_ = watch ? SIZE_MAX : 0;
        lists_->requests += watch ? 0 : 1;
        co_return bytes.size();
    }
    void close() override { waker_.wake(); }
    bool looks_alive() override { return true; }

private:
    static std::string chunk(std::string_view text) {
        return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
    }
    /// The next piece of the body: an item comes in many.
    void render() {
        constexpr std::size_t piece = 4 * kib;
        if (left_ > 0) {
            const std::size_t size = std::min(piece, left_);
            ready_ += chunk(std::string(size, 'x'));
            left_ -= size;
            ready_ += left_ == 0 ? chunk("\"}}}") : std::string();
            return;
        }
        const std::size_t n = next_++;
        if (n == lists_->items) {
            ready_ += chunk("]}") + chunk("");
            return;
        }
        ready_ += chunk(
            n == 0 ? R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},)"
                     R"("items":[)"
                   : ","
        );
        ready_ += chunk(fmt::format(
            R"({{"metadata":{{"name":"pod-{}","uid":"u-{}","resourceVersion":"5",)"
            R"("annotations":{{"a":")",
            n,
            n
        ));
        left_ = lists_->item_size;
    }

    lists* lists_;
    sleep_waker waker_;
    std::string ready_;
    std::size_t next_ = SIZE_MAX;  // item; one beyond the last is the end
    std::size_t left_ = 0;         // of an item that has begun
};

class list_connector final : public connector {
public:
    explicit list_connector(lists& shared) : lists_(&shared) {}
    boost::asio::awaitable<result<std::unique_ptr<byte_stream>>> connect(steady_time) override {
        std::unique_ptr<byte_stream> made = std::make_unique<list_peer>(*lists_);
        co_return made;
    }

private:
    lists* lists_;
};

class counting_sink final : public reflector_sink {
public:
    void upsert(std::string_view) override { ++objects; }
    void remove(std::string_view) override {}
    std::size_t objects = 0;
};

struct memory_fixture {
    memory_fixture()
        : shown(loop.time),
          transport(
              loop.time,
              std::make_unique<list_connector>(shown),
              protocol::request_frame(),
              std::make_unique<login>(
                  loop.time,
                  protocol::credentials(
                      cluster_config(), [](const std::string&) { return std::nullopt; }
                  ),
                  nullptr
              ),
              http_transport_options()
          ),
          api(transport, loop.time, options()) {}
    ~memory_fixture() {
        for (reflector& each : watches) {
            each.stop();
        }
        loop.settle();
    }
    static client_options options() {
        client_options made;
        made.request_timeout = 3600s;
        return made;
    }
    void start(int count) {
        shown.at_start = heap_in_use();
        for (int i = 0; i < count; ++i) {
            watches.emplace_back(api, resources::pods(), sinks.emplace_back());
            boost::asio::co_spawn(loop.loop, watches.back().run(), boost::asio::detached);
        }
    }
    bool all_synced() const {
        return std::all_of(watches.begin(), watches.end(), [](const reflector& each) {
            return each.synced();
        });
    }

    test::virtual_loop loop;
    lists shown;
    http_transport transport;
    client api;
    std::list<counting_sink> sinks;
    std::list<reflector> watches;
};

}  // namespace

TEST_CASE_METHOD(
    memory_fixture, "[requirement L7] a list of 2,000 pods of 20 KB takes the memory of a few"
) {
    shown.items = 2000;
    shown.item_size = 20 * kib;
    start(1);
    REQUIRE(loop.run_until([&] { return all_synced(); }));
    CHECK(sinks.front().objects == 2000);
    CHECK(shown.bytes > 40000 * kib);
    CHECK(shown.peak > 20 * kib);  // else it was not looked at
    CHECK(shown.peak < 256 * kib);
}

TEST_CASE_METHOD(
    memory_fixture, "[requirement L7] ten lists at once take ten times as much, and no more"
) {
    shown.items = 200;
    shown.item_size = 20 * kib;
    start(10);
    REQUIRE(loop.run_until([&] { return all_synced(); }));
    CHECK(shown.requests == 10);
    CHECK(shown.bytes > 40000 * kib);
    CHECK(shown.peak < 2560 * kib);
}

TEST_CASE_METHOD(
    memory_fixture, "[requirement L7] ten lists of huge items stay below the bound of all"
) {
    // Each takes 8 MB while it grows; the bound of all is 32 MB. One more is grown or handed over.
    shown.items = 2;
    shown.item_size = 4096 * kib;
    start(10);
    REQUIRE(loop.run_until([&] { return all_synced(); }));
    for (const counting_sink& sink : sinks) {
        CHECK(sink.objects >= 2);
    }
    const auto errors = [](std::uint64_t sum, const reflector& each) {
        return sum + each.counters().errors;
    };
    CHECK(std::accumulate(watches.begin(), watches.end(), std::uint64_t{0}, errors) > 0);
    CHECK(shown.requests > 10);  // those begun anew
    CHECK(shown.peak > 16 * kib * kib);
    CHECK(shown.peak < 52 * kib * kib);
}
