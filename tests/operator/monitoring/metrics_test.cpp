// SPDX-License-Identifier: Apache-2.0
//
// What the metrics of an operator say after jobs that went well and badly, in virtual time.
#include "monitoring/metrics.hpp"

#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>

namespace {

using namespace signalbox;
using namespace signalbox::test;

/// An operator whose metrics are kept.
class measured {
public:
    explicit measured(world_options options) : w(hooked(std::move(options))) {
        counted.use(w.time());
    }

    world_options hooked(world_options options) {
        options.controller.observer = &counted;
        options.controller.status_written =
            [this](
                const core::job_object& before, const core::job_status& after, core::instant now
            ) { counted.status_written(before, after, now); };
        options.controller.leads = [this] { return leads; };
        return options;
    }
    std::string text() {
        op::running_operator of;
        of.time = &w.time();
        of.work = &w.operator_();
        of.leads = [this] { return leads; };
        of.lease = "signalbox";
        return counted.text(of);
    }
    /// The bounds of a histogram's buckets, whose lines begin so.
    std::string bounds(const std::string& series) {
        const std::string all = text(), head = "\n" + series, bound = "le=\"";
        std::string out;
        for (std::size_t at = all.find(head); at != all.npos; at = all.find(head, at + 1)) {
            const std::size_t begin = all.find(bound, at) + bound.size();
            out += all.substr(begin, all.find('"', begin) - begin) + " ";
        }
        return out;
    }
    /// The value of a line that begins so; -1 if there is none.
    double value(const std::string& name) {
        const std::string all = "\n" + text();
        const std::size_t at = all.find("\n" + name + " ");
        return at == std::string::npos ? -1 : std::atof(all.c_str() + at + name.size() + 2);
    }

    bool leads = true;
    op::metrics counted{"127.0.0.1:6443", "1.2.3"};
    world w;
};

/// Workers run for 5 s; the first pod of worker 1 fails after one.
world_options with_one_failure() {
    world_options options;
    options.script.defaults = {{"duration", "5s"}, {"start-after", "5s"}};
    op::pods::rule rule = pods_of_type("worker", {{"fail-at", "1s"}, {"exit-code", "1"}});
    rule.index = core::index_set::parse("1");
    rule.nth = core::index_set::parse("1");
    options.script.rules.push_back(std::move(rule));
    return options;
}

}  // namespace

TEST_CASE("[requirement H3] metrics count a restart, its cause and the time that it cost") {
    measured m(with_one_failure());
    m.w.create_job(job_builder("mnist").replicas("worker", 2));
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Running"); }, seconds{60}));
    CHECK(m.value(R"(signalbox_jobs{kind="PyTorchTrainingJob",phase="Running"})") == 1);
    CHECK(m.value("signalbox_pods") == 2);
    CHECK(m.value("signalbox_jobs_without_room") == 0);
    const auto first_run = m.w.elapsed();
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Pending"); }, seconds{60}));
    const auto left = m.w.elapsed();
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Running"); }, seconds{60}));
    const double lost = std::chrono::duration<double>(m.w.elapsed() - left).count();
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Succeeded"); }, seconds{60}));

    const std::string job = R"({kind="PyTorchTrainingJob"})";
    CHECK(m.value(R"(signalbox_jobs{kind="PyTorchTrainingJob",phase="Running"})") == 0);
    CHECK(m.value(R"(signalbox_jobs{kind="PyTorchTrainingJob",phase="Succeeded"})") == 1);
    CHECK(m.value(R"(signalbox_jobs{kind="DeepSpeedJob",phase="Succeeded"})") == 0);
    const std::string restarts =
        R"(signalbox_job_restarts_total{kind="PyTorchTrainingJob",reason=)";
    CHECK(m.value(restarts + R"("PodFailed"})") == 1);
    CHECK(m.value(restarts + R"("PodDisrupted"})") == 0);
    // Once, though it came to Running twice.
    CHECK(m.value("signalbox_job_time_to_running_seconds_count" + job) == 1);
    // Times of the status are whole seconds.
    CHECK(
        m.value("signalbox_job_time_to_running_seconds_sum" + job) <=
        std::chrono::duration<double>(first_run).count() + 1
    );
    CHECK(
        m.value("signalbox_job_time_lost_to_restarts_seconds_total" + job) ==
        Approx(lost).margin(1.1)
    );
    CHECK(lost > 1.1);

    const double passes = m.value(R"(workqueue_queue_duration_seconds_count{name="signalbox"})");
    CHECK(passes == static_cast<double>(m.w.operator_().counters().reconciles));
    CHECK(m.value(R"(workqueue_adds_total{name="signalbox"})") >= passes);
    CHECK(m.value(R"(workqueue_depth{name="signalbox"})") == 0);
    CHECK(
        m.value(R"(controller_runtime_reconcile_time_seconds_count{controller="signalbox"})") ==
        passes
    );
    double results = 0;
    for (const char* result : {"success", "error", "requeue", "requeue_after"}) {
        results += m.value(
            std::string(R"(controller_runtime_reconcile_total{controller="signalbox",result=")") +
            result + R"("})"
        );
    }
    CHECK(results == passes);
    CHECK(m.value("signalbox_request_limit") == 4);  // three, and a quarter after as many answers
    CHECK(m.value(R"(signalbox_actions_total{verb="create"})") >= 4);
    CHECK(m.value(R"(leader_election_master_status{name="signalbox"})") == 1);
    CHECK(m.value(R"(signalbox_view_synced{resource="pods"})") == 1);
    CHECK(m.value(R"(signalbox_view_age_seconds{resource="pods"})") >= 0);
}

// The dashboard's and others' stored queries name these bounds: another one ends their series.
TEST_CASE(
    "requests and passes are counted from a millisecond to a minute, jobs from a second to hours"
) {
    measured m(with_one_failure());
    CHECK(
        m.bounds("workqueue_queue_duration_seconds_bucket{") ==
        "0.001 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60 +Inf "
    );
    CHECK(
        m.bounds(R"(signalbox_job_time_to_running_seconds_bucket{kind="PyTorchTrainingJob")") ==
        "1 2 5 10 20 30 60 120 300 600 1800 3600 7200 21600 +Inf "
    );
}

TEST_CASE("[requirement H3] a replica that follows has no queue") {
    measured m({});
    m.leads = false;
    m.w.run_for(seconds{10});
    m.w.create_job(job_builder("mnist").replicas("worker", 1));
    m.w.run_for(seconds{600});
    CHECK(m.w.operator_().queue_depth() == 1);
    CHECK(m.value(R"(workqueue_depth{name="signalbox"})") == 0);
    CHECK(m.value(R"(leader_election_master_status{name="signalbox"})") == 0);
    m.leads = true;
    m.w.operator_().take_over();
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Running"); }, seconds{60}));
    CHECK(m.value(R"(workqueue_queue_duration_seconds_sum{name="signalbox"})") < 60);
}

TEST_CASE("no view is older than the process") {
    measured m({});
    m.w.run_for(seconds{30});
    const std::string age = R"(signalbox_view_age_seconds{resource="pods"})";
    CHECK(m.value(age) > 20);
    m.counted.use(m.w.time());
    CHECK(m.value(age) == 0);
}

TEST_CASE("a run within the second of the first status is lost time, too") {
    world_options options;
    options.script.defaults = {{"duration", "5s"}, {"start-after", "3s"}};
    op::pods::rule rule = pods_of_type(
        "worker", {{"start-after", "100ms"}, {"fail-at", "200ms"}, {"exit-code", "1"}}
    );
    rule.nth = core::index_set::parse("1");
    options.script.rules.push_back(std::move(rule));
    measured m(std::move(options));
    m.w.create_job(job_builder("mnist").replicas("worker", 1));
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Running"); }, seconds{1}));
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Pending"); }, seconds{1}));
    const auto left = m.w.elapsed();
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Running"); }, seconds{60}));
    const double lost = std::chrono::duration<double>(m.w.elapsed() - left).count();
    const std::string job = R"({kind="PyTorchTrainingJob"})";
    CHECK(
        m.value("signalbox_job_time_lost_to_restarts_seconds_total" + job) ==
        Approx(lost).margin(1.1)
    );
    CHECK(lost > 1.1);
}

TEST_CASE("a pause is no lost time") {
    world_options options;
    options.script.defaults = {{"duration", "5s"}, {"start-after", "5s"}};
    measured m(std::move(options));
    m.w.create_job(job_builder("mnist").replicas("worker", 1));
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Running"); }, seconds{60}));
    m.w.patch_job("mnist", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Paused"); }, seconds{60}));
    m.w.run_for(seconds{60});
    m.w.patch_job("mnist", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("mnist", "Running"); }, seconds{60}));
    const std::string job = R"({kind="PyTorchTrainingJob"})";
    CHECK(m.value("signalbox_job_time_lost_to_restarts_seconds_total" + job) == 0);
    CHECK(m.value("signalbox_job_time_to_running_seconds_count" + job) == 1);
}

TEST_CASE("[requirement H3] [requirement H4] labels have no values from outside") {
    measured m{world_options()};
    m.w.create_job(job_builder("hostile-name").replicas("worker", 1));
    REQUIRE(m.w.run_until([&] { return m.w.is_phase("hostile-name", "Running"); }, seconds{60}));
    m.counted.exchanged({"GET", "/api"}, 200, seconds{1});
    m.counted.exchanged({"GET", "/api"}, 200, seconds{1});
    m.counted.exchanged({"BREW", "/api"}, 0, seconds{1});
    CHECK(m.text().find("hostile-name") == std::string::npos);
    CHECK(m.text().find("BREW") == std::string::npos);
    const std::string requests = R"(rest_client_requests_total{code=)";
    CHECK(m.value(requests + R"("200",host="127.0.0.1:6443",method="GET"})") == 2);
    CHECK(m.value(requests + R"("<error>",host="127.0.0.1:6443",method="other"})") == 1);
    CHECK(
        m.value(R"(rest_client_request_duration_seconds_sum{host="127.0.0.1:6443",verb="GET"})") ==
        2
    );
}

TEST_CASE("[requirement B9] a request for the Lease is no sign that passes move") {
    measured m{world_options()};
    m.w.run_for(seconds{10});
    m.counted.exchanged({"GET", "/api/v1/pods"}, 200, seconds{1});
    const auto sign = m.counted.last_sign_of_work();
    m.w.run_for(seconds{10});
    const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/a/leases/signalbox";
    m.counted.exchanged({"PATCH", lease}, 200, seconds{1});
    CHECK(m.counted.last_sign_of_work() == sign);
    m.counted.exchanged({"GET", "/api/v1/pods"}, 200, seconds{1});
    CHECK(m.counted.last_sign_of_work() > sign);
}

TEST_CASE("only the time that a job did not run is lost") {
    measured m{world_options()};
    const core::instant now{seconds{1'700'000'100}};
    core::job_object before;
    core::job_status after;
    after.phase = core::job_phase::running;
    const auto lost = [&] {
        m.counted.status_written(before, after, now);
        return m.value(
            R"(signalbox_job_time_lost_to_restarts_seconds_total{kind="PyTorchTrainingJob"})"
        );
    };
    CHECK(lost() == 0);  // its first status
    core::condition running, completed;
    running.type = "Running";
    running.status = true;
    running.last_transition = now - seconds{50};
    completed.type = "Completed";
    completed.last_transition = now - seconds{90};
    before.status.phase = core::job_phase::unknown;
    before.status.conditions = {running, completed};
    CHECK(lost() == 0);  // no one saw it run, but it did
    before.status.conditions[0].status = false;
    CHECK(lost() == 50);
    before.status.conditions[0].last_transition = now + seconds{5};  // another node's clock
    CHECK(lost() == 50);
    before.status.phase = core::job_phase::running;
    before.status.conditions[0].last_transition = now - seconds{50};
    CHECK(lost() == 50);
}
