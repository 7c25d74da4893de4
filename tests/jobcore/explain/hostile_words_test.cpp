// SPDX-License-Identifier: Apache-2.0
//
// What pods and servers say is quoted, not obeyed (BEHAVIOUR.md 11.4): in conditions, in events and
// in sentences.
#include "explain/explained.hpp"
#include "jobcore/strings.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>

using namespace signalbox::core;
using namespace signalbox::test;

namespace {

/// Colours, the clipboard, a line of its own, C1, and a change of direction.
constexpr const char* hostile =
    "\x1b[31m\x1b]52;c;eA==\x07\r\nworker-0: all is well \xc2\x9b"
    "1m\xe2\x80\xae\xe2\x80\xa8";

void check_words(world& w) {
    const auto is_plain = [](const std::string& text) { return in_one_line(text) == text; };
    for (const condition& c : w.status().conditions) {
        CAPTURE(c.type, c.message);
        CHECK(is_plain(c.message));
    }
    for (const event& e : w.events) {
        CAPTURE(e.reason, e.message);
        CHECK(is_plain(e.message));
    }
    const explained told(w);
    for (const explain_line& line : told.lines()) {
        CAPTURE(line.sentence);
        CHECK(is_plain(line.sentence));
    }
    CHECK_FALSE(w.look().status.has_value());  // nor is what is shown written again and again
}

}  // namespace

TEST_CASE("[behaviour 11.4] hostile words of a pod stay in their line", "[explain]") {
    const std::vector<std::function<void(world&, pod_record&)>> sayings{
        [](world&, pod_record& p) {
            p.phase = pod_phase::pending;
            p.unschedulable = true;
            p.scheduled = false;
            p.scheduler_message = hostile;
        },
        [](world&, pod_record& p) {
            p.phase = pod_phase::pending;
            p.scheduled = false;
            p.gates = hostile;
        },
        [](world&, pod_record& p) {
            p.phase = pod_phase::pending;
            p.containers.at(0).state = container_state::waiting;
            p.containers.at(0).reason = "ImagePullBackOff";
            p.containers.at(0).message = hostile;
        },
        [](world&, pod_record& p) {
            p.phase = pod_phase::pending;
            p.containers.at(0).state = container_state::waiting;
            p.containers.at(0).reason = hostile;
        },
        [](world&, pod_record& p) {
            p.disruption_target = true;
            p.disruption_reason = hostile;
            p.disruption_message = hostile;
            p.phase = pod_phase::failed;
            p.reason = hostile;
            p.message = hostile;
        },
        [](world& w, pod_record& p) { w.exit(p, 1, hostile); },
        [](world& w, pod_record& p) {
            w.exit(p, 1, hostile);
            p.reason = hostile;
            p.containers.at(0).reason = hostile;
        },
        [](world& w, pod_record& p) {
            refusal r;
            r.name = p.name;
            r.http_code = 403;
            r.reason = hostile;
            r.message = hostile;
            w.refusals.push_back(r);
        },
    };
    for (const auto& say : sayings) {
        world w(ddp());
        w.pass();
        w.pass();
        w.settle();
        for (const bool later : {false, true}) {
            say(w, w.pod("worker", 0));
            w.settle();
            check_words(w);
            if (!later) {
                w.wait(seconds{400});
                w.settle();
                check_words(w);
            }
        }
    }
}
