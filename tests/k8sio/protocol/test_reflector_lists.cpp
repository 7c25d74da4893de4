// SPDX-License-Identifier: Apache-2.0
//
// What of lists is no state, and what comes after a list that had to be asked for as a whole.
#include "protocol/reflector_fsm.hpp"
#include "runtime/recording_sink.hpp"

#include <catch2/catch.hpp>

#include <sstream>

using namespace signalbox::k8sio;
using protocol::reflector_action;
using protocol::reflector_fsm;
using test::page;
using test::pod;

namespace {

struct lists_fixture {
    lists_fixture() : fsm(resources::pods(), sink, options()) {}

    static reflector_options options() {
        reflector_options made;
        made.page_size = 2;
        return made;
    }
    /// The next list as text; what comes before it is waited for.
    std::string next_list() {
        reflector_action action = fsm.next(now);
        while (action.what == reflector_action::kind::sleep) {
            now += std::chrono::duration_cast<steady_time::duration>(action.wait);
            action = fsm.next(now);
        }
        std::ostringstream out;
        out << action;
        return out.str();
    }
    void refused(int status, bool watch) {
        api_error error;
        error.http_status = status;
        if (watch) {
            fsm.on_watch_error(now, error);
        } else {
            fsm.on_list(now, error);
        }
    }

    test::recording_sink sink;
    reflector_fsm fsm;
    steady_time now{};
};

}  // namespace

TEST_CASE_METHOD(
    lists_fixture, "[requirement L4] a list without a version is an error, and no state"
) {
    CHECK(next_list() == "list(limit=2 continue= version=)");
    fsm.on_list(now, page({pod("a", "1")}, ""));
    CHECK(sink.held.empty());
    CHECK_FALSE(fsm.synced());
    CHECK(fsm.last_error().find("without resourceVersion") != std::string::npos);
    CHECK(next_list() == "list(limit=2 continue= version=)");
    CHECK(now > steady_time{});
}

TEST_CASE_METHOD(lists_fixture, "[requirement L2] after a whole list lists have pages again") {
    CHECK(next_list() == "list(limit=2 continue= version=)");
    fsm.on_list(now, page({pod("a", "1")}, "100", "t1"));
    CHECK(next_list() == "list(limit=2 continue=t1 version=)");
    refused(410, false);
    CHECK(next_list() == "list(limit=0 continue= version=)");
    fsm.on_list(now, page({pod("a", "1")}, "100"));
    CHECK(next_list() == "watch(100)");
    refused(404, true);
    CHECK(next_list() == "list(limit=2 continue= version=)");
}

TEST_CASE_METHOD(
    lists_fixture, "[requirement B8] a view that may be behind is listed anew, and doubtful"
) {
    SECTION("while it watches") {
        next_list();
        fsm.on_list(now, page({pod("a", "3")}, "100"));
        CHECK(next_list() == "watch(100)");
        sink.log.clear();
        fsm.refresh();
        CHECK(fsm.doubtful());
        CHECK(next_list() == "list(limit=2 continue= version=)");
        refused(500, false);
        CHECK(fsm.doubtful());
        CHECK(next_list() == "list(limit=2 continue= version=)");
        fsm.on_list(now, page({pod("a", "3")}, "120"));
        CHECK_FALSE(fsm.doubtful());
        CHECK(sink.log == "begin item:a end:120 ");
        CHECK(next_list() == "watch(120)");
    }
    SECTION("in the middle of a list, which began too early") {
        next_list();
        fsm.on_list(now, page({pod("a", "3")}, "100", "more"));
        CHECK_FALSE(fsm.doubtful());
        fsm.refresh();
        CHECK(fsm.doubtful());
        CHECK(next_list() == "list(limit=2 continue= version=)");
        fsm.on_list(now, page({pod("b", "4")}, "120"));
        CHECK_FALSE(fsm.doubtful());
        CHECK(sink.log == "begin item:a abort begin item:b end:120 ");
    }
}

TEST_CASE_METHOD(
    lists_fixture, "[requirement V6] one list is the truth, however often it is begun"
) {
    next_list();
    fsm.on_list(now, page({pod("a", "3")}, "100"));
    CHECK(next_list() == "watch(100)");
    fsm.start_over();
    next_list();
    SECTION("once") {
        CHECK(sink.after_rewinds == 0);
    }
    SECTION("another one is asked for meanwhile") {
        fsm.refresh();
        CHECK(sink.after_rewinds == 0);
    }
    SECTION("its second page is refused") {
        fsm.on_list(now, page({pod("a", "3")}, "110", "more"));
        next_list();
        refused(410, false);
        CHECK(sink.after_rewinds == 0);
    }
    SECTION("the server is in trouble") {
        refused(500, false);
        CHECK(sink.after_rewinds == 0);
    }
    next_list();
    fsm.on_list(now, page({}, "110"));
    CHECK(sink.after_rewinds == 1);
    fsm.refresh();
    next_list();
    fsm.on_list(now, page({}, "120"));
    CHECK(sink.seen == "120");
    CHECK(sink.after_rewinds == 1);
}
