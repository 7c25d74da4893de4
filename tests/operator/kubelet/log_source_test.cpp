// SPDX-License-Identifier: Apache-2.0
#include "kubelet/node/log_source.hpp"

#include "kubelet/life/container_run.hpp"
#include "scripted_containers.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
namespace fs = std::filesystem;

namespace {

/// A log in a folder of its own, and who reads it.
class log_reader {
public:
    log_reader() {
        std::string name = (fs::temp_directory_path() / "signalbox-test-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
        path = folder_ / "l";
    }
    ~log_reader() { fs::remove_all(folder_); }

    /// A container that runs, and whose log is at `path`.
    std::shared_ptr<kubelet::container_run> run() {
        return std::make_shared<kubelet::container_run>(
            loop.get_executor(),
            containers::container_spec(),
            std::make_unique<scripted_process>(loop.get_executor(), time, process_script()),
            path
        );
    }
    /// The same, which has said one line, and who follows it has read that.
    std::shared_ptr<kubelet::container_run> follow() {
        const auto out = run();
        out->log.write_out("one\n", time.wall_now());
        open({}, out);
        read();
        CHECK(got == "one\n");
        return out;
    }
    /// The log, or with a suffix an older file of it, with these entries.
    void write(const std::string& entries, const std::string& suffix = "") const {
        std::ofstream(path.string() + suffix) << entries;
    }
    void open(
        const k8sio::server::log_options& options,
        const std::shared_ptr<kubelet::container_run>& followed = nullptr
    ) {
        source = kubelet::make_log_source(loop.get_executor(), path, options, followed);
    }
    /// `got` once there is something; see poll().
    void read() {
        got.reset();
        boost::asio::co_spawn(
            loop,
            source->read_some(),
            [this](std::exception_ptr, k8sio::result<std::string> text) { got = text.value(); }
        );
        poll();
    }
    void poll() {
        loop.restart();
        loop.poll();
    }
    std::string whole(const k8sio::server::log_options& options = {}) {
        open(options);
        std::string out;
        do {
            read();
            out += got.value();
        } while (!got->empty());
        return out;
    }
    std::string last(std::int64_t lines) {
        k8sio::server::log_options options;
        options.tail_lines = lines;
        return whole(options);
    }

    fs::path path;
    boost::asio::io_context loop;
    k8sio::virtual_clock time{loop.get_executor(), {}};
    std::unique_ptr<k8sio::server::byte_source> source;
    std::optional<std::string> got;

private:
    fs::path folder_;
};

/// An entry of the n-th second.
std::string entry(int second, const std::string& text, char tag = 'F') {
    return "2023-11-14T22:13:2" + std::to_string(second) + ".000000000Z stdout " + tag + " " +
           text + "\n";
}

}  // namespace

TEST_CASE("who follows a log whose file went waits for the end of the container") {
    log_reader r;
    const auto run = r.follow();
    fs::remove(r.path);
    r.read();
    CHECK_FALSE(r.got.has_value());
    const auto listener = run->listeners.at(0).lock();
    REQUIRE(listener != nullptr);
    listener->hear(containers::output_stream::out, "two");
    r.poll();
    CHECK_FALSE(r.got.has_value());
    listener->end();
    r.poll();
    CHECK(r.got == "");
}

TEST_CASE("who follows a log reads on in the file that a rotation began") {
    log_reader r;
    const auto run = r.follow();
    r.read();
    CHECK_FALSE(r.got.has_value());
    fs::rename(r.path, r.path.string() + ".1");
    r.write(entry(1, "two"));
    const auto listener = run->listeners.at(0).lock();
    listener->hear(containers::output_stream::out, "two");
    r.poll();
    CHECK(r.got == "two\n");
    // What came with the end is not lost.
    r.read();
    r.write(entry(1, "two") + entry(2, "three"));
    listener->end();
    r.poll();
    CHECK(r.got == "three\n");
    r.read();
    CHECK(r.got == "");
}

TEST_CASE("a client that leaves does not wait for the next line") {
    log_reader r;
    const auto run = r.run();
    r.open({}, run);
    r.read();
    CHECK_FALSE(r.got.has_value());
    r.source->close();
    r.poll();
    CHECK(r.got == "");
}

TEST_CASE("a log is read from its oldest file on, and a line that was cut is one again") {
    log_reader r;
    CHECK(r.whole().empty());
    r.write(entry(1, "a") + entry(2, "b", 'P'), ".2");
    r.write(entry(3, "c") + entry(4, ""), ".1");
    r.write(entry(5, "d"));
    CHECK(r.whole() == "a\nbc\n\nd\n");
}

TEST_CASE("the last lines of a log are counted over its files") {
    log_reader r;
    r.write(entry(1, "a") + entry(2, "b"), ".1");
    r.write(entry(3, "c", 'P') + entry(4, "d") + entry(5, "e"));
    CHECK(r.last(0).empty());
    CHECK(r.last(1) == "e\n");
    CHECK(r.last(2) == "cd\ne\n");
    CHECK(r.last(3) == "b\ncd\ne\n");
    CHECK(r.last(4) == "a\nb\ncd\ne\n");
    CHECK(r.last(9) == "a\nb\ncd\ne\n");
    // More than is skipped at once.
    std::string many;
    for (int i = 0; i < 3000; ++i) {
        many += entry(1, "a");
    }
    r.write(many + entry(2, "b"));
    CHECK(r.last(1) == "b\n");
}

TEST_CASE("each line of a log has its time if it is asked for, and begins where it is asked to") {
    log_reader r;
    r.write(entry(1, "a") + entry(2, "b", 'P') + entry(3, "c") + entry(4, "d"));
    k8sio::server::log_options options;
    options.timestamps = true;
    CHECK(
        r.whole(options) ==
        "2023-11-14T22:13:21.000000000Z a\n2023-11-14T22:13:22.000000000Z bc\n"
        "2023-11-14T22:13:24.000000000Z d\n"
    );
    options.tail_lines = 1;
    CHECK(r.whole(options) == "2023-11-14T22:13:24.000000000Z d\n");
    options.tail_lines.reset();
    options.timestamps = false;
    options.since = k8sio::wall_time(std::chrono::seconds{1'700'000'002});
    CHECK(r.whole(options) == "bc\nd\n");
}
