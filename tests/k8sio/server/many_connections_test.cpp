// SPDX-License-Identifier: Apache-2.0
//
// Ten thousand connections of the client, to the embedded server's face in the same loop: what was
// made for them is gone at both ends. tests/k8sio/server/connections_test.py has bad clients.
#include "client/surroundings.hpp"
#include "k8sio/config.hpp"
#include "k8sio/server/api_server.hpp"
#include "runtime/virtual_loop.hpp"
#include "signalbox_test/sanitized.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <malloc.h>

namespace signalbox::k8sio::server::test {
namespace {

using signalbox::test::sanitized;
using asked = k8sio::test::task<result<http_response>>;
using opened = k8sio::test::task<result<std::unique_ptr<response_stream>>>;

constexpr bool heap_is_counted = !sanitized;  // the sanitizers' own keeps what was freed

/// Bytes; one connection that is not given up is ten thousand at least.
constexpr std::size_t noise = 256u << 10;

std::size_t open_files() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Bytes in use.
std::size_t heap() {
    return heap_is_counted ? ::mallinfo2().uordblks : 0;
}

class client_and_server {
public:
    explicit client_and_server(bool tls) {
        server_options of_server;
        of_server.token = tls ? "secret" : "";
        server = std::make_unique<api_server>(loop.loop.get_executor(), loop.time, of_server);
        const std::uint16_t port = *server->listen("127.0.0.1", 0);
        const k8sio::test::folder dir;
        const std::string file = dir.write("config", server->kubeconfig("127.0.0.1", port));
        http_transport_options options;
        options.max_idle = 0;  // each request has a connection of its own
        to_server = *make_http_transport(
            loop.loop.get_executor(), loop.time, *load_kubeconfig(file, ""), options
        );
    }

    template <class Done>
    void wait_for(const Done& done) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (!done() && std::chrono::steady_clock::now() < end) {
            loop.settle();
        }
        REQUIRE(done());
    }

    /// Thirty-two connections at once: answers, watches that are closed, requests and watches that
    /// are cancelled at some step of theirs.
    void batch() {
        std::vector<std::unique_ptr<asked>> requests;
        std::vector<std::unique_ptr<opened>> watches;
        for (int i = 0; i < at_once; ++i) {
            const auto deadline = loop.time.steady_now() + std::chrono::minutes{1};
            if (i % 2 == 0) {
                requests.push_back(std::make_unique<asked>(loop, to_server->exchange(get, deadline))
                );
            } else {
                watches.push_back(std::make_unique<opened>(
                    loop, to_server->open_stream(watch, std::chrono::minutes{1})
                ));
            }
        }
        for (std::size_t i = 0; i < requests.size(); i += 4) {
            loop.loop.restart();
            loop.loop.poll_one();
            requests[i]->cancel();
            watches[i + 1]->cancel();
        }
        wait_for([&] {
            const auto done = [](const auto& each) { return each->done; };
            return std::all_of(requests.begin(), requests.end(), done) &&
                   std::all_of(watches.begin(), watches.end(), done);
        });
        for (const auto& each : requests) {
            answers += each->result.has_value() && each->result->status == 200 ? 1 : 0;
        }
        for (const auto& each : watches) {
            answers += each->result.has_value() && (*each->result)->status() == 200 ? 1 : 0;
        }
        connections += at_once;
    }

    static constexpr int at_once = 32;
    k8sio::test::virtual_loop loop;
    std::unique_ptr<api_server> server;
    std::unique_ptr<transport> to_server;
    const http_request get{"GET", "/version"};
    const http_request watch{"GET", "/api/v1/pods?watch=1"};
    int connections = 0;
    int answers = 0;
};

}  // namespace

TEST_CASE("[requirement H1] [requirement T1] of thousands of connections nothing stays") {
    const bool tls = GENERATE(false, true);
    INFO((tls ? "TLS" : "TCP"));
    const int all = tls ? 300 : sanitized ? 3000 : 10000;  // a handshake is milliseconds of work
    client_and_server w(tls);
    const std::size_t files = open_files();
    while (w.connections < all / 10) {  // whatever is made once is there then
        w.batch();
    }
    w.wait_for([&] { return open_files() == files; });
    const std::size_t bytes = heap();
    while (w.connections < all) {
        w.batch();
    }
    w.wait_for([&] { return open_files() == files; });
    w.loop.settle();
    const std::size_t more = std::max(heap(), bytes) - bytes;
    INFO(more << " bytes more after " << w.connections << " connections");
    CHECK(more < noise);
    CHECK(w.answers > all / 2);
    CHECK(w.answers < all);  // some were cancelled
    w.to_server.reset();
    w.server->stop();
    w.loop.settle();
    CHECK_FALSE(w.loop.time.has_pending());
}

}  // namespace signalbox::k8sio::server::test
