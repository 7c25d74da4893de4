// SPDX-License-Identifier: Apache-2.0
//
// A controller on the embedded server in virtual time. The keys are names of ConfigMaps.
#pragma once

#include "k8sio/controller.hpp"
#include "k8sio/object.hpp"
#include "k8sio/server/api_server.hpp"
#include "runtime/virtual_loop.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::k8sio::test {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

inline std::string name_of(const object_meta& object) {
    return object.name;
}

inline std::string config_map(const std::string& name) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("}})";
}

/// Talks to one server, then to another.
class redirected final : public transport {
public:
    redirected(server::api_server& first, clock& time) : time_(&time) { to(first); }
    void to(server::api_server& next) { inner_ = next.connect(); }

    boost::asio::awaitable<result<http_response>> exchange(
        const http_request& request, steady_time deadline
    ) override {
        const bool late = !slow.empty() && request.target.find(slow) != std::string::npos;
        if (late) {
            co_await sleep_for(*time_, 5s);
        }
        auto answer = co_await inner_->exchange(request, deadline);
        co_return answer;
    }
    boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_stream(
        const http_request& request, std::chrono::nanoseconds idle
    ) override {
        watches.push_back(request.target);
        return inner_->open_stream(request, idle);
    }

    strings watches;
    std::string slow;  ///< requests with this in their target take five seconds

private:
    clock* time_;
    std::unique_ptr<transport> inner_;
};

struct pass {
    std::string key;
    std::chrono::milliseconds at;
};

struct controller_fixture {
    explicit controller_fixture(controller_options options = controller_options()) {
        options.log = [this](severity, const std::string& line) { lines.push_back(line); };
        subject = std::make_unique<controller>(
            loop.loop.get_executor(),
            api,
            [this](std::string key) { return reconcile(std::move(key)); },
            std::move(options)
        );
    }

    boost::asio::awaitable<reconcile_result> reconcile(std::string key) {
        const auto since = loop.time.steady_now().time_since_epoch();
        passes.push_back({key, std::chrono::duration_cast<std::chrono::milliseconds>(since)});
        ++running;
        most = std::max(most, running);
        const auto until = loop.time.steady_now() + length;
        if (length.count() > 0) {
            co_await sleep_until(loop.time, until);
        }
        --running;
        reconcile_result result;
        if (decide) {
            result = decide(key);
        }
        co_return result;
    }

    /// Begins to watch the ConfigMaps of `default`, and lets the first pass over each come.
    void start() {
        watch_options options;
        options.reflect.ns = "default";
        subject->watch(resources::config_maps(), maps, name_of, options);
        run();
        loop.run_for(1s);
    }
    void run() { ended = std::make_unique<task<void>>(loop, subject->run()); }
    void create(const std::string& name) {
        const auto made =
            test::run(loop, api.create(resources::config_maps(), "default", config_map(name)));
        REQUIRE(made.has_value());
    }
    void change(const std::string& name) {
        const auto made = test::run(
            loop,
            api.merge_patch(
                resources::config_maps(),
                "default",
                name,
                R"({"data":{"n":")" + std::to_string(++changes) + R"("}})"
            )
        );
        REQUIRE(made.has_value());
    }
    std::size_t count(const std::string& key) const {
        return static_cast<std::size_t>(
            std::count_if(passes.begin(), passes.end(), [&](const pass& p) { return p.key == key; })
        );
    }
    /// A version that the server gives only after `more` further writes.
    std::string version_after(int more) {
        return std::to_string(std::stoi(std::string(maps.seen())) + more);
    }

    virtual_loop loop;
    server::api_server server{loop.loop.get_executor(), loop.time};
    redirected connection{server, loop.time};
    client api{connection, loop.time};
    store<object_meta> maps{read_object_meta};
    std::vector<pass> passes;
    strings lines;
    std::function<reconcile_result(const std::string& key)> decide;
    std::chrono::nanoseconds length{0};  ///< of a pass
    std::size_t running = 0;
    std::size_t most = 0;
    int changes = 0;
    std::unique_ptr<controller> subject;
    std::unique_ptr<task<void>> ended;
};

}  // namespace signalbox::k8sio::test
