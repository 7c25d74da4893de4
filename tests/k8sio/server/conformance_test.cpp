// SPDX-License-Identifier: Apache-2.0
//
// Tables of API behaviour (conformance*.json) against the embedded server, by both faces, and
// against a real kube-apiserver: where they differ the embedded one is wrong. The case of the
// latter is hidden, and run by real_server_test.py, which says so where there is no such server.
// That server serves widget_crd.json; garbage collector and namespace controller run, and know that
// kind.
#include "conformance.hpp"

#include "k8sio/config.hpp"
#include "k8sio/server/api_server.hpp"
#include "real_server.hpp"
#include "signalbox_test/source_files.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace signalbox::k8sio::server::test {
namespace {

namespace asio = boost::asio;

std::string read_file(const std::string& name) {
    return signalbox::test::source_text("tests/k8sio/server/" + name);
}

/// The scenarios of all files; they outlive all runs.
const rapidjson::Document& table() {
    static const std::unique_ptr<rapidjson::Document> parsed = [] {
        auto all = std::make_unique<rapidjson::Document>();
        all->SetArray();
        for (const char* name :
             {"conformance.json",
              "conformance_objects.json",
              "conformance_tables.json",
              "conformance_documents.json",
              "conformance_bounds.json"}) {
            rapidjson::Document one(&all->GetAllocator());
            one.Parse(read_file(name).c_str());
            INFO(name);
            REQUIRE(one.IsArray());
            for (rapidjson::Value& scenario : one.GetArray()) {
                all->PushBack(scenario.Move(), all->GetAllocator());
            }
        }
        return all;
    }();
    return *parsed;
}

asio::awaitable<void> run_one(
    conformance_target& target,
    const rapidjson::Value& scenario,
    int number,
    std::optional<std::string>& out
) {
    std::string text = co_await run_scenario(target, scenario, number);
    out = std::move(text);
}

/// `turn` lets the loop and time go on; false if nothing can happen any more.
template <class Turn>
void run_table(
    asio::io_context& io, conformance_target& target, const std::set<std::string>& has, Turn turn
) {
    int number = 0;
    for (const rapidjson::Value& scenario : table().GetArray()) {
        ++number;
        const std::string name = scenario["name"].GetString();
        const char* only = std::getenv("SIGNALBOX_CONFORMANCE_ONLY");
        const std::string need = scenario.HasMember("needs") ? scenario["needs"].GetString() : "";
        if ((!need.empty() && has.count(need) == 0) ||
            (only != nullptr && name.find(only) == std::string::npos)) {
            continue;
        }
        std::optional<std::string> outcome;
        asio::co_spawn(io, run_one(target, scenario, number, outcome), asio::detached);
        while (!outcome && turn()) {
        }
        INFO(name);
        CHECK(outcome.value_or("the scenario did not end") == "");
    }
}

}  // namespace

TEST_CASE(
    "[requirement A2] [requirement A3] [requirement A4] [requirement A5] [requirement A9] "
    "the embedded server keeps the API's rules, in process and in virtual time"
) {
    asio::io_context io;
    const auto start = std::chrono::sys_days{std::chrono::year{2026} / 1 / 31};
    virtual_clock time(io.get_executor(), start);
    api_server server(io.get_executor(), time);
    REQUIRE(server.add_custom_resource(read_file("widget_crd.json")).has_value());
    server.compact();  // so that version 1 is too old, as on a server that has run for a while
    const std::unique_ptr<transport> transport = server.connect();
    conformance_target target(*transport, time, "m");
    run_table(io, target, {"controllers", "compacted"}, [&] {
        io.restart();
        return io.poll() > 0 || time.advance_to_next();
    });
    CHECK(server.count_requests("POST", "/api/v1/namespaces") > 0);
}

TEST_CASE("the embedded server keeps the API's rules over HTTP") {
    asio::io_context io;
    const auto time = make_machine_clock(io.get_executor());
    api_server server(io.get_executor(), *time);
    REQUIRE(server.add_custom_resource(read_file("widget_crd.json")).has_value());
    server.compact();  // so that version 1 is too old, as on a server that has run for a while
    const auto port = server.listen("127.0.0.1", 0);
    REQUIRE(port.has_value());
    cluster_config config;
    config.scheme = "http";
    config.host = "127.0.0.1";
    config.port = std::to_string(*port);
    auto transport = make_http_transport(io.get_executor(), *time, config);
    REQUIRE(transport.has_value());
    conformance_target target(**transport, *time, "h");
    run_table(io, target, {"controllers", "compacted"}, [&] {
        io.restart();
        return io.run_one_for(patience) > 0;
    });
    server.stop();
    transport->reset();
    io.restart();
    io.poll();
}

TEST_CASE("a real API server keeps the same rules", "[.real-server]") {
    asio::io_context io;
    const auto time = make_machine_clock(io.get_executor());
    auto transport = make_http_transport(io.get_executor(), *time, real_server_config());
    REQUIRE(transport.has_value());
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    conformance_target target(**transport, *time, std::to_string(now));
    run_table(io, target, {"controllers"}, [&io] {
        io.restart();
        return io.run_one_for(patience) > 0;
    });
    transport->reset();
    io.restart();
    io.poll();
}

}  // namespace signalbox::k8sio::server::test
