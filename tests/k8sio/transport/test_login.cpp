// SPDX-License-Identifier: Apache-2.0
//
// Credentials of a program: by the transport in virtual time with a scripted program, and a real
// one.
#include "runtime/virtual_loop.hpp"
#include "transport/answers.hpp"
#include "transport/http_transport.hpp"
#include "transport/scripted_network.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::plugin_outcome;
using signalbox::k8sio::test::exec_api_version;
using signalbox::k8sio::test::ok_answer;
using signalbox::k8sio::test::refusal_answer;

namespace {

/// Ends when the test says so.
class scripted_runner final : public plugin_runner {
public:
    using done_function = std::function<void(const plugin_outcome&)>;
    explicit scripted_runner(std::vector<done_function>& started) : started_(&started) {}
    void start(const exec_plugin&, done_function done) override {
        started_->push_back(std::move(done));
    }

private:
    std::vector<done_function>* started_;
};

struct login_fixture {
    login_fixture() : net(loop.time) {
        net.respond = [this](const std::string& bytes) {
            return bytes.find("Bearer " + good) != std::string::npos ? ok_answer : refusal_answer;
        };
        config.exec.emplace();
        config.exec->command = "login";
        config.exec->api_version = exec_api_version;
        make();
    }
    void make() {
        protocol::credentials credentials(config, [this](const std::string&) { return file; });
        transport = std::make_unique<http_transport>(
            loop.time,
            std::make_unique<test::scripted_connector>(net),
            protocol::request_frame(),
            std::make_unique<login>(
                loop.time, std::move(credentials), std::make_unique<scripted_runner>(runs)
            ),
            http_transport_options()
        );
    }
    std::unique_ptr<test::task<result<http_response>>> start(std::chrono::seconds limit = 30s) {
        auto made = std::make_unique<test::task<result<http_response>>>(
            loop, transport->exchange(request, loop.time.steady_now() + limit)
        );
        loop.settle();
        return made;
    }
    void end_run(const std::string& token, const std::string& more = {}) {
        plugin_outcome outcome;
        outcome.output = secret_text(
            R"({"kind":"ExecCredential","apiVersion":")" + exec_api_version +
            R"(","status":{"token":")" + token + "\"" + more + "}}"
        );
        runs.back()(outcome);
        loop.settle();
    }
    void fail_run() {
        plugin_outcome outcome;
        outcome.exit_code = 1;
        outcome.complaint = "log in first";
        runs.back()(outcome);
        loop.settle();
    }

    test::virtual_loop loop;
    test::network net;
    cluster_config config;
    std::string good = "T";
    std::optional<std::string> file;
    std::vector<scripted_runner::done_function> runs;
    http_request request{"GET", "/api"};
    std::unique_ptr<http_transport> transport;
};

/// A server whose tokens end by time. `T5` is the one that was made in the fifth second.
struct ending_tokens : login_fixture {
    ending_tokens() {
        net.respond = [this](const std::string& bytes) {
            const std::size_t at = bytes.find("Bearer T");
            const bool known = at != std::string::npos;
            const auto made =
                std::chrono::seconds{known ? std::stol(bytes.substr(at + 8)) : -10000};
            const bool valid = known && second() >= made && second() < made + life;
            refused += valid ? 0 : 1;
            return valid ? ok_answer : refusal_answer;
        };
    }
    std::chrono::seconds second() {
        return std::chrono::floor<std::chrono::seconds>(loop.time.steady_now() - begin);
    }
    std::string token() { return "T" + std::to_string(second().count()); }
    /// A request every three seconds for so long, and `between` before each; how many failed.
    int ask_for(std::chrono::seconds duration, const std::function<void()>& between) {
        int failed = 0;
        for (const auto end = second() + duration; second() < end; loop.run_for(3s)) {
            between();
            const auto asked = start();
            between();
            failed +=
                asked->done && asked->result.has_value() && asked->result->status == 200 ? 0 : 1;
        }
        return failed;
    }

    steady_time begin = loop.time.steady_now();
    std::chrono::seconds life{600};
    int refused = 0;
};

/// A real program, on the machine's clock.
struct real_program {
    real_program() : time(make_machine_clock(loop.get_executor())) {
        plugin.command = "/bin/sh";
        plugin.api_version = exec_api_version;
    }
    plugin_outcome run(const std::string& script) {
        plugin.args = {"-c", script};
        const auto runner = make_process_runner(loop.get_executor(), *time);
        std::optional<plugin_outcome> outcome;
        runner->start(plugin, [&](const plugin_outcome& got) { outcome = got; });
        CHECK_FALSE(outcome);
        loop.restart();
        while (!outcome) {
            loop.run_one();
        }
        return *outcome;
    }

    boost::asio::io_context loop;
    std::unique_ptr<signalbox::k8sio::clock> time;
    exec_plugin plugin;
};

}  // namespace

TEST_CASE_METHOD(login_fixture, "[requirement C7] one run serves all who wait") {
    const auto first = start();
    const auto second = start();
    auto stream = test::task<result<std::unique_ptr<response_stream>>>(
        loop, transport->open_stream(request, 60s)
    );
    loop.settle();
    CHECK(runs.size() == 1);
    CHECK(net.requests.empty());
    end_run("T");
    REQUIRE((first->done && second->done && stream.done));
    CHECK(first->result->status == 200);
    CHECK(second->result->status == 200);
    CHECK((*stream.result)->status() == 200);
    CHECK(runs.size() == 1);
    CHECK(start()->result->status == 200);
}

TEST_CASE_METHOD(
    login_fixture, "[requirement C7] the loop turns while it runs; who waits has a limit"
) {
    const auto first = start(10s);
    const auto second = start(30s);
    loop.run_for(11s);
    REQUIRE(first->done);
    CHECK(first->result.error().code == errc::credentials);
    CHECK_FALSE(second->done);
    second->cancel();
    loop.settle();
    REQUIRE(second->done);
    CHECK(second->result.error().code == errc::cancelled);
    const auto third = start();
    end_run("T");
    CHECK(third->result->status == 200);
    CHECK(runs.size() == 1);
}

TEST_CASE_METHOD(login_fixture, "[requirement C7] its failure is the answer to all who wait") {
    const auto first = start();
    const auto second = start();
    fail_run();
    REQUIRE((first->done && second->done));
    CHECK(
        first->result.error().message == "credential plugin 'login' ended with code 1: log in first"
    );
    CHECK(second->result.error().code == errc::credentials);
    CHECK(net.connections == 0);
    CHECK(start()->done);  // at once, without another run
    CHECK(runs.size() == 1);
    loop.run_for(1s);
    const auto later = start();
    CHECK(runs.size() == 2);
    end_run("T");
    CHECK(later->result->status == 200);
}

TEST_CASE_METHOD(login_fixture, "[requirement C7] [requirement R5] 401 runs it again, once") {
    const auto first = start();
    end_run("T");
    REQUIRE(first->result->status == 200);
    good = "U";
    const auto two = start();
    const auto three = start();
    REQUIRE(runs.size() == 2);
    SECTION("with success") {
        end_run("U");
        CHECK(two->result->status == 200);
        CHECK(three->result->status == 200);
        CHECK(runs.size() == 2);
    }
    SECTION("in vain") {
        end_run("T");
        CHECK(two->result->status == 401);
        CHECK(three->result->status == 401);
        CHECK(runs.size() == 2);
    }
    SECTION("and it fails") {
        fail_run();
        CHECK(two->result.error().code == errc::credentials);
        CHECK(three->result.error().code == errc::credentials);
    }
}

TEST_CASE_METHOD(ending_tokens, "[requirement C7] by its time a credential is replaced unrefused") {
    life = GENERATE(20s, 60s, 900s, 3600s);
    INFO(life.count());
    std::size_t ended = 0;
    const auto run_program = [&] {
        if (runs.size() == ended) {
            return;
        }
        ++ended;
        const auto end = std::chrono::floor<std::chrono::seconds>(loop.time.wall_now()) + life;
        const std::time_t seconds = std::chrono::system_clock::to_time_t(
            std::chrono::time_point_cast<std::chrono::system_clock::duration>(end)
        );
        std::array<char, 32> text{};
        std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&seconds));
        end_run(token(), R"(,"expirationTimestamp":")" + std::string(text.data()) + '"');
    };
    CHECK(ask_for(life * 10, run_program) == 0);
    CHECK(refused == 0);
    // Each was used for three quarters of its life at least.
    CHECK(ended >= 10);
    CHECK(ended <= 15);
}

TEST_CASE_METHOD(
    ending_tokens, "[requirement C2] by the file's change a token is replaced unrefused"
) {
    config.exec.reset();
    config.token_file = "/token";
    make();
    int changes = 0;
    std::optional<std::chrono::seconds> written;
    bool kubelet = true;
    const auto replace_file = [&] {  // at four fifths of its life, as the kubelet
        if (kubelet && (!written || second() >= *written + life * 4 / 5)) {
            written = second();
            file = token();
            ++changes;
        }
    };
    CHECK(ask_for(life * 10, replace_file) == 0);
    CHECK(refused == 0);
    CHECK(changes >= 12);
    // No one replaces it: what is asked after its end is refused until there is another one, and
    // not longer.
    kubelet = false;
    const auto left = *written + life - second();
    CHECK(ask_for(left, replace_file) == 0);
    CHECK(ask_for(30s, replace_file) == 10);
    kubelet = true;
    CHECK(ask_for(life, replace_file) == 0);
}

TEST_CASE_METHOD(real_program, "[requirement C7] a program's output, complaint and code") {
    plugin.env = {{"GIVEN", "from the kubeconfig"}, {"HOME", "/replaced"}};
    plugin.info = "{\"kind\":1}";
    const auto outcome =
        run("echo \"$GIVEN,$HOME,$KUBERNETES_EXEC_INFO,${PATH:+path}\"; echo wrong >&2; "
            "read -r line || echo no input; exit 7");
    CHECK(outcome.output.reveal() == "from the kubeconfig,/replaced,{\"kind\":1},path\nno input\n");
    CHECK(outcome.complaint == "wrong\n");
    CHECK(outcome.exit_code == 7);
    CHECK(outcome.signal == 0);
    CHECK(outcome.start_error == 0);
}

TEST_CASE_METHOD(real_program, "[requirement C7] a program that cannot be started") {
    plugin.command = "no-such-program-of-ours";
    CHECK(run("").start_error == ENOENT);
    plugin.command = "/";
    CHECK(run("").start_error == EACCES);
}

TEST_CASE_METHOD(real_program, "[requirement C7] large output, bounded; a signal; no open files") {
    CHECK(run("head -c 3000000 /dev/zero").output.reveal().size() == 1u << 20);
    CHECK(run("head -c 100000 /dev/zero >&2; echo end >&2").complaint.size() == 4096);
    CHECK(run("kill -TERM $$").signal == 15);
    // A socket of ours that the program inherits would keep a connection open.
    const int leak = ::open("/dev/null", O_RDONLY);
    REQUIRE(leak >= 0);
    CHECK(run("ls /proc/self/fd | wc -l").output.reveal() == "4\n");  // 0, 1, 2 and that of ls
    ::close(leak);
}

TEST_CASE_METHOD(
    real_program, "[requirement C7] a program that hangs is killed, with its children"
) {
    virtual_clock virtual_time(loop.get_executor(), wall_time());
    std::string name = (std::filesystem::temp_directory_path() / "k8sio-login-XXXXXX").string();
    ::close(::mkstemp(name.data()));
    plugin.args = {"-c", "sleep 1000 & echo $! >\"$0\"; wait", name};
    const auto runner = make_process_runner(loop.get_executor(), virtual_time);
    std::optional<plugin_outcome> outcome;
    runner->start(plugin, [&](const plugin_outcome& got) { outcome = got; });
    std::string child;
    while (!std::getline(std::ifstream(name), child)) {
        loop.poll();
    }
    virtual_time.advance(59s);
    loop.poll();
    CHECK_FALSE(outcome);
    while (!outcome) {
        virtual_time.advance(1s);
        loop.restart();
        loop.poll();
    }
    CHECK(outcome->timed_out);
    std::filesystem::remove(name);
    for (;;) {  // gone, or waiting for whoever reaps it
        std::ifstream stat("/proc/" + child + "/stat");
        std::string pid, program, state;
        if (!(stat >> pid >> program >> state) || state == "Z") {
            break;
        }
    }
}

TEST_CASE_METHOD(real_program, "[requirement C7] [requirement H1] what runs ends with the runner") {
    plugin.args = {"-c", "sleep 1000"};
    bool called = false;
    {
        const auto runner = make_process_runner(loop.get_executor(), *time);
        runner->start(plugin, [&](const plugin_outcome&) { called = true; });
        loop.poll();
    }
    loop.restart();
    loop.run();  // nothing is left to wait for
    CHECK_FALSE(called);
}
