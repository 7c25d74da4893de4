// SPDX-License-Identifier: Apache-2.0
//
// An embedded server in virtual time with a scripted runtime of pods, and a to_server to it in
// process.
#pragma once

#include "k8sio/server/api_server.hpp"
#include "runtime/virtual_loop.hpp"
#include "server/scripted_pods.hpp"

#include <memory>
#include <string>
#include <utility>

namespace signalbox::k8sio::server::test {

inline const std::string pods_path = "/api/v1/namespaces/default/pods";

/// With pod `w` of one container, `two` of two, and `unbound`, which has no node.
class pod_world {
public:
    explicit pod_world(server_options options = {})
        : pods(loop.loop.get_executor()),
          server(loop.loop.get_executor(), loop.time, std::move(options)) {
        to_server = server.connect();
        server.set_pod_streams(&pods);
        const std::string one = R"({"name":"main","image":"x"})";
        create("w", one, R"("nodeName":"n",)");
        create("two", one + R"(,{"name":"side","image":"x"})", R"("nodeName":"n",)");
        create("unbound", one, "");
    }

    /// The whole answer within 30 s; if there is none, its body is the error in words.
    http_response send(
        const std::string& method,
        const std::string& target,
        std::string body = "",
        std::string type = "application/json"
    ) {
        http_request request(method, target);
        request.body = std::move(body);
        request.content_type = std::move(type);
        const steady_time deadline = loop.time.steady_now() + std::chrono::seconds{30};
        result<http_response> answer =
            k8sio::test::run(loop, to_server->exchange(request, deadline));
        if (answer.has_error()) {
            http_response none;
            none.body = to_string(answer.error().code);
            return none;
        }
        return std::move(*answer);
    }

    /// Null if there was no answer.
    std::unique_ptr<response_stream> open(const std::string& target) {
        const http_request request("GET", target);
        auto opened =
            k8sio::test::run(loop, to_server->open_stream(request, std::chrono::hours{1}));
        return opened.has_value() ? std::move(*opened) : nullptr;
    }

    k8sio::test::virtual_loop loop;
    scripted_pods pods;
    api_server server;
    std::unique_ptr<transport> to_server;

private:
    void create(const std::string& name, const std::string& containers, const std::string& more) {
        send(
            "POST",
            pods_path,
            R"({"metadata":{"name":")" + name + R"("},"spec":{)" + more +
                R"("initContainers":[{"name":"init","image":"x"}],"containers":[)" + containers +
                "]}}"
        );
    }
};

}  // namespace signalbox::k8sio::server::test
