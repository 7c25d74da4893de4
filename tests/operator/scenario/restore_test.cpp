// SPDX-License-Identifier: Apache-2.0
//
// The server's data goes back in time, as after a restore of etcd (REQUIREMENTS.md V6): a second
// embedded server with the same job, made in the same order and so with the same UID, takes the
// place of the first.
#include "controller/controller.hpp"
#include "controller/resource_table.hpp"
#include "jobcore/schema.hpp"
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "k8sio/server/api_server.hpp"
#include "scenario/virtual_time.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace asio = boost::asio;
namespace resources = k8sio::resources;
using std::chrono::seconds;

/// One state of the world: our kinds, and what a user does with them.
struct cluster {
    cluster(asio::io_context& loop, k8sio::clock& time)
        : server(loop.get_executor(), time), transport(server.connect()), user(*transport, time) {
        for (const core::job_kind kind : core::all_job_kinds) {
            REQUIRE(server.add_custom_resource(core::crd_json(kind)).has_value());
        }
    }

    k8sio::server::api_server server;
    std::unique_ptr<k8sio::transport> transport;
    k8sio::client user;
};

/// Talks to one cluster, then to another.
class redirected final : public k8sio::transport {
public:
    explicit redirected(cluster& first) { to(first); }
    void to(cluster& next) { inner_ = next.server.connect(); }

    asio::awaitable<k8sio::result<k8sio::http_response>> exchange(
        const k8sio::http_request& request, k8sio::steady_time deadline
    ) override {
        if (request.method != "GET") {
            writes.push_back(request.method + " " + request.target);
        }
        return inner_->exchange(request, deadline);
    }
    asio::awaitable<k8sio::result<std::unique_ptr<k8sio::response_stream>>> open_stream(
        const k8sio::http_request& request, std::chrono::nanoseconds idle
    ) override {
        return inner_->open_stream(request, idle);
    }

    std::vector<std::string> writes;

private:
    std::unique_ptr<k8sio::transport> inner_;
};

struct restored_world : virtual_time {
    restored_world()
        : before(loop, time),
          after(loop, time),
          transport(before),
          api(transport, time),
          log(std::make_shared<spdlog::logger>(
              "operator", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)
          )),
          work(loop.get_executor(), api, {}, {}, log) {
        uid = create_job(before);
        // Of the other server nothing is heard yet.
        CHECK(create_job(after) == uid);
    }
    ~restored_world() {
        work.stop();
        run_for(seconds{60});
    }

    void start() {
        asio::co_spawn(loop, work.run(), [](std::exception_ptr) {});
    }
    std::string create_job(cluster& in) {
        std::string job = as_written(job_builder("mnist").replicas("worker", 2).json());
        const auto made =
            finish(in.user.create(op::type_of(core::job_kind::pytorch), "default", std::move(job)));
        REQUIRE(made.has_value());
        return k8sio::read_object_meta(*made)->uid;
    }
    std::set<std::string> pods_in(cluster& in) {
        std::set<std::string> names;
        const auto page = finish(in.user.list(resources::pods(), "default", {}));
        for (const std::string& pod : page->items) {
            names.insert(k8sio::read_object_meta(pod)->name);
        }
        return names;
    }
    core::job_status status_in(cluster& in) {
        return core::parse_status(
            *finish(in.user.get(op::type_of(core::job_kind::pytorch), "default", "mnist"))
        );
    }

    cluster before, after;
    redirected transport;
    k8sio::client api;
    std::ostringstream text;
    std::shared_ptr<spdlog::logger> log;
    op::controller work;
    std::string uid;
};

}  // namespace

TEST_CASE("[requirement V6] [behaviour 12.1] after a restore the job is decided on what is there") {
    restored_world w;
    w.start();
    w.run_for(seconds{5});
    const auto pods = w.pods_in(w.before);
    REQUIRE(pods.size() == 2);
    // Many versions go by that the restored server does not know.
    for (int i = 0; i < 50; ++i) {
        REQUIRE(w.finish(w.before.user.merge_patch(
                             op::type_of(core::job_kind::pytorch),
                             "default",
                             "mnist",
                             R"({"metadata":{"annotations":{"n":")" + std::to_string(i) + R"("}}})"
                         ))
                    .has_value());
    }
    w.run_for(seconds{5});
    const std::size_t writes = w.transport.writes.size();
    // A history that does not reach the version of a watch is answered so.
    w.after.server.set_fault_hook([](std::string_view method, std::string_view target) {
        k8sio::server::fault gone;
        const bool resumed = method == "GET" && target.find("watch=") != target.npos &&
                             target.find("resourceVersion=") != target.npos;
        const std::size_t at = target.find("resourceVersion=");
        if (resumed && std::stoi(std::string(target.substr(at + 16))) > 40) {
            gone.status = 410;
            gone.reason = "Expired";
        }
        return gone;
    });
    w.transport.to(w.after);
    w.before.server.break_watches();
    w.run_for(seconds{120});
    CHECK(w.text.str().find("went back in time") != std::string::npos);
    CHECK(w.pods_in(w.after) == pods);
    CHECK(w.status_in(w.after).phase == core::job_phase::pending);
    CHECK(w.status_in(w.after).attempt == 1);
    CHECK(w.work.job_count() == 1);
    CHECK(w.work.pod_count() == 2);
    // Nothing was written that the server refused, and nothing twice.
    CHECK(w.work.counters().status_conflicts == 0);
    CHECK(w.transport.writes.size() - writes < 20);
    // The views of the past do not come back.
    const std::size_t settled = w.transport.writes.size();
    w.run_for(seconds{600});
    CHECK(w.transport.writes.size() == settled);
}
