// SPDX-License-Identifier: Apache-2.0
//
// What logs say is asked for once, before anything comes of a failure (BEHAVIOUR.md 3.13, 12.14).
#include "engine/jobs.hpp"
#include "jobcore/cause.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::colossalai;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::world;

namespace {

const std::string peer_closed = "RuntimeError: Connection closed by peer";
const std::string nan_traceback =
    "Traceback (most recent call last):\n  File \"train.py\", line 57, in step\nValueError: NaN\n";

/// A job that has run for a hundred seconds.
void run_with_logs(world& w) {
    w.reads_logs = true;
    w.start();
    w.to(at(100));
}

std::vector<const action*> reads_of(const decision& d) {
    std::vector<const action*> out;
    for (const stage& s : d.stages) {
        for (const action& a : s) {
            if (a.what() == verb::read) {
                out.push_back(&a);
            }
        }
    }
    return out;
}

std::string failure(const world& w) {
    const auto* c = find_condition(w.status(), "ReplicaFailure");
    return c == nullptr ? "" : c->message;
}

}  // namespace

TEST_CASE("[behaviour 3.13] a failure has no consequence before its log was read", "[engine]") {
    world w(ddp());
    run_with_logs(w);
    w.exit("worker", 0, 1, peer_closed);
    w.logs[w.pod("worker", 0).name] = nan_traceback;
    // Others may end in the same moment.
    auto d = w.look();
    CHECK(reads_of(d).empty());
    CHECK(d.keeps_logs);
    CHECK(d.wake_up == at(102));
    w.settle();
    CHECK_FALSE(w.status().restarts.last);
    CHECK(w.pods().size() == 3);
    w.to(at(102));
    d = w.look();
    const auto reads = reads_of(d);
    REQUIRE(reads.size() == 3);  // and those that still run
    const auto& wanted = std::get<read_log>(reads[0]->request);
    CHECK(reads[0]->name == w.pod("worker", 0).name);
    CHECK(wanted.pod_uid == w.pod("worker", 0).uid);
    CHECK(wanted.container == "pytorch");
    CHECK(wanted.bytes == 64 << 10);
    CHECK(wanted.lines == 256);
    CHECK(wanted.until == at(103));
    CHECK(to_string(reads[0]->what()) == "read");
    CHECK(d.stages.front().front().what() == verb::read);
    w.settle();
    CHECK(w.logs_read == 3);
    REQUIRE(w.status().restarts.last);
    CHECK_THAT(
        w.status().restarts.last->message,
        Catch::EndsWith("container pytorch: ValueError: NaN (train.py:57, in step)")
    );
    CHECK_FALSE(w.status().restarts.last->consequence);
}

TEST_CASE("[behaviour 12.14] what could not be read is not asked for again", "[engine]") {
    world w(ddp());
    run_with_logs(w);
    w.exit("worker", 0, 1, peer_closed);
    w.to(at(110));
    CHECK(std::get<read_log>(reads_of(w.look()).at(0)->request).until == at(111));
    w.settle();
    CHECK(w.logs_read == 3);
    REQUIRE(w.status().restarts.last);
    CHECK_THAT(w.status().restarts.last->message, Catch::EndsWith(peer_closed));
    CHECK(w.status().restarts.last->consequence);
    CHECK_FALSE(w.look().keeps_logs);
}

TEST_CASE(
    "[behaviour 3.13] no pod is waited for that has ended, or whose end has no time", "[engine]"
) {
    const bool all = GENERATE(true, false);
    world w(ddp(1));
    run_with_logs(w);
    w.exit("worker", 0, 1, peer_closed);
    if (all) {
        w.exit("master", 0, 1, peer_closed);
    } else {
        w.pod("worker", 0).containers.at(0).finished.reset();
    }
    CHECK(reads_of(w.look()).size() == 2);
}

TEST_CASE("[behaviour 3.13] a pod that is about to start is waited for too", "[engine]") {
    world w(ddp(1));
    run_with_logs(w);
    w.pod("master", 0).containers.at(0).state = container_state::waiting;
    w.exit("worker", 0, 1, peer_closed);
    CHECK(reads_of(w.look()).empty());
    CHECK(w.look().wake_up == at(102));
    w.to(at(102));
    CHECK(reads_of(w.look()).size() == 1);
}

TEST_CASE(
    "[behaviour 3.13] at most eight logs are read, those first that may tell more", "[engine]"
) {
    world w(ddp(12));
    run_with_logs(w);
    for (int i = 0; i < 12; ++i) {
        w.exit("worker", i, 1, i == 11 ? "ValueError: x" : peer_closed);
    }
    w.to(at(103));
    const auto d = w.look();
    const auto reads = reads_of(d);
    REQUIRE(reads.size() == 8);
    CHECK(reads[0]->name == w.pod("worker", 11).name);
    CHECK(reads[1]->name == w.pod("worker", 0).name);
    w.settle();
    CHECK(w.logs_read == 8);
}

TEST_CASE("[behaviour 3.13] where victims alone were read the next logs are, until the limit") {
    struct row {
        std::string last_message;
        int looked_at;
        std::size_t read;
    };
    const row r = GENERATE(values<row>(
        {{peer_closed, 102, 13},  // with the master, which still runs
         {"ValueError: x", 102, 8},
         {peer_closed, 103, 8}}
    ));
    world w(ddp(12));
    run_with_logs(w);
    for (int i = 0; i < 12; ++i) {
        w.exit("worker", i, 1, i == 11 ? r.last_message : peer_closed);
        w.logs[w.pod("worker", i).name] = peer_closed + "\n";
    }
    w.logs[w.pod("worker", 11).name] = "[rank12]: " + std::string("ValueError: x\n");
    w.to(at(r.looked_at));
    w.settle();
    CHECK(w.logs_read == static_cast<int>(r.read));
    const bool told = r.read > 8 || r.last_message != peer_closed;
    CHECK(w.status().restarts.last.has_value() == told);
    w.to(at(108));
    w.settle();
    CHECK(w.logs_read == static_cast<int>(r.read));
    REQUIRE(w.status().restarts.last);
    CHECK((w.status().restarts.last->message.find("ValueError: x") != std::string::npos) == told);
    CHECK(w.status().restarts.last->consequence != told);
}

TEST_CASE("[behaviour 3.13] who ends later is waited for where victims alone are known") {
    world w(ddp(1));
    run_with_logs(w);
    w.exit("worker", 0, 1, peer_closed);
    w.logs[w.pod("worker", 0).name] = peer_closed + "\n";
    w.to(at(102));
    w.settle();
    CHECK(w.logs_read == 2);
    CHECK_FALSE(w.status().restarts.last);
    SECTION("no longer than an agent may take") {
        w.to(at(107));
        w.settle();
        CHECK_FALSE(w.status().restarts.last);
        CHECK(w.look().wake_up == at(108));
        w.to(at(108));
        w.settle();
        REQUIRE(w.status().restarts.last);
        CHECK(w.status().restarts.last->consequence);
    }
    SECTION("its end tells the cause") {
        w.to(at(106));
        w.exit("master", 0, 3, "[rank0]: ValueError: x\n");
        w.settle();
        REQUIRE(w.status().restarts.last);
        CHECK_THAT(
            w.status().restarts.last->message,
            Catch::EndsWith("container pytorch exited with 3: rank 0: ValueError: x")
        );
        CHECK_FALSE(w.status().restarts.last->consequence);
    }
    SECTION("no pod that has ended") {
        w.exit("master", 0, 1, peer_closed);
        w.settle();
        REQUIRE(w.status().restarts.last);
        CHECK(w.status().restarts.last->consequence);
    }
}

TEST_CASE("[behaviour 3.13] no pod is waited for so long where the log cannot be read") {
    world w(ddp(1));
    run_with_logs(w);
    w.exit("worker", 0, 1, peer_closed);
    w.to(at(102));
    w.settle();
    REQUIRE(w.status().restarts.last);
    CHECK(w.status().restarts.last->consequence);
}

TEST_CASE("[behaviour 3.13] who only serves the ranks of others is not waited for so long") {
    world w(colossalai());
    run_with_logs(w);
    w.run_all();
    w.exit("launcher", 0, 1, peer_closed);
    w.logs[w.pod("launcher", 0).name] = peer_closed + "\n";
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    w.to(at(102));
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
}

TEST_CASE("[behaviour 3.13] of several that settled the message stays with its pod", "[engine]") {
    world w(c10d());
    run_with_logs(w);
    w.reads_logs = false;
    w.exit("node", 1, 1, peer_closed);
    w.exit("node", 2, 1, "[rank2]: ValueError: x\n");
    w.settle();
    REQUIRE(w.status().restarts.settling);
    REQUIRE(w.status().restarts.settling->pods.size() == 2);
    w.vanish("node", 1);
    w.vanish("node", 2);
    w.to(at(116));
    w.settle();
    REQUIRE(w.status().restarts.last);
    CHECK_THAT(
        w.status().restarts.last->message,
        Catch::EndsWith("node-2, container pytorch: rank 2: ValueError: x")
    );
}

TEST_CASE("[behaviour 3.13] logs are read before an end too, with any clean-up", "[engine]") {
    world w(ddp(2, "Never").run_policy(R"("cleanUpPolicy":"All")"));
    run_with_logs(w);
    const bool master = GENERATE(true, false);
    pod_record& pod = w.pod(master ? "master" : "worker", 0);
    w.exit(pod, 1, peer_closed);
    w.logs[pod.name] = nan_traceback;
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    w.to(at(102));
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    const auto* failed = find_condition(w.status(), "Failed");
    REQUIRE(failed != nullptr);
    CHECK_THAT(failed->message, Catch::Contains("ValueError: NaN (train.py:57, in step)"));
    CHECK(w.pods().empty());
}

TEST_CASE("[behaviour 3.13] the launcher of a ColossalAIJob is read too", "[engine]") {
    world w(colossalai());
    run_with_logs(w);
    w.run_all();
    w.exit("launcher", 0, 1, "something");
    w.logs[w.pod("launcher", 0).name] = nan_traceback;
    w.to(at(102));
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK_THAT(find_condition(w.status(), "Failed")->message, Catch::Contains("ValueError: NaN"));
}

TEST_CASE("[behaviour 3.13] a launcher may have failed by the end of a worker", "[engine]") {
    world w(colossalai());
    run_with_logs(w);
    w.run_all();
    const bool launcher_seen = GENERATE(true, false);
    w.exit("worker", 1, 137);
    w.pod("worker", 1).containers.at(0).reason = "OOMKilled";
    if (launcher_seen) {
        w.exit("launcher", 0, 1, "Encountered a bad command exit code!\n");
    }
    w.to(at(102));
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK_THAT(
        find_condition(w.status(), "Failed")->message,
        Catch::Contains("worker-1") && Catch::Contains("OOMKilled")
    );
}

TEST_CASE("[behaviour 3.13] success, a pause and disruptions wait for no log", "[engine]") {
    world w(ddp());
    run_with_logs(w);
    w.exit("worker", 0, 1, peer_closed);
    SECTION("success") {
        w.exit("master", 0, 0);
        w.settle();
        CHECK(w.status().phase == job_phase::succeeded);
    }
    SECTION("a pause") {
        w.to(at(103));  // by then they would be read
        signalbox::test::set_pause(w, true);
        CHECK(reads_of(w.look()).empty());
        w.settle();
        CHECK(w.status().phase == job_phase::paused);
    }
    SECTION("nor does what a pause finds") {
        world over(ddp().run_policy("\"backoffLimit\":0"));
        run_with_logs(over);
        over.exit("master", 0, 1);
        signalbox::test::set_pause(over, true);
        over.settle();
        CHECK(over.status().phase == job_phase::failed);
        CHECK(over.logs_read == 0);
    }
    SECTION("a disruption") {
        w.ask_deletion(w.pod("worker", 1));
        w.settle();
        CHECK(w.status().restarts.disruptions == 1);
    }
    CHECK(w.logs_read == 0);
}

TEST_CASE("[behaviour 3.13] who does not read logs waits for none", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 1, peer_closed);
    w.settle();
    CHECK(w.status().restarts.last);
    CHECK(w.logs_read == 0);
}

TEST_CASE("[behaviour 3.13] an exit that settles is told better by its log", "[engine]") {
    world w(c10d());
    run_with_logs(w);
    w.exit("node", 1, 1, peer_closed);
    w.logs[w.pod("node", 1).name] = nan_traceback;
    w.settle();
    REQUIRE(w.status().restarts.settling);
    CHECK(w.status().restarts.settling->consequence);
    w.to(at(102));
    w.settle();
    REQUIRE(w.status().restarts.settling);
    CHECK_FALSE(w.status().restarts.settling->consequence);
    CHECK_THAT(failure(w), Catch::Contains("ValueError: NaN"));
    CHECK(w.logs_read == 3);
    // By then the log may be gone; what it said is not.
    w.vanish("node", 1);
    w.to(at(116));
    w.settle();
    REQUIRE(w.status().restarts.last);
    CHECK_THAT(w.status().restarts.last->message, Catch::Contains("ValueError: NaN"));
    CHECK(w.logs_read == 3);
}

TEST_CASE("[behaviour 3.13] while a job waits its message gets better, never worse", "[engine]") {
    world w(ddp());
    w.slow_deletes = true;
    w.start();
    w.to(at(100));
    w.exit("worker", 0, 1, peer_closed);
    w.settle();
    REQUIRE(w.status().restarts.last);
    CHECK(w.status().restarts.last->consequence);
    w.exit(w.pod("worker", 1), 1, peer_closed + " again");
    w.settle();
    CHECK_THAT(failure(w), Catch::EndsWith(peer_closed));
    w.exit(w.pod("master", 0), 1, nan_traceback);
    w.settle();
    CHECK_THAT(failure(w), Catch::Contains("master-0, container pytorch: ValueError: NaN"));
    CHECK(w.status().restarts.last->message == failure(w));
    CHECK_FALSE(w.status().restarts.last->consequence);
}

TEST_CASE("[behaviour 3.13] an error that is said twice is told of the lowest, whatever its numbers"
) {
    world w(ddp());
    w.start();
    w.to(at(101));
    w.exit("worker", 1, 1, "[rank2]: ValueError: no file 2\n");
    w.to(at(102));
    w.exit("worker", 0, 1, "[rank1]: ValueError: no file 1\n");
    w.settle();
    CHECK_THAT(w.status().restarts.last->message, Catch::Contains("worker-0"));
    CHECK_THAT(w.status().restarts.last->message, Catch::Contains("rank 1: ValueError: no file 1"));
}

TEST_CASE("[behaviour 3.13] the time in a log goes before that of the end") {
    world w(ddp());
    run_with_logs(w);
    w.exit("worker", 0, 1);
    w.logs[w.pod("worker", 0).name] = "2026-01-01T00:01:39.5Z [rank1]: ValueError: late\n";
    w.to(at(101));
    w.exit("worker", 1, 1);
    w.logs[w.pod("worker", 1).name] = "2026-01-01T00:01:39.4Z [rank2]: KeyError: 'early'\n";
    w.to(at(103));
    w.settle();
    CHECK_THAT(w.status().restarts.last->message, Catch::Contains("rank 2: KeyError: 'early'"));
}

TEST_CASE("[behaviour 3.13] the lines of the error are those of its traceback, with its prefix") {
    std::string log = "step 1\n";
    for (const std::string line :
         {"Traceback (most recent call last):",
          "  File \"train.py\", line 57, in step",
          "ValueError: \x1b[2J"}) {
        log += "2026-01-01T00:01:39.4Z w-1: [rank2]: " + line +
               "\n2026-01-01T00:01:39.4Z w-0: step 2\n";
    }
    const auto block = find_error_block(log);
    REQUIRE(block.size() == 3);
    CHECK(block[0] == "w-1: [rank2]: Traceback (most recent call last):");
    CHECK(block[2] == "w-1: [rank2]: ValueError:  [2J");
    std::string deep = "Traceback (most recent call last):\n";
    for (int i = 0; i < 30; ++i) {
        deep += "  File \"a.py\", line " + std::to_string(i) + ", in f\n";
    }
    CHECK(find_error_block(deep + "KeyError\n").size() == 20);
    CHECK(find_error_block(deep + "KeyError\n").back() == "KeyError");
    std::string words;
    for (int i = 0; i < 30; ++i) {
        words += std::to_string(i) + "\n";
    }
    CHECK(find_error_block(words).size() == 10);
    CHECK(find_error_block("").empty());
}

TEST_CASE(
    "[behaviour 3.13] a pod that still runs tells what was before a consequence", "[engine]"
) {
    world w(ddp(3));
    run_with_logs(w);
    w.exit("worker", 0, 1, peer_closed);
    w.logs[w.pod("worker", 1).name] = "2026-01-01T00:01:38.5Z [rank2]: ValueError: second\n";
    w.logs[w.pod("worker", 2).name] = "2026-01-01T00:01:38.4Z [rank3]: ValueError: first\n";
    // What was said long ago, or without a time, may have been overcome.
    w.logs[w.pod("master", 0).name] = "2026-01-01T00:00:30Z [rank0]: ValueError: old\n";
    w.to(at(102));
    w.settle();
    REQUIRE(w.status().restarts.last);
    CHECK_THAT(
        w.status().restarts.last->message,
        Catch::EndsWith("worker-2, container pytorch: rank 3: ValueError: first")
    );
    CHECK_FALSE(w.status().restarts.last->consequence);
    REQUIRE(w.status().restarts.last->pods.size() == 1);
    CHECK_THAT(w.status().restarts.last->pods[0].name, Catch::EndsWith("worker-0"));
}

TEST_CASE("[behaviour 3.13] of a failure that all run into the lowest tells, though it still runs"
) {
    world w(ddp(2));
    run_with_logs(w);
    const bool same = GENERATE(true, false);
    w.exit("worker", 1, 1, "no words");
    w.logs[w.pod("worker", 1).name] = "2026-01-01T00:01:39.9Z [rank2]: ValueError: no file 2\n";
    w.logs[w.pod("worker", 0).name] = std::string("2026-01-01T00:01:39.5Z [rank1]: ValueError: ") +
                                      (same ? "no file 1" : "caught") + "\n";
    w.to(at(102));
    w.settle();
    REQUIRE(w.status().restarts.last);
    CHECK_THAT(
        w.status().restarts.last->message,
        Catch::Contains(same ? "rank 1: ValueError: no file 1" : "rank 2: ValueError: no file 2")
    );
}

TEST_CASE("[behaviour 3.13] who tells it while it runs is told with the code that it will end with"
) {
    world w(ddp(2));
    run_with_logs(w);
    w.exit("worker", 1, 2, "no words");
    for (int i = 0; i < 2; ++i) {
        w.logs[w.pod("worker", i).name] = "2026-01-01T00:01:39.5Z train.py: error: no --rate\n";
    }
    w.to(at(102));
    w.settle();
    REQUIRE(w.status().restarts.last);
    CHECK_THAT(
        w.status().restarts.last->message,
        Catch::EndsWith("worker-0, container pytorch exited with 2: train.py: error: no --rate")
    );
}

TEST_CASE("[behaviour 3.13] [behaviour 3.9] who asks for the cause gets logs to read, and one pod"
) {
    world w(ddp(2));
    w.start();
    const auto cause = [&](std::vector<log_evidence> logs = {}) {
        std::vector<const pod_record*> pods;
        for (const pod_record& pod : w.pods()) {
            pods.push_back(&pod);
        }
        observed seen{pods, {}, {}, {}, {}};
        seen.logs = logs;
        const auto asked = logs_of_failures(w.job(), seen, w.rules(), w.now());
        return std::pair(asked, find_cause(w.job(), seen, w.rules(), w.now()));
    };
    CHECK(cause().first.empty());
    CHECK_FALSE(cause().second);
    w.exit("worker", 0, 1, peer_closed);
    w.exit("worker", 1, 1, peer_closed);
    const pod_record& guilty = w.pod("worker", 1);
    const auto [logs, before] = cause();
    REQUIRE(logs.size() == 3);
    CHECK(logs.back().pod == w.pod("master", 0).name);  // it still runs
    REQUIRE(before);
    CHECK(before->consequence);
    const auto after = cause({judge_log(guilty.uid, guilty.name, nan_traceback)}).second;
    REQUIRE(after);
    CHECK(after->pod_uid == guilty.uid);
    CHECK_THAT(after->message, Catch::Contains("ValueError: NaN (train.py:57, in step)"));
    CHECK_FALSE(after->consequence);
}

TEST_CASE("[behaviour 3.9] of who was killed others' words are no cause") {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 137, peer_closed);
    w.pod("worker", 0).containers.at(0).reason = "Error";
    w.settle();
    CHECK_THAT(
        w.status().restarts.last->message, Catch::EndsWith("the kubelet reports no OOM kill)")
    );
}
