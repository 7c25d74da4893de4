// SPDX-License-Identifier: Apache-2.0
//
// Which jobs of a namespace may begin (BEHAVIOUR.md 2.12).
#include "jobcore/room.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <string>
#include <vector>

namespace {

using namespace signalbox::core;
using strings = std::vector<std::string>;

struct noted_room : room_ledger {
    using room_ledger::room_ledger;
    template <class Job>
    strings note(Job&& of, std::size_t bytes) {
        of.job.spec_bytes = bytes;
        return room_ledger::note(of.job);
    }
};

struct one_job {
    job_object job;

    explicit one_job(const std::string& uid, int created = 1, const std::string& ns = "lab") {
        job.meta.uid = uid;
        job.meta.ns = ns;
        job.meta.creation_time = instant(seconds(created));
    }
    one_job& begun() {
        job.status.phase = job_phase::running;
        job.status.start_time = instant(seconds(100));
        return *this;
    }
    one_job& is(job_phase phase) {
        job.status.phase = phase;
        return *this;
    }
    one_job& wants_pause(bool paused) {
        auto compiled = std::make_shared<compiled_job>();
        compiled->plan.emplace();
        compiled->plan->paused = paused;
        job.compiled = std::move(compiled);
        return *this;
    }
};

}  // namespace

TEST_CASE("[behaviour 2.12] jobs begin in the order of their creation, as far as there is room") {
    noted_room room(100);
    room.note(one_job("c", 3), 50);
    room.note(one_job("a", 1), 40);
    room.note(one_job("e", 5), 1);
    room.note(one_job("d", 3), 10);
    room.note(one_job("b", 2, "other"), 100);
    CHECK(room.may_begin("a"));
    CHECK(room.may_begin("b"));
    CHECK(room.may_begin("c"));
    CHECK(room.may_begin("d"));  // of one second the UID decides
    CHECK_FALSE(room.may_begin("e"));
    CHECK(room.refused() == 1);
    CHECK(room.may_begin("unknown"));
}

TEST_CASE("[behaviour 2.12] one that does not fit lets none pass") {
    noted_room room(100);
    room.note(one_job("a", 1).begun(), 40);
    room.note(one_job("b", 2), 70);
    room.note(one_job("c", 3), 1);
    CHECK_FALSE(room.may_begin("b"));
    CHECK_FALSE(room.may_begin("c"));
    CHECK(room.forget("a") == strings{"b", "c"});
    CHECK(room.refused() == 0);
}

TEST_CASE("[behaviour 2.12] a job that has begun keeps its place, whatever was created before") {
    noted_room room(100);
    room.note(one_job("late", 9).begun(), 90);
    room.note(one_job("early", 1), 20);
    CHECK(room.may_begin("late"));
    CHECK_FALSE(room.may_begin("early"));
    room.note(one_job("late", 9).begun(), 500);
    CHECK(room.may_begin("late"));
    CHECK(room.note(one_job("late", 9).begun().is(job_phase::succeeded), 90) == strings{"early"});
    CHECK(room.may_begin("early"));
}

TEST_CASE("[behaviour 2.12] a job that is alone begins, whatever it takes") {
    noted_room room(100);
    room.note(one_job("a", 1), 101);
    room.note(one_job("b", 2), 1);
    CHECK(room.may_begin("a"));
    CHECK_FALSE(room.may_begin("b"));
    CHECK(room.note(one_job("a", 1).begun(), 101).empty());
    CHECK(room.forget("a") == strings{"b"});
    CHECK(room.forget("a").empty());
}

TEST_CASE("[behaviour 2.12] paused jobs, ended ones and those of others take no room") {
    noted_room room(100);
    one_job other("o", 1);
    other.wants_pause(false);
    auto compiled = *other.job.compiled;
    compiled.managed_by = "somebody.else/queue";
    other.job.compiled = std::make_shared<compiled_job>(compiled);
    room.note(other, 90);
    one_job deleted("d", 1);
    deleted.job.meta.deletion_time = instant(seconds(5));
    room.note(deleted, 90);
    room.note(one_job("p", 1).is(job_phase::paused), 90);
    room.note(one_job("n", 1).wants_pause(true), 90);
    room.note(one_job("f", 1).is(job_phase::failed), 90);
    room.note(one_job("a", 2), 60);
    room.note(one_job("b", 3), 60);
    CHECK(room.may_begin("p"));
    CHECK(room.may_begin("a"));
    CHECK_FALSE(room.may_begin("b"));
    room.note(one_job("p", 1).is(job_phase::paused).wants_pause(false), 90);
    CHECK(room.may_begin("p"));  // it goes on, and was created first
    CHECK_FALSE(room.may_begin("a"));
    CHECK(room.refused() == 2);
    CHECK(room.note(one_job("p", 1).wants_pause(true), 90) == strings{"a"});
    CHECK(room.note(one_job("a", 2).wants_pause(true), 60) == strings{"b"});
}

TEST_CASE("[behaviour 2.12] what was refused stays so until there is room, and is told once") {
    noted_room room(100);
    room.note(one_job("a", 1).begun(), 100);
    room.note(one_job("b", 2), 10);
    CHECK_FALSE(room.may_begin("b"));
    CHECK(room.note(one_job("b", 2), 11).empty());
    CHECK(room.refused() == 1);
    CHECK(room.note(one_job("a", 1).begun(), 80) == strings{"b"});
    CHECK(room.note(one_job("a", 1).begun(), 80).empty());
    CHECK(room.note(one_job("c", 3), 1).empty());
    CHECK(room.may_begin("b"));
}
