// SPDX-License-Identifier: Apache-2.0
#include "k8sio/version_fence.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;

TEST_CASE("[requirement E2] the fence opens when the store has seen our newest write") {
    version_fence fence;
    CHECK(fence.passed("job", "pods", ""));
    fence.raise("job", "pods", "9");
    fence.raise("job", "pods", "10");
    fence.raise("job", "pods", "8");
    CHECK(fence.awaited("job", "pods") == "10");
    CHECK_FALSE(fence.passed("job", "pods", "9"));
    CHECK_FALSE(fence.passed("job", "pods", ""));
    CHECK(fence.passed("job", "pods", "10"));
    CHECK(fence.passed("job", "pods", "100000000000000000000000000000000000000"));
    CHECK(fence.passed("job", "services", "1"));
    CHECK(fence.passed("other", "pods", "1"));
    fence.forget("job");
    CHECK(fence.passed("job", "pods", "9"));
}

TEST_CASE("[requirement E2] the fence fails open on versions it cannot read") {
    version_fence fence;
    fence.raise("job", "pods", "");
    fence.raise("job", "pods", "abc");
    fence.raise("job", "pods", "007");
    CHECK(fence.awaited("job", "pods").empty());
    fence.raise("job", "pods", "5");
    CHECK(fence.passed("job", "pods", "opaque"));
}
