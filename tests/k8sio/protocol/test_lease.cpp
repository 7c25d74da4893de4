// SPDX-License-Identifier: Apache-2.0
//
// The elector alone, step by step, and three of them around one Lease with every fault there is.
#include "protocol/lease.hpp"
#include "signalbox_test/sanitized.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <map>
#include <memory>
#include <sstream>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::elector_action;
using protocol::elector_fsm;
using protocol::elector_settings;
using protocol::lease_record;
using signalbox::test::sanitized;
using elect = elector_action::kind;

namespace {

elector_settings named(const std::string& identity, std::uint64_t seed = 1) {
    elector_settings settings;
    settings.identity = identity;
    settings.seed = seed;
    return settings;
}

lease_record held_by(const std::string& holder, const std::string& version, int transitions = 3) {
    lease_record made;
    made.resource_version = version;
    made.holder = holder;
    made.duration_seconds = 15;
    made.transitions = transitions;
    return made;
}

api_error failure(errc code, int status = 0) {
    api_error error;
    error.code = code;
    error.http_status = status;
    return error;
}

constexpr wall_time lease_wall{std::chrono::seconds{784111777}};

struct lease_fixture {
    elector_fsm fsm{named("me")};
    steady_time now{};
    elector_action last;

    std::string next() {
        last = fsm.next(now, lease_wall);
        const char* const names[] = {"get", "create", "update", "sleep", "finish"};
        return names[static_cast<int>(last.what)];
    }
    /// The write succeeds `later`; gives what the server then has.
    void written(std::chrono::nanoseconds later = 0s) {
        now += std::chrono::duration_cast<steady_time::duration>(later);
        lease_record record = last.record;
        record.resource_version = std::to_string(++version);
        fsm.on_written(now, record);
    }
    void lead() {
        REQUIRE(next() == "get");
        fsm.on_read(now, failure(errc::http_status, 404));
        REQUIRE(next() == "create");
        written();
        REQUIRE(fsm.leads(now));
    }
    int version = 100;
};

}  // namespace

TEST_CASE("[requirement B1] a Lease as text, and back") {
    lease_record record = held_by("me \"x\"", "");
    record.acquire_time = "1994-11-06T08:49:37.000001Z";
    record.renew_time = "1994-11-06T08:49:38.000000Z";
    CHECK(
        protocol::lease_object("ns", "name", record) ==
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"name",)"
        R"("namespace":"ns"},"spec":{"holderIdentity":"me \"x\"","leaseDurationSeconds":15,)"
        R"("leaseTransitions":3,"acquireTime":"1994-11-06T08:49:37.000001Z",)"
        R"("renewTime":"1994-11-06T08:49:38.000000Z"}})"
    );
    record.resource_version = "7";
    const auto read = protocol::read_lease(protocol::lease_object("ns", "name", record));
    REQUIRE(read);
    CHECK(read->resource_version == "7");
    CHECK(read->holder == "me \"x\"");
    CHECK(read->duration_seconds == 15);
    CHECK(read->transitions == 3);
    CHECK(read->acquire_time == record.acquire_time);
    CHECK(read->renew_time == record.renew_time);
    // Nulls and absent fields are what a fresh Lease has.
    const auto bare =
        protocol::read_lease(R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":null})");
    REQUIRE(bare);
    CHECK(bare->holder.empty());
    for (const char* bad :
         {"",
          "{}",
          R"({"kind":"Pod","metadata":{"resourceVersion":"1"}})",
          R"({"kind":"Lease"})"}) {
        CHECK_FALSE(protocol::read_lease(bad));
    }
}

TEST_CASE("[requirement B1] settings that do not fit each other are refused") {
    CHECK(named("me").problem().empty());
    elector_settings settings = named("");
    CHECK(settings.problem() == "the identity is empty");
    settings = named("me");
    settings.lease_duration = 10s;
    CHECK(settings.problem() == "the lease has to last longer than the renew deadline");
    settings = named("me");
    settings.retry_period = 9s;
    CHECK(settings.problem() == "the renew deadline has to be longer than 1.2 retry periods");
    settings.retry_period = 0s;
    CHECK(settings.problem() == "the retry period is shorter than a second");
}

TEST_CASE_METHOD(
    lease_fixture, "[requirement B1] where there is no Lease it is created, then renewed"
) {
    CHECK(next() == "get");
    fsm.on_read(now, failure(errc::http_status, 404));
    CHECK(next() == "create");
    CHECK(last.record.resource_version.empty());
    CHECK(last.record.holder == "me");
    CHECK(last.record.duration_seconds == 15);
    CHECK(last.record.transitions == 0);
    CHECK(last.record.acquire_time == "1994-11-06T08:49:37.000000Z");
    CHECK(last.record.renew_time == last.record.acquire_time);
    CHECK_FALSE(fsm.leads(now));
    written(1s);
    CHECK(fsm.leads(now));
    CHECK(*fsm.leads_until() == now + 9s);  // from before it was sent
    CHECK(next() == "sleep");
    CHECK(last.until >= now + 2s);
    CHECK(last.until <= now + 2400ms);
    now = last.until;
    CHECK(next() == "update");
    CHECK(last.record.resource_version == "101");
    CHECK(last.record.transitions == 0);
    CHECK(last.record.acquire_time == "1994-11-06T08:49:37.000000Z");
    written();
    CHECK(*fsm.leads_until() == now + 10s);
    CHECK(fsm.epoch() == 0);
}

TEST_CASE_METHOD(
    lease_fixture,
    "[requirement B2] a Lease is taken when it has not changed for its duration, by our clock"
) {
    next();
    lease_record other = held_by("other", "7");
    other.renew_time = "1970-01-01T00:00:00.000000Z";  // whatever it says
    fsm.on_read(now, other);
    const steady_time first = now;
    while (now < first + 10s) {
        REQUIRE(next() == "sleep");
        now = last.until;
        REQUIRE(next() == "get");
        fsm.on_read(now, other);
    }
    // It is renewed: the time begins anew.
    const steady_time second = now;
    other.resource_version = "8";
    REQUIRE(next() == "sleep");
    now = last.until;
    REQUIRE(next() == "get");
    const steady_time changed = now;
    fsm.on_read(now, other);
    CHECK(changed > second);
    std::string what;
    while ((what = next()) != "update") {
        if (what == "sleep") {
            now = last.until;
        } else {
            REQUIRE(what == "get");
            fsm.on_read(now, other);
        }
    }
    CHECK(now - changed == 15s);  // not at a try some time later
    CHECK(last.record.resource_version == "8");
    CHECK(last.record.transitions == 4);
    SECTION("with success") {
        written();
        CHECK(fsm.leads(now));
        CHECK(fsm.epoch() == 4);
    }
    SECTION("somebody was faster") {
        fsm.on_written(now, failure(errc::http_status, 409));
        CHECK_FALSE(fsm.leads(now));
        CHECK(next() == "get");
        fsm.on_read(now, held_by("third", "9", 4));
        CHECK(next() == "sleep");
        CHECK_FALSE(fsm.lost());
    }
    SECTION("no one knows") {
        fsm.on_written(now, failure(errc::timeout));
        CHECK_FALSE(fsm.leads(now));
        REQUIRE(next() == "sleep");
        now = last.until;
        REQUIRE(next() == "get");
        fsm.on_read(now, held_by("me", "9", 4));
        CHECK_FALSE(fsm.leads(now));  // only a renewal of its own makes it a leader
        REQUIRE(next() == "update");
        written();
        CHECK(fsm.leads(now));
        CHECK(fsm.epoch() == 4);
    }
}

TEST_CASE_METHOD(lease_fixture, "[requirement B2] a longer duration of the holder is kept to") {
    next();
    lease_record other = held_by("other", "7");
    other.duration_seconds = 60;
    fsm.on_read(now, other);
    const steady_time first = now;
    std::string what;
    while ((what = next()) != "update") {
        now = what == "sleep" ? last.until : now;
        if (what == "get") {
            fsm.on_read(now, other);
        }
    }
    CHECK(now - first >= 60s);
}

TEST_CASE_METHOD(
    lease_fixture, "[requirement B3] [requirement B6] who cannot renew stops in time, forever"
) {
    lead();
    const steady_time renewed = now;
    for (;;) {
        const std::string what = next();
        if (what == "finish") {
            break;
        }
        if (what == "sleep") {
            CHECK(last.until <= renewed + 10s);
            now = last.until;
        } else {
            CHECK(last.until <= renewed + 10s);  // no request is of use beyond
            now = last.until;
            const api_error silence = failure(errc::timeout);
            what == "get" ? fsm.on_read(now, silence) : fsm.on_written(now, silence);
        }
    }
    CHECK(now == renewed + 10s);
    CHECK(fsm.lost());
    CHECK_FALSE(fsm.leads(now));
    now += 1h;
    CHECK(next() == "finish");
}

TEST_CASE_METHOD(lease_fixture, "[requirement B3] belief ends by itself, also if no one asks") {
    lead();
    CHECK(fsm.leads(now + 10s - 1ns));
    CHECK_FALSE(fsm.leads(now + 10s));
    // A process that slept through it finds out before it does anything.
    now += 10s;
    CHECK(next() == "finish");
    CHECK(fsm.lost());
}

TEST_CASE_METHOD(lease_fixture, "[requirement B6] another holder, or no Lease, is the end") {
    lead();
    const std::string which =
        GENERATE(as<std::string>(), "another holder", "another term of ours", "no Lease");
    INFO(which);
    REQUIRE(next() == "sleep");
    now = last.until;
    REQUIRE(next() == "update");
    fsm.on_written(now, failure(errc::http_status, 409));
    CHECK(fsm.leads(now));  // no one may have taken it before the deadline
    REQUIRE(next() == "get");
    if (which == "no Lease") {
        fsm.on_read(now, failure(errc::http_status, 404));
    } else {
        fsm.on_read(now, held_by(which == "another holder" ? "other" : "me", "200", 7));
    }
    CHECK_FALSE(fsm.leads(now));
    CHECK(fsm.lost());
    CHECK(next() == "finish");
}

TEST_CASE_METHOD(
    lease_fixture, "[requirement B6] a Lease that somebody else touched is still ours"
) {
    lead();
    next();
    now = last.until;
    REQUIRE(next() == "update");
    fsm.on_written(now, failure(errc::http_status, 409));
    REQUIRE(next() == "get");
    fsm.on_read(now, held_by("me", "300", 0));  // a label, say
    REQUIRE(next() == "update");
    CHECK(last.record.resource_version == "300");
    written();
    CHECK(fsm.leads(now));
}

TEST_CASE_METHOD(lease_fixture, "[requirement B4] a clean stop lets the Lease go") {
    SECTION("of a leader") {
        lead();
        next();
        fsm.stop();
        CHECK(next() == "update");
        CHECK_FALSE(fsm.leads(now));  // before it is sent: somebody may take it at once
        CHECK(last.record.holder.empty());
        CHECK(last.record.duration_seconds == 1);
        CHECK(last.record.transitions == 0);
        SECTION("with success") {
            written();
            CHECK(next() == "finish");
        }
        SECTION("in vain") {
            fsm.on_written(now, failure(errc::connection_lost));
            CHECK(next() == "finish");
        }
        SECTION("after a conflict") {
            fsm.on_written(now, failure(errc::http_status, 409));
            CHECK(next() == "get");
            fsm.on_read(now, held_by("me", "300", 0));
            CHECK(next() == "update");
            CHECK(last.record.holder.empty());
            written();
            CHECK(next() == "finish");
        }
    }
    SECTION("of one that waits") {
        next();
        fsm.on_read(now, held_by("other", "7"));
        fsm.stop();
        CHECK(next() == "finish");
    }
    CHECK_FALSE(fsm.lost());
}

TEST_CASE_METHOD(lease_fixture, "[requirement B4] a Lease that was let go is taken at once") {
    next();
    fsm.on_read(now, held_by("", "7", 3));
    CHECK(next() == "update");
    CHECK(last.record.transitions == 4);
}

namespace {

/// Three processes, one server, and a network that loses, delays and cuts; processes that stop for
/// a while, end and come back.
class arena {
public:
    explicit arena(std::uint64_t seed) : random_(seed) {
        for (int i = 0; i < 3; ++i) {
            actors_.push_back(std::make_unique<actor>());
            start(i);
        }
    }

    void run_until(steady_time end) {
        while (!events_.empty() && events_.begin()->first <= end) {
            now_ = events_.begin()->first;
            const auto event = std::move(events_.begin()->second);
            events_.erase(events_.begin());
            event();
            check();
        }
        now_ = end;
        check();
    }
    int leaders() const {
        int count = 0;
        for (const auto& each : actors_) {
            count += each->fsm && each->fsm->leads(now_) ? 1 : 0;
        }
        return count;
    }

    bool faults = true;
    int terms = 0;  // times that somebody began to lead
    std::string wrong;

private:
    struct actor {
        std::unique_ptr<elector_fsm> fsm;
        std::string identity;
        steady_time paused_until{};
        std::uint64_t waits_for = 0;  // number of the request under way
        bool led = false;
    };

    std::uint64_t one_of(std::uint64_t n) { return random_.next() % n; }
    std::chrono::milliseconds millis(std::uint64_t below) {
        return std::chrono::milliseconds{one_of(below)};
    }
    void at(steady_time time, std::function<void()> what) {
        events_.emplace(std::max(time, now_), std::move(what));
    }

    void start(int index) {
        actor& a = *actors_[static_cast<std::size_t>(index)];
        a.identity = std::to_string(index) + "." + std::to_string(++starts_);
        a.fsm = std::make_unique<elector_fsm>(named(a.identity, random_.next()));
        a.waits_for = 0;
        a.led = false;
        at(now_ + millis(3000), [this, index] { step(index); });
    }

    /// Runs `what` when the process does: not while it is stopped.
    void in_process(int index, const std::string& identity, std::function<void()> what) {
        actor& a = *actors_[static_cast<std::size_t>(index)];
        if (a.identity != identity) {
            return;  // that process is gone
        }
        if (now_ < a.paused_until) {
            at(a.paused_until,
               [this, index, identity, what] { in_process(index, identity, what); });
            return;
        }
        what();
    }

    void step(int index) {
        actor& a = *actors_[static_cast<std::size_t>(index)];
        const std::string identity = a.identity;
        if (faults && one_of(60) == 0) {
            a.paused_until = now_ + millis(40000);  // SIGSTOP
            at(a.paused_until, [this, index, identity] {
                in_process(index, identity, [this, index] { step(index); });
            });
            return;
        }
        if (faults && one_of(80) == 0) {
            a.fsm.reset();  // SIGKILL
            at(now_ + millis(20000), [this, index] { start(index); });
            return;
        }
        if (faults && one_of(80) == 0) {
            a.fsm->stop();
        }
        const elector_action action = a.fsm->next(now_, wall_time());
        if (action.what == elect::finish) {
            at(now_ + millis(10000), [this, index] { start(index); });
            return;
        }
        if (action.what == elect::sleep) {
            at(action.until, [this, index, identity] {
                in_process(index, identity, [this, index] { step(index); });
            });
            return;
        }
        request(index, identity, action);
    }

    void request(int index, const std::string& identity, const elector_action& action) {
        const std::uint64_t number = actors_[static_cast<std::size_t>(index)]->waits_for =
            ++requests_;
        const std::uint64_t weather = faults ? one_of(10) : 9;
        const auto slow = weather == 0 ? 12000u : weather == 1 ? 3000u : 20u;
        if (weather != 2) {  // else it never arrives
            at(now_ + millis(slow), [this, index, identity, action, number, weather, slow] {
                const result<lease_record> answer = serve(action);
                if (weather != 3) {  // else no one hears of it
                    at(now_ + millis(slow), [this, index, identity, action, number, answer] {
                        in_process(index, identity, [=, this] {
                            tell(index, action, number, answer);
                        });
                    });
                }
            });
        }
        at(action.until, [this, index, identity, action, number] {
            in_process(index, identity, [=, this] {
                tell(index, action, number, failure(errc::timeout));
            });
        });
    }

    result<lease_record> serve(const elector_action& action) {
        if (action.what == elect::get) {
            return lease_ ? result<lease_record>(*lease_) : failure(errc::http_status, 404);
        }
        if (faults && one_of(30) == 0) {
            return failure(errc::http_status, 500);
        }
        const bool create = action.what == elect::create;
        if (create == lease_.has_value() ||
            (!create && lease_->resource_version != action.record.resource_version)) {
            return failure(errc::http_status, 409);
        }
        lease_ = action.record;
        lease_->resource_version = std::to_string(++version_);
        return *lease_;
    }

    void tell(
        int index,
        const elector_action& action,
        std::uint64_t number,
        const result<lease_record>& answer
    ) {
        actor& a = *actors_[static_cast<std::size_t>(index)];
        if (!a.fsm || a.waits_for != number) {
            return;  // it has given up on that one
        }
        a.waits_for = 0;
        if (action.what == elect::get) {
            a.fsm->on_read(now_, answer);
        } else {
            a.fsm->on_written(now_, answer);
        }
        step(index);
    }

    void check() {
        if (leaders() > 1 && wrong.empty()) {
            wrong = "two leaders";
        }
        for (const auto& each : actors_) {
            const bool leads = each->fsm && each->fsm->leads(now_);
            if (leads && !each->led) {
                each->led = true;
                ++terms;
                if (each->fsm->epoch() <= epoch_ && wrong.empty()) {
                    wrong = "an epoch that does not rise";
                }
                epoch_ = each->fsm->epoch();
            }
        }
    }

    protocol::jitter random_;
    steady_time now_{};
    std::multimap<steady_time, std::function<void()>> events_;
    std::vector<std::unique_ptr<actor>> actors_;
    std::optional<lease_record> lease_;
    int version_ = 0;
    int starts_ = 0;
    std::uint64_t requests_ = 0;
    std::int64_t epoch_ = -1;
};

}  // namespace

TEST_CASE("[requirement B2] [requirement B3] [requirement B7] many seeds: never two leaders") {
    constexpr int seeds = sanitized ? 300 : 1000;
    const steady_time trouble{sanitized ? 150s : 600s};
    int terms = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        INFO("seed " << seed);
        arena world(seed);
        world.run_until(trouble);
        REQUIRE(world.wrong == "");
        // In good weather one of them leads before long, and stays.
        world.faults = false;
        world.run_until(trouble + 80s);
        REQUIRE(world.leaders() == 1);
        const int before = world.terms;
        world.run_until(trouble + 160s);
        REQUIRE(world.leaders() == 1);
        REQUIRE(world.terms == before);
        terms += before;
    }
    CHECK(terms > (sanitized ? seeds : 3 * seeds));
}
