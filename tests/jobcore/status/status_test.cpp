// SPDX-License-Identifier: Apache-2.0
//
// Status as JSON and back, times, index sets.
#include "jobcore/status.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace signalbox::core;

namespace {

constexpr instant noon{seconds{1769860800}};

job_status full_status() {
    job_status s;
    s.phase = job_phase::running;
    s.reason = "Restarting";
    s.conditions = {{"Running", true, "ReplicasRunning", "a \"quoted\" text", noon}};
    s.tasks = {{"worker", 2, 3, {{"p-0", "u", "Running", {{"pytorch", "Terminated", 0}}}}}};
    s.aggregate = aggregate_counts{1, 2, 3, 4, 5, 6, 7};
    s.backoff_count = 4;
    s.tensorboard = tensorboard_status{
        "tb",
        dependent_reference{"tensorstack.dev/v1beta1", "TensorBoard", "tb", "ns", "u"},
        false,
        "Pending",
        "Created",
        "none",
        "TensorBoard"};
    s.observed_generation = 5'000'000'000;
    s.start_time = noon;
    s.completion_time = noon + seconds{5};
    s.duration = "5s";
    s.ready = "1/3";
    s.replicas = 1;
    s.selector = "a=b";
    s.next_transition = transition{noon, "Deadline"};
    s.attempt = 7;
    s.training = training_state::resumed;
    auto& r = s.restarts;
    r.disruptions = 1;
    r.seen = {{"worker", index_set::parse("0-3,7")}};
    r.free_streak = 2;
    r.given_up = {{"worker", index_set::parse("9")}};
    r.streak = 3;
    r.last = incident_record{
        noon,
        "PodFailed",
        "Error",
        restart_scope::replica,
        true,
        7,
        noon,
        {{"p-0", "u", 137, "OOMKilled"}, {"p-1", "", {}, ""}},
        5};
    r.settling = incident_record{
        noon, "PodFailed", "Error", restart_scope::replica, false, 0, {}, {{"p-2", "u", 1, ""}}, 1};
    r.replaced = {{"worker", 1, 2}};
    r.renamed = {{"worker", 1, 3}};
    r.renames = 3;
    s.told = {"SecretLost", "QuotaExceeded"};
    r.completed = {{"ps", index_set::parse("0")}};
    s.attempt_history = {
        {6, noon, noon + seconds{3}, "PodFailed", "loss is NaN", "p-0", "node-1", 3, 1200},
        {7, {}, {}, "Paused", "", "", "", {}}};
    s.attempt_start = noon;
    s.avoided = {{"node-1", "failureRules/0", noon, 2}};
    r.forgiven = 3;
    r.furthest_step = 5'000'000'000;
    r.idle = 2;
    s.progress = progress_status{
        7,
        1,
        12,
        50,
        24,
        90,
        noon,
        noon,
        10,
        noon,
        30,
        {{"loss", "2.31"}},
        slowest_rank{3, 11, 1, noon},
        {{noon, 10, "2.5"}, {noon + seconds{60}, 12, {}}}};
    admitted_marks marks;
    marks.node_selector = {{"pool", "a"}};
    marks.labels = {{"l", "1"}};
    marks.annotations = {{"a", "2"}};
    marks.tolerations = {{"k", "Equal", "v", "NoExecute", 5}, {"", "Exists", "", "", {}}};
    s.admission = admission_record{"w-1", "2026-01-01T00:00:00Z", {{"worker", 2, 3, marks}}};
    s.queue = "team-a";
    r.last->rule = "default/EccError";
    s.time = {1, 2, 30, 4, 5, 6, 7, 8, time_kind::restarting, noon};
    return s;
}

}  // namespace

TEST_CASE("[api 5] everything that is recorded in the status survives the API server", "[status]") {
    const job_status s = full_status();
    const std::string object = "{\"status\":" + format_status(s, job_kind::pytorch) + "}";
    CHECK(parse_status(object) == s);
    CHECK(
        parse_status("{\"status\":" + format_status({}, job_kind::pytorch) + "}") == job_status{}
    );
}

TEST_CASE("[api status.training] its words, and what is no word of it", "[status]") {
    for (const auto state :
         {training_state::not_started, training_state::started, training_state::resumed}) {
        CHECK(parse_training_state(to_string(state)) == state);
    }
    CHECK(to_string(training_state::not_started) == "NotStarted");
    CHECK(parse_training_state("started") == training_state::unknown);
    job_status s;
    s.training = training_state::started;
    CHECK(format_status(s, job_kind::pytorch).find(R"("training":"Started")") != std::string::npos);
}

TEST_CASE("[api status.backoffCount] a ColossalAIJob has none", "[status]") {
    CHECK(
        format_status(full_status(), job_kind::colossalai).find("backoffCount") == std::string::npos
    );
}

TEST_CASE("[api status.tensorboard] its members", "[status]") {
    const std::string text = format_status(full_status(), job_kind::pytorch);
    CAPTURE(text);
    CHECK(
        text.find(
            R"("tensorboard":{"name":"tb","dependent":{"apiVersion":"tensorstack.dev/v1beta1",)"
            R"("kind":"TensorBoard","name":"tb","namespace":"ns","uid":"u"},"ready":false,)"
            R"("reason":"Pending","action":"Created","note":"none","type":"TensorBoard"})"
        ) != std::string::npos
    );
}

TEST_CASE("a damaged status is read as far as it makes sense", "[status]") {
    const char* text = GENERATE(
        "",
        "null",
        "[]",
        "{\"status\":[]}",
        "{\"status\":{\"phase\":7}}",
        "{\"status\":{\"phase\":\"Nonsense\",\"tasks\":[1,null,{\"wanted\":-4}]}}",
        "{\"status\":{\"restarts\":{\"seen\":{},\"last\":[],\"replaced\":[{\"index\":-1e400}]}}}",
        "{\"status\":{\"attempt\":-3,\"startTime\":\"yesterday\"}}"
    );
    CAPTURE(text);
    const job_status s = parse_status(text);
    CHECK(s.phase == job_phase::none);
    CHECK(s.attempt == 0);
    CHECK_FALSE(s.start_time);
    for (const auto& t : s.tasks) {
        CHECK(t.wanted == 0);
    }
}

TEST_CASE(
    "[api status.restarts.settling] older versions kept it over the last incident", "[status]"
) {
    const std::string head =
        R"({"status":{"restarts":{"last":{"cause":"PodFailed","scope":"Replica",)"
        R"("counted":false,"attempt":2,"pods":[{"name":"p-1","exitCode":1}],)";
    SECTION("nothing is known of the one before") {
        const auto r =
            parse_status(head + R"("pending":true,"time":"2026-01-31T12:00:00Z"}}}})").restarts;
        REQUIRE(r.settling);
        CHECK(r.settling->time == noon);
        CHECK(r.settling->pods == std::vector<incident_pod>{{"p-1", "", 1, ""}});
        CHECK_FALSE(r.last);
    }
    SECTION("but its delay") {
        const auto r = parse_status(
                           head + R"("pending":true,"time":"2026-01-31T12:00:00Z",)"
                                  R"("notBefore":"2026-01-31T12:00:00Z"}}}})"
        )
                           .restarts;
        REQUIRE(r.settling);
        CHECK_FALSE(r.settling->not_before);
        REQUIRE(r.last);
        CHECK(r.last->not_before == noon);
        CHECK_FALSE(r.last->time);
    }
    SECTION("what they never wrote is no one's") {
        const auto r =
            parse_status(R"({"status":{"restarts":{"last":{"cause":"PodFailed","scope":"Replica",)"
                         R"("counted":true,"pods":[{"name":"p-1"}],"pending":true}}}})")
                .restarts;
        CHECK_FALSE(r.settling);
        REQUIRE(r.last);
        CHECK(r.last->cause == "PodFailed");
    }
}

TEST_CASE("[api status.restarts.seen] index sets keep ranges", "[status]") {
    index_set set;
    for (const int i : {7, 0, 2, 1, 3, 3}) {
        set.insert(i);
    }
    CHECK(set.text() == "0-3,7");
    CHECK(set.size() == 5);
    CHECK((set.contains(2) && set.contains(7) && !set.contains(4) && !set.contains(8)));
    set.erase(2);
    CHECK(set.text() == "0-1,3,7");
    set.erase(0);
    set.erase(7);
    set.erase(5);
    CHECK(set.text() == "1,3");
    set.insert(2);
    CHECK(set.text() == "1-3");
    CHECK(index_set::parse("1-3") == set);
    CHECK(index_set::parse("3,1-2,2-3,x,-1,5-4,99999999999").text() == "1-3");
}

TEST_CASE("[status] times are read and written as RFC 3339", "[status]") {
    CHECK(format_time(noon) == "2026-01-31T12:00:00Z");
    CHECK(format_time(noon + milliseconds{999}) == "2026-01-31T12:00:00Z");
    CHECK(parse_time("2026-01-31T12:00:00Z") == noon);
    CHECK(parse_time("2026-01-31T12:00:00.25Z") == noon + milliseconds{250});
    CHECK(parse_time("2026-01-31T12:00:00.123456Z") == noon + milliseconds{123});
    CHECK(parse_time("2026-01-31T14:30:00+02:30") == noon);
    for (const char* bad :
         {"",
          "2026-01-31",
          "2026-02-30T00:00:00Z",
          "2026-01-31T24:00:00Z",
          "2026-01-31T12:00:00",
          "2026-01-31T12:00:00.Z",
          "2026-01-31T12:00:00Zx",
          "2026-1-31T12:00:00Z"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_time(bad));
    }
    CHECK(round_up_to_second(noon + milliseconds{1}) == noon + seconds{1});
    CHECK(round_down_to_second(noon + milliseconds{999}) == noon);
}
