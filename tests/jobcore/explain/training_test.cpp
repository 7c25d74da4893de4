// SPDX-License-Identifier: Apache-2.0
//
// What is said of times, attempts, bad nodes and progress (BEHAVIOUR.md 13).
#include "explain/explained.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::ddp;
using signalbox::test::explained;
using signalbox::test::world;

using in = explain_section;

TEST_CASE(
    "[behaviour 13.1] [behaviour 13.2] where the time went, and how attempts ended", "[explain]"
) {
    world w(ddp());
    w.settle();
    w.to(at(100));
    w.run_all();
    w.settle();
    w.to(at(400));
    w.pod("worker", 1).node = "gpu-7";
    w.exit(
        "worker", 1, 1, "[rank2]: RuntimeError: CUDA error: uncorrectable ECC error encountered"
    );
    w.settle();
    w.to(at(500));
    w.run_all();
    w.settle();
    w.to(at(1000));
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(
        in::history,
        "Of 16 min 40 s in all: running 8 min 20 s (50 %), lost 5 min (30 %), restarting 100 s (10 "
        "%) and "
        "starting 100 s (10 %)."
    ));
    CHECK(e.says(
        in::history,
        "Attempt 1 ended at 2026-01-01T00:06:40Z after 6 min 40 s: mnist-40c14-worker-1 on node "
        "gpu-7, "
        "rank 2, failed."
    ));
    CHECK(e.says(in::history, "it counted against backoffLimit (rule default/EccError)"));
    CHECK(e.says(in::history, "Later pods avoid node gpu-7 until 2026-01-02T00:06:40Z"));
    CHECK(e.says(in::history, "rule default/EccError laid 1 incident to it."));
    w.edit().annotation("batch.tensorstack.dev/forgive-nodes", "all");
    w.reload();
    const explained forgiven(w);
    CHECK(forgiven.says(in::history, "Node gpu-7 is not avoided, though rule default/EccError"));
}

TEST_CASE("[behaviour 13.7] how far training is", "[explain]") {
    world w(ddp());
    w.reported_since = w.now();
    w.start();
    progress_message said;
    said.current_step = 1200;
    said.total_steps = 5000;
    said.remaining_seconds = 10'800;
    said.checkpoint_step = 1000;
    said.checkpoint_seconds = 12;
    said.metrics = {{"loss", "2.31"}};
    w.report(said);
    said.rank = 1;
    said.current_step = 1190;
    w.report(said);
    w.settle();
    w.wait(seconds{12});
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(
        in::phase,
        "Training is at step 1200 of 5000 (24 %), about 2 h 59 min left, loss 2.31; last "
        "report 12 s ago."
    ));
    CHECK(e.says(in::phase, "Rank 1 is furthest behind, by 10 steps, at step 1190."));
    CHECK(e.says(in::phase, "The last checkpoint that was reported is of step 1000, and took 12 s.")
    );
    CHECK(e.says(in::next, "If it makes no progress for 30 min, it counts as stalled."));
    w.wait(seconds{1800});
    w.settle();
    const explained stalled(w);
    INFO(stalled.text());
    CHECK_FALSE(stalled.says(in::next, "counts as stalled"));
    CHECK(stalled.says(in::phase, "is Running (Stalled)"));
    CHECK(stalled.says(
        in::phase, "Its pods run, and it makes no progress: Stalled: no progress for 1800 s"
    ));
}

TEST_CASE("[behaviour 13.8] how long an attempt may go without a report", "[explain]") {
    const bool debug = GENERATE(false, true);
    auto job =
        ddp().run_policy(R"("progress":{"firstReportAfterSeconds":60,"stallAction":"Restart"})");
    world w(debug ? job.debug() : job);
    const explained early(w);
    CHECK_FALSE(early.says(in::next, "counts as stalled"));
    w.start();
    const explained e(w);
    INFO(e.text());
    const std::string said =
        "If no one reports progress for 60 s, it counts as stalled and is restarted.";
    CHECK(e.says(in::next, said) == !debug);
}

TEST_CASE("[behaviour 13.5] what a long run gave back", "[explain]") {
    world w(ddp().run_policy("\"backoffLimit\":1,\"resetBackoffAfterSeconds\":100"));
    w.start();
    for (int i = 0; i < 2; ++i) {
        w.wait(seconds{200});
        w.exit("worker", 0, 1);
        w.settle();
        while (w.pods().size() < 3 && w.wake()) {
        }
        w.run_all();
        w.settle();
    }
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::history, "1 of 1 restart counted, 0 left (spec.runPolicy.backoffLimit)"));
    CHECK(e.says(in::history, "1 more before, which a long run gave back"));
}

TEST_CASE("[behaviour 13.9] why a job that came no further is not restarted", "[explain]") {
    world w(ddp().run_policy("\"maxRestartsWithoutProgress\":0"));
    w.start();
    w.exit("worker", 0, 1, "ValueError: no such file");
    w.settle();
    const explained e(w);
    INFO(e.text());
    CHECK(e.says(in::phase, "and came no further: "));
    CHECK(e.says(in::phase, "ValueError: no such file"));
}
