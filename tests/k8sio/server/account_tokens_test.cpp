// SPDX-License-Identifier: Apache-2.0
#include "server/verbs/account_tokens.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox::k8sio;
using namespace signalbox::k8sio::server;

namespace {

const wall_time now{std::chrono::hours(500000)};

token_claims of_a_pod() {
    token_claims out;
    out.ns = "lab";
    out.account = "robot";
    out.pod = "p";
    out.pod_uid = "u-1";
    out.audiences = {"a", "b\"c"};
    out.expires = now + std::chrono::minutes(10);
    return out;
}

}  // namespace

TEST_CASE("a token says what it was issued for, until its time is over", "[server]") {
    const account_tokens tokens;
    const std::string token = tokens.issue(of_a_pod(), now);
    const auto said = tokens.verify(token, now);
    REQUIRE(said);
    CHECK(said->ns == "lab");
    CHECK(said->account == "robot");
    CHECK(said->pod == "p");
    CHECK(said->pod_uid == "u-1");
    CHECK(said->audiences == of_a_pod().audiences);
    CHECK(tokens.verify(token, now + std::chrono::seconds(599)));
    CHECK_FALSE(tokens.verify(token, now + std::chrono::seconds(600)));
    token_claims unbound = of_a_pod();
    unbound.pod_uid.clear();
    CHECK(tokens.verify(tokens.issue(unbound, now), now)->pod.empty());
}

TEST_CASE("a token of somebody else is none, nor one that was changed", "[server]") {
    const account_tokens tokens;
    const std::string token = tokens.issue(of_a_pod(), now);
    CHECK_FALSE(account_tokens().verify(token, now));
    for (std::size_t at = 0; at < token.size(); at += 7) {
        std::string changed = token;
        changed[at] = changed[at] == 'A' ? 'B' : 'A';
        CHECK_FALSE(tokens.verify(changed, now));
    }
    for (const char* text : {"", ".", "..", "a.b", "e30.e30.", "a"}) {
        CHECK_FALSE(tokens.verify(text, now));
    }
}
