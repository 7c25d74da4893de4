// SPDX-License-Identifier: Apache-2.0
//
// What is kept of refusals while a decision is carried out (BEHAVIOUR.md 12.5).
#include "jobcore/carry_out.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

namespace core = signalbox::core;
using signalbox::test::at;

core::action create(std::string name, int attempt = 1, int round = 0) {
    core::action a;
    a.name = std::move(name);
    a.request = core::create_pod{{.attempt = attempt, .round = round}};
    return a;
}

core::decision asking_for(std::vector<core::action> actions) {
    core::decision d;
    d.stages.push_back(std::move(actions));
    return d;
}

core::answer::refused no(std::string message) {
    return {403, "Forbidden", std::move(message)};
}

/// Answers to the actions of a decision, one by one.
struct refusals_of {
    core::decision asked;
    core::job_answers answers = {};

    const core::refusal* note(const core::action& a, core::outcome what, core::instant now) {
        core::work_order order = answers.begin(asked, core::job_status());
        while (const core::action* next = order.next(now)) {
            const bool meant =
                next->name == a.name && next->kind == a.kind && next->request == a.request;
            order.note(*next, meant ? what : core::answer::unanswered(), now);
        }
        return answers.find(a);
    }
    auto all() const { return answers.refusals(); }
};

}  // namespace

TEST_CASE("[behaviour 12.5] refusals are counted per object, attempt and round", "[keep]") {
    core::action service = create("w-0", 2);
    service.kind = core::object_kind::service;
    refusals_of ledger{asking_for({create("w-0"), create("w-0", 2), create("w-0", 2, 1), service})};
    const auto quota = no("exceeded quota: q");
    ledger.note(create("w-0"), quota, at(1));
    ledger.note(create("w-0"), quota, at(5));
    ledger.note(create("w-0", 2), quota, at(6));
    ledger.note(create("w-0", 2, 1), quota, at(7));
    ledger.note(service, core::answer::by_other_owner(), at(8));
    REQUIRE(ledger.all().size() == 4);
    CHECK(ledger.all()[2].round == 1);
    CHECK(ledger.all()[2].count == 1);
    CHECK(ledger.all()[3].foreign_owner);
    CHECK_FALSE(ledger.all()[0].foreign_owner);
    CHECK_FALSE(ledger.all()[0].namespace_terminating);
    CHECK(ledger.all()[0].http_code == 403);
    CHECK(ledger.all()[0].reason == "Forbidden");
    CHECK(ledger.all()[0].count == 2);
    CHECK(ledger.all()[0].first == at(1));
    CHECK(ledger.all()[0].last == at(5));
    CHECK(ledger.all()[0].message == "exceeded quota: q");
    CHECK(ledger.all()[1].attempt == 2);

    ledger.note(create("w-0"), core::answer::acknowledged(), at(8));
    REQUIRE(ledger.all().size() == 3);
    CHECK(ledger.all()[0].attempt == 2);
    // What a later answer says of it counts.
    auto dying = no("being terminated");
    dying.namespace_terminating = true;
    const core::refusal latest = *ledger.note(service, dying, at(9));
    CHECK(latest.namespace_terminating);
    CHECK_FALSE(latest.foreign_owner);
    CHECK(latest.count == 2);
    CHECK(latest.first == at(8));
    const core::refusal taken = *ledger.note(service, core::answer::by_other_owner(), at(10));
    CHECK(taken.foreign_owner);
    CHECK_FALSE(taken.namespace_terminating);
    CHECK(taken.http_code == 409);
}

TEST_CASE(
    "[behaviour 12.5] a refusal is forgotten when decisions no longer ask for its action", "[keep]"
) {
    refusals_of ledger{asking_for({create("w-0"), create("w-1")})};
    ledger.note(create("w-0"), no(""), at(1));
    ledger.note(create("w-1"), no(""), at(1));
    core::action held = create("w-0");
    held.not_before = at(100);
    core::action next_round = create("w-1", 1, 1);
    core::action removal = create("w-1");
    removal.request = core::delete_object{};
    core::decision asked = asking_for({removal, next_round});
    asked.stages.push_back({held});
    ledger.answers.begin(asked, core::job_status());
    REQUIRE(ledger.all().size() == 1);
    CHECK(ledger.all()[0].name == "w-0");
    ledger.answers.begin({}, core::job_status());
    CHECK(ledger.all().empty());
}

TEST_CASE("[requirement X7] statuses that differ in times alone have one hash", "[keep]") {
    const auto hash = [](const core::job_status& s) {
        return core::hash_without_times(s, core::job_kind::pytorch);
    };
    core::job_status before;
    before.phase = core::job_phase::pending;
    before.conditions.push_back({"Running", false, "CreatingPods", "", core::instant()});
    before.restarts.last.emplace();
    before.restarts.settling.emplace();
    before.attempt_history.emplace_back();
    before.attempt_history[0].attempt = 1;
    before.avoided.emplace_back();
    before.avoided[0].node = "gpu-7";
    before.progress.emplace();
    before.progress->attempt = 2;
    core::job_status after = before;
    const core::instant later = core::instant() + core::seconds(5);
    after.conditions[0].last_transition = later;
    after.start_time = after.completion_time = later;
    after.duration = "5s";
    after.next_transition = core::transition{later, "Deadline"};
    after.restarts.last->time = after.restarts.last->not_before = later;
    after.restarts.settling->time = after.attempt_start = later;
    after.attempt_history[0].start = after.attempt_history[0].end = later;
    after.avoided[0].time = later;
    after.time = {1, 2, 3, 4, 5, 6, 7, 3, core::time_kind::running, later};
    core::progress_status& progress = *after.progress;
    progress.last_updated = progress.advanced = progress.checkpoint_time = later;
    progress.slowest = core::slowest_rank{1, 7, 2, later};
    CHECK(hash(after) == hash(before));
    after.reason = "CreatingPods";
    CHECK(hash(after) != hash(before));
    after = before;
    after.conditions[0].message = "another";
    CHECK(hash(after) != hash(before));
    after = before;
    after.progress->current_step = 7;
    CHECK(hash(after) != hash(before));
    after = before;
    after.attempt_history[0].reason = "PodFailed";
    CHECK(hash(after) != hash(before));
    after = before;
    after.restarts.last->cause = "PodFailed";
    CHECK(hash(after) != hash(before));
}

TEST_CASE(
    "[behaviour 2.14] what admission made of pods is known until they are recorded", "[keep]"
) {
    core::job_answers answers;
    answers.admit(1);
    answers.admit(2);
    answers.admit(1);
    const auto begin = [&](const core::decision& d) { answers.begin(d, core::job_status()); };
    CHECK(
        std::vector(answers.admitted().begin(), answers.admitted().end()) ==
        std::vector<std::uint64_t>{1, 2}
    );
    begin(asking_for({create("w-0")}));
    CHECK(answers.admitted().size() == 2);
    core::decision records;
    records.status = core::job_status();
    begin(records);
    CHECK(answers.admitted().size() == 2);
    begin({});
    CHECK(answers.admitted().empty());

    for (std::uint64_t content = 1; content <= 300; ++content) {
        answers.admit(content);
    }
    CHECK(answers.admitted().size() == 256);
    CHECK(answers.admitted().back() == 300);
}

TEST_CASE("[behaviour 2.13] a name taken by other content is told apart", "[keep]") {
    refusals_of ledger{asking_for({create("w-0")})};
    const core::refusal* noted =
        ledger.note(create("w-0"), core::answer::by_other_content(), at(1));
    REQUIRE(noted != nullptr);
    CHECK(noted->foreign_owner);
    CHECK(noted->foreign_content);
    noted = ledger.note(create("w-0"), core::answer::by_other_owner(), at(2));
    CHECK_FALSE(noted->foreign_content);
}

TEST_CASE("[behaviour 12.14] what a log says is kept as long as decisions say so", "[keep]") {
    core::action read;
    read.name = "w-0";
    core::read_log wanted;
    wanted.pod_uid = "u-1";
    read.request = wanted;
    core::decision asks = asking_for({read});
    asks.keeps_logs = true;
    core::job_answers answers;
    core::work_order order = answers.begin(asks, core::job_status());
    const core::action* next = order.next(at(1));
    REQUIRE(next != nullptr);
    core::answer::said said;
    said.what.text = "ValueError";
    order.note(*next, said, at(1));
    REQUIRE(answers.logs().size() == 1);
    CHECK(answers.logs()[0].pod_uid == "u-1");
    CHECK(answers.logs()[0].text == "ValueError");
    core::decision later;
    later.keeps_logs = true;
    answers.begin(later, core::job_status());
    CHECK(answers.logs().size() == 1);
    answers.begin(core::decision(), core::job_status());
    CHECK(answers.logs().empty());
}
