// SPDX-License-Identifier: Apache-2.0
//
// run_operator() as a process has it: what a thread of its own does while the one that decides
// computes.
#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "controller/run.hpp"
#include "jobcore/schema.hpp"
#include "k8sio/loop_thread.hpp"
#include "k8sio/resource.hpp"
#include "k8sio/server/api_server.hpp"
#include "monitoring/monitor.hpp"
#include "threads/plain_get.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch.hpp>
#include <spdlog/sinks/ostream_sink.h>

#include <csignal>
#include <memory>
#include <semaphore>
#include <sstream>
#include <string>

#include <unistd.h>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace asio = boost::asio;
using std::chrono::seconds;

/// What must happen soon if it happens at all.
constexpr seconds patience{60};

constexpr const char* job = R"({
  "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
  "metadata": {"name": "mnist"},
  "spec": {"replicaSpecs": [{"type": "worker", "template": {
    "spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}}}]}})";

/// The embedded server on a thread and a port of its own.
class served_cluster {
public:
    served_cluster() {
        server_.set_fault_hook([this](std::string_view method, std::string_view target) {
            if (method == "PATCH" && target.find("/leases/") != target.npos) {
                renewals.release();
            }
            return k8sio::server::fault();
        });
        for (const core::job_kind kind : core::all_job_kinds) {
            REQUIRE(server_.add_custom_resource(core::crd_json(kind)).has_value());
        }
        const auto port = server_.listen("127.0.0.1", 0);
        REQUIRE(port.has_value());
        config.scheme = "http";
        config.host = "127.0.0.1";
        config.port = std::to_string(*port);
    }
    ~served_cluster() {
        asio::post(loop_, asio::use_future([this] { server_.stop(); })).wait();
    }

    void create_job(std::string text) {
        const auto way = server_.connect();
        k8sio::client user(*way, *time_);
        auto made = asio::co_spawn(
            loop_,
            user.create(op::type_of(core::job_kind::pytorch), "default", std::move(text)),
            asio::use_future
        );
        REQUIRE(made.get().has_value());
    }

    k8sio::cluster_config config;
    std::counting_semaphore<> renewals{0};

private:
    asio::io_context loop_{1};
    std::unique_ptr<k8sio::clock> time_ = k8sio::make_machine_clock(loop_.get_executor());
    k8sio::server::api_server server_{loop_.get_executor(), *time_};
    k8sio::loop_thread thread_{loop_};
};

}  // namespace

TEST_CASE("[requirement B9] the Lease is renewed and probes are answered while a decision computes"
) {
    served_cluster cluster;
    std::ostringstream text;
    const auto log = std::make_shared<spdlog::logger>(
        "operator", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)
    );
    cluster.create_job(job);
    op::run_options options;
    options.cluster = cluster.config;
    options.election.emplace();
    options.election->ns = "default";
    options.election->name = "signalbox";
    options.election->retry_period = seconds{1};
    options.log = log;
    op::monitor_options shown;
    shown.health_address = "127.0.0.1:0";
    op::monitor beside(std::move(shown));
    beside.attach_to(options);
    int decisions = 0;
    options.controller.decide = [&](const core::job_object& job,
                                    const core::observed& seen,
                                    const core::policy& rules,
                                    core::instant now) {
        if (++decisions == 1) {
            while (cluster.renewals.try_acquire()) {
            }
            CHECK(cluster.renewals.try_acquire_for(patience));
            CHECK(cluster.renewals.try_acquire_for(patience));
            const std::string said = text.str();
            const std::string before = "serving health: address=";
            const std::size_t at = said.find(before) + before.size();
            const std::string address = said.substr(at, said.find('\n', at) - at);
            CHECK(get(address, "/livez") == "HTTP/1.1 200 OK ok");
            CHECK(get(address, "/readyz/loop") == "HTTP/1.1 200 OK ok");
            CHECK(get(address, "/metrics").starts_with("HTTP/1.1 404 Not Found"));
            ::kill(::getpid(), SIGTERM);
        }
        return core::decide(job, seen, rules, now);
    };
    CHECK(op::run_operator(std::move(options)) == 0);
    CHECK(decisions > 0);
}
