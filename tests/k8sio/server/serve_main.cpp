// SPDX-License-Identifier: Apache-2.0
//
// The embedded API server as a program, for kubectl_test.py: serves on a free port of the loopback
// interface, prints one line `ready <port>`, and ends when its standard input does.
//
// Usage: k8sio_serve [--token TOKEN] [--pods FOLDER] [CRD.json ...]
//   --pods  serves logs, commands and ports of pods by machine_pods.hpp
#include "k8sio/clock.hpp"
#include "k8sio/server/api_server.hpp"
#include "machine_pods.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using namespace signalbox::k8sio;

void wait_for_end(boost::asio::posix::stream_descriptor& input, boost::asio::io_context& io) {
    static char ignored = 0;
    input.async_read_some(
        boost::asio::buffer(&ignored, 1),
        [&input, &io](boost::system::error_code error, std::size_t) {
            if (error) {
                io.stop();
            } else {
                wait_for_end(input, io);
            }
        }
    );
}

int serve(const std::vector<std::string>& arguments) {
    boost::asio::io_context io;
    const auto time = make_machine_clock(io.get_executor());
    server::server_options options;
    std::vector<std::string> definitions;
    std::unique_ptr<server::test::machine_pods> pods;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--token" && i + 1 < arguments.size()) {
            options.token = arguments[++i];
        } else if (arguments[i] == "--pods" && i + 1 < arguments.size()) {
            pods = std::make_unique<server::test::machine_pods>(io.get_executor(), arguments[++i]);
        } else {
            definitions.push_back(arguments[i]);
        }
    }
    server::api_server api(io.get_executor(), *time, options);
    api.set_pod_streams(pods.get());
    for (const std::string& file : definitions) {
        std::ifstream in(file);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        if (const auto added = api.add_custom_resource(text); !added) {
            std::cerr << file << ": " << added.error().message << '\n';
            return 2;
        }
    }
    const auto port = api.listen("127.0.0.1", 0);
    if (!port) {
        std::cerr << port.error().message << '\n';
        return 2;
    }
    std::cout << "ready " << *port << std::endl;
    boost::asio::posix::stream_descriptor input(io, ::dup(STDIN_FILENO));
    wait_for_end(input, io);
    io.run();
    api.stop();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return serve({argv + 1, argv + argc});
}
