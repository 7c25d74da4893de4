// SPDX-License-Identifier: Apache-2.0
#include "monitoring/health.hpp"

#include "monitoring/probes.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace signalbox;
using namespace signalbox::test;

op::running_operator seen_of(world& w) {
    op::running_operator out;
    out.time = &w.time();
    out.work = &w.operator_();
    out.leads = [] { return true; };
    return out;
}

std::string problem(const std::vector<op::health_check>& checks, std::string_view name) {
    for (const op::health_check& check : checks) {
        if (check.name == name) {
            return check.problem;
        }
    }
    return "no such check";
}

}  // namespace

TEST_CASE(
    "[requirement H2] an operator that works lives and is ready, for hours without anything to do"
) {
    world w;
    op::health health(seen_of(w), [] { return k8sio::steady_time(); });
    w.settle();
    for (int hour = 0; hour < 3; ++hour) {
        health.look();
        for (const auto& checks : {health.liveness(), health.readiness()}) {
            for (const op::health_check& check : checks) {
                CAPTURE(hour, check.name);
                CHECK(check.problem == "");
            }
        }
        for (int minute = 0; minute < 60; ++minute) {
            w.run_for(seconds{60});
            health.look();
        }
    }
    health.stopping();
    CHECK(problem(health.readiness(), "running") == "it was told to stop");
    CHECK(problem(health.liveness(), "passes") == "");
}

TEST_CASE("[requirement H2] an operator whose watches do not move does not live") {
    world w;
    op::controller never_run(w.loop(), w.user(), core::policy());
    op::running_operator of = seen_of(w);
    of.work = &never_run;
    op::health health(of, [] { return k8sio::steady_time(); });
    health.look();
    CHECK(problem(health.liveness(), "views") == "");
    CHECK(problem(health.readiness(), "views-complete") == "not every view has had its first list");
    w.run_for(seconds{290});
    health.look();
    CHECK(problem(health.liveness(), "views") == "");
    w.run_for(seconds{20});
    health.look();
    CHECK(
        problem(health.liveness(), "views").find("the watch of pods has made no step for 310 s") !=
        std::string::npos
    );
}

TEST_CASE("[requirement H2] every view that fails is named") {
    world w;
    op::health health(seen_of(w), [] { return k8sio::steady_time(); });
    w.settle();
    w.server().set_fault_hook([](std::string_view method, std::string_view target) {
        k8sio::server::fault out;
        const bool of_view = target.find("/pods?") != std::string_view::npos ||
                             target.find("/services?") != std::string_view::npos;
        if (method == "GET" && of_view) {
            out.status = 403;
            out.reason = "Forbidden";
            out.message = "not now";
        }
        return out;
    });
    w.run_for(seconds{1200});
    health.look();
    const std::string said = problem(health.readiness(), "views");
    CAPTURE(said);
    CHECK(said.starts_with("pods: GET /api/v1/pods: 403 Forbidden: not now"));
    CHECK(said.find("; services: GET /api/v1/services: 403 Forbidden: not now") != said.npos);
    CHECK(problem(health.readiness(), "running") == "");
}

TEST_CASE("[requirement H2] an operator with a pass that does not move does not live") {
    world_options options;
    op::health* asked = nullptr;
    std::string said;
    options.controller.decide = [&](const auto& job, const auto& seen, const auto& rules, auto now
                                ) {
        asked->look();
        said = problem(asked->liveness(), "passes");
        return core::decide(job, seen, rules, now);
    };
    world w(std::move(options));
    k8sio::steady_time last_sign;
    op::health health(seen_of(w), [&] { return last_sign; });
    asked = &health;
    w.run_for(seconds{100});
    health.look();  // nothing to do until now
    w.run_for(seconds{200});
    w.create_job(job_builder("mnist").replicas("worker", 1));
    w.settle();
    CHECK(said == "");
    w.run_for(seconds{200});
    w.create_job(job_builder("other").replicas("worker", 1));
    w.settle();
    CHECK(said == "1 passes under way and 0 jobs waiting, and nothing has moved for 400 s");
    last_sign = w.time().steady_now();
    w.create_job(job_builder("third").replicas("worker", 1));
    w.settle();
    CHECK(said == "");
}

TEST_CASE("[requirement B9] what health said last stands while the loop gives signs of life") {
    world w;
    op::health health(seen_of(w), [&] { return w.time().steady_now(); });
    op::health_board board;
    const auto names = [&](bool ready) {
        std::vector<std::string> out;
        for (const op::health_check& check : board.checks(ready, seconds{60})) {
            CHECK(check.problem.empty());
            out.push_back(check.name);
        }
        return out;
    };
    w.run_for(seconds{10});
    health.look();
    board.show(health);
    CHECK(names(false) == std::vector<std::string>{"ping", "passes", "views", "loop"});
    CHECK(
        names(true) ==
        std::vector<std::string>{"ping", "running", "views-complete", "views", "loop"}
    );
    CHECK(problem(board.checks(false, seconds{61}), "loop") == "no sign of life for 61 s");
    CHECK(problem(board.checks(true, seconds{61}), "loop") == "no sign of life for 61 s");
    health.stopping();
    CHECK(problem(board.checks(true, seconds{0}), "running") == "");
    board.show(health);
    CHECK(problem(board.checks(true, seconds{0}), "running") == "it was told to stop");
}

TEST_CASE("[requirement H2] health is answered as kube-apiserver does") {
    const std::vector<op::health_check> good{{"ping", ""}, {"views", ""}};
    const std::vector<op::health_check> bad{{"ping", ""}, {"views", "pods: no"}};
    const auto answer = [](std::string_view only, std::string_view query, const auto& checks) {
        const op::health_answer out = op::answer_health("livez", only, query, checks);
        return std::to_string(out.status) + " " + out.text;
    };
    CHECK(answer("", "", good) == "200 ok");
    CHECK(answer("", "verbose", good) == "200 [+]ping ok\n[+]views ok\nlivez check passed\n");
    CHECK(answer("", "", bad) == "500 [+]ping ok\n[-]views failed: pods: no\nlivez check failed\n");
    CHECK(answer("ping", "", bad) == "200 ok");
    CHECK(answer("views", "", bad) == "500 [-]views failed: pods: no\nlivez check failed\n");
    CHECK(answer("other", "", good) == "404 there is no such check\n");
    CHECK(
        answer("", "exclude=views&verbose", bad) ==
        "200 [+]ping ok\n[+]views excluded: ok\nlivez check passed\n"
    );
}
