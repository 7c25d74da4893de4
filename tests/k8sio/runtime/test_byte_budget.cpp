// SPDX-License-Identifier: Apache-2.0
#include "k8sio/byte_budget.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox::k8sio;

namespace {

struct item {
    std::string name;
    byte_share share;
};

/// All that may go, in order.
std::string order(byte_budget<item>& budget) {
    std::string out;
    while (item* next = budget.first_to_go()) {
        out += next->name;
        budget.use(*next, 0);
    }
    return out;
}

}  // namespace

TEST_CASE("[requirement Q13] the longest unused goes first, the large before the small") {
    byte_budget<item> budget(100);
    item a{"a", {}}, b{"b", {}}, c{"c", {}}, d{"d", {}};
    budget.use(a, 10);
    budget.use(b, 10);
    budget.use(c, 1000);
    budget.use(d, 101);
    budget.use(a, 20);
    CHECK(budget.bytes() == 1131);
    CHECK(a.share.bytes() == 20);
    CHECK(order(budget) == "cdba");
    CHECK(budget.bytes() == 0);
}

TEST_CASE("[requirement Q13] what is pinned counts and does not go") {
    byte_budget<item> budget;
    item a{"a", {}}, b{"b", {}};
    budget.use(a, 10);
    budget.pin(a, true);
    budget.use(b, 5);
    budget.use(a, 20);
    CHECK(order(budget) == "b");
    CHECK(budget.bytes() == 20);
    budget.pin(a, false);
    CHECK(budget.first_to_go() == &a);
    budget.pin(a, true);
    budget.drop(a);
    CHECK(budget.bytes() == 0);
    budget.use(a, 1);
    CHECK(budget.first_to_go() == &a);
}
