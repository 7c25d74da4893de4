// SPDX-License-Identifier: Apache-2.0
//
// A user of the embedded API server: asks one for a namespace, in process.
#include <k8sio/clock.hpp>
#include <k8sio/server/api_server.hpp>
#include <k8sio/transport.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <iostream>
#include <memory>

namespace k8sio = signalbox::k8sio;

int main() {
    boost::asio::io_context loop;
    const std::unique_ptr<k8sio::clock> time = k8sio::make_machine_clock(loop.get_executor());
    k8sio::server::api_server server(loop.get_executor(), *time);
    const std::unique_ptr<k8sio::transport> to_server = server.connect();
    const k8sio::http_request request("GET", "/api/v1/namespaces/default");
    int status = 0;
    boost::asio::co_spawn(
        loop,
        to_server->exchange(request, time->steady_now() + std::chrono::minutes(1)),
        [&status](std::exception_ptr, const k8sio::result<k8sio::http_response>& answer) {
            status = answer ? answer->status : 0;
        }
    );
    loop.run();
    std::cout << status << '\n';
    return status == 200 ? 0 : 1;
}
