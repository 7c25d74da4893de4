// SPDX-License-Identifier: Apache-2.0
#include "progress/sender_token.hpp"

#include <k8sio/base64.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox;
using namespace signalbox::op::progress;

namespace {

std::string token_of(const std::string& claims) {
    std::string part = k8sio::base64_encode(claims);
    part.resize(std::min(part.find('='), part.size()));
    return "e30." + part + ".c2ln";
}

std::string review(const std::string& status) {
    return R"({"kind":"TokenReview","status":{)" + status + "}}";
}

const std::string user = R"("user":{"username":"system:serviceaccount:lab:default","extra":{)"
                         R"("authentication.kubernetes.io/pod-uid":["u-1"]}})";
const std::string ours = R"("audiences":["progress.batch.tensorstack.dev"])";

}  // namespace

TEST_CASE("[behaviour 13.11] what a token claims is read before anybody is asked") {
    const std::string pod = R"("kubernetes.io":{"namespace":"lab","pod":{"name":"p","uid":"u-1"}})";
    const std::string aud = R"("aud":["other","progress.batch.tensorstack.dev"])";
    CHECK(read_claims(token_of("{" + aud + "," + pod + "}")) == token_pod{"lab", "u-1"});
    CHECK_FALSE(read_claims(token_of("{" + pod + "}")));
    CHECK_FALSE(read_claims(token_of(R"({"aud":["other"],)" + pod + "}")));
    CHECK_FALSE(read_claims(token_of("{" + aud + "}")));
    CHECK_FALSE(read_claims(token_of("{" + aud + R"(,"kubernetes.io":{"namespace":"lab"}})")));
    for (const char* text : {"", ".", "..", "a.b", "a.%%.c", "a.e30.c", "a.W10.c", "a.Nw.c"}) {
        CHECK_FALSE(read_claims(text));
    }
}

TEST_CASE("[behaviour 13.11] a token is asked about for our audience, and nothing is left unquoted"
) {
    CHECK(
        review_of("a\"b") ==
        R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"a\"b",)"
        R"("audiences":["progress.batch.tensorstack.dev"]}})"
    );
}

TEST_CASE("[behaviour 13.11] only a good token of a pod for us is one") {
    const std::string good = R"("authenticated":true)";
    CHECK(read_review(review(good + ',' + user + ',' + ours)) == token_pod{"lab", "u-1"});
    CHECK_FALSE(read_review(review(user + ',' + ours)));
    CHECK_FALSE(read_review(review(R"("authenticated":false,)" + user + ',' + ours)));
    CHECK_FALSE(read_review(review(good + ',' + user)));
    CHECK_FALSE(read_review(review(good + ',' + user + R"(,"audiences":["other"])")));
    for (const char* other :
         {R"("user":{"username":"kubernetes-admin","extra":{"authentication.kubernetes.io/pod-uid":["u"]}})",
          R"("user":{"username":"system:serviceaccount:lab:default"})",
          R"("user":{"username":"system:serviceaccount:lab:default","extra":{"authentication.kubernetes.io/pod-uid":[]}})",
          R"("user":{"username":"system:serviceaccount:","extra":{"authentication.kubernetes.io/pod-uid":["u"]}})",
          R"("user":7)"}) {
        CHECK_FALSE(read_review(review(good + ',' + other + ',' + ours)));
    }
    CHECK_FALSE(read_review("no JSON"));
}

TEST_CASE("[behaviour 13.11] tokens are told apart by their hash") {
    CHECK(digest_of("a").size() == 32);
    CHECK(digest_of("a") != digest_of("b"));
}
