// SPDX-License-Identifier: Apache-2.0
//
// The client's verbs for objects that several have a part in, against a real kube-apiserver: it
// alone keeps field managers. Hidden, and run by real_server_test.py.
#include "k8sio/config.hpp"
#include "k8sio/object_verbs.hpp"
#include "real_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace signalbox::k8sio::server::test {
namespace {

namespace asio = boost::asio;

const resource_type& applied_maps = resources::config_maps();

std::string with_data(const std::string& name, const std::string& data) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
           R"("},"data":)" + data + "}";
}

/// What one manager wants; gives the outcome, which is no error.
asio::awaitable<apply_outcome> want(
    client& api, const std::string& name, const std::string& manager, const std::string& data
) {
    std::string body = with_data(name, data);
    apply_options options(manager);
    options.force = manager.find("firm") != manager.npos;
    auto done =
        co_await apply(api, applied_maps, "default", name, std::move(body), std::move(options));
    INFO((done.has_error() ? done.error().text() : ""));
    REQUIRE(done.has_value());
    co_return *done;
}

bool contains(const apply_outcome& outcome, std::string_view part) {
    return outcome.object.find(part) != std::string::npos;
}

asio::awaitable<void> apply_by_turns(client& api, const std::string& name) {
    const apply_outcome first = co_await want(api, name, "one", R"({"a":"1","b":"1"})");
    CHECK(first.applied());
    const apply_outcome refused = co_await want(api, name, "two", R"({"a":"2","c":"2"})");
    REQUIRE(refused.conflicts.size() == 1);
    CHECK(refused.conflicts[0].manager == "one");
    CHECK(refused.conflicts[0].field == ".data.a");
    const apply_outcome shared = co_await want(api, name, "two", R"({"a":"1","c":"2"})");
    CHECK(contains(shared, R"("c":"2")"));
    const apply_outcome taken = co_await want(api, name, "firm", R"({"a":"3"})");
    CHECK(taken.applied());
    CHECK(contains(taken, R"("a":"3")"));
    const apply_outcome fewer = co_await want(api, name, "two", R"({})");
    CHECK(fewer.applied());
    CHECK_FALSE(contains(fewer, R"("c":"2")"));  // what is left out is removed
    CHECK(contains(fewer, R"("b":"1")"));
}

asio::awaitable<void> tie_and_untie(client& api, const std::string& name) {
    const auto object = co_await api.get(applied_maps, "default", name);
    REQUIRE(object.has_value());
    const auto meta = read_object_meta(*object);
    REQUIRE(meta);
    std::string finalizer = "signalbox.example/test";
    const auto added =
        co_await add_finalizer(api, applied_maps, "default", name, meta->uid, finalizer);
    REQUIRE(added.has_value());
    owner_reference owner(*meta);  // itself will do
    owner.controller = false;
    const auto owned = co_await set_owner(api, applied_maps, "default", name, meta->uid, owner);
    REQUIRE(owned.has_value());
    CHECK(owned->find("ownerReferences") != std::string::npos);
    const auto wrong =
        co_await add_finalizer(api, applied_maps, "default", name, std::string("other"), finalizer);
    CHECK(wrong.has_error());
    const delete_options options(meta->uid);
    const auto deleting = co_await api.remove(applied_maps, "default", name, options);
    REQUIRE(deleting.has_value());
    const auto there = co_await api.get(applied_maps, "default", name);
    CHECK(there.has_value());
    const auto removed =
        co_await remove_finalizer(api, applied_maps, "default", name, meta->uid, finalizer);
    CHECK(removed.has_value());
    const auto gone = co_await api.get(applied_maps, "default", name);
    CHECK(gone.has_error());
    const auto again =
        co_await remove_finalizer(api, applied_maps, "default", name, meta->uid, finalizer);
    CHECK(again.has_value());
}

asio::awaitable<void> run_verbs(client& api) {
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const std::string name = "applied-" + std::to_string(now);
    co_await apply_by_turns(api, name);
    co_await tie_and_untie(api, name);
}

}  // namespace

TEST_CASE(
    "[requirement X6] [requirement X9] [requirement X10] a real API server takes the verbs",
    "[.real-server]"
) {
    asio::io_context io;
    const auto time = make_machine_clock(io.get_executor());
    auto transport = make_http_transport(io.get_executor(), *time, real_server_config());
    REQUIRE(transport.has_value());
    client api(**transport, *time);
    std::exception_ptr broken;
    bool ended = false;
    asio::co_spawn(io, run_verbs(api), [&](std::exception_ptr why) {
        broken = why;
        ended = true;
    });
    while (!ended && io.run_one_for(std::chrono::seconds{300}) > 0) {
    }
    CHECK(ended);
    if (broken) {
        std::rethrow_exception(broken);
    }
    transport->reset();
    io.restart();
    io.poll();
}

}  // namespace signalbox::k8sio::server::test
