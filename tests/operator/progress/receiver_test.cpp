// SPDX-License-Identifier: Apache-2.0
//
// The receiver on a socket of the loopback interface: what it answers, whatever comes of a report.
#include "progress/receiver.hpp"

#include <k8sio/server/api_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::op::progress;
namespace asio = boost::asio;
using asio::ip::tcp;

const std::string place = "/namespaces/lab/pytorchtrainingjobs/mnist";

class listening {
public:
    explicit listening(receiver_options options = {})
        : work(loop.get_executor(), api, core::policy()), receives(make(std::move(options))) {
        op::running_operator of;
        of.loop = of.answers = loop.get_executor();
        of.time = &time;
        of.work = &work;
        of.api = &api;
        of.leads = [this] { return leads; };
        REQUIRE(receives.begin(of).empty());
    }
    ~listening() { receives.end(); }

    tcp::socket connect() {
        tcp::socket stream(loop);
        const std::string at = receives.address();
        const int port = std::stoi(at.substr(at.rfind(':') + 1));
        stream.connect({asio::ip::make_address("127.0.0.1"), static_cast<std::uint16_t>(port)});
        return stream;
    }
    /// The first line of the answer; empty if the connection ends without one.
    std::string ask(const std::string& request) {
        tcp::socket stream = connect();
        std::string answer;
        bool ended = false;
        asio::async_write(stream, asio::buffer(request), [&](const auto&, std::size_t) {
            asio::async_read(stream, asio::dynamic_buffer(answer), [&](const auto&, std::size_t) {
                ended = true;
            });
        });
        loop.restart();
        while (!ended && loop.run_one_for(std::chrono::seconds(60)) > 0) {
        }
        REQUIRE(ended);
        return answer.substr(0, answer.find("\r\n"));
    }
    std::string post(
        const std::string& path,
        const std::string& body = "{}",
        const std::string& header = "Authorization: Bearer x\r\n"
    ) {
        return ask(
            "POST " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header +
            "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body
        );
    }

    asio::io_context loop;
    k8sio::virtual_clock time{loop.get_executor(), {}};
    k8sio::server::api_server server{loop.get_executor(), time};
    std::unique_ptr<k8sio::transport> transport = server.connect();
    k8sio::client api{*transport, time};
    op::controller work;
    bool leads = true;
    receiver receives;

private:
    static receiver_options make(receiver_options options) {
        options.listen.address = "127.0.0.1:0";
        return options;
    }
};

}  // namespace

TEST_CASE("[behaviour 13.11] a report is answered at once, before anything is known of it") {
    listening l;
    CHECK(l.post(place) == "HTTP/1.1 200 OK");
    CHECK(l.post(place, "no JSON") == "HTTP/1.1 200 OK");
    CHECK(l.post("/somewhere" + place) == "HTTP/1.1 200 OK");  // the URL may have a path
    CHECK(l.server.count_requests("", "") == 0);
    CHECK(l.receives.count(fate::too_often) == 2);  // of one sender the newest waits
    CHECK(l.receives.count(fate::taken) == 0);
}

TEST_CASE("[behaviour 13.11] what is none is refused, and counted") {
    listening l;
    for (const std::string path :
         {"/",
          "",
          "/namespaces/lab/x",
          "/namespace/lab/p/n",
          "/namespaces//p/n",
          "/namespaces/lab/p/",
          "/namespaces/lab/p/n/more"}) {
        INFO(path);
        CHECK(l.post(path.empty() ? "*" : path) == "HTTP/1.1 404 Not Found");
    }
    CHECK(l.post("/namespaces/lab/p/" + std::string(400, 'n')) == "HTTP/1.1 404 Not Found");
    CHECK(
        l.ask("GET " + place + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") ==
        "HTTP/1.1 404 Not Found"
    );
    CHECK(l.receives.count(fate::unknown_path) == 9);
    CHECK(l.post(place, "{}", "") == "HTTP/1.1 401 Unauthorized");
    CHECK(l.post(place, "{}", "Authorization: Basic eDp4\r\n") == "HTTP/1.1 401 Unauthorized");
    CHECK(l.receives.count(fate::no_token) == 2);
    CHECK(l.post(place, std::string(64 * 1024, 'x')) == "HTTP/1.1 200 OK");
    CHECK(l.post(place, std::string(64 * 1024 + 1, 'x')) == "HTTP/1.1 413 Payload Too Large");
}

TEST_CASE("[behaviour 13.11] bodies that do not come hold up no one else") {
    listening l;
    std::vector<tcp::socket> slow;
    const std::string begun = "POST " + place +
                              " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer y\r\n"
                              "Content-Length: 65536\r\n\r\n{";
    for (int i = 0; i < 64; ++i) {
        slow.push_back(l.connect());
        asio::write(slow.back(), asio::buffer(begun));
    }
    CHECK(l.post(place) == "HTTP/1.1 200 OK");
    CHECK(l.receives.count(fate::taken) == 0);
    CHECK(l.receives.count(fate::no_token) == 0);
    // One that comes after all is a report as any other.
    asio::write(slow.front(), asio::buffer(std::string(65535, '}')));
    CHECK(l.post(place) == "HTTP/1.1 200 OK");
    CHECK(l.receives.count(fate::too_often) == 1);  // of the one that posts twice here
}

TEST_CASE("[behaviour 13.11] who does not lead takes nothing, and says so at once") {
    listening l;
    l.leads = false;
    l.time.advance(std::chrono::seconds{2});
    l.loop.restart();
    l.loop.poll();
    CHECK(l.post(place) == "HTTP/1.1 503 Service Unavailable");
    CHECK(l.receives.count(fate::not_leading) == 1);
    l.leads = true;
    l.time.advance(std::chrono::seconds{2});
    l.loop.restart();
    l.loop.poll();
    CHECK(l.post(place) == "HTTP/1.1 200 OK");
}

TEST_CASE("[behaviour 13.11] senders that wait have a bound, and what comes of all is shown") {
    receiver_options options;
    options.queue.senders = 2;
    listening l(options);
    for (const char* token : {"a", "b", "c"}) {
        const std::string status =
            l.post(place, "{}", std::string("Authorization: Bearer ") + token + "\r\n");
        CHECK(status == (*token == 'c' ? "HTTP/1.1 429 Too Many Requests" : "HTTP/1.1 200 OK"));
    }
    l.time.advance(std::chrono::seconds{1});
    l.loop.restart();
    l.loop.poll();
    CHECK(l.receives.count(fate::foreign_token) == 2);
    const std::string text = l.receives.metrics_text();
    CHECK_THAT(text, Catch::Contains("# TYPE signalbox_progress_reports_total counter\n"));
    CHECK_THAT(
        text, Catch::Contains("signalbox_progress_reports_total{outcome=\"foreign_token\"} 2\n")
    );
    CHECK_THAT(
        text, Catch::Contains("signalbox_progress_reports_total{outcome=\"queue_full\"} 1\n")
    );
}
