// SPDX-License-Identifier: Apache-2.0
//
// Properties of decide() over generated stories (client.md 3.4 level 1, 3.5). The generator is our
// own, so that a seed means the same everywhere.
#include "signalbox_test/world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::job_builder;
using signalbox::test::world;

namespace {

/// xorshift64*: small, fixed, good enough to choose what happens next.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
    int roll(int sides) {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        const std::uint64_t high = state_ * 0x2545F4914F6CDD1DULL >> 33;
        return static_cast<int>(high % static_cast<std::uint64_t>(sides));
    }
    bool once_in(int n) { return roll(n) == 0; }

private:
    std::uint64_t state_;
};

const char* const policies[] = {"OnFailure", "Never", "Always", "ExitCode"};
const int codes[] = {0, 1, 137, 143, 7};

struct setting {
    job_builder job{"mnist"};
    int pods = 0;
    int limit = 0;
};

setting choose_job(dice& d) {
    setting s;
    const bool torchrun = d.once_in(2);
    const int types = 1 + d.roll(2);
    for (int t = 0; t < types; ++t) {
        const int n = 1 + d.roll(3);
        s.pods += n;
        s.job.replicas(t == 0 ? "node" : "extra", n, policies[d.roll(4)]);
    }
    if (torchrun) {
        s.job.torchrun(d.roll(3));
    }
    s.limit = d.roll(4);
    std::string policy = "\"backoffLimit\":" + std::to_string(s.limit);
    policy += std::string(",\"cleanUpPolicy\":") +
              (d.once_in(2) ? "\"All\"" : (d.once_in(2) ? "\"None\"" : "\"Unfinished\""));
    if (d.once_in(4)) {
        policy += ",\"activeDeadlineSeconds\":" + std::to_string(50 + d.roll(500));
    }
    if (d.once_in(4)) {
        policy += ",\"failurePolicy\":\"Master\"";
    }
    if (d.once_in(4)) {
        policy += std::string(",\"restartScope\":") + (d.once_in(2) ? "\"Job\"" : "\"Replica\"");
    }
    s.job.run_policy(policy);
    return s;
}

/// Something happens in the cluster.
void disturb(world& w, dice& d, bool& paused) {
    w.wait(milliseconds{d.roll(20000)});
    if (d.once_in(25)) {
        paused = !paused;
        w.edit().pause(paused);
        w.reload();
        return;
    }
    if (w.pods().empty()) {
        return;
    }
    auto it = w.pods().begin();
    std::advance(it, d.roll(static_cast<int>(w.pods().size())));
    switch (d.roll(9)) {
        case 0:
            if (it->phase == pod_phase::running) {
                w.exit(*it, codes[d.roll(5)]);
            }
            break;
        case 1:
            w.ask_deletion(*it, d.roll(40));
            break;
        case 2:
            w.pods().erase(it);
            break;
        case 3:
            it->disruption_target = true;
            w.ask_deletion(*it, 5);
            break;
        case 4:
            w.pods().remove_if([](const pod_record& p) { return p.deletion.has_value(); });
            break;
        case 5:
            it->phase = pod_phase::unknown;
            break;
        default:
            for (auto& p : w.pods()) {
                if (p.phase == pod_phase::pending || p.phase == pod_phase::unknown) {
                    w.run(p);
                }
            }
    }
}

std::int32_t sum(const aggregate_counts& a) {
    return a.creating + a.pending + a.running + a.succeeded + a.failed + a.unknown + a.deleted;
}

void check_decision(const decision& d, const world& w) {
    for (const auto& s : d.stages) {
        for (const auto& a : s) {
            CAPTURE(a.name, a.why);
            CHECK_FALSE(a.why.empty());
            CHECK_FALSE(a.rule.empty());
            CHECK(((a.what == verb::create || a.what == verb::confirm) == a.uid.empty()));
        }
    }
    if (d.wake_up && !d.stages.empty()) {
        return;
    }
    if (d.wake_up) {
        CHECK(*d.wake_up > w.now());
    }
}

void check_status(const job_status& before, const job_status& after, const setting& s) {
    CHECK(after.backoff_count <= s.limit);
    CHECK(after.backoff_count >= before.backoff_count);
    CHECK(after.attempt >= before.attempt);
    if (is_final(before.phase)) {
        CHECK(after.phase == before.phase);
        CHECK(after.completion_time == before.completion_time);
        CHECK(after.conditions == before.conditions);
    }
    if (after.aggregate) {
        CHECK(sum(*after.aggregate) == s.pods);
    }
    if (after.restarts.last != before.restarts.last && after.restarts.last &&
        before.restarts.last) {
        CHECK(
            after.backoff_count + after.restarts.disruptions <=
            before.backoff_count + before.restarts.disruptions + 1
        );
    }
}

}  // namespace

TEST_CASE(
    "[behaviour 5.3] stories: recorded before acted on, nothing counted twice", "[engine][property]"
) {
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        CAPTURE(seed);
        dice d(seed);
        setting s = choose_job(d);
        world w(s.job);
        w.slow_deletes = d.once_in(2);
        // Any action may fail, and what did take effect is a subset of the stage.
        w.gate = [&](const action&) { return !d.once_in(6); };
        bool paused = false;
        for (int step = 0; step < 40; ++step) {
            const job_status before = w.status();
            const decision first = w.look();
            CHECK(first == w.look());
            check_decision(first, w);
            w.pass();
            check_status(before, w.status(), s);
            w.pods().reverse();
            w.children().reverse();
            disturb(w, d, paused);
        }
        // The faults stop: the job comes to rest, and rest is rest.
        w.gate = nullptr;
        w.slow_deletes = false;
        paused = false;
        w.edit().pause(false);
        w.reload();
        for (int i = 0; i < 40 && !is_final(w.status().phase); ++i) {
            w.pods().remove_if([](const pod_record& p) { return p.deletion.has_value(); });
            for (auto& p : w.pods()) {
                if (p.phase == pod_phase::pending || p.phase == pod_phase::unknown) {
                    w.run(p);
                }
            }
            w.settle();
            if (w.status().phase == job_phase::running && w.live_pods() > 0 && !w.look().wake_up) {
                break;
            }
            w.wake();
        }
        const bool at_rest = is_final(w.status().phase) || w.status().phase == job_phase::running;
        CAPTURE(to_string(w.status().phase), w.status().reason);
        CHECK(at_rest);
        w.settle();
        const int writes = w.status_writes;
        CHECK_FALSE(w.pass());
        CHECK(w.status_writes == writes);
    }
}

TEST_CASE("[behaviour 4.16] the order of observed objects is irrelevant", "[engine][property]") {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        CAPTURE(seed);
        dice d(seed);
        setting s = choose_job(d);
        world w(s.job);
        bool paused = false;
        for (int step = 0; step < 25; ++step) {
            disturb(w, d, paused);
            const decision one = w.look();
            w.pods().reverse();
            w.children().reverse();
            CHECK(one == w.look());
            w.pass();
        }
    }
}
