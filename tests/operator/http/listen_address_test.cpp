// SPDX-License-Identifier: Apache-2.0
#include "http/listen_address.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::op;

TEST_CASE("addresses to listen at have a host, which may be empty, and a port") {
    const auto is = [](const char* text, const char* host, std::uint16_t port) {
        const auto read = read_listen_address(text);
        return read && read->host == host && read->port == port;
    };
    CHECK(is("127.0.0.1:8080", "127.0.0.1", 8080));
    CHECK(is("[::1]:8080", "::1", 8080));
    CHECK(is(":9", "", 9));
    CHECK(is("a:0", "a", 0));
    for (const char* wrong : {"", "8080", "::1", "::1:80", "a:b", "a:-1", "a:65536", "a:"}) {
        CAPTURE(wrong);
        CHECK_FALSE(read_listen_address(wrong));
    }
}
