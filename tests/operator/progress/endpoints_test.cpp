// SPDX-License-Identifier: Apache-2.0
//
// The EndpointSlice of the receiver's Service, on the embedded API server in virtual time.
#include "progress/endpoints.hpp"

#include "scenario/virtual_time.hpp"
#include "signalbox_test/cut_transport.hpp"

#include <k8sio/client.hpp>
#include <k8sio/resource.hpp>
#include <k8sio/server/api_server.hpp>

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>
#include <string>

namespace {

using namespace signalbox;
using namespace signalbox::test;
using namespace signalbox::op::progress;
using std::chrono::seconds;

/// The embedded server has no such kind of its own.
constexpr const char* definition = R"({"apiVersion":"apiextensions.k8s.io/v1",
    "kind":"CustomResourceDefinition","metadata":{"name":"endpointslices.discovery.k8s.io",
        "annotations":{"api-approved.kubernetes.io":"unapproved, for a test"}},
    "spec":{"group":"discovery.k8s.io","scope":"Namespaced",
        "names":{"plural":"endpointslices","singular":"endpointslice","kind":"EndpointSlice",
            "listKind":"EndpointSliceList"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{
            "type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

const k8sio::resource_type& slices() {
    static const k8sio::resource_type type(
        "discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"
    );
    return type;
}

/// One replica.
struct replica {
    replica(virtual_time& at, k8sio::server::api_server& server, const std::string& address)
        : way(server.connect(), at.time),
          api(way, at.time),
          log(std::make_shared<spdlog::logger>(
              "operator", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)
          )),
          writer(at.loop.get_executor(), api, {"default", "receiver", address, 8444}, log) {}

    cut_transport way;
    k8sio::client api;
    std::ostringstream text;
    std::shared_ptr<spdlog::logger> log;
    endpoint_writer writer;
};

struct two_replicas : virtual_time {
    two_replicas() {
        const auto made = finish(user.create(
            k8sio::resources::custom_resource_definitions(), "", std::string(definition)
        ));
        REQUIRE(made.has_value());
        run_for(seconds{2});
    }
    ~two_replicas() {
        first.writer.stop();
        second.writer.stop();
        run_for(seconds{60});
    }
    /// Asks it for so long, each second, as the receiver does while it leads.
    void lead(replica& of, int times) {
        for (int i = 0; i < times; ++i) {
            of.writer.lead();
            run_for(seconds{1});
        }
    }
    /// A value of the slice, as text; empty if there is none.
    std::string at(const char* pointer) {
        const auto slice = finish(user.get(slices(), "default", "receiver"));
        rapidjson::Document d;
        d.Parse(slice.has_value() ? slice->c_str() : "{}");
        const rapidjson::Value* found = rapidjson::Pointer(pointer).Get(d);
        if (found == nullptr) {
            return "";
        }
        return found->IsString() ? found->GetString() : std::to_string(found->GetInt());
    }
    std::uint64_t writes() { return server.count_requests("PATCH", "endpointslices"); }

    k8sio::server::api_server server{loop.get_executor(), time};
    std::unique_ptr<k8sio::transport> transport = server.connect();
    k8sio::client user{*transport, time};
    replica first{*this, server, "10.0.0.7"}, second{*this, server, "fd00::8"};
};

}  // namespace

TEST_CASE("[behaviour 13.11] who leads writes its address at once, and every ten seconds") {
    two_replicas r;
    r.lead(r.first, 1);
    CHECK(r.at("/metadata/labels/kubernetes.io~1service-name") == "receiver");
    CHECK(r.at("/addressType") == "IPv4");
    CHECK(r.at("/endpoints/0/addresses/0") == "10.0.0.7");
    CHECK(r.at("/ports/0/port") == "8444");
    CHECK(r.writes() == 1);
    r.lead(r.first, 9);
    CHECK(r.writes() == 1);
    r.lead(r.first, 1);
    CHECK(r.writes() == 2);
    r.run_for(seconds{100});  // it leads no more
    CHECK(r.writes() == 2);
}

TEST_CASE("[behaviour 13.11] the Service leads to the next leader alone") {
    two_replicas r;
    r.lead(r.first, 3);
    r.lead(r.second, 1);
    CHECK(r.at("/endpoints/0/addresses/0") == "fd00::8");
    CHECK(r.at("/endpoints/1/addresses/0").empty());
    // Another kind of address is another slice, says Kubernetes: the field cannot change there, and
    // replicas of one Deployment have one kind.
    CHECK(r.at("/addressType") == "IPv6");
}

TEST_CASE("[behaviour 13.11] who has deleted it finds it again") {
    two_replicas r;
    r.lead(r.first, 3);
    REQUIRE(r.finish(r.user.remove(slices(), "default", "receiver", {})).has_value());
    CHECK(r.at("/addressType").empty());
    r.lead(r.first, 10);
    CHECK(r.at("/endpoints/0/addresses/0") == "10.0.0.7");
}

TEST_CASE("[behaviour 13.11] a right that is missing is told once, until it is there") {
    two_replicas r;
    bool forbidden = true;
    r.server.set_fault_hook([&](std::string_view method, std::string_view) {
        k8sio::server::fault out;
        if (forbidden && method == "PATCH") {
            out.status = 403;
            out.reason = "Forbidden";
            out.message = "no right";
        }
        return out;
    });
    r.lead(r.first, 35);
    CHECK(count_in(r.first.text.str(), "do not find this replica") == 1);
    forbidden = false;
    r.lead(r.first, 11);
    CHECK(r.at("/endpoints/0/addresses/0") == "10.0.0.7");
    forbidden = true;
    r.lead(r.first, 11);
    CHECK(count_in(r.first.text.str(), "do not find this replica") == 2);
    r.server.set_fault_hook({});
}

TEST_CASE("[behaviour 13.11] of writes that hang one is under way, and an end does not wait for it"
) {
    two_replicas r;
    r.first.way.cut = true;
    r.lead(r.first, 5);
    CHECK(r.writes() == 0);
    r.first.writer.stop();
    r.first.way.cut = false;
    r.lead(r.first, 20);
    CHECK(r.writes() == 0);
    CHECK(r.first.text.str().empty());
}
