// SPDX-License-Identifier: Apache-2.0
//
// Texts of which a controller holds many thousands.
#include "jobcore/compact.hpp"

#include "jobcore/observed.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using signalbox::core::compact_text;
using signalbox::core::text_pool;

namespace core = signalbox::core;

TEST_CASE("copies of a text share it until one of them is assigned", "[observe]") {
    compact_text a = "worker";
    CHECK_FALSE(a.is_shared());
    compact_text b = a;
    CHECK(&a.str() == &b.str());
    CHECK(a.is_shared());
    b = "master";
    CHECK(a == "worker");
    CHECK(b == "master");
    CHECK_FALSE(a.is_shared());
    a = std::as_const(a);
    CHECK(a == "worker");
    const compact_text moved = std::move(a);
    CHECK(moved == "worker");
    CHECK_FALSE(moved.is_shared());
    b = moved;
    b = compact_text();
    CHECK_FALSE(moved.is_shared());
    CHECK(b.empty());
    CHECK(b.str().empty());
}

TEST_CASE("an empty text is shared with no other", "[observe]") {
    text_pool pool;
    compact_text a, b = "";
    pool.share(a);
    pool.share(b);
    CHECK(a == b);
    CHECK(b.empty());
    CHECK_FALSE(b.is_shared());
    CHECK(pool.size() == 0);
}

TEST_CASE("a pool has equal texts share their memory, and keeps no others for long", "[observe]") {
    text_pool pool;
    std::vector<compact_text> held;
    std::size_t most = 0;
    for (int i = 0; i < 100'000; ++i) {
        compact_text text("node-" + std::to_string(i));
        pool.share(text);
        if (i % 1'000 == 0) {
            held.push_back(text);
        }
        most = std::max(most, pool.size());
    }
    CHECK(most <= 2 * held.size());
    for (std::size_t i = 0; i < held.size(); ++i) {
        compact_text again("node-" + std::to_string(1'000 * i));
        pool.share(again);
        CHECK(&again.str() == &held[i].str());
    }
}

TEST_CASE("pods share what they have in common", "[observe]") {
    const auto pod = [](const std::string& name) {
        const auto record = core::decode_pod(
            R"({"metadata":{"name":")" + name + R"(","uid":")" + name +
            R"(","namespace":"team","ownerReferences":[{"uid":"j","controller":true}],"labels":{)" +
            R"("replica-type":"worker"}},"spec":{"nodeName":"n","containers":[)" +
            R"({"name":"pytorch"}]}})"
        );
        REQUIRE(record);
        return *record;
    };
    text_pool pool;
    core::pod_record one = pod("a"), other = pod("b");
    const core::pod_record alone = pod("a");
    core::share_texts(one, pool);
    core::share_texts(other, pool);
    const auto shared = [](const core::pod_record& p) {
        return std::vector<const compact_text*>{
            &p.ns, &p.owner_uid, &p.type, &p.node, &p.containers.at(0).name};
    };
    for (std::size_t i = 0; i < shared(one).size(); ++i) {
        CAPTURE(i);
        CHECK_FALSE(shared(one)[i]->empty());
        CHECK(&shared(one)[i]->str() == &shared(other)[i]->str());
        CHECK(*shared(one)[i] == *shared(alone)[i]);
    }
}
