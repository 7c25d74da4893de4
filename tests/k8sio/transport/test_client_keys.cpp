// SPDX-License-Identifier: Apache-2.0
//
// Client certificates that end: a server in virtual time that looks at the certificate of a
// connection at every request, as kube-apiserver does.
#include "runtime/virtual_loop.hpp"
#include "transport/answers.hpp"
#include "transport/http_transport.hpp"
#include "transport/scripted_network.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <ctime>
#include <deque>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::plugin_outcome;
using signalbox::k8sio::test::exec_api_version;
using signalbox::k8sio::test::ok_answer;
using signalbox::k8sio::test::refusal_answer;
using signalbox::k8sio::test::watch_head;
using std::chrono::seconds;

namespace {

/// The certificate made in the fifth second is `C5`, its key `K5`.
std::string check(const protocol::tls_keys& keys) {
    const bool fit = keys.client_cert_pem.substr(1) == keys.client_key_pem.reveal().substr(1);
    return fit ? "" : "the key is another one's";
}

/// Connections keep the certificate that they were made with.
class keyed_connector final : public connector {
public:
    using answer_function =
        std::function<std::string(const std::string& certificate, const std::string& request)>;
    keyed_connector(signalbox::k8sio::clock& time, std::string certificate, answer_function answer)
        : time_(&time), certificate_(std::move(certificate)), answer_(std::move(answer)) {}

    boost::asio::awaitable<result<std::unique_ptr<byte_stream>>> connect(steady_time) override {
        test::network& net = nets_.emplace_back(*time_);
        net.respond = [this, mine = certificate_](const std::string& bytes) {
            return answer_(mine, bytes);
        };
        std::unique_ptr<byte_stream> made = std::make_unique<test::scripted_stream>(net);
        co_return made;
    }
    result<void> use_keys(const protocol::tls_keys& keys) override {
        certificate_ = keys.client_cert_pem;
        return {};
    }
    std::size_t connections() const { return nets_.size(); }

private:
    signalbox::k8sio::clock* time_;
    std::string certificate_;
    answer_function answer_;
    std::deque<test::network> nets_;
};

/// Gives a certificate of that second after a second's work; fails when it is told to.
class certifier final : public plugin_runner {
public:
    using outcome_function = std::function<plugin_outcome()>;
    certifier(signalbox::k8sio::clock& time, outcome_function run)
        : time_(&time), run_(std::move(run)) {}
    ~certifier() override { time_->cancel(timer_); }
    void start(const exec_plugin&, std::function<void(const plugin_outcome&)> done) override {
        timer_ = time_->schedule(time_->steady_now() + 1s, [this, done] { done(run_()); });
    }

private:
    signalbox::k8sio::clock* time_;
    signalbox::k8sio::clock::timer_id timer_ = 0;
    outcome_function run_;
};

struct keys_fixture {
    seconds second() const {
        return std::chrono::floor<seconds>(loop.time.steady_now() - steady_time());
    }
    std::string text() const { return std::to_string(second().count()); }

    std::string answer(const std::string& certificate, const std::string& bytes) {
        const bool known = !certificate.empty();
        const auto made = seconds{known ? std::stol(certificate.substr(1)) : -10000};
        if (second() < made || second() >= made + life) {
            ++refused;
            return refusal_answer;
        }
        return bytes.find("watch") == std::string::npos ? ok_answer : watch_head;
    }
    plugin_outcome run_program() {
        plugin_outcome outcome;
        ++runs;
        if (failures > 0) {
            --failures;
            outcome.exit_code = 1;
            return outcome;
        }
        std::string end;
        if (tells_end) {
            const auto last = std::chrono::floor<seconds>(loop.time.wall_now()) + life;
            const std::time_t number = std::chrono::system_clock::to_time_t(
                std::chrono::time_point_cast<std::chrono::system_clock::duration>(last)
            );
            std::array<char, 64> buffer{};
            const char* format = R"(,"expirationTimestamp":"%Y-%m-%dT%H:%M:%SZ")";
            std::strftime(buffer.data(), buffer.size(), format, std::gmtime(&number));
            end = buffer.data();
        }
        outcome.output = secret_text(
            R"({"kind":"ExecCredential","apiVersion":")" + exec_api_version +
            R"(","status":{"clientCertificateData":"C)" + text() + R"(","clientKeyData":"K)" +
            text() + "\"" + end + "}}"
        );
        return outcome;
    }
    void make() {
        auto connector = std::make_unique<keyed_connector>(
            loop.time,
            config.client_cert_pem,
            [this](const auto& certificate, const auto& bytes) {
                return answer(certificate, bytes);
            }
        );
        to_server = connector.get();
        protocol::credentials credentials(
            config, [this](const std::string& path) { return files[path]; }, check
        );
        transport = std::make_unique<http_transport>(
            loop.time,
            std::move(connector),
            protocol::request_frame(),
            std::make_unique<login>(
                loop.time,
                std::move(credentials),
                std::make_unique<certifier>(loop.time, [this] { return run_program(); }),
                [this](const std::string& line) { told.push_back(line); }
            ),
            http_transport_options()
        );
    }
    void use_program() {
        config.exec.emplace();
        config.exec->command = "login";
        config.exec->api_version = exec_api_version;
        make();
    }
    void use_files() {
        config.client_cert_file = "/cert";
        config.client_key_file = "/key";
        files = {{"/cert", "C0"}, {"/key", "K0"}};
        config.client_cert_pem = "C0";
        config.client_key_pem = secret_text("K0");
        make();
    }
    /// One request each second, `between` before each; how many failed.
    int ask_for(seconds duration, const std::function<void()>& between = nullptr) {
        int failed = 0;
        for (const auto end = second() + duration; second() < end; loop.run_for(1s)) {
            if (between) {
                between();
            }
            const auto got =
                test::run(loop, transport->exchange(request, loop.time.steady_now() + 30s));
            failed += got.has_value() && got->status == 200 ? 0 : 1;
        }
        return failed;
    }

    test::virtual_loop loop;
    cluster_config config;
    std::map<std::string, std::optional<std::string>> files;
    seconds life{30};
    bool tells_end = true;
    int failures = 0;
    int refused = 0, runs = 0;
    std::vector<std::string> told;
    http_request request{"POST", "/api"};
    keyed_connector* to_server = nullptr;
    std::unique_ptr<http_transport> transport;
};

}  // namespace

TEST_CASE_METHOD(
    keys_fixture, "[requirement C7] certificates of a program are replaced unrefused"
) {
    life = GENERATE(20s, 30s, 60s, 900s);
    INFO(life.count());
    use_program();
    CHECK(ask_for(life * 10) == 0);
    CHECK(refused == 0);
    CHECK(told.empty());
    CHECK(runs >= 10);
    CHECK(runs <= 15);
    // One connection for each: none with an old certificate is kept.
    CHECK(to_server->connections() == static_cast<std::size_t>(runs));
}

TEST_CASE_METHOD(
    keys_fixture,
    "[requirement C7] one without expirationTimestamp is used until the server refuses it"
) {
    tells_end = false;
    use_program();
    CHECK(ask_for(life * 10) == 0);
    CHECK(runs >= 9);
    CHECK(runs <= 10);
    CHECK(refused == runs - 1);
}

TEST_CASE_METHOD(keys_fixture, "[requirement C7] a program that fails once when a new one is due") {
    use_program();
    CHECK(ask_for(20s) == 0);
    failures = GENERATE(1, 2);
    CHECK(ask_for(60s) == 0);
    CHECK(failures == 0);
    CHECK(refused == 0);
    REQUIRE(told.size() == 1);
    CHECK(
        told.front() ==
        "credential plugin 'login' ended with code 1; what it gave before is used for 6 s more"
    );
}

TEST_CASE_METHOD(keys_fixture, "[requirement C7] a renewal that fails is told when it fails") {
    use_program();
    CHECK(ask_for(1s) == 0);
    loop.run_for(23s);
    failures = 1;
    const auto got = test::run(loop, transport->exchange(request, loop.time.steady_now() + 30s));
    CHECK(got.has_value());
    CHECK(told.empty());
    loop.run_for(1s);  // no one asks for anything
    CHECK(told.size() == 1);
}

TEST_CASE_METHOD(
    keys_fixture, "[requirement C3] files that are replaced before their end lose nothing"
) {
    const bool at_once = GENERATE(true, false);
    INFO(at_once);
    use_files();
    seconds made{0};
    const auto replace = [&] {  // at two thirds of its life; the key two seconds later
        if (second() >= made + 20s) {
            made = second();
            files["/cert"] = "C" + text();
        }
        if (at_once || second() >= made + 2s) {
            files["/key"] = "K" + std::to_string(made.count());
        }
    };
    CHECK(ask_for(600s, replace) == 0);
    CHECK(refused >= 20);  // none is read before its time
    CHECK(refused <= 30);  // once at the end of each, and then sent again
    CHECK(to_server->connections() <= 1 + 600 / 20);
    CHECK(runs == 0);
}

TEST_CASE_METHOD(
    keys_fixture, "[requirement C3] a key that comes too late: refused until it is there"
) {
    use_files();
    CHECK(ask_for(10s) == 0);
    files["/cert"] = "C10";
    CHECK(ask_for(20s) == 0);
    CHECK(ask_for(5s) == 5);
    CHECK(told.size() == 1);
    files["/key"] = "K10";
    CHECK(ask_for(5s) == 0);
    CHECK(told.size() == 1);
}

TEST_CASE_METHOD(
    keys_fixture, "[requirement C3] a stream knows that its certificate was replaced"
) {
    use_files();
    const http_request watch{"GET", "/api?watch"};
    const auto open = [&] { return test::run(loop, transport->open_stream(watch, 60s)); };
    const auto first = open();
    REQUIRE(first.has_value());
    CHECK(ask_for(20s) == 0);
    CHECK_FALSE((*first)->outdated());
    files = {{"/cert", "C20"}, {"/key", "K20"}};
    CHECK(ask_for(20s) == 0);
    CHECK((*first)->outdated());
    const auto second = open();
    REQUIRE(second.has_value());
    CHECK_FALSE((*second)->outdated());
    CHECK((*second)->status() == 200);
}
