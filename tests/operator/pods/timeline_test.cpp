// SPDX-License-Identifier: Apache-2.0
#include "pods/timeline.hpp"

#include "pods/scenario.hpp"

#include <catch2/catch.hpp>

#include <chrono>

using namespace signalbox::op;
using namespace signalbox::op::pods;
using namespace std::chrono_literals;

namespace {

const std::chrono::system_clock::time_point now{std::chrono::seconds{1'700'000'000}};

pod_facts worker(std::int32_t index = 0) {
    pod_facts out;
    out.ns = "default";
    out.name = "mnist-00000-worker-0";
    out.uid = "u";
    out.job = "mnist";
    out.job_uid = "j";
    out.type = "worker";
    out.index = index;
    out.attempt = 1;
    out.phase = "Pending";
    out.containers = {{"pytorch", "i", false}};
    return out;
}

behaviour with(std::initializer_list<std::pair<const char*, const char*>> settings) {
    behaviour out;
    for (const auto& [key, value] : settings) {
        const auto wrong = set(out, key, value);
        INFO(key << ": " << wrong.value_or(""));
        REQUIRE(!wrong);
    }
    return out;
}

std::vector<step> steps(const std::vector<timed_step>& life) {
    std::vector<step> out;
    for (const timed_step& s : life) {
        out.push_back(s.what);
    }
    return out;
}

}  // namespace

TEST_CASE("durations are read with and without unit") {
    CHECK(parse_duration("300ms") == duration(300ms));
    CHECK(parse_duration("2s") == duration(2s));
    CHECK(parse_duration("1.5") == duration(1500ms));
    CHECK(parse_duration("2m") == duration(2min));
    CHECK(parse_duration("1h") == duration(1h));
    CHECK(parse_duration("7d") == duration(168h));
    CHECK(parse_duration("never") == never);
    for (const char* bad : {"", "s", "-1s", "1w", "nan", "inf", "1e9s", "1e6d", "2 s"}) {
        INFO(bad);
        CHECK(!parse_duration(bad));
    }
}

TEST_CASE("by default a pod runs for three seconds and exits 0") {
    const auto life = plan_life(worker(), behaviour(), now);
    CHECK(steps(life) == std::vector{step::bind, step::start, step::end});
    CHECK(life[2].at - life[1].at == 3s);
}

TEST_CASE("a pod that idles has no end") {
    pod_facts pod = worker();
    pod.idles = true;
    CHECK(steps(plan_life(pod, behaviour(), now)) == std::vector{step::bind, step::start});
    CHECK(steps(plan_life(pod, with({{"duration", "1s"}}), now)).back() == step::end);
}

TEST_CASE("a preset node is not bound again, and an ended pod stays as it is") {
    pod_facts pod = worker();
    pod.node = "sm02";
    CHECK(steps(plan_life(pod, behaviour(), now)) == std::vector{step::start, step::end});
    pod.phase = "Failed";
    CHECK(plan_life(pod, behaviour(), now).empty());
}

TEST_CASE("a pod that runs already goes on where it is") {
    pod_facts pod = worker();
    pod.node = "n";
    pod.phase = "Running";
    pod.started = now - 2s;
    CHECK(plan_life(pod, behaviour(), now) == std::vector<timed_step>{{1s, step::end}});
}

TEST_CASE("init containers, readiness and faults have their places") {
    pod_facts pod = worker();
    pod.init_containers = {{"fetch", "i", false}};
    CHECK(
        steps(plan_life(pod, with({{"ready-after", "1s"}}), now)) ==
        std::vector{
            step::bind, step::start_init, step::start_unready, step::become_ready, step::end}
    );
    CHECK(
        steps(plan_life(pod, with({{"init-exit-code", "2"}}), now)) ==
        std::vector{step::bind, step::start_init, step::fail_init}
    );
    pod = worker();
    CHECK(
        steps(plan_life(pod, with({{"unschedulable", "true"}}), now)) == std::vector{step::no_node}
    );
    CHECK(
        steps(plan_life(pod, with({{"unschedulable", "5s"}}), now)) ==
        std::vector{step::no_node, step::bind, step::start, step::end}
    );
    CHECK(
        steps(plan_life(pod, with({{"image-error", "ErrImagePull"}}), now)) ==
        std::vector{step::bind, step::image_error}
    );
    CHECK(steps(plan_life(pod, with({{"evict-at", "1s"}}), now)).back() == step::evict);
    CHECK(steps(plan_life(pod, with({{"oom-at", "1s"}}), now)).back() == step::end_oom);
    CHECK(steps(plan_life(pod, with({{"vanish-at", "1s"}}), now)).back() == step::vanish);
    // A deletion is not the end: that comes when the server shows it.
    CHECK(
        steps(plan_life(pod, with({{"delete-at", "1s"}}), now)) ==
        std::vector{step::bind, step::start, step::remove, step::end}
    );
}

TEST_CASE("a running pod takes its time to stop, any other goes at once") {
    const pod_facts pod = worker();
    CHECK(plan_deletion(pod, with({{"stop-after", "5s"}}), true).at(0).at == 5s);
    CHECK(plan_deletion(pod, with({{"stop-after", "60s"}}), true).at(0).at == pod.grace);
    CHECK(plan_deletion(pod, with({{"stop-after", "60s"}}), false).at(0).at == 0s);
    CHECK(plan_deletion(pod, with({{"stop-after", "never"}}), true).empty());
}

TEST_CASE("faults befall the first pods of an index, and the indexes asked for") {
    const behaviour twice = with({{"fail-times", "2"}, {"exit-code", "7"}});
    CHECK(for_pod(twice, 0, 1).exit_code == 7);
    CHECK(for_pod(twice, 0, 2).exit_code == 7);
    CHECK(for_pod(twice, 0, 3).exit_code == 0);
    const behaviour some = with({{"only-index", "1-2"}, {"fail-at", "1s"}});
    CHECK(for_pod(some, 0, 1).exit_code == 0);
    CHECK(!for_pod(some, 0, 1).fail_at);
    CHECK(for_pod(some, 2, 1).exit_code == 1);
    CHECK(for_pod(some, 2, 1).fail_at == duration(1s));
    CHECK(for_pod(with({{"fail-times", "1"}, {"evict-at", "1s"}}), 0, 1).exit_code == 0);
    CHECK(for_pod(with({{"fail-times", "1"}}), 0, 1).exit_code == 1);
    CHECK(for_pod(with({{"fail-times", "1"}}), 0, 2).exit_code == 0);
    CHECK(for_pod(with({{"only-index", "0"}}), 0, 9).exit_code == 1);
    CHECK(for_pod(with({{"fail-times", "1"}, {"exit-code", "7"}}), 0, 1).exit_code == 7);
}

TEST_CASE("scenario rules apply in order, annotations win") {
    std::string error;
    const auto read = read_scenario(
        R"(
defaults: {duration: 2s, stop-after: 10ms}
rules:
  - match: {job: "mn*", type: worker, index: 0-1, attempt: "1"}
    do: {exit-code: 3}
  - match: {nth: "2"}
    do: {exit-code: 4, duration: forever}
)",
        "s.yaml",
        error
    );
    INFO(error);
    REQUIRE(read);
    std::string problem;
    CHECK(behaviour_of(worker(), 1, *read, problem).exit_code == 3);
    CHECK(behaviour_of(worker(), 1, *read, problem).run_for == duration(2s));
    CHECK(behaviour_of(worker(), 2, *read, problem).exit_code == 4);
    CHECK(behaviour_of(worker(5), 1, *read, problem).exit_code == 0);
    pod_facts marked = worker();
    marked.settings = {{"exit-code", "9"}, {"nonsense", "1"}};
    CHECK(problem.empty());
    CHECK(behaviour_of(marked, 1, *read, problem).exit_code == 9);
    CHECK(problem == "sim.signalbox.dev/nonsense: there is no setting `nonsense`");
}

TEST_CASE("mistakes in a scenario are reported with their line") {
    const std::pair<const char*, const char*> table[]{
        {"rules:\n- do: {exit-cod: 1}\n", "s.yaml:2:8: there is no setting `exit-cod`"},
        {"rules:\n- do: {duration: soon}\n", "s.yaml:2:8: `soon` is not a duration"},
        {"rules:\n- do: {exit-code: [1]}\n", "s.yaml:2:8: `exit-code` must be a plain value"},
        {"rules:\n- {when: {}}\n", "s.yaml:2:4: unknown key `when`: `match` or `do`"},
        {"defaults: {exit-code: 256}\n", "s.yaml:1:12: `256` is not a number from 0 to 255"},
        {"---\n{}\n---\n{}\n", "s.yaml: one document is expected"},
        {"rules:\n- match: {index: x}\n", "s.yaml:2:11: `x` is no set of numbers"},
        {"rules:\n- match: {colour: x}\n", "s.yaml:2:11: unknown key `colour`"},
        {"rule: []\n", "s.yaml:1:1: unknown key `rule`"},
        {"rules: {}\n", "s.yaml:1:8: `rules` must be a list"},
        {"- a\n", "s.yaml:1:1: a scenario must be a mapping"},
        {"", "s.yaml: the file is empty"},
        {"a: [", "s.yaml:"},
    };
    for (const auto& [text, expected] : table) {
        std::string error;
        CHECK(!read_scenario(text, "s.yaml", error));
        CHECK_THAT(error, Catch::Contains(expected));
    }
}
