// SPDX-License-Identifier: Apache-2.0
//
// Reports of pods of a whole cluster in virtual time, on their way into the status.
#include "progress/report_desk.hpp"

#include "scenario/world.hpp"
#include "signalbox_test/cut_transport.hpp"

#include <k8sio/base64.hpp>
#include <k8sio/resource.hpp>

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;
using namespace signalbox::op::progress;

constexpr const char* audience = "progress.batch.tensorstack.dev";

world_options receiving() {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    options.controller.reports_to.url = "https://receiver:8444";
    options.controller.reports_to.ca = "-----BEGIN CERTIFICATE-----";
    return options;
}

class reporting_world {
public:
    explicit reporting_world(
        desk_limits limits = {},
        const std::string& policy = R"("progress":{})",
        world_options options = receiving()
    )
        : w(std::move(options)),
          desk(
              w.loop(),
              w.user(),
              [this](const op::report_sender& from, const core::progress_message* said) {
                  return w.operator_().take_report(from, said);
              },
              nullptr,
              limits
          ) {
        w.create_job(job_builder("mnist").replicas("worker", 2).run_policy(policy));
        REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{10}));
    }

    core::pod_record pod(int index) {
        auto all = w.pods();
        const auto found = std::ranges::find_if(all, [&](const core::pod_record& p) {
            return p.index == index && !p.deletion;
        });
        REQUIRE(found != all.end());
        return *found;
    }
    std::string token(const core::pod_record& of, const std::string& to = audience) {
        const std::string body = R"({"spec":{"audiences":[")" + to +
                                 R"("],"boundObjectRef":{"kind":"Pod","name":")" + of.name +
                                 R"(","uid":")" + of.uid + R"("}}})";
        const auto answer = w.finish(w.user().raw(
            "POST",
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            "application/json",
            body
        ));
        REQUIRE(answer.has_value());
        rapidjson::Document d;
        d.Parse(answer->c_str());
        return rapidjson::Pointer("/status/token").Get(d)->GetString();
    }
    raw_report report(const std::string& token, std::int64_t step, const std::string& more = "") {
        raw_report out;
        out.token = token;
        out.ns = "default";
        out.plural = "pytorchtrainingjobs";
        out.job_name = "mnist";
        out.body = R"({"trainerStatus":{"metrics":[{"name":"current_step","value":")" +
                   std::to_string(step) + R"("},{"name":"total_steps","value":"100"}])" + more +
                   "}}";
        return out;
    }
    void say(raw_report one) {
        std::vector<raw_report> all;
        all.push_back(std::move(one));
        desk.look_at(std::move(all));
        w.settle();
    }
    std::uint64_t reviews() { return w.server().count_requests("POST", "tokenreviews"); }
    std::optional<std::int64_t> step() {
        const auto progress = w.status("mnist").progress;
        return progress ? progress->current_step : std::nullopt;
    }

    world w;
    report_desk desk;
};

}  // namespace

TEST_CASE("[behaviour 13.11] a report comes into the status of its job, at once") {
    reporting_world r;
    const std::string token = r.token(r.pod(0));
    r.say(r.report(token, 7));
    CHECK(r.desk.count(fate::taken) == 1);
    REQUIRE(r.w.run_until([&] { return r.step() == 7; }, seconds{1}));
    CHECK(r.w.status("mnist").progress->percentage == 7);
    CHECK(r.w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 13.11] a token is reviewed once in five minutes, whoever reports how often") {
    reporting_world r;
    const std::string token = r.token(r.pod(0));
    for (int i = 1; i <= 50; ++i) {
        r.say(r.report(token, i));
        r.w.run_for(seconds{5});
    }
    CHECK(r.reviews() == 1);
    CHECK(r.desk.count(fate::taken) == 50);
    r.w.run_for(seconds{60});
    r.say(r.report(token, 51));
    CHECK(r.reviews() == 2);
    CHECK(r.desk.count(fate::taken) == 51);
}

TEST_CASE(
    "[behaviour 13.7] a job that reports each second is written each 15 s, first and last at once"
) {
    reporting_world r;
    const std::string token = r.token(r.pod(0));
    r.say(r.report(token, 1));
    r.w.run_for(seconds{1});
    REQUIRE(r.step() == 1);
    const auto before = r.w.operator_().counters().status_writes;
    for (int i = 2; i <= 55; ++i) {
        r.say(r.report(token, i));
        r.w.run_for(seconds{1});
    }
    const auto during = r.w.operator_().counters().status_writes - before;
    CHECK(during >= 3);
    CHECK(during <= 5);
    r.say(r.report(token, 100));
    r.w.run_for(seconds{1});
    CHECK(r.step() == 100);
}

TEST_CASE("[behaviour 13.7] the last report of who says nothing more is shown, too") {
    reporting_world r;
    const std::string token = r.token(r.pod(0));
    r.say(r.report(token, 1));
    r.w.run_for(seconds{2});
    r.say(r.report(token, 2));
    r.w.run_for(seconds{2});
    CHECK(r.step() == 1);
    r.w.run_for(seconds{14});
    CHECK(r.step() == 2);
}

TEST_CASE("[behaviour 13.11] foreign senders get nowhere") {
    reporting_world r;
    const core::pod_record worker = r.pod(0);
    const std::string good = r.token(worker);
    const auto refused_as = [&](raw_report one, fate f) {
        const auto before = r.desk.count(f);
        r.say(std::move(one));
        CHECK(r.desk.count(f) == before + 1);
        CHECK(r.desk.count(fate::taken) == 0);
    };
    SECTION("a token for another audience is not even asked about") {
        refused_as(
            r.report(r.token(worker, "https://kubernetes.default.svc"), 1), fate::foreign_token
        );
        CHECK(r.reviews() == 0);
    }
    SECTION("nor is what is no token") {
        refused_as(r.report("Zm9v", 1), fate::foreign_token);
        CHECK(r.reviews() == 0);
    }
    SECTION("a forged one is not taken twice to the API server") {
        std::string forged = good;
        forged.back() = forged.back() == 'A' ? 'B' : 'A';
        forged[forged.size() - 2] = forged[forged.size() - 2] == 'A' ? 'B' : 'A';
        refused_as(r.report(forged, 1), fate::foreign_token);
        refused_as(r.report(forged, 1), fate::foreign_token);
        CHECK(r.reviews() == 1);
        r.w.run_for(seconds{61});
        refused_as(r.report(forged, 1), fate::foreign_token);
        CHECK(r.reviews() == 2);
    }
    SECTION("another namespace than the token's") {
        raw_report one = r.report(good, 1);
        one.ns = "other";
        refused_as(std::move(one), fate::foreign_token);
        CHECK(r.reviews() == 0);
    }
    SECTION("another job") {
        for (auto change : {&raw_report::job_name, &raw_report::plural}) {
            raw_report one = r.report(good, 1);
            one.*change = "other";
            refused_as(std::move(one), fate::other_job);
        }
        CHECK(r.reviews() == 0);
    }
    SECTION("what is no report") {
        raw_report one = r.report(good, 1);
        one.body = "{}";
        refused_as(std::move(one), fate::malformed);
    }
    SECTION("a pod that has gone, though its token was good") {
        r.say(r.report(good, 1));
        REQUIRE(r.desk.count(fate::taken) == 1);
        r.w.remove(k8sio::resources::pods(), worker.name, 0);
        r.w.run_for(seconds{2});
        r.say(r.report(good, 2));
        CHECK(r.desk.count(fate::taken) == 1);
        CHECK(r.desk.count(fate::no_pod) == 1);
    }
}

TEST_CASE("[behaviour 13.11] [behaviour 13.10] a pod of a job that does not ask cannot report") {
    reporting_world r({}, R"("backoffLimit":1)");
    r.say(r.report(r.token(r.pod(0)), 1));
    CHECK(r.desk.count(fate::not_asked) == 1);
    CHECK(r.reviews() == 0);
    CHECK_FALSE(r.w.status("mnist").progress);
}

TEST_CASE("[behaviour 13.11] a report of an older attempt is nothing") {
    reporting_world r;
    const core::pod_record old = r.pod(1);
    const std::string token = r.token(old);
    r.say(r.report(token, 5));
    r.w.run_for(seconds{1});
    REQUIRE(r.step() == 5);
    r.w.remove(k8sio::resources::pods(), r.pod(0).name, 0);
    REQUIRE(r.w.run_until([&] { return r.w.status("mnist").attempt == 2; }, seconds{60}));
    r.say(r.report(token, 6));
    CHECK(r.desk.count(fate::taken) == 1);
    CHECK(r.desk.count(fate::old_attempt) + r.desk.count(fate::no_pod) == 1);
}

TEST_CASE("[behaviour 13.11] [behaviour 13.1] of an attempt that is over a checkpoint is heard") {
    world_options slow = receiving();
    slow.script.defaults.push_back({"stop-after", "20s"});
    reporting_world r({}, R"("progress":{})", std::move(slow));
    const std::string token = r.token(r.pod(1));
    r.say(r.report(token, 5));
    r.w.run_for(seconds{100});
    r.w.remove(k8sio::resources::pods(), r.pod(0).name, 30);
    REQUIRE(r.w.run_until([&] { return r.w.status("mnist").attempt == 2; }, seconds{10}));
    CHECK(r.w.status("mnist").time.lost >= 100);
    r.say(r.report(token, 6));
    CHECK(r.desk.count(fate::old_attempt) == 1);
    const auto say_checkpoint = [&] {
        raw_report one = r.report(token, 7);
        one.body = R"({"trainerStatus":{"metrics":[{"name":"current_step","value":"7"},)"
                   R"({"name":"checkpoint_step","value":"7"}]}})";
        r.say(std::move(one));
    };
    say_checkpoint();
    CHECK(r.desk.count(fate::taken) == 2);
    REQUIRE(r.w.run_until([&] { return r.w.status("mnist").time.lost == 0; }, seconds{16}));
    const core::job_status saved = r.w.status("mnist");
    CHECK(saved.time.running >= 100);
    REQUIRE(saved.progress);
    CHECK(saved.progress->checkpoint_step == 7);
    CHECK(saved.progress->current_step == 5);
    say_checkpoint();  // there is nothing more to be saved
    CHECK(r.desk.count(fate::old_attempt) == 2);
    REQUIRE(r.w.run_until([&] { return r.w.is_phase("mnist", "Running"); }, seconds{60}));
    CHECK(r.w.status("mnist").time.lost == 0);
    CHECK(r.w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 13.11] [behaviour 12.13] a job of which nothing is kept is heard") {
    world_options small = receiving();
    small.controller.kept_bytes = 0;
    small.controller.kept_bytes_of_pod = 0;
    reporting_world r({}, R"("progress":{})", std::move(small));
    const std::string token = r.token(r.pod(0));
    r.say(r.report(token, 7));
    CHECK(r.desk.count(fate::taken) == 1);
    REQUIRE(r.w.run_until([&] { return r.step() == 7; }, seconds{1}));
}

TEST_CASE("[behaviour 13.11] what waits for a server that gives no answer has a bound") {
    desk_limits limits;
    limits.waiting = 16;
    limits.waiting_of_pod = 4;
    reporting_world r(limits);
    const std::string good = r.token(r.pod(0));
    bool away = true;
    r.w.server().set_fault_hook([&](std::string_view, std::string_view target) {
        k8sio::server::fault out;
        if (away && target.find("tokenreviews") != target.npos) {
            out.status = 503;
            out.reason = "ServiceUnavailable";
        }
        return out;
    });
    // Whoever knows a pod can claim to be it; he holds up that pod at most.
    const std::size_t dot = good.rfind('.');
    std::vector<raw_report> flood;
    for (int i = 0; i < 2000; ++i) {
        flood.push_back(r.report(good.substr(0, dot + 1) + "forged" + std::to_string(i), 1));
    }
    r.desk.look_at(std::move(flood));
    CHECK(r.desk.waiting() <= limits.waiting_of_pod);
    CHECK(r.desk.count(fate::queue_full) == 2000 - limits.waiting_of_pod);
    const std::string other = r.token(r.pod(1));
    away = false;
    r.say(r.report(other, 3));
    CHECK(r.desk.count(fate::taken) == 1);
    r.w.run_for(seconds{60});
    CHECK(r.desk.waiting() == 0);
    r.say(r.report(good, 4));
    CHECK(r.desk.count(fate::taken) == 2);
    r.w.server().set_fault_hook({});
}

TEST_CASE("[behaviour 13.11] the bytes that wait for a review have a bound") {
    desk_limits limits;
    limits.waiting_bytes = 64 * 1024;  // one large report and a small one
    reporting_world r(limits);
    const std::string much = R"(,"more":")" + std::string(60000, 'x') + '"';
    const raw_report small = r.report(r.token(r.pod(0)), 1);
    const raw_report large = r.report(small.token, 2, much);
    const std::string other = r.token(r.pod(1));
    REQUIRE(large.bytes() + small.bytes() < limits.waiting_bytes);
    REQUIRE(2 * large.bytes() > limits.waiting_bytes);
    const auto look_at = [&](raw_report one) {
        std::vector<raw_report> round;
        round.push_back(std::move(one));
        r.desk.look_at(std::move(round));
    };
    look_at(small);
    look_at(large);
    CHECK(r.desk.count(fate::too_often) == 1);
    look_at(r.report(other, 3, much));
    CHECK(r.desk.count(fate::queue_full) == 1);
    look_at(r.report(other, 3));
    CHECK(r.desk.waiting() == 2);
    look_at(r.report(other, 4, much));  // what waits stays as it is
    CHECK(r.desk.count(fate::queue_full) == 2);
    r.w.settle();
    CHECK(r.desk.count(fate::taken) == 2);
    REQUIRE(r.w.run_until([&] { return r.step() >= 2; }, seconds{16}));
    r.w.run_for(seconds{1});  // another token, and what was looked at takes no room
    look_at(r.report(r.token(r.pod(1)), 5, much));
    CHECK(r.desk.count(fate::queue_full) == 2);
    r.w.settle();
}

TEST_CASE("[behaviour 13.11] an API server that hangs holds up no one whose token is known") {
    reporting_world r;
    cut_transport way(r.w.server().connect(), r.w.time());
    k8sio::client api(way, r.w.time());
    report_desk desk(
        r.w.loop(),
        api,
        [&r](const op::report_sender& from, const core::progress_message* said) {
            return r.w.operator_().take_report(from, said);
        },
        nullptr
    );
    const auto say = [&](const std::string& token, int step) {
        std::vector<raw_report> all;
        all.push_back(r.report(token, step));
        desk.look_at(std::move(all));
        r.w.settle();
    };
    const std::string known = r.token(r.pod(0));
    const std::string fresh = r.token(r.pod(1));
    say(known, 1);
    REQUIRE(desk.count(fate::taken) == 1);
    way.cut = true;
    say(fresh, 1);
    for (int i = 2; i <= 50; ++i) {
        say(known, i);
    }
    CHECK(desk.count(fate::taken) == 50);
    CHECK(desk.waiting() == 1);
    r.w.run_for(seconds{120});
    CHECK(desk.waiting() == 0);
    CHECK(desk.count(fate::not_reviewed) == 1);
    way.cut = false;
    say(fresh, 2);
    CHECK(desk.count(fate::taken) == 51);
    desk.stop();
    r.w.settle();
}

TEST_CASE("[behaviour 13.11] what is remembered of tokens has a bound") {
    desk_limits limits;
    limits.remembered = 8;
    reporting_world r(limits);
    const core::pod_record worker = r.pod(0);
    for (int i = 0; i < 100; ++i) {
        r.w.run_for(seconds{1});  // another token each second
        r.say(r.report(r.token(worker), i));
        REQUIRE(r.desk.remembered() <= limits.remembered);
    }
    CHECK(r.desk.count(fate::taken) == 100);
}

TEST_CASE("[behaviour 13.11] of one pod one report counts in a round, whatever tokens it has") {
    reporting_world r;
    const core::pod_record worker = r.pod(0);
    std::vector<std::string> tokens;
    for (int i = 0; i < 3; ++i) {
        tokens.push_back(r.token(worker));
        r.w.run_for(seconds{1});
        r.say(r.report(tokens.back(), 1));
    }
    std::vector<raw_report> at_once;
    for (const std::string& token : tokens) {
        at_once.push_back(r.report(token, 2));
    }
    r.desk.look_at(std::move(at_once));
    CHECK(r.desk.count(fate::taken) == 4);
    CHECK(r.desk.count(fate::too_often) == 2);
}

TEST_CASE(
    "[behaviour 13.7] [behaviour 13.8] a new leader has progress, and lays no silence to the job"
) {
    reporting_world r({}, R"("progress":{"stallAfterSeconds":60})");
    const std::string token = r.token(r.pod(0));
    r.say(r.report(token, 7));
    r.w.run_for(seconds{50});
    REQUIRE(r.step() == 7);
    r.w.kill_operator();
    r.w.run_for(seconds{600});
    r.w.start_operator();
    r.w.run_for(seconds{50});
    CHECK(r.step() == 7);
    CHECK(r.w.event_count("mnist", "Stalled") == 0);
    r.say(r.report(token, 8));
    r.w.run_for(seconds{1});
    CHECK(r.step() == 8);
    r.w.run_for(seconds{70});
    CHECK(r.w.event_count("mnist", "Stalled") == 1);
}

TEST_CASE("[behaviour 13.11] a desk that is closed lets go of what waits") {
    reporting_world r;
    const std::string token = r.token(r.pod(0));
    std::vector<raw_report> all;
    all.push_back(r.report(token, 1));
    r.desk.look_at(std::move(all));
    r.desk.stop();
    r.w.run_for(seconds{1});
    CHECK(r.desk.count(fate::taken) == 0);
    CHECK(r.desk.waiting() == 0);
}
