// SPDX-License-Identifier: Apache-2.0
#include "kubelet/node/log_source.hpp"

#include "kubelet/life/container_run.hpp"
#include "scripted_containers.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <filesystem>

#include <unistd.h>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
namespace fs = std::filesystem;

TEST_CASE("who follows a log whose file went waits for the end of the container") {
    std::string name = (fs::temp_directory_path() / "signalbox-test-XXXXXX").string();
    const fs::path folder = ::mkdtemp(name.data());
    const fs::path path = folder / "l";
    boost::asio::io_context loop;
    k8sio::virtual_clock time(loop.get_executor(), {});
    const auto run = std::make_shared<kubelet::container_run>(
        loop.get_executor(),
        containers::container_spec(),
        std::make_unique<scripted_process>(loop.get_executor(), time, process_script()),
        path
    );
    run->log.write_out("one\n", time.wall_now());
    const auto source = kubelet::make_log_source(loop.get_executor(), path, {}, run);
    std::optional<std::string> got;
    const auto read = [&] {
        got.reset();
        boost::asio::co_spawn(
            loop,
            source->read_some(),
            [&](std::exception_ptr, k8sio::result<std::string> text) { got = text.value(); }
        );
        loop.restart();
        loop.poll();
    };
    read();
    CHECK(got == "one\n");
    fs::remove(path);
    read();
    CHECK_FALSE(got.has_value());
    const auto listener = run->listeners.at(0).lock();
    REQUIRE(listener != nullptr);
    listener->hear(containers::output_stream::out, "two");
    loop.poll();
    CHECK_FALSE(got.has_value());
    listener->end();
    loop.poll();
    CHECK(got == "");
    fs::remove_all(folder);
}
