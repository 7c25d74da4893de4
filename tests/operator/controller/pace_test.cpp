// SPDX-License-Identifier: Apache-2.0
//
// When a job is looked at again: after trouble, at a wake-up, while somebody works against it, and
// with many other jobs.
#include "controller/resource_table.hpp"
#include "controller/scripted.hpp"
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>
#include <fmt/chrono.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace resources = k8sio::resources;

bool creates_pod(std::string_view method, std::string_view target) {
    return method == "POST" && target.find("/pods") != target.npos;
}

/// A job whose pod cannot be created while `broken`; its decision has a wake-up after `every`, if
/// that is set.
struct broken_job : scripted {
    explicit broken_job(std::chrono::milliseconds every = std::chrono::milliseconds(0)) {
        w->server().set_fault_hook([this](std::string_view method, std::string_view target) {
            return broken && creates_pod(method, target) ? answer(500, "InternalError")
                                                         : k8sio::server::fault();
        });
        decide = [this, every](const core::job_object& job, core::instant now) {
            core::decision d;
            if (looks.back().pods == 0 && wanted) {
                d.stages = {{create_pod(job)}};
            }
            if (every.count() > 0) {
                d.wake_up = now + every;
            }
            return d;
        };
    }
    bool broken = true;
    bool wanted = true;
};

constexpr const char* own_service = R"({"spec":{"publishNotReadyAddresses":false}})";

bool is_service_patch(const sent_write& write) {
    return write.method == "PATCH" && write.target.find("/services/") != write.target.npos;
}

}  // namespace

TEST_CASE("[requirement Q3] trouble makes a job's delay grow, a pass without trouble resets it") {
    broken_job s;
    s.nudge();
    s.w->run_for(seconds{20});
    const std::size_t grown = s.looks.size();
    CHECK(grown >= 11);  // 5 ms, doubled each time
    CHECK(grown <= 14);
    s.wanted = false;
    s.nudge();
    s.w->run_for(seconds{1});
    s.wanted = true;
    const std::size_t before = s.looks.size();
    s.nudge();
    s.w->run_for(milliseconds{200});
    CHECK(s.looks.size() - before >= 5);
}

TEST_CASE("[requirement Q3] a server in trouble is asked twice a minute, who refuses more seldom") {
    const int code = GENERATE(500, 403);
    broken_job s;
    s.w->server().set_fault_hook([code](std::string_view method, std::string_view target) {
        return creates_pod(method, target) ? answer(code, "") : k8sio::server::fault();
    });
    s.nudge();
    s.w->run_for(std::chrono::hours{1});
    const std::size_t before = s.looks.size();
    s.w->run_for(std::chrono::hours{1});
    const std::size_t an_hour = s.looks.size() - before;
    CHECK(an_hour >= (code == 500 ? 115 : 10));
    CHECK(an_hour <= (code == 500 ? 125 : 15));
}

TEST_CASE("[behaviour 12.9] a wake-up is kept though the pass that asked for it met trouble") {
    broken_job s(seconds{3});
    s.nudge();
    s.w->run_for(seconds{60});
    const std::size_t before = s.looks.size();
    s.w->run_for(seconds{60});
    CHECK(s.looks.size() - before >= 19);
    CHECK(s.looks.size() - before <= 21);
}

TEST_CASE("[behaviour 12.9] a wake-up is acted on at its time, once") {
    scripted s;
    core::instant due{};
    std::vector<core::instant> looked;
    s.decide = [&](const core::job_object&, core::instant now) {
        looked.push_back(now);
        core::decision d;
        if (looked.size() == 1) {
            due = now + seconds{7};
            d.wake_up = due;
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{60});
    REQUIRE(looked.size() == 2);
    CHECK(looked[1] >= due);
    CHECK(looked[1] <= due + milliseconds{1});
}

TEST_CASE("[behaviour 12.9] when the server's time jumps, wake-ups go with it") {
    scripted s;
    s.w->serve("podgroup");  // of what is served discovery answers, and so tells the time
    s.w->run_for(seconds{61});
    s.looks.clear();
    seconds ahead{0};
    s.w->operator_transport().on_answer = [&](k8sio::http_response& answer) {
        const auto now = story_start + std::chrono::floor<seconds>(s.w->elapsed()) + ahead;
        const std::time_t at = core::instant::clock::to_time_t(now);
        for (auto& [name, value] : answer.headers) {
            if (name == "Date") {
                value = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(at));
            }
        }
    };
    core::instant due{};
    s.decide = [&](const core::job_object&, core::instant now) {
        due = due == core::instant{} ? now + std::chrono::minutes{30} : due;
        core::decision d;
        if (now < due) {
            d.wake_up = due;
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{200});
    CHECK(s.looks.size() == 1);
    ahead = seconds{40};  // no jump
    s.w->run_for(seconds{200});
    CHECK(s.looks.size() == 1);
    ahead = seconds{3600};
    s.w->run_for(seconds{200});
    REQUIRE(s.looks.size() == 2);
    CHECK(s.looks.back().now >= due);
    // Back again: nothing is asked of a job that has nothing to wait for.
    ahead = seconds{0};
    s.w->run_for(seconds{400});
    CHECK(s.looks.size() == 2);
}

TEST_CASE("[behaviour 2.6] a Service that somebody keeps changing is repaired ever more slowly") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    world w(options);
    bool fighting = true;
    std::string name;
    w.create_job(job_builder("svc").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("svc", "Running"); }, seconds{10}));
    w.run_for(seconds{2});
    name = k8sio::read_object_meta(w.list(resources::services()).front())->name;
    const std::string other = k8sio::read_object_meta(w.list(resources::services()).back())->name;
    w.operator_transport().on_answer = [&](const k8sio::http_response& answer) {
        const bool repaired =
            answer.body.find(R"("kind":"Service")") != std::string::npos &&
            answer.body.find(R"("publishNotReadyAddresses":true)") != std::string::npos;
        if (fighting && repaired) {
            w.patch_soon(resources::services(), name, own_service);
        }
    };
    REQUIRE(w.patch(resources::services(), name, own_service).has_value());
    w.run_for(seconds{60});
    const auto& writes = w.operator_transport().writes();
    const auto repairs = std::count_if(writes.begin(), writes.end(), is_service_patch);
    CHECK(repairs >= 8);  // at once, then after 1, 2, 4, 8, 16 s
    CHECK(repairs <= 10);
    CHECK(w.is_phase("svc", "Running"));
    CHECK(w.operator_().counters().reconciles < 60);

    // When it is over, all is put right, and the job is as quick as before.
    fighting = false;
    w.run_for(std::chrono::minutes{1});
    CHECK(
        w.get(resources::services(), name)->find(R"("publishNotReadyAddresses":true)") !=
        std::string::npos
    );
    w.remove(resources::services(), other);
    w.run_for(milliseconds{100});
    CHECK(w.get(resources::services(), other).has_value());
}

TEST_CASE("[behaviour 2.6] a Service that somebody keeps deleting is made again ever more slowly") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    world w(options);
    w.create_job(job_builder("svc").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("svc", "Running"); }, seconds{10}));
    const std::string name = k8sio::read_object_meta(w.list(resources::services()).front())->name;
    const std::size_t before = w.operator_transport().writes().size();
    std::size_t deleted = 0;
    for (int i = 0; i < 600; ++i) {
        if (w.get(resources::services(), name).has_value()) {
            w.remove(resources::services(), name);
            ++deleted;
        }
        w.run_for(milliseconds{100});
    }
    CHECK(deleted >= 8);
    CHECK(deleted <= 11);
    CHECK(w.operator_transport().writes().size() - before <= deleted + 2);
}

TEST_CASE("a job that writes in every pass is slowed down, whatever its children do") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        core::action a = create_pod(job);
        for (const core::pod_record& pod : s.w->audit().held()) {
            a.request = core::patch_object{
                pod.uid,
                R"({"metadata":{"annotations":{"n":")" + std::to_string(s.looks.size()) + R"("}}})",
                std::nullopt};
        }
        d.stages = {{a}};
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{60});
    CHECK(s.writes("PATCH").size() > 16);
    CHECK(s.writes("PATCH").size() < 40);
}

TEST_CASE("what is seen of a job's children while a pass runs is looked at after it") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (s.looks.size() == 1) {
            d.stages = {{create_pod(job)}};
        }
        return d;
    };
    s.w->operator_transport().hold_answers("/pods?");
    s.nudge();
    s.w->run_for(seconds{2});
    REQUIRE(s.looks.size() == 1);
    REQUIRE(s.w->pods().size() == 1);  // and it runs, which the watch has told
    s.w->operator_transport().release_answers();
    s.w->run_for(seconds{1});
    REQUIRE(s.looks.size() >= 2);
    CHECK(s.looks.back().pods == 1);
}

TEST_CASE("[behaviour 12.1] jobs that wait for a view go on when it has caught up, however many") {
    const int jobs = GENERATE(3, 40);
    CAPTURE(jobs);
    // Pods of which nothing is heard but that they were made, which the answer told.
    world_options options;
    options.script.defaults = {{"schedule-after", "never"}};
    scripted s(job_builder("job").replicas("worker", 4).json(), options);
    std::vector<std::string> names;
    for (int i = 0; i < jobs; ++i) {
        names.push_back("many-" + std::to_string(i));
        s.w->create_job(job_builder(names.back()).replicas("worker", 1));
    }
    s.w->run_for(seconds{1});
    int round = 0;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        const int made = static_cast<int>(s.looks.back().pods);
        if (made < round && job.meta.name != "job") {
            d.stages = {{create_pod(job, made)}};
        }
        return d;
    };
    for (round = 1; round <= 2; ++round) {
        CAPTURE(round);
        s.w->operator_transport().hold_streams("/pods?");
        for (const std::string& name : names) {
            s.w->patch_job(
                name, R"({"metadata":{"annotations":{"n":")" + std::to_string(round) + R"("}}})"
            );
        }
        s.w->run_for(seconds{1});
        REQUIRE(s.writes("POST pods").size() == names.size() * static_cast<std::size_t>(round));
        CHECK(s.w->operator_().counters().stale_skips >= names.size());
        s.looks.clear();
        s.w->operator_transport().release_streams();
        s.w->run_for(milliseconds{200});
        for (const std::string& name : names) {
            CAPTURE(name);
            CHECK(s.looks_at(name) >= 1);
        }
    }
    CHECK(s.w->operator_().queue_depth() == 0);
    CHECK(s.w->operator_().active_passes() == 0);
}

TEST_CASE("[requirement Q5] jobs of the first list come after a job that changes") {
    world_options options;
    options.controller.max_passes = 1;
    scripted s(job_builder("job").json(), options);
    s.w->serve("podgroup");
    for (int i = 0; i < 5; ++i) {
        s.w->create_job(job_builder("old-" + std::to_string(i)).replicas("worker", 1));
    }
    s.w->run_for(seconds{1});
    s.w->kill_operator();
    s.looks.clear();
    // The first decisions wait for the list of a kind that is served, but not forever.
    s.w->server().set_fault_hook([](std::string_view method, std::string_view target) {
        return method == "GET" && target.find("/podgroups") != target.npos ? answer(500)
                                                                           : k8sio::server::fault();
    });
    s.w->start_operator();
    s.w->run_for(seconds{1});
    CHECK(s.looks.empty());
    s.w->patch_job("old-4", R"({"metadata":{"labels":{"n":"1"}}})");
    s.w->run_for(seconds{5});
    REQUIRE(s.looks.size() >= 6);
    CHECK(s.looks.front().job == "old-4");
}

TEST_CASE("[behaviour 2.2] [requirement R3] an answer that any request would get stops the stage") {
    const int code = GENERATE(401, 500, 504);
    CAPTURE(code);
    scripted s(8);
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        return creates_pod(method, target) ? answer(code) : k8sio::server::fault();
    });
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        d.stages.emplace_back();
        for (int i = 0; i < 8; ++i) {
            d.stages.back().push_back(create_pod(job, i));
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{2});
    CHECK(s.looks.size() >= 5);
    CHECK(s.writes("POST pods").size() == s.looks.size());
    CHECK(s.looks.back().refusals.empty());  // it says nothing about these pods
    CHECK(s.w->operator_().counters().errors == s.looks.size());
}

TEST_CASE("[behaviour 12.4] what only one object meets does not stop the others of its stage") {
    constexpr int count = 40;  // more than are sent at once
    scripted s(count);
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        d.stages.emplace_back();
        for (int i = 0; i < count && s.looks.back().pods == 0; ++i) {
            d.stages.back().push_back(create_pod(job, i));
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{1});
    const auto pods = s.w->pods();
    REQUIRE(pods.size() == count);
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        const bool first = target.find("/pods/" + pods.front().name) != target.npos;
        return method == "DELETE" && first ? answer(403, "Forbidden") : k8sio::server::fault();
    });
    const std::size_t before = s.looks.size();
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (s.looks.size() != before + 1) {
            return d;
        }
        d.stages = {{}, {create_pod(job, 0)}};
        for (const core::pod_record& pod : pods) {
            core::action a;
            a.name = pod.name;
            a.request = core::delete_object{pod.uid};
            d.stages.front().push_back(a);
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{1});
    CHECK(s.writes("DELETE").size() == count);
    CHECK(s.w->pods().size() == 1);
    CHECK(s.writes("POST pods").size() == count);  // the next stage did not start
    CHECK(s.looks.back().refusals.empty());        // of what could not be made only
}
