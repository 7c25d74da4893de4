// SPDX-License-Identifier: Apache-2.0
//
// Probes that are answered on one thread, while what they ask about goes on on another.
#include "monitoring/probes.hpp"

#include "controller/controller.hpp"
#include "k8sio/client.hpp"
#include "k8sio/clock.hpp"
#include "k8sio/loop_thread.hpp"
#include "k8sio/server/api_server.hpp"
#include "monitoring/health.hpp"
#include "threads/plain_get.hpp"

#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <string>
#include <thread>

namespace {

using namespace signalbox;
namespace asio = boost::asio;

constexpr int questions = 50;

}  // namespace

TEST_CASE("[requirement B9] a loop shows what it does, and beats, while others ask") {
    asio::io_context decides(1);
    const auto time = k8sio::make_machine_clock(decides.get_executor());
    k8sio::server::api_server server(decides.get_executor(), *time);
    const auto way = server.connect();
    k8sio::client api(*way, *time);
    op::controller work(decides.get_executor(), api, core::policy());
    op::running_operator of;
    of.time = time.get();
    of.work = &work;
    of.leads = [] { return true; };
    op::health seen(of, [&time] { return time->steady_now(); });
    k8sio::heartbeat beat(*time);

    asio::io_context answers(1);
    const k8sio::loop_thread second(answers);
    op::probe_server probes(answers.get_executor(), beat);
    REQUIRE(probes.start("127.0.0.1:0") == "");
    int alive = 0;
    int unready = 0;
    std::atomic<bool> asked = false;
    std::thread others([&, address = probes.address()] {
        for (int i = 0; i < questions; ++i) {
            alive += test::get(address, "/livez") == "HTTP/1.1 200 OK ok" ? 1 : 0;
            const std::string ready = test::get(address, "/readyz");
            unready += ready.find("views-complete failed") != ready.npos ? 1 : 0;
        }
        asked = true;
    });
    seen.look();
    while (!asked) {
        beat.start();
        probes.show(seen);
        beat.stop();
        seen.look();
    }
    others.join();
    CHECK(alive == questions);
    CHECK(unready == questions);
}
