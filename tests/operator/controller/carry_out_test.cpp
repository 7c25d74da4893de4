// SPDX-License-Identifier: Apache-2.0
//
// The controller with a scripted decision in place of libjobcore's: what it does with the actions
// it is given.
#include "controller/resource_table.hpp"
#include "controller/scripted.hpp"
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace resources = k8sio::resources;

core::decision pods_once(const scripted& s, const core::job_object& job, int count) {
    core::decision d;
    if (s.looks.back().pods == 0) {
        core::stage stage;
        for (int i = 0; i < count; ++i) {
            stage.push_back(create_pod(job, i));
        }
        d.stages.push_back(std::move(stage));
    }
    return d;
}

}  // namespace

TEST_CASE("[behaviour 12.4] a stage starts when every action of the one before was acknowledged") {
    scripted s;
    bool broken = true;
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        const bool service = method == "POST" && target.find("/services") != target.npos;
        return broken && service ? answer(500, "InternalError") : k8sio::server::fault();
    });
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (s.looks.back().pods == 0) {
            d.stages = {{create_object(job, 0)}, {create_pod(job, 0)}};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(milliseconds{500});
    CHECK(s.writes("POST pods").empty());
    CHECK(s.writes("POST services").size() > 2);  // tried again, ever more slowly
    CHECK(s.writes("POST services").size() < 10);
    CHECK(s.looks.back().refusals.empty());
    broken = false;
    s.w->run_for(seconds{5});
    CHECK(s.writes("POST pods").size() == 1);
}

TEST_CASE("[behaviour 2.2] a stage is carried out concurrently, but no wider than the bound") {
    scripted s(100);
    s.decide = [&](const core::job_object& job, core::instant) { return pods_once(s, job, 100); };
    s.nudge();
    s.w->run_for(milliseconds{10});
    CHECK(s.w->pods().size() == 100);
    CHECK(s.w->operator_transport().most_in_flight() > 8);
    CHECK(s.w->operator_transport().most_in_flight() <= 32);
}

TEST_CASE("[behaviour 12.1] no decision before the view shows what we wrote") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return pods_once(s, job, 4); };
    s.w->operator_transport().hold_streams("/pods?");
    s.nudge();
    s.w->run_for(seconds{1});
    REQUIRE(s.writes("POST pods").size() == 4);
    // The answers are in the view, but not all that happened up to them.
    s.nudge();
    s.w->run_for(seconds{30});
    CHECK(s.looks.size() == 1);
    CHECK(s.w->operator_().counters().stale_skips >= 1);
    s.w->operator_transport().release_streams();
    s.w->run_for(seconds{1});
    REQUIRE(s.looks.size() >= 2);
    CHECK(s.looks.back().pods == 4);
}

TEST_CASE("[behaviour 2.1] [behaviour 12.3] nothing is done on a status that could not be written"
) {
    scripted s;
    const int code = GENERATE(409, 422, 500);
    CAPTURE(code);
    bool broken = true;
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view) {
        return broken && method == "PUT" ? answer(code, "Conflict") : k8sio::server::fault();
    });
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d = pods_once(s, job, 2);
        if (job.status.phase == core::job_phase::none) {
            d.status = job.status;
            d.status->phase = core::job_phase::pending;
            d.events.push_back({false, "Told", "once"});
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{20});
    CHECK(s.writes("POST").empty());
    CHECK(s.writes("PUT status").size() > 3);
    CHECK(s.writes("PUT status").size() < 40);
    broken = false;
    s.w->run_for(seconds{60});
    CHECK(s.writes("POST pods").size() == 2);
    CHECK(s.w->event_count("job", "Told") == 1);
}

TEST_CASE(
    "[behaviour 12.3] a status write whose answer is lost is looked up, and its events are told"
) {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (job.status.phase == core::job_phase::none) {
            d.status = job.status;
            d.status->phase = core::job_phase::pending;
            d.events.push_back({false, "Told", "once"});
        }
        return d;
    };
    s.w->operator_transport().lose(1, loss::answer, false);
    s.nudge();
    s.w->run_for(seconds{20});
    CHECK(s.writes("PUT status").size() == 1);
    CHECK(s.w->event_count("job", "Told") == 1);
}

TEST_CASE("[behaviour 12.4] a held action waits for its time, and so do the stages after it") {
    scripted s;
    core::instant due{};
    s.decide = [&](const core::job_object& job, core::instant now) {
        if (due == core::instant{}) {
            due = now + seconds{30};
        }
        core::decision d;
        if (s.looks.back().pods < 2) {
            core::action held = create_object(job, 0);
            held.not_before = due;
            d.stages = {{held}, {create_pod(job, 0)}};
            if (s.looks.back().pods == 0) {
                d.stages.front().push_back(create_pod(job, 1));
            }
            d.wake_up = due;
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{29});
    CHECK(s.writes("POST").size() == 1);  // pod 1, of the held one's stage
    s.nudge();
    s.w->run_for(milliseconds{500});
    CHECK(s.writes("POST").size() == 1);
    s.w->run_for(seconds{2});
    CHECK(s.writes("POST services").size() == 1);
    CHECK(s.writes("POST pods").size() == 2);
}

TEST_CASE(
    "[behaviour 2.8] [behaviour 12.5] refusals are handed to decisions until they no longer ask"
) {
    scripted s;
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        const bool pod = method == "POST" && target.find("/pods") != target.npos;
        return pod ? answer(422, "Invalid", "spec.x: bad") : k8sio::server::fault();
    });
    int asked = 0;
    s.decide = [&](const core::job_object& job, core::instant) {
        return ++asked <= 2 ? pods_once(s, job, 4) : core::decision();
    };
    s.nudge();
    s.w->run_for(seconds{5});
    REQUIRE(s.looks.size() >= 3);
    CHECK(s.writes("POST pods").size() == 2);  // one of each stage: the refusal stopped the rest
    REQUIRE(s.looks[1].refusals.size() == 1);
    CHECK(s.looks[1].refusals[0].http_code == 422);
    CHECK(s.looks[1].refusals[0].count == 1);
    REQUIRE(s.looks[2].refusals.size() == 1);
    CHECK(s.looks[2].refusals[0].count == 2);
    s.nudge();
    s.w->run_for(seconds{1});
    CHECK(s.looks.back().refusals.empty());
}

TEST_CASE(
    "[requirement X1] [requirement E4] AlreadyExists of the very object is success, and its labels "
    "are restored"
) {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return pods_once(s, job, 1); };
    s.nudge();
    s.w->run_for(milliseconds{100});
    REQUIRE(s.w->pods().size() == 1);
    const std::string name = s.w->pods().front().name;
    const std::string uid = s.w->pods().front().uid;
    // The watch does not show it any more.
    REQUIRE(s.w->patch(
                   resources::pods(),
                   name,
                   R"({"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}})"
    )
                .has_value());
    s.w->run_for(seconds{1});
    const auto pods = s.w->pods();
    REQUIRE(pods.size() == 1);
    CHECK(pods.front().uid == uid);
    CHECK(pods.front().labels_complete);
    CHECK(s.looks.back().pods == 1);
    CHECK(s.looks.back().refusals.empty());
}

TEST_CASE(
    "[behaviour 2.7] AlreadyExists of an older attempt or round is no success, and comes into view"
) {
    const bool by_round = GENERATE(true, false);
    CAPTURE(by_round);
    scripted s;
    int attempt = 1;
    bool later_stage = false;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        core::action next = create_object(job, 1);
        if (s.looks.size() < 6) {
            d.stages = {{create_pod(job, 0, by_round ? 1 : attempt)}};
            if (by_round) {
                std::get<core::create_pod>(d.stages[0][0].request).pod.round = attempt - 1;
            }
        }
        if (attempt == 2) {
            d.stages.push_back({next});
            later_stage = true;
        }
        return d;
    };
    s.nudge();
    s.w->run_for(milliseconds{100});
    attempt = 2;
    s.looks.clear();
    s.nudge();
    s.w->run_for(milliseconds{50});
    CHECK(later_stage);
    REQUIRE(s.w->pods().size() == 1);
    CHECK(s.w->pods().front().attempt == 1);
    CHECK(s.looks.back().pods == 1);
    CHECK(s.looks.back().refusals.empty());
    const auto patches = s.writes("PATCH");
    CHECK(patches.empty());                    // attempt and round are never patched
    CHECK(s.writes("POST services").empty());  // the next stage has not started
}

TEST_CASE(
    "[requirement X8] [behaviour I5] nothing is deleted or patched that has the name but not the "
    "UID"
) {
    scripted s;
    s.w->create(
        resources::services(),
        R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"theirs"},)"
        R"("spec":{"ports":[{"port":80}]}})"
    );
    int asked = 0;
    s.decide = [&](const core::job_object&, core::instant) {
        core::action gone;
        gone.kind = core::object_kind::service;
        gone.name = "theirs";
        const std::string uid = "11111111-2222-4333-8444-555555555555";
        gone.request = core::delete_object{uid};
        core::action changed = gone;
        changed.request =
            core::patch_object{uid, R"({"metadata":{"labels":{"a":"b"}}})", std::nullopt};
        core::decision d;
        if (++asked == 1) {
            d.stages = {{gone}, {changed}};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{1});
    CHECK(s.writes("DELETE").size() == 1);
    CHECK(s.writes("PATCH").size() == 1);
    const auto left = s.w->get(resources::services(), "theirs");
    REQUIRE(left.has_value());
    CHECK(left->find(R"("a":"b")") == std::string::npos);
    CHECK(s.w->operator_().counters().refusals == 0);
}

TEST_CASE(
    "[behaviour 5.3] [requirement E5] an absence that a live read confirmed is kept as long as it "
    "is asked for"
) {
    scripted s;
    bool ask_more = true;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        core::stage stage;
        for (int i = 0; i < 2 && ask_more; ++i) {
            core::action a = create_pod(job, i);
            a.request = core::confirm_absence{};
            if (s.looks.back().absences <= static_cast<std::size_t>(i)) {
                stage.push_back(a);
            }
        }
        if (!stage.empty()) {
            d.stages = {stage};
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{1});
    const auto seen =
        std::max_element(s.looks.begin(), s.looks.end(), [](const auto& a, const auto& b) {
            return a.absences < b.absences;
        });
    REQUIRE(seen != s.looks.end());
    CHECK(seen->absences == 2);
    CHECK(s.w->operator_().counters().confirms == 2);
    ask_more = false;
    s.nudge();
    s.w->run_for(seconds{1});
    s.nudge();
    s.w->run_for(seconds{1});
    CHECK(s.looks.back().absences == 0);
}

TEST_CASE(
    "[behaviour 4.16] [behaviour 12.10] deferrable differences are written as seldom as the "
    "decision "
    "says, others at once"
) {
    scripted s;
    core::milliseconds defer = seconds{1};
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        d.status = job.status;
        d.status->phase = core::job_phase::running;
        d.status->replicas = s.nudges;
        d.defer = defer;
        if (*d.status == job.status) {
            d.status.reset();
        }
        return d;
    };
    for (int i = 0; i < 40; ++i) {
        s.nudge();
        s.w->run_for(milliseconds{100});
    }
    s.w->run_for(seconds{2});
    CHECK(s.writes("PUT status").size() >= 4);
    CHECK(s.writes("PUT status").size() <= 6);
    CHECK(s.w->status("job").replicas == 40);  // the last word is written in the end

    std::size_t before = s.writes("PUT status").size();
    defer = seconds{30};
    for (int i = 0; i < 10; ++i) {
        s.nudge();
        s.w->run_for(seconds{1});
    }
    CHECK(s.writes("PUT status").size() == before);
    s.w->run_for(seconds{25});
    CHECK(s.writes("PUT status").size() == before + 1);
    CHECK(s.w->status("job").replicas == 50);

    before = s.writes("PUT status").size();
    defer = {};
    for (int i = 0; i < 10; ++i) {
        s.nudge();
        s.w->run_for(milliseconds{10});
    }
    CHECK(s.writes("PUT status").size() == before + 10);
}

TEST_CASE("[requirement X7] a status that the server does not keep is not written forever") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        d.status = job.status;
        d.status->phase = core::job_phase::running;
        return d;  // as if it always differed
    };
    s.nudge();
    s.w->run_for(seconds{60});
    CHECK(s.writes("PUT status").size() > 8);  // tried again, ever more slowly
    CHECK(s.writes("PUT status").size() < 20);
}

TEST_CASE("[requirement X7] a server that keeps nothing of a status but raises its version gets few"
) {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    world w(options);
    int writes = 0;
    const auto drop = [&writes](k8sio::http_request& request) {
        if (request.method == "PUT" && request.target.find("/status") != std::string::npos) {
            const std::size_t status = request.body.find(R"("status":)");
            request.body.resize(status);
            request.body += R"("status":{"duration":")" + std::to_string(++writes) + "s\"}}";
        }
    };
    w.operator_transport().admit = drop;
    w.create_job(job_builder("mnist").replicas("worker", 3));
    w.run_for(seconds{60});
    CHECK(writes > 8);
    CHECK(writes < 20);
    // What a user changes is looked at at once, and the rest stays as seldom.
    for (int i = 0; i < 50; ++i) {
        w.patch_job(
            "mnist", R"({"metadata":{"annotations":{"n":")" + std::to_string(i) + R"("}}})"
        );
        w.run_for(milliseconds{100});
    }
    CHECK(writes < 22);
    w.operator_transport().admit = nullptr;
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{600}));
}

TEST_CASE("[behaviour I4] what is left of a stage is not started when the job changes meanwhile") {
    const std::string change = GENERATE(
        as<std::string>{},
        R"({"spec":{"runMode":{"pause":{"enabled":true}}}})",
        R"({"metadata":{"annotations":{"n":"x"}}})",
        "deletion"
    );
    const bool matters = change.find("annotations") == std::string::npos;
    CAPTURE(change);
    scripted s(64);
    s.decide = [&](const core::job_object& job, core::instant) {
        return job.meta.generation > 1 ? core::decision() : pods_once(s, job, 64);
    };
    std::size_t posts = 0;
    s.w->operator_transport().before = [&](const k8sio::http_request& request) {
        const bool pod =
            request.method == "POST" && request.target.find("/pods") != std::string::npos;
        if (pod && ++posts == 3 && change == "deletion") {
            s.w->remove_soon(op::type_of(core::job_kind::pytorch), "job");
        } else if (pod && posts == 3) {
            s.w->patch_soon(op::type_of(core::job_kind::pytorch), "job", change);
        }
    };
    s.nudge();
    s.w->run_for(seconds{5});
    CHECK((posts < 64) == matters);
}

TEST_CASE("[requirement Q2] [behaviour 12.9] a wake-up in the past does not spin") {
    scripted s;
    s.decide = [&](const core::job_object&, core::instant now) {
        core::decision d;
        d.wake_up = now - seconds{1};
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{60});
    CHECK(s.looks.size() > 8);  // it is acted on, ever more slowly
    CHECK(s.looks.size() < 25);
}

TEST_CASE("a repair that never takes hold is not repeated at full speed") {
    scripted s;
    const std::string made = s.w->create(
        resources::services(),
        R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"vain",)"
        R"("labels":{"app.kubernetes.io/managed-by":"signalbox"},)"
        R"("ownerReferences":[{"apiVersion":"batch.tensorstack.dev/v1beta1",)"
        R"("kind":"PyTorchTrainingJob","name":"job","controller":true,"uid":")" +
            s.uid + R"("}]},"spec":{"ports":[{"port":80}]}})"
    );
    s.decide = [&](const core::job_object&, core::instant) {
        core::action repair;
        repair.kind = core::object_kind::service;
        repair.name = "vain";
        repair.request = core::patch_object{
            k8sio::read_object_meta(made)->uid,
            R"({"metadata":{"labels":{"n":")" + std::to_string(s.looks.size()) + R"("}}})",
            std::nullopt};
        core::decision d;
        d.stages = {{repair}};
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{60});
    CHECK(s.writes("PATCH").size() > 8);
    CHECK(s.writes("PATCH").size() < 12);
}
