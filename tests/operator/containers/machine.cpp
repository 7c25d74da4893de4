// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include "containers/node_process.hpp"
#include "containers/unix.hpp"
#include "signalbox_test/skip.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include <unistd.h>

namespace signalbox::op::containers::test {

namespace {

// The tests' main() is not ours: before it.
[[maybe_unused]] const bool asked = [] {
    become_node_process_if_asked();
    return false;
}();

/// Where nothing is said the suite fails without namespaces.
std::string why_not() {
    if (std::getenv("SIGNALBOX_CONTAINERS_SKIP") == nullptr) {
        return "";
    }
    try {
        machine m;
        return "";
    } catch (const std::exception& refused) {
        return refused.what();
    }
}
const signalbox::test::suite_needs namespaces(why_not);

}  // namespace

scratch_folder::scratch_folder(const char* below) {
    const char* base = below != nullptr ? below : std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/signalbox-containers-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
        throw std::runtime_error("no temporary folder");
    }
}

scratch_folder::~scratch_folder() {
    remove_tree(path_);
}

std::string scratch_folder::file(const std::string& name, const std::string& text) const {
    std::string path = path_ + "/" + name;
    std::ofstream(path) << text;
    return path;
}

machine::machine(local_options options) {
    options.folder = options.folder.empty() ? scratch_.path() + "/runtime" : options.folder;
    auto made = await(make_local_runtime(loop_.get_executor(), std::move(options)));
    runtime_ = std::move(made.value());
}

machine::~machine() {
    if (runtime_) {
        stop();
    }
}

void machine::run_until(const std::function<bool()>& done) {
    loop_.restart();
    while (!done()) {
        if (loop_.run_one() == 0) {
            throw std::logic_error("nothing is left to happen");
        }
    }
}

void machine::await(boost::asio::awaitable<void> what) {
    bool over = false;
    std::exception_ptr thrown;
    boost::asio::co_spawn(loop_, std::move(what), [&](std::exception_ptr e) {
        thrown = e;
        over = true;
    });
    run_until([&] { return over; });
    if (thrown) {
        std::rethrow_exception(thrown);
    }
}

void machine::spawn(boost::asio::awaitable<void> what) {
    boost::asio::co_spawn(loop_, std::move(what), [](std::exception_ptr e) {
        if (e) {
            std::rethrow_exception(e);
        }
    });
}

sandbox machine::make_sandbox(const std::string& hostname, bool host_network) {
    sandbox_spec spec;
    spec.hostname = hostname;
    spec.host_network = host_network;
    return make_sandbox(std::move(spec));
}

sandbox machine::make_sandbox(sandbox_spec spec) {
    return await(runtime_->make_sandbox(std::move(spec))).value();
}

process_spec script(const std::string& text) {
    process_spec out;
    out.argv = {"sh", "-c", text};
    out.env = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"};
    return out;
}

container_spec machine::shell(const sandbox& in, const std::string& text) {
    container_spec out;
    out.sandbox = in.id;
    out.root.changes = runtime_->folder() + "/" + std::to_string(++containers_);
    out.process = script(text);
    return out;
}

std::unique_ptr<process> machine::start(container_spec spec) {
    return await(runtime_->run(std::move(spec))).value();
}

std::unique_ptr<process> machine::start_beside(process& in, process_spec spec) {
    return await(runtime_->exec(in, std::move(spec))).value();
}

namespace {

boost::asio::awaitable<void> read_all(
    process& of, output_stream from, std::string& into, int& open
) {
    std::string buffer(65536, '\0');
    for (;;) {
        const std::size_t size = co_await of.read(from, boost::asio::buffer(buffer));
        if (size == 0) {
            break;
        }
        into.append(buffer, 0, size);
    }
    --open;
}

}  // namespace

outcome machine::finish(process& of) {
    outcome out;
    int open = 2;
    spawn(read_all(of, output_stream::out, out.out, open));
    spawn(read_all(of, output_stream::err, out.err, open));
    run_until([&] { return open == 0; });
    out.status = await(of.wait());
    return out;
}

outcome machine::run(container_spec spec) {
    auto started = await(runtime_->run(std::move(spec)));
    if (!started) {
        outcome out;
        out.error = started.error();
        return out;
    }
    return finish(**started);
}

outcome machine::run(const std::string& text) {
    return run(shell(make_sandbox(), text));
}

std::string machine::line(process& of) {
    std::string out;
    for (;;) {
        char c = '\0';
        const std::size_t size = await(of.read(output_stream::out, boost::asio::buffer(&c, 1)));
        if (size == 0 || c == '\n') {
            return out;
        }
        out += c;
    }
}

void machine::stop() {
    await(runtime_->stop());
    runtime_.reset();
}

}  // namespace signalbox::op::containers::test
