// SPDX-License-Identifier: Apache-2.0
//
// What a running operator answers, and to whom.
#include "monitoring/monitor.hpp"

#include "scenario/world.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <catch2/catch.hpp>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace asio = boost::asio;

class monitored {
public:
    explicit monitored(const std::string& address = "127.0.0.1:0", const std::string& token = {})
        : shown(options(address, token)) {
        op::run_options run;
        shown.attach_to(run);
        REQUIRE(run.beside == &shown);
        REQUIRE(shown.begin(seen()) == "");
    }
    ~monitored() {
        shown.end();
        w.settle();
    }
    static op::monitor_options options(const std::string& address, const std::string& token) {
        op::monitor_options out;
        out.metrics.address = address;
        out.metrics.token_file = token;
        out.version = "1.2.3";
        return out;
    }
    op::running_operator seen() {
        op::running_operator of;
        of.loop = w.loop();
        of.time = &w.time();
        of.work = &w.operator_();
        of.leads = [] { return true; };
        of.log = log;
        return of;
    }
    op::http_answer ask(
        const std::string& path, const std::string& method = "GET", const std::string& body = {}
    ) {
        op::http_question question;
        question.method = method;
        question.path = path;
        question.body = body;
        question.trusted = trusted;
        question.from_web_page = from_web_page;
        return shown.answer(question);
    }
    unsigned status(const std::string& path, const std::string& method = "GET") {
        return ask(path, method).status;
    }

    world w;
    std::shared_ptr<spdlog::logger> log = std::make_shared<spdlog::logger>("test");
    op::monitor shown;
    bool trusted = true;
    bool from_web_page = false;
};

}  // namespace

TEST_CASE("nothing is shown unless an address is given") {
    op::monitor none(op::monitor_options{});
    op::run_options run;
    none.attach_to(run);
    CHECK(run.beside == nullptr);
    CHECK(run.controller.observer == nullptr);
}

TEST_CASE("[requirement H2] probes are answered to everybody, and only when they are read") {
    monitored m;
    m.trusted = false;
    for (const char* path : {"/livez", "/livez/", "/readyz", "/healthz", "/livez/ping"}) {
        CAPTURE(path);
        CHECK(m.ask(path).body == "ok");
        CHECK(m.ask(path, "HEAD").status == 200);
        CHECK(m.ask(path, "PUT").status == 405);
    }
    CHECK(m.status("/readyz/views-complete") == 200);
    CHECK(m.status("/livez/views-complete") == 404);
    CHECK(m.status("/livezz") != 200);
    m.shown.stopping();
    CHECK(m.status("/readyz") == 500);
    CHECK(m.status("/livez") == 200);
}

TEST_CASE("metrics and jobs are shown to who has the token") {
    monitored m;
    m.w.create_job(job_builder("mnist").replicas("worker", 1));
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Running"); }, seconds{60}));
    for (const char* path : {"/metrics", "/debug/jobs/default/mnist", "/debug/log-level"}) {
        CAPTURE(path);
        CHECK(m.status(path) == 200);
        m.trusted = false;
        CHECK(m.status(path) == 401);
        m.trusted = true;
        m.from_web_page = true;
        CHECK(m.status(path) == (path == std::string("/metrics") ? 200 : 403));
        m.from_web_page = false;
    }
    const op::http_answer metrics = m.ask("/metrics");
    CHECK(metrics.content_type == "text/plain; version=0.0.4; charset=utf-8");
    CHECK(metrics.body.find("\nsignalbox_build_info{version=\"1.2.3\"} 1\n") != std::string::npos);
    const op::http_answer job = m.ask("/debug/jobs/default/mnist");
    CHECK(job.body.starts_with("PyTorchTrainingJob default/mnist, at "));
    CHECK(job.body.find("\nWhat it is, and why\n  - ") != std::string::npos);
    for (const char* path :
         {"/debug/jobs/default/other",
          "/debug/jobs/default",
          "/debug/jobs/default/mnist/x",
          "/debug/jobs",
          "/debug/jobsx",
          "/debug",
          "/"}) {
        CAPTURE(path);
        CHECK(m.status(path) == 404);
    }
    CHECK(m.ask("/debug/jobs/default/mnist/x").body == "/debug/jobs/NAMESPACE/NAME is expected\n");
    CHECK(m.status("/metrics", "PUT") == 404);
    CHECK(m.status("/debug/jobs/default/mnist", "PUT") == 404);
}

TEST_CASE("the level of the log is told and set") {
    monitored m;
    m.log->set_level(spdlog::level::info);
    CHECK(m.ask("/debug/log-level").body == "info\n");
    CHECK(m.ask("/debug/log-level", "PUT", "debug\r\n").body == "the log level is debug now\n");
    CHECK(m.log->level() == spdlog::level::debug);
    const op::http_answer wrong = m.ask("/debug/log-level", "PUT", "loud");
    CHECK(wrong.status == 400);
    CHECK(wrong.body == "one of trace, debug, info, warning, error, off is expected\n");
    CHECK(m.status("/debug/log-level", "POST") == 405);
    CHECK(m.log->level() == spdlog::level::debug);
}

TEST_CASE("who can be reached by others shows no job without a token") {
    const auto status = [](const std::string& address, const std::string& token) {
        // Nothing listens there: the answers alone are asked for.
        op::monitor shown(monitored::options(address, token));
        op::http_question question;
        question.method = "GET";
        question.path = "/debug/jobs";
        question.trusted = true;
        op::run_options run;
        shown.attach_to(run);
        return shown.answer(question).status;
    };
    CHECK(status("0.0.0.0:0", "") == 403);
    CHECK(status(":0", "") == 403);
    CHECK(status("[::]:0", "") == 403);
    CHECK(status("10.1.2.3:0", "") == 403);
    CHECK(status("10.1.2.3:0", "/token") == 404);
    CHECK(status("127.0.0.2:0", "") == 404);
    CHECK(status("[::1]:0", "") == 404);
    CHECK(status("localhost:0", "") == 404);
}

TEST_CASE("an address that is in use is named with what it is for") {
    world w;
    const boost::asio::ip::tcp::acceptor other(
        w.loop(), {boost::asio::ip::make_address("127.0.0.1"), 0}
    );
    const std::string taken = "127.0.0.1:" + std::to_string(other.local_endpoint().port());
    const auto problem = [&](const std::string& metrics, const std::string& health) {
        op::monitor_options options = monitored::options(metrics, "");
        options.health_address = health;
        op::monitor shown(std::move(options));
        op::run_options run;
        shown.attach_to(run);
        asio::io_context answers(1);
        const k8sio::loop_thread thread(answers);
        const k8sio::heartbeat beat(w.time());
        op::running_operator of;
        of.loop = w.loop();
        of.answers = answers.get_executor();
        of.beat = &beat;
        of.time = &w.time();
        of.work = &w.operator_();
        of.leads = [] { return true; };
        of.log = std::make_shared<spdlog::logger>("test");
        std::string out = shown.begin(of);
        shown.end();
        w.settle();
        return out;
    };
    CHECK(problem(taken, "").starts_with("metrics: cannot listen at " + taken));
    CHECK(problem("127.0.0.1:0", taken).starts_with("health: cannot listen at " + taken));
    CHECK(problem("", "127.0.0.1:0") == "");
}
