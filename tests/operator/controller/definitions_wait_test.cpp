// SPDX-License-Identifier: Apache-2.0
//
// An operator on a server without our CustomResourceDefinitions.
#include "controller/definitions_wait.hpp"

#include "jobcore/schema.hpp"
#include "k8sio/server/api_server.hpp"
#include "scenario/virtual_time.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace {

using namespace signalbox;
using std::chrono::seconds;

struct empty_cluster : test::virtual_time {
    empty_cluster()
        : server(loop.get_executor(), time),
          transport(server.connect()),
          api(*transport, time),
          log("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)),
          wait(
              loop.get_executor(),
              api,
              log,
              {core::all_job_kinds.begin(), core::all_job_kinds.end()}
          ) {
        log.set_pattern("%l %v");
        boost::asio::co_spawn(loop, wait.run(), [this](std::exception_ptr) { ended = true; });
    }

    void install(core::job_kind kind) {
        REQUIRE(server.add_custom_resource(core::crd_json(kind)).has_value());
    }
    long told(const std::string& what) const { return test::count_in(text.str(), what); }

    k8sio::server::api_server server;
    std::unique_ptr<k8sio::transport> transport;
    k8sio::client api;
    std::ostringstream text;
    spdlog::logger log;
    op::definitions_wait wait;
    bool ended = false;
};

}  // namespace

TEST_CASE("without our kinds the operator says how to install them, and goes on when they come") {
    empty_cluster c;
    c.run_for(seconds{600});
    CHECK_FALSE(c.ended);
    CHECK(c.told("warning the server does not serve batch.tensorstack.dev/v1beta1") == 1);
    CHECK(c.told("signalbox crds | kubectl apply --server-side -f -") == 1);

    for (const core::job_kind kind : core::all_job_kinds) {
        c.install(kind);
    }
    c.run_for(seconds{2});
    CHECK(c.ended);
    CHECK(c.told("info the server serves batch.tensorstack.dev/v1beta1") == 1);
}

TEST_CASE("with some of our kinds the operator runs, and says which are missing") {
    empty_cluster c;
    c.install(core::job_kind::pytorch);
    c.run_for(seconds{1});
    CHECK(c.ended);
    CHECK(c.told("the server does not serve deepspeedjobs, colossalaijobs;") == 1);
}

TEST_CASE("a server that cannot be asked for our kinds is the controller's to wait for") {
    empty_cluster c;
    c.server.set_fault_hook([](std::string_view, std::string_view) {
        k8sio::server::fault drop;
        drop.drop = true;
        return drop;
    });
    c.run_for(seconds{60});
    CHECK(c.ended);
    CHECK(c.text.str().empty());
}

TEST_CASE("waiting for our kinds ends when it is stopped") {
    empty_cluster c;
    c.run_for(seconds{5});
    c.wait.stop();
    c.run_for(seconds{0});
    CHECK(c.ended);
    CHECK(c.wait.stopped());
}
