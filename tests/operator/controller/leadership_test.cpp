// SPDX-License-Identifier: Apache-2.0
//
// Two operators around one Lease of the embedded server, in virtual time.
#include "controller/leadership.hpp"

#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "jobcore/schema.hpp"
#include "k8sio/resource.hpp"
#include "k8sio/server/api_server.hpp"
#include "manifests/manifest.hpp"
#include "scenario/mortal_transport.hpp"
#include "scenario/virtual_time.hpp"
#include "signalbox_test/cut_transport.hpp"
#include "signalbox_test/jobcore_builders.hpp"
#include "signalbox_test/source_files.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>
#include <spdlog/sinks/ostream_sink.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace asio = boost::asio;
namespace resources = k8sio::resources;
using std::chrono::milliseconds;
using std::chrono::seconds;

const k8sio::resource_type& job_type() {
    return op::type_of(core::job_kind::pytorch);
}

k8sio::leader_election_options lease_of_both() {
    k8sio::leader_election_options options;
    options.ns = "default";
    options.name = "signalbox";
    return options;
}

/// One process: as run_operator() puts it together.
struct replica {
    replica(asio::io_context& loop, k8sio::clock& time, k8sio::server::api_server& server)
        : lease_way(server.connect()),
          lease_api(lease_way, time),
          log(std::make_shared<spdlog::logger>(
              "operator", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)
          )),
          beat(time),
          lead(loop.get_executor(), loop.get_executor(), lease_api, lease_of_both(), beat, log),
          cutter(new cut_transport(server.connect(), time)),
          transport(std::unique_ptr<k8sio::transport>(cutter)),
          api(transport, time, client_options()),
          work(loop.get_executor(), api, {}, controller_options(), log) {
        transport.before = [this](const k8sio::http_request& request) {
            const bool pods = request.target.find("/v1/pods?") != std::string::npos;
            const bool watch = request.target.find("watch=") != std::string::npos;
            pod_lists += pods && !watch && request.method == "GET" ? 1 : 0;
        };
    }
    k8sio::client_options client_options() {
        k8sio::client_options options;
        options.may_write = [this] { return lead.leads(); };
        return options;
    }
    op::controller_options controller_options() {
        op::controller_options options;
        options.leads = [this] { return lead.leads(); };
        return options;
    }
    /// SIGTERM.
    void stop() {
        work.stop();
        lead.stop();
    }
    long said(const std::string& what) const { return count_in(text.str(), what); }

    mortal_transport lease_way;
    k8sio::client lease_api;
    std::ostringstream text;
    std::shared_ptr<spdlog::logger> log;
    k8sio::heartbeat beat;
    op::leadership lead;
    cut_transport* cutter;  ///< owned by `transport`
    mortal_transport transport;
    k8sio::client api;
    op::controller work;
    int pod_lists = 0;
    bool ended = false;
};

struct two_replicas : virtual_time {
    two_replicas() {
        after_step = [this] { REQUIRE_FALSE((a.lead.leads() && b.lead.leads())); };
        for (const core::job_kind kind : core::all_job_kinds) {
            REQUIRE(server.add_custom_resource(core::crd_json(kind)).has_value());
        }
    }
    ~two_replicas() {
        for (replica* each : {&a, &b}) {
            each->stop();
            each->transport.release_streams();  // what is held would not end
            each->transport.release_answers();
        }
        run_for(seconds{60});
        CHECK(running == 0);
    }

    void start(replica& each) {
        ++running;
        each.beat.start();
        asio::co_spawn(loop, each.lead.run(each.work, each.api), [this, &each](std::exception_ptr) {
            each.ended = true;
            --running;
        });
        run_for(milliseconds{100});
    }
    void create_job(const std::string& name) {
        std::string job = as_written(job_builder(name).replicas("worker", 2).json());
        REQUIRE(finish(user.create(job_type(), "default", std::move(job))).has_value());
    }
    std::size_t pods() { return finish(user.list(resources::pods(), "default", {}))->items.size(); }
    core::job_status status(const std::string& name) {
        return core::parse_status(*finish(user.get(job_type(), "default", name)));
    }

    k8sio::server::api_server server{loop.get_executor(), time};
    std::unique_ptr<k8sio::transport> user_transport = server.connect();
    k8sio::client user{*user_transport, time};
    int running = 0;
    replica a{loop, time, server};
    replica b{loop, time, server};
};

}  // namespace

TEST_CASE_METHOD(
    two_replicas,
    "[requirement B8] [behaviour I13] who does not lead keeps its views and writes nothing"
) {
    start(a);
    start(b);
    create_job("mnist");
    run_for(seconds{60});
    CHECK(a.lead.leads());
    CHECK(pods() == 2);
    CHECK(b.work.synced());
    CHECK(b.work.job_count() == 1);
    CHECK(b.work.pod_count() == 2);
    CHECK(b.work.counters().reconciles == 0);
    CHECK(b.transport.writes().empty());
    CHECK(b.lease_way.writes().empty());
    CHECK(a.said("leading: lease=default/signalbox") == 1);
    CHECK(a.said("request for the lease failed") == 0);
    CHECK(b.said("another replica leads: lease=default/signalbox holder=") == 1);
    // Where no one led, the first lists came after the Lease, and are the only ones.
    CHECK(a.pod_lists == 1);
    CHECK(b.pod_lists == 1);
}

TEST_CASE_METHOD(
    two_replicas, "[requirement B4] [requirement H1] SIGTERM hands over within three seconds"
) {
    start(a);
    start(b);
    create_job("mnist");
    run_for(seconds{10});
    const std::size_t writes = a.transport.writes().size();
    a.stop();
    create_job("late");
    run_for(seconds{3});
    CHECK(a.ended);
    CHECK_FALSE(a.lead.lost());
    CHECK(b.lead.leads());
    CHECK(a.transport.writes().size() == writes);
    // The last one of all lets the Lease go.
    CHECK(a.lease_way.writes().back().body.find(R"("holderIdentity":"")") != std::string::npos);
    CHECK(pods() == 4);
    CHECK(b.work.counters().status_conflicts == 0);
    CHECK(b.work.counters().confirms == 0);
    CHECK(status("mnist").attempt == 1);
}

TEST_CASE_METHOD(
    two_replicas,
    "[requirement B8] [behaviour 12.2] who takes over lists once more before it decides"
) {
    start(a);
    start(b);
    run_for(seconds{5});
    // Its watch of pods is behind: it sees a job of which both pods are missing.
    b.transport.hold_streams("/pods");
    create_job("mnist");
    run_for(seconds{5});
    REQUIRE(b.work.job_count() == 1);
    REQUIRE(b.work.pod_count() == 0);
    a.stop();
    run_for(seconds{5});
    REQUIRE(b.lead.leads());
    CHECK(b.pod_lists == 2);
    CHECK(b.work.pod_count() == 2);
    CHECK(b.work.counters().reconciles > 0);
    CHECK(b.work.counters().creates == 0);
    CHECK(b.work.counters().confirms == 0);
    CHECK(pods() == 2);
    CHECK(status("mnist").attempt == 1);
}

TEST_CASE_METHOD(
    two_replicas, "[requirement B3] [requirement B6] who cannot renew stops, ends, and another acts"
) {
    start(a);
    start(b);
    run_for(seconds{5});
    a.lease_way.on_answer = [](k8sio::http_response& answer) { answer.status = 500; };
    run_for(seconds{11});
    CHECK(a.lead.lost());
    CHECK(a.ended);
    CHECK(a.said("the lease is lost, and this process ends: lease=default/signalbox") == 1);
    CHECK(a.said("request for the lease failed: lease=default/signalbox error=\"PATCH") == 1);
    CHECK_FALSE(b.lead.leads());
    const std::size_t writes = a.transport.writes().size();
    create_job("mnist");
    run_for(seconds{10});
    CHECK(b.lead.leads());
    CHECK(pods() == 2);
    CHECK(a.transport.writes().size() == writes);
    CHECK(b.said("the lease is lost") == 0);
}

TEST_CASE_METHOD(
    two_replicas, "[requirement B9] who gives no sign of life loses the Lease, and is told of"
) {
    bool lost = false;
    a.lead.at_loss = [&] { lost = true; };
    start(a);
    start(b);
    run_for(seconds{5});
    a.beat.stop();
    run_for(seconds{9});
    CHECK(a.lead.leads());
    run_for(seconds{16});
    CHECK(a.lead.lost());
    CHECK(a.ended);
    CHECK(lost);
    run_for(seconds{10});
    CHECK(b.lead.leads());
}

TEST_CASE_METHOD(
    two_replicas, "[requirement B6] what is under way when the Lease is lost is cut off"
) {
    start(a);
    run_for(seconds{5});
    a.lease_way.on_answer = [](k8sio::http_response& answer) { answer.status = 500; };
    a.cutter->cut = true;  // its requests last until their deadline, 30 s
    create_job("mnist");
    run_for(seconds{1});
    REQUIRE(a.work.active_passes() == 1);
    const std::size_t writes = a.transport.writes().size();
    run_for(seconds{10});
    CHECK(a.lead.lost());
    CHECK(a.ended);
    CHECK(a.transport.writes().size() == writes);
}

TEST_CASE_METHOD(
    two_replicas, "[requirement B8] [behaviour 12.2] it waits for each of these lists"
) {
    const std::vector<std::string> file{test::source_path("tests/support/crds/podgroup.yaml")};
    const auto definition = op::manifests::read_paths(file);
    REQUIRE(finish(user.create(
                       resources::custom_resource_definitions(), "", definition.objects.at(0).json()
                   ))
                .has_value());
    start(a);
    start(b);
    create_job("mnist");
    run_for(seconds{5});
    const std::string list = GENERATE(
        as<std::string>(),
        "GET /api/v1/pods?",
        "GET /apis/batch.tensorstack.dev/v1beta1/pytorchtrainingjobs?",
        "GET /apis/scheduler.tensorstack.dev/v1beta1/podgroups?"
    );
    INFO(list);
    b.transport.hold_answers(list);
    a.stop();
    run_for(seconds{5});
    REQUIRE(b.lead.leads());
    CHECK(b.work.counters().reconciles == 0);
    b.transport.release_answers();
    run_for(seconds{1});
    CHECK(b.work.counters().reconciles > 0);
}

TEST_CASE_METHOD(
    two_replicas, "[requirement B8] without a word about the Lease nothing begins, and it is told"
) {
    a.lease_way.on_answer = [](k8sio::http_response& answer) { answer.status = 403; };
    start(a);
    run_for(seconds{55});
    CHECK(a.pod_lists == 0);
    const long told = a.said("request for the lease failed");
    CHECK(told >= 5);
    CHECK(told <= 6);
    SECTION("until there is one") {
        a.lease_way.on_answer = nullptr;
        run_for(seconds{3});
        CHECK(a.lead.leads());
        CHECK(a.pod_lists == 1);
    }
    SECTION("and SIGTERM ends the wait") {
        a.stop();
        run_for(seconds{3});
        CHECK(a.ended);
        CHECK(a.pod_lists == 0);
    }
}
