// SPDX-License-Identifier: Apache-2.0
#include "protocol/proxy_tunnel.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;
using protocol::connect_answer;

TEST_CASE("[requirement T10] what a proxy is asked") {
    proxy_server proxy;
    CHECK(
        protocol::connect_request(proxy, "h", "6443") ==
        "CONNECT h:6443 HTTP/1.1\r\nHost: h:6443\r\n\r\n"
    );
    proxy.authorization = secret_text("Basic x");
    CHECK(
        protocol::connect_request(proxy, "::1", "443") ==
        "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\nProxy-Authorization: Basic x\r\n\r\n"
    );
}

TEST_CASE("[requirement T10] its answer, split at every byte") {
    struct row {
        std::string answer;
        std::string failure;  // empty: the way is open
    };
    const row rows[] = {
        {"HTTP/1.1 200 Connection established\r\n\r\n", ""},
        {"HTTP/1.0 200\r\nProxy-Agent: x\r\n\r\n", ""},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 OK\r\nA: b\r\n\r\n", ""},
        {"HTTP/1.1 407 Proxy Authentication Required\r\nA: b\r\n\r\n",
         "the proxy gave 'HTTP/1.1 407 Proxy Authentication Required'"},
        {"HTTP/1.1 302 Found\r\n\r\n", "the proxy gave 'HTTP/1.1 302 Found'"},
        {"SSH-2.0-x\r\n\r\n", "the proxy gave an answer that is no HTTP"},
        {"HTTP/1.1 2000 OK\r\n\r\n", "the proxy gave an answer that is no HTTP"},
        {"HTTP/1.1 20x OK\r\n\r\n", "the proxy gave an answer that is no HTTP"},
        {"\r\n\r\n", "the proxy gave an answer that is no HTTP"},
    };
    for (const row& r : rows) {
        for (std::size_t at = 0; at <= r.answer.size(); ++at) {
            INFO(r.answer << " split at " << at);
            connect_answer subject;
            auto state = subject.feed(r.answer.substr(0, at));
            if (at < r.answer.size()) {
                CHECK(state == connect_answer::state::more);
                state = subject.feed(r.answer.substr(at));
            }
            const bool open = r.failure.empty();
            CHECK(state == (open ? connect_answer::state::open : connect_answer::state::refused));
            CHECK(subject.failure() == r.failure);
        }
    }
    connect_answer chatty;
    CHECK(chatty.feed("HTTP/1.1 200 OK\r\n\r\nx") == connect_answer::state::refused);
    connect_answer endless;
    CHECK(endless.feed("HTTP/1.1 200 OK\r\n") == connect_answer::state::more);
    CHECK(endless.feed(std::string(16384 - 17, 'x')) == connect_answer::state::more);
    CHECK(endless.feed("x") == connect_answer::state::refused);
}
