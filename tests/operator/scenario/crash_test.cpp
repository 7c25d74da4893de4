// SPDX-License-Identifier: Apache-2.0
//
// The operator dies, or a request is lost, at every single write of a story; the end is the same as
// without (BEHAVIOUR.md I1, I7, I8, I20).
#include "controller/resource_table.hpp"
#include "scenario/job_texts.hpp"
#include "scenario/world.hpp"
#include "signalbox_test/sanitized.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;

/// What must be the same at the end.
struct outcome {
    bool ended = false;
    std::string phase, reason;
    int backoff_count = 0;
    int attempt = 0;
    int disruptions = 0;
    friend bool operator==(const outcome&, const outcome&) = default;
};

std::ostream& operator<<(std::ostream& out, const outcome& o) {
    return out << (o.ended ? "" : "hangs: ") << o.phase << '/' << o.reason << " backoff "
               << o.backoff_count << " attempt " << o.attempt << " disruptions " << o.disruptions;
}

struct story {
    world_options options;
    std::function<void(world&)> begin;
    std::string job;
};

outcome play(world& w, const story& s) {
    s.begin(w);
    outcome o;
    o.ended = w.run_until(
        [&] {
            const std::string phase = w.phase(s.job);
            return phase == "Succeeded" || phase == "Failed";
        },
        seconds{400}
    );
    w.run_for(seconds{20});
    const core::job_status status = w.status(s.job);
    o.phase = core::to_string(status.phase);
    o.reason = status.reason;
    o.backoff_count = status.backoff_count;
    o.attempt = status.attempt;
    o.disruptions = status.restarts.disruptions;
    return o;
}

struct fault {
    std::size_t write;  ///< counts from 1
    loss how;
    bool fatal;  ///< the process dies too
};

/// Each write is lost as a request and as an answer, and the process dies of one of them, in turn.
/// With SIGNALBOX_ALL_FAULTS in the environment it dies of each and of none; under sanitizers it is
/// every fifth write, the ways in turn.
std::vector<fault> faults_of(std::size_t writes) {
    const bool all = std::getenv("SIGNALBOX_ALL_FAULTS") != nullptr;
    std::vector<fault> out;
    for (std::size_t n = 1; n <= writes; n += sanitized ? 5 : 1) {
        const bool odd = n % 2 == 1;
        const std::array<fault, 4> ways{
            fault{n, loss::request, odd},
            fault{n, loss::answer, !odd},
            fault{n, loss::request, !odd},
            fault{n, loss::answer, odd}};
        if (sanitized) {
            out.push_back(ways[n % ways.size()]);
        } else {
            out.insert(out.end(), ways.begin(), ways.begin() + (all ? 4 : 2));
        }
    }
    return out;
}

/// Plays the story once without a fault, then once with each.
void play_with_every_fault(const story& s) {
    world calm(s.options);
    const outcome wanted = play(calm, s);
    CAPTURE(wanted);
    REQUIRE(wanted.ended);
    const std::size_t writes = calm.operator_transport().writes().size();
    REQUIRE(calm.audit().violations() == std::vector<std::string>{});
    REQUIRE(writes > 5);
    REQUIRE(writes < 120);
    for (const fault& f : faults_of(writes)) {
        const sent_write& lost = calm.operator_transport().writes()[f.write - 1];
        CAPTURE(f.write, f.how == loss::answer, f.fatal, lost.method, lost.target);
        world w(s.options);
        w.restart_after = seconds{1};
        w.operator_transport().lose(f.write, f.how, f.fatal);
        const outcome got = play(w, s);
        CHECK(got == wanted);
        CHECK(w.audit().violations() == std::vector<std::string>{});
        CHECK(w.audit().most_live() == calm.audit().most_live());
    }
}

story with_pods(op::pods::settings does, std::function<void(world&)> begin) {
    story s;
    s.options.script.defaults = {{"duration", "5s"}};
    op::pods::rule rule = pods_of_type("worker", std::move(does));
    rule.index = core::index_set::parse("1");
    rule.nth = core::index_set::parse("1");
    s.options.script.rules.push_back(std::move(rule));
    s.begin = std::move(begin);
    s.job = "mnist";
    return s;
}

}  // namespace

TEST_CASE(
    "[behaviour I7] [behaviour 12.14] a failed worker is counted once, whichever write is lost"
) {
    story s = with_pods({{"fail-at", "1s"}, {"exit-code", "1"}}, [](world& w) {
        w.create_job(job_builder("mnist").replicas("worker", 2));
    });
    s.options.controller.reads_logs = GENERATE(false, true);
    play_with_every_fault(s);
}

TEST_CASE("[behaviour I20] a vanished pod is no failure, whichever write is lost") {
    play_with_every_fault(with_pods({{"vanish-at", "2s"}}, [](world& w) {
        w.create_job(job_builder("mnist").replicas("worker", 2).run_policy(R"("backoffLimit":0)"));
    }));
}

TEST_CASE("[behaviour I1] one worker is replaced in place, whichever write is lost") {
    play_with_every_fault(with_pods({{"oom-at", "2s"}}, [](world& w) {
        w.create_job(job_builder("mnist").replicas("worker", 3).torchrun(3));
    }));
}

TEST_CASE("[behaviour I20] pause and resume end as without, whichever write is lost") {
    play_with_every_fault(with_pods({{"duration", "6s"}}, [](world& w) {
        w.create_job(job_builder("mnist").replicas("worker", 2));
        w.run_for(seconds{3});
        w.patch_job("mnist", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
        w.run_for(seconds{5});
        w.patch_job("mnist", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    }));
}

TEST_CASE("[behaviour 12.13] a job of which nothing is kept ends as others, whichever write is lost"
) {
    story s = with_pods({{"fail-at", "1s"}, {"exit-code", "1"}}, [](world& w) {
        w.create_job(job_builder("mnist").replicas("worker", 2));
        w.run_for(seconds{3});
        w.patch_job("mnist", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
        w.run_for(seconds{5});
        w.patch_job("mnist", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    });
    s.options.controller.kept_bytes = 0;
    s.options.controller.kept_bytes_of_pod = 0;
    s.options.controller.pass_bytes = 1;
    play_with_every_fault(s);
}

TEST_CASE("[behaviour 2.12] a job that waits for room ends as others, whichever write is lost") {
    story s;
    s.options.script.defaults = {{"duration", "5s"}};
    s.options.rules.namespace_bytes = 1;
    s.begin = [](world& w) {
        w.create_job(job_builder("first").replicas("worker", 1));
        w.run_for(seconds{2});
        w.create_job(job_builder("mnist").replicas("worker", 2));
    };
    s.job = "mnist";
    play_with_every_fault(s);
}

TEST_CASE("[behaviour I8] a DeepSpeedJob starts again with one Secret, whichever write is lost") {
    story s = with_pods({{"fail-at", "1s"}, {"exit-code", "1"}}, [](world& w) {
        w.create_job(deepspeed("mnist", 2));
    });
    s.options.script.defaults.clear();  // workers wait until they are deleted
    play_with_every_fault(s);
}

TEST_CASE("[behaviour I20] a ColossalAIJob makes a disrupted worker again, whichever write is lost"
) {
    story s = with_pods({{"delete-at", "1s"}}, [](world& w) {
        w.create_job(colossalai("mnist", 2, R"("runPolicy":{"cleanUpWorkers":true})"));
    });
    s.options.script.defaults.clear();
    // Ready later than worker 1 is gone: no launcher runs before.
    op::pods::rule late = pods_of_type("worker", {{"ready-after", "3s"}});
    late.index = core::index_set::parse("0");
    s.options.script.rules.push_back(late);
    play_with_every_fault(s);
}

TEST_CASE(
    "[behaviour I20] a gang with a TensorBoard that is scaled ends as without, whichever write is "
    "lost"
) {
    story s = with_pods({}, [](world& w) {
        w.serve("podgroup");
        w.serve("tensorboard");
        w.run_for(seconds{61});  // until the operator looks again
        w.create_job(job_builder("mnist")
                         .replicas("worker", 2)
                         .torchrun()
                         .elastic(1, 3)
                         .field("scheduler", R"({"t9kScheduler":{"queue":"q"}})")
                         .field(
                             "tensorboardSpec",
                             R"({"image":"i","trainingLogFilesets":["t9k://pvc/a/b"]})"
                         ));
        w.run_for(seconds{4});
        REQUIRE(w.scale_job("mnist", 3).has_value());
    });
    s.options.script.defaults = {{"duration", "20s"}};
    play_with_every_fault(s);
}

TEST_CASE("[behaviour I22] a job deleted at any time leaves nothing behind") {
    for (int step = 0; step < 60; step += sanitized ? 7 : 1) {
        CAPTURE(step);
        world w;
        w.create_job(job_builder("mnist").replicas("worker", 3));
        w.run_for(step * milliseconds{50});
        w.remove(op::type_of(core::job_kind::pytorch), "mnist");
        w.run_for(seconds{60});
        CHECK(w.pods().empty());
        CHECK(w.list(k8sio::resources::services()).empty());
        CHECK(w.audit().violations() == std::vector<std::string>{});
    }
}

TEST_CASE("[behaviour I7] what happened while no operator ran is counted once when one comes back"
) {
    world_options options;
    options.script.defaults = {{"duration", "20s"}};
    op::pods::rule rule = pods_of_type("worker", {{"fail-at", "3s"}, {"exit-code", "1"}});
    rule.index = core::index_set::parse("1");
    rule.nth = core::index_set::parse("1");
    options.script.rules.push_back(rule);
    world w(options);
    w.create_job(job_builder("mnist").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{10}));
    w.kill_operator();
    w.run_for(seconds{10});
    w.start_operator();
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, seconds{100}));
    CHECK(w.status("mnist").backoff_count == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[requirement H1] a stopped operator ends with its events written, and the next goes on"
) {
    world w;
    w.create_job(job_builder("mnist").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{10}));
    w.stop_operator();
    CHECK(w.event_count("mnist", "Running") == 1);
    w.run_for(seconds{2});
    w.start_operator();
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, seconds{30}));
}
