// SPDX-License-Identifier: Apache-2.0
#include "protocol/credentials.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

struct fixture {
    fixture() { config.token_file = "/token"; }
    protocol::credentials make() {
        return protocol::credentials(config, [this](const std::string&) {
            ++reads;
            return content;
        });
    }
    cluster_config config;
    std::optional<std::string> content = " one\n";
    int reads = 0;
    steady_time now{};
};

}  // namespace

TEST_CASE_METHOD(fixture, "[requirement C2] the token file is read again every 60 s, trimmed") {
    auto subject = make();
    CHECK(subject.header(now) == "Bearer one");
    content = "two";
    CHECK(subject.header(now + 59s) == "Bearer one");
    CHECK(reads == 1);
    CHECK(subject.header(now + 60s) == "Bearer two");
}

TEST_CASE_METHOD(
    fixture, "[requirement C2] an empty or unreadable file keeps the last good token"
) {
    auto subject = make();
    CHECK(subject.header(now) == "Bearer one");
    content = std::nullopt;
    CHECK(subject.header(now + 60s) == "Bearer one");
    content = " \n";
    CHECK(subject.header(now + 120s) == "Bearer one");
    content = "three";
    CHECK(subject.header(now + 180s) == "Bearer three");
}

TEST_CASE_METHOD(
    fixture, "[requirement C2] after 401 the file is read at once; only a new token is tried"
) {
    auto subject = make();
    const std::string used = subject.header(now);
    CHECK_FALSE(subject.refused(used, now));
    CHECK(reads == 2);
    content = "two";
    CHECK(subject.refused(used, now));
    CHECK(subject.header(now) == "Bearer two");
    // A second request that was sent with the old token finds the new one without reading.
    CHECK(subject.refused(used, now));
    CHECK(reads == 3);
}

TEST_CASE_METHOD(fixture, "[requirement C5] a fixed token, or name and password; a token wins") {
    config.token_file.clear();
    CHECK(make().header(now).empty());
    config.username = "user";
    config.password = secret_text("pass");
    auto basic = make();
    CHECK(basic.header(now) == "Basic dXNlcjpwYXNz");
    CHECK_FALSE(basic.refused("Basic dXNlcjpwYXNz", now));
    config.token = secret_text("t");
    CHECK(make().header(now) == "Bearer t");
    CHECK(reads == 0);
}
