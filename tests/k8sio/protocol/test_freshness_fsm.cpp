// SPDX-License-Identifier: Apache-2.0
#include "protocol/freshness_fsm.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::freshness_fsm;
using order_kind = freshness_fsm::order::kind;

namespace {

const steady_time freshness_start = steady_time() + 1h;

/// A view that is well: listed at version 10 and heard of right now.
struct scripted_view final : protocol::view_source {
    protocol::view_facts facts() const override { return now; }
    protocol::view_facts now{true, "10", true, false, false, freshness_start};
};

struct freshness_fixture {
    explicit freshness_fixture(bool optional_required = false) {
        fsm.add("jobs", jobs, true, 180s);
        fsm.add("pods", pods, true, 180s);
        fsm.add("extras", extras, optional_required, 0s);
    }

    scripted_view jobs, pods, extras;
    freshness_fsm fsm;
};

freshness_fsm::order none() {
    return {};
}

}  // namespace

TEST_CASE_METHOD(freshness_fixture, "[requirement E2] each key waits for what it expects alone") {
    CHECK(fsm.is_fresh("k"));
    fsm.expect("k", "pods", "11");
    fsm.expect("k", "jobs", "9");
    CHECK_FALSE(fsm.is_fresh("k"));
    CHECK(fsm.is_fresh("other"));
    CHECK(fsm.may_decide(freshness_start));  // on other keys
    jobs.now.seen = "20";
    CHECK_FALSE(fsm.is_fresh("k"));
    pods.now.seen = "11";
    CHECK(fsm.is_fresh("k"));
    fsm.expect("k", "pods", "30");
    fsm.forget("k");
    CHECK(fsm.is_fresh("k"));
}

TEST_CASE_METHOD(
    freshness_fixture, "[requirement E2] nothing is awaited of a view that is not watched any more"
) {
    fsm.expect("k", "pods", "11");
    pods.now.complete = false;
    CHECK_FALSE(fsm.is_complete());
    const bool ended = GENERATE(true, false);
    if (ended) {
        fsm.end("pods");
    } else {
        fsm.remove("pods");
    }
    CHECK(fsm.is_fresh("k"));
    CHECK(fsm.may_decide(freshness_start));
    CHECK(fsm.on_contradiction("pods", freshness_start) == none());
    fsm.end("unknown");
    fsm.remove("unknown");
}

TEST_CASE("[requirement E2] a type that need not be served is awaited while it is complete") {
    freshness_fixture f(GENERATE(true, false));
    const bool required = !f.fsm.on_older_answer(freshness_start).views.empty() &&
                          f.fsm.on_older_answer(freshness_start).views.size() == 3;
    f.fsm.expect("k", "extras", "11");
    CHECK_FALSE(f.fsm.is_fresh("k"));
    f.extras.now = {};
    CHECK(f.fsm.is_complete() == !required);
    CHECK(f.fsm.is_fresh("k") == !required);
    CHECK(f.fsm.may_decide(freshness_start) == !required);
}

TEST_CASE_METHOD(freshness_fixture, "[requirement V6] what is asked of the server is awaited") {
    pods.now.asking = true;
    CHECK(fsm.is_in_doubt(freshness_start));
    CHECK_FALSE(fsm.may_decide(freshness_start));
    CHECK(fsm.is_complete());
    pods.now.failing = true;  // no answer yet
    CHECK_FALSE(fsm.may_decide(freshness_start));
    pods.now.asking = false;
    CHECK(fsm.may_decide(freshness_start));
    extras.now.asking = true;  // which is there, though it need not be
    CHECK_FALSE(fsm.may_decide(freshness_start));
    // Of a type that is not served no answer comes.
    extras.now = {};
    extras.now.asking = true;
    CHECK(fsm.may_decide(freshness_start));
    jobs.now.listed = false;
    jobs.now.asking = true;
    CHECK_FALSE(fsm.may_decide(freshness_start));
    jobs.now.failing = true;
    CHECK(fsm.may_decide(freshness_start));
}

TEST_CASE_METHOD(freshness_fixture, "[requirement V6] no decision on what is too old") {
    CHECK(fsm.may_decide(freshness_start + 180s));
    CHECK_FALSE(fsm.may_decide(freshness_start + 181s));
    pods.now.heard_at = jobs.now.heard_at = freshness_start + 60s;
    CHECK(fsm.may_decide(freshness_start + 181s));  // the third may be of any age
    jobs.now.heard_at = freshness_start;
    jobs.now.listed = false;
    CHECK(fsm.may_decide(freshness_start + 181s));  // was never listed, and so says nothing
}

TEST_CASE_METHOD(
    freshness_fixture, "[requirement V6] an answer that is older than a view makes a question, once"
) {
    const freshness_fsm::order asked = fsm.on_older_answer(freshness_start);
    CHECK(asked == freshness_fsm::order(order_kind::probe, {"jobs", "pods"}));
    jobs.now.asking = true;
    CHECK(fsm.on_older_answer(freshness_start) == none());
}

TEST_CASE_METHOD(
    freshness_fixture, "[requirement W13] a contradicted view is listed anew, each in its own time"
) {
    const freshness_fsm::order pods_anew(order_kind::list_anew, {"pods"});
    CHECK(fsm.on_contradiction("pods", freshness_start) == pods_anew);
    CHECK(fsm.on_contradiction("pods", freshness_start + 9s) == none());
    CHECK_FALSE(fsm.on_contradiction("jobs", freshness_start + 9s) == none());
    CHECK(fsm.on_contradiction("pods", freshness_start + 10s) == pods_anew);
    CHECK(fsm.on_contradiction("unknown", freshness_start) == none());
}

TEST_CASE_METHOD(
    freshness_fixture, "[requirement V6] a server that went back is one thing for all views"
) {
    fsm.expect("k", "pods", "100");
    const freshness_fsm::order all(order_kind::start_over, {"extras", "jobs", "pods"});
    CHECK(fsm.on_rewound() == all);
    CHECK(fsm.is_fresh("k"));  // what was awaited will not come
    pods.now.complete = false;
    CHECK(fsm.on_rewound().views.empty());  // as each view tells
    CHECK_FALSE(fsm.may_decide(freshness_start));
    CHECK(fsm.on_rewound().views.empty());
    pods.now.complete = true;
    pods.now.asking = true;
    CHECK_FALSE(fsm.may_decide(freshness_start));
    CHECK(fsm.on_rewound().views.empty());
    pods.now.asking = false;
    CHECK(fsm.may_decide(freshness_start));
    CHECK(fsm.on_rewound() == all);  // another time
}

namespace {

/// Two views behind a machine, as the shell would have them: an order takes effect at once, a
/// list comes when the script says so. Versions grow by one with each event, or fall to one tenth.
struct journey {
    struct member final : protocol::view_source {
        protocol::view_facts facts() const override {
            return {complete, seen, true, asking, false, freshness_start};
        }
        std::string name, seen = "50";
        bool complete = true, asking = false, follows = false;  // it has yet to go back
    };

    journey() {
        for (std::size_t i = 0; i < views.size(); ++i) {
            views[i].name = std::string(1, static_cast<char>('a' + i));
            fsm.add(views[i].name, views[i], true, 0s);
        }
    }

    void carry_out(const freshness_fsm::order& order) {
        for (const std::string& name : order.views) {
            member& view = views[name == "a" ? 0 : 1];
            if (order.what == order_kind::start_over && view.complete) {
                view.complete = false;
                tell_rewound();  // a view that starts over tells, as one that has seen it itself
            } else if (order.what != order_kind::start_over) {
                view.asking = true;
            }
        }
    }
    void tell_rewound() {
        const freshness_fsm::order order = fsm.on_rewound();
        orders += order.views.empty() ? 0 : 1;
        carry_out(order);
    }
    void answer(member& view) {
        version += 1;
        view.seen = std::to_string(version);
        view.complete = true;
        view.asking = view.follows = false;
    }

    void step(int event) {
        switch (event) {
            case 0:  // the server is restored, and view a notices
                if (!gone_back) {
                    gone_back = true;
                    version = 5;
                    for (member& view : views) {
                        view.follows = true;
                    }
                    views[0].complete = false;
                    tell_rewound();
                }
                break;
            case 1:
                answer(views[0]);
                break;
            case 2:
                answer(views[1]);
                break;
            case 3:
                carry_out(fsm.on_older_answer(freshness_start));
                break;
            case 4:
                carry_out(fsm.on_contradiction("b", freshness_start));
                break;
            case 5:
                fsm.expect("k", "b", std::to_string(version + 1));
                break;
        }
    }

    std::array<member, 2> views;
    freshness_fsm fsm;
    int version = 50;
    int orders = 0;
    bool gone_back = false;
};

}  // namespace

TEST_CASE("[requirement V6] [requirement W13] in every order of events no view is trusted too early"
) {
    constexpr int kinds = 6;
    constexpr int length = 6;
    int total = 1;
    for (int i = 0; i < length; ++i) {
        total *= kinds;
    }
    int wrong = 0;
    int decided = 0;
    int ended_badly = 0;
    for (int script = 0; script < total; ++script) {
        journey world;
        int rest = script;
        for (int i = 0; i < length; ++i) {
            world.step(rest % kinds);
            rest /= kinds;
            const bool may = world.fsm.may_decide(freshness_start);
            decided += may ? 1 : 0;
            for (const journey::member& view : world.views) {
                // Of a world that is no more, or asked for and not answered.
                wrong += may && (view.follows || view.asking || !view.complete) ? 1 : 0;
            }
        }
        // Whatever happened, it ends when each has been answered and shows what was written.
        for (int i = 0; i < 3; ++i) {
            world.step(1);
            world.step(2);
        }
        const bool well = world.fsm.may_decide(freshness_start) && world.fsm.is_fresh("k");
        ended_badly += well && world.orders <= 1 ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(ended_badly == 0);
    CHECK(decided > total);
}
