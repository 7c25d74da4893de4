// SPDX-License-Identifier: Apache-2.0
//
// Jobs without trouble, as a user sees them: run, pause, deadline, deletion.
#include "controller/resource_table.hpp"
#include "k8sio/resource.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace resources = k8sio::resources;

world_options all_pods(op::pods::settings does) {
    world_options options;
    options.script.defaults = std::move(does);
    return options;
}

}  // namespace

TEST_CASE("[behaviour 4.9] [behaviour 5.1] a plain job runs from Pending over Running to Succeeded"
) {
    world w;
    w.create_job(job_builder("mnist").replicas("worker", 3));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{10}));
    CHECK(w.live_pods() == 3);
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, seconds{10}));

    const core::job_status status = w.status("mnist");
    CHECK(status.backoff_count == 0);
    CHECK(status.attempt == 1);
    CHECK(status.completion_time.has_value());
    CHECK(w.audit().phases("mnist") == std::vector<std::string>{"Pending", "Running", "Succeeded"});
    CHECK(w.audit().violations() == std::vector<std::string>{});
    w.run_for(seconds{1});
    CHECK(w.event_count("mnist", "Succeeded") == 1);
    CHECK(w.event_count("mnist", "Running") == 1);
}

TEST_CASE("[behaviour 5.1] a torchrun job succeeds with its first pod; the others end by themselves"
) {
    world_options options = all_pods({{"duration", "3s"}});
    op::pods::rule last = pods_of_type("worker", {{"duration", "60s"}});
    last.index = core::index_set::parse("1");
    options.script.rules.push_back(last);
    world w(options);
    w.create_job(job_builder("elastic-bert").replicas("worker", 2).torchrun());
    REQUIRE(w.run_until([&] { return w.is_phase("elastic-bert", "Succeeded"); }, seconds{30}));
    w.run_for(seconds{45});  // longer than what is no torchrun would get
    CHECK(w.live_pods() == 1);
    w.run_for(seconds{30});
    CHECK(w.live_pods() == 0);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour I19] [behaviour I21] few writes while a job runs, none when nothing changes"
) {
    world w(all_pods({{"duration", "never"}}));
    w.create_job(job_builder("big").replicas("worker", 64));
    REQUIRE(w.run_until([&] { return w.is_phase("big", "Running"); }, seconds{10}));
    w.run_for(seconds{5});
    const op::controller_counters& counters = w.operator_().counters();
    CHECK(counters.creates <= 64 + 2);
    CHECK(counters.status_writes <= 12);
    CHECK(counters.patches == 1);  // its size (7.1)
    CHECK(counters.reconciles < 60);
    CHECK(counters.errors == 0);

    const std::size_t writes = w.operator_transport().writes().size();
    w.run_for(std::chrono::hours{1});
    CHECK(w.operator_transport().writes().size() == writes);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 5.12] a job past its deadline is failed within two seconds, its pods go") {
    world w(all_pods({{"duration", "never"}}));
    w.create_job(
        job_builder("late").replicas("worker", 2).run_policy(R"("activeDeadlineSeconds":5)")
    );
    const auto start = w.elapsed();
    REQUIRE(w.run_until([&] { return w.is_phase("late", "Failed"); }, seconds{20}));
    CHECK(w.elapsed() - start >= seconds{5});
    CHECK(w.elapsed() - start <= seconds{7});
    CHECK(w.status("late").reason == "DeadlineExceeded");
    REQUIRE(w.run_until([&] { return w.pods().empty(); }, seconds{5}));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE(
    "[behaviour 6.1] [behaviour 6.4] pause deletes the pods, resume raises the attempt and runs "
    "again"
) {
    world w(all_pods({{"duration", "30s"}}));
    w.create_job(job_builder("nap").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("nap", "Running"); }, seconds{10}));

    w.patch_job("nap", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
    REQUIRE(w.run_until([&] { return w.is_phase("nap", "Paused"); }, seconds{2}));
    REQUIRE(w.run_until([&] { return w.pods().empty(); }, seconds{5}));
    w.run_for(seconds{60});
    CHECK(w.pods().empty());
    CHECK(w.is_phase("nap", "Paused"));
    for (const sent_write& write : w.operator_transport().writes()) {
        CHECK(write.body.find("Foreground") == std::string::npos);
    }

    w.patch_job("nap", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    REQUIRE(w.run_until([&] { return w.is_phase("nap", "Running"); }, seconds{10}));
    CHECK(w.status("nap").attempt == 2);
    REQUIRE(w.run_until([&] { return w.is_phase("nap", "Succeeded"); }, seconds{60}));
    CHECK(w.status("nap").backoff_count == 0);
    CHECK(w.status("nap").restarts.disruptions == 0);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 6.3] a job created paused gets no child before it is resumed") {
    world w;
    w.create_job(job_builder("later").replicas("worker", 2).pause());
    w.run_for(seconds{60});
    CHECK(w.is_phase("later", "Paused"));
    CHECK(w.audit().pods_created().empty());
    CHECK_FALSE(w.status("later").start_time);
    w.patch_job("later", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    REQUIRE(w.run_until([&] { return w.is_phase("later", "Succeeded"); }, seconds{30}));
}

TEST_CASE("[behaviour 6.4] toggled quickly, the last word of the specification wins") {
    world w(all_pods({{"duration", "20s"}}));
    w.create_job(job_builder("flip").replicas("worker", 3));
    REQUIRE(w.run_until([&] { return w.is_phase("flip", "Running"); }, seconds{10}));
    for (int i = 0; i < 5; ++i) {
        w.patch_job("flip", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
        w.run_for(milliseconds{30});
        w.patch_job("flip", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
        w.run_for(milliseconds{70});
    }
    REQUIRE(w.run_until([&] { return w.is_phase("flip", "Succeeded"); }, seconds{60}));
    CHECK(w.audit().violations() == std::vector<std::string>{});
    CHECK(w.audit().most_live() == 3);
}

TEST_CASE("[behaviour 10.1] deleting a job removes every child, and none comes back") {
    world w(all_pods({{"duration", "never"}}));
    w.create_job(job_builder("gone").replicas("worker", 4));
    REQUIRE(w.run_until([&] { return w.is_phase("gone", "Running"); }, seconds{10}));
    REQUIRE_FALSE(w.list(resources::services()).empty());
    w.remove(op::type_of(core::job_kind::pytorch), "gone");
    REQUIRE(w.run_until(
        [&] { return w.pods().empty() && w.list(resources::services()).empty(); }, seconds{40}
    ));
    w.run_for(seconds{120});
    CHECK(w.pods().empty());
    CHECK(w.list(resources::services()).empty());
    CHECK(w.operator_().job_count() == 0);
    CHECK(w.operator_().pod_count() == 0);
}

TEST_CASE("[requirement X11] a job in deletion that is still there gets no child again") {
    world w(all_pods({{"duration", "never"}}));
    w.create_job(job_builder("held").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("held", "Running"); }, seconds{10}));
    w.patch_job("held", R"({"metadata":{"finalizers":["test.signalbox.dev/hold"]}})");
    w.remove(op::type_of(core::job_kind::pytorch), "held");
    const std::vector<std::string> pods = w.audit().pods_created();
    REQUIRE(pods.size() == 2);
    w.remove(resources::pods(), w.pods().back().name, 0);
    w.run_for(seconds{120});
    CHECK(w.audit().pods_created() == pods);
    CHECK(w.operator_().job_count() == 1);
}

TEST_CASE("[behaviour 5.14] a finished job is deleted after its time to live") {
    world w;
    w.create_job(
        job_builder("brief").replicas("worker", 1).run_policy(R"("ttlSecondsAfterFinished":30)")
    );
    REQUIRE(w.run_until([&] { return w.is_phase("brief", "Succeeded"); }, seconds{20}));
    w.run_for(seconds{25});
    CHECK(w.get(op::type_of(core::job_kind::pytorch), "brief").has_value());
    w.run_for(seconds{10});
    CHECK(w.get(op::type_of(core::job_kind::pytorch), "brief").has_error());
    CHECK(w.pods().empty());
    const auto& writes = w.operator_transport().writes();
    const auto removal = std::find_if(writes.begin(), writes.end(), [](const sent_write& write) {
        return write.method == "DELETE" && write.target.find("jobs/brief") != std::string::npos;
    });
    REQUIRE(removal != writes.end());
    CHECK(removal->body.find(R"("propagationPolicy":"Foreground")") != std::string::npos);
}

TEST_CASE("[behaviour 1.7] a job made again under the same name starts from nothing") {
    world w;
    const std::string first = w.create_job(job_builder("again").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("again", "Running"); }, seconds{10}));
    w.remove(op::type_of(core::job_kind::pytorch), "again");
    const std::string second = w.create_job(job_builder("again").replicas("worker", 2));
    CHECK(first != second);
    REQUIRE(w.run_until([&] { return w.is_phase("again", "Succeeded"); }, seconds{60}));
    CHECK(w.status("again").attempt == 1);
    CHECK(w.status("again").restarts.disruptions == 0);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 2.9] a job of another controller is not touched") {
    world w;
    w.create_job(job_builder("theirs").field("managedBy", R"("example.com/other")"));
    w.run_for(seconds{60});
    CHECK(w.audit().pods_created().empty());
    CHECK(w.is_phase("theirs", ""));
    CHECK(w.operator_transport().writes().empty());
}
