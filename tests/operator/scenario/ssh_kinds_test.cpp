// SPDX-License-Identifier: Apache-2.0
//
// DeepSpeedJob and ColossalAIJob from creation to their end.
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "scenario/job_texts.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <sstream>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace resources = k8sio::resources;

/// Worker 1's first pod does something else than to wait.
world_options with_worker_1(op::pods::settings does) {
    world_options options;
    op::pods::rule rule = pods_of_type("worker", std::move(does));
    rule.index = core::index_set::parse("1");
    rule.nth = core::index_set::parse("1");
    options.script.rules.push_back(std::move(rule));
    return options;
}

/// Names of the objects of that type.
std::vector<std::string> names(world& w, const k8sio::resource_type& type) {
    std::vector<std::string> out;
    for (const std::string& object : w.list(type)) {
        out.push_back(k8sio::read_object_meta(object)->name);
    }
    std::sort(out.begin(), out.end());
    return out;
}

/// A value of `data` of the only object of that type; empty if there is none.
std::string data_of_only(world& w, const k8sio::resource_type& type, const char* key) {
    const auto all = w.list(type);
    REQUIRE(all.size() == 1);
    rapidjson::Document object;
    object.Parse(all.front().c_str());
    const bool there = object.HasMember("data") && object["data"].HasMember(key);
    return there ? object["data"][key].GetString() : "";
}

long lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

std::string uid_of_only(world& w, const k8sio::resource_type& type) {
    const auto all = w.list(type);
    REQUIRE(all.size() == 1);
    return k8sio::read_object_meta(all.front())->uid;
}

bool has_launcher(world& w) {
    const auto pods = w.pods();
    return std::any_of(pods.begin(), pods.end(), [](const core::pod_record& pod) {
        return pod.type == "launcher";
    });
}

}  // namespace

TEST_CASE("[behaviour 5.2] a DeepSpeedJob runs until worker 0 exits 0, its sshd workers then go") {
    world w;
    w.create_job(deepspeed("cifar", 3));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    CHECK(w.live_pods() == 3);
    const std::string hostfile = data_of_only(w, resources::config_maps(), "hostfile");
    CHECK(lines(hostfile) == 3);
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Succeeded"); }, soon));
    w.run_for(seconds{5});
    CHECK(w.audit().phases("cifar") == std::vector<std::string>{"Pending", "Running", "Succeeded"});
    CHECK(w.pods().size() == 1);  // worker 0, for its log (5.13)
    CHECK(w.list(resources::services()).empty());
    CHECK(w.list(resources::config_maps()).empty());
    CHECK(w.list(resources::secrets()).size() == 1);  // the pod that is left mounts it
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 5.13] under All the Secret goes when no pod is left") {
    world_options options;
    options.script.defaults = {{"stop-after", "20s"}};
    world w(options);
    w.create_job(deepspeed("cifar", 2, R"("runPolicy":{"cleanUpPolicy":"All"})"));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Succeeded"); }, seconds{20}));
    int looked = 0;
    while (!w.pods().empty() && ++looked < 60) {
        CAPTURE(looked);
        CHECK(w.list(resources::secrets()).size() == 1);
        w.run_for(seconds{1});
    }
    CHECK(looked >= 19);  // the pods took their time
    CHECK(looked <= 25);
    w.run_for(seconds{5});
    CHECK(w.pods().empty());
    CHECK(w.list(resources::secrets()).empty());
}

TEST_CASE("[behaviour 1.5] the keys reach the server, in one request, and no log") {
    std::ostringstream logged;
    world_options options;
    options.log = std::make_shared<spdlog::logger>(
        "operator", std::make_shared<spdlog::sinks::ostream_sink_mt>(logged)
    );
    options.log->set_level(spdlog::level::trace);
    world w(options);
    int refusals = 2;  // what is refused and tried again is told
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const bool secret = method == "POST" && target.find("/secrets") != target.npos;
        fault.status = secret && refusals-- > 0 ? 403 + refusals * 97 : 0;  // 500, then 403
        return fault;
    });
    w.create_job(deepspeed("cifar", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{60}));
    for (const char* key :
         {"ssh-privatekey",
          "id_ecdsa.pub",
          "authorized_keys",
          "ssh_host_key",
          "ssh_host_key.pub",
          "known_hosts",
          "config"}) {
        CAPTURE(key);
        CHECK(data_of_only(w, resources::secrets(), key).size() > 40);
    }
    const std::string secret = data_of_only(w, resources::secrets(), "ssh-privatekey");
    std::size_t carriers = 0;
    for (const sent_write& write : w.operator_transport().writes()) {
        if (write.body.find(secret) != std::string::npos) {
            ++carriers;
        }
        // No key of a refused request was used again, and none is in the log.
        const std::size_t at = write.body.find("\"ssh-privatekey\":\"");
        if (at != std::string::npos) {
            CHECK(logged.str().find(write.body.substr(at + 18, 60)) == std::string::npos);
        }
    }
    CHECK(carriers == 1);
    CHECK(logged.str().find("Secret") != std::string::npos);
    CHECK(logged.str().find("PRIVATE KEY") == std::string::npos);
}

TEST_CASE("[behaviour 5.7] a sshd worker that ends restarts all: new host list, the same Secret") {
    world w(with_worker_1({{"fail-at", "1s"}, {"exit-code", "1"}}));
    w.create_job(deepspeed("cifar", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    const std::string secret = uid_of_only(w, resources::secrets());
    const auto before = names(w, resources::config_maps());
    REQUIRE(w.run_until([&] { return w.status("cifar").attempt == 2; }, soon));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    w.run_for(milliseconds{500});
    const auto after = names(w, resources::config_maps());
    REQUIRE(before.size() == 1);
    REQUIRE(after.size() == 1);
    CHECK(before.front().ends_with("-1"));
    CHECK(after.front().ends_with("-2"));
    CHECK(uid_of_only(w, resources::secrets()) == secret);
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Succeeded"); }, seconds{20}));
    CHECK(w.status("cifar").backoff_count == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 5.2] a sshd worker that exits 0 has failed") {
    world w(with_worker_1({{"duration", "1s"}}));
    w.create_job(deepspeed("cifar", 2));
    REQUIRE(w.run_until([&] { return w.status("cifar").attempt == 2; }, soon));
    CHECK(w.status("cifar").backoff_count == 1);
    REQUIRE(w.status("cifar").restarts.last);
    CHECK(w.status("cifar").restarts.last->cause == "WorkerExited");
}

TEST_CASE("[behaviour 2.3] ColossalAI's launcher is made when every worker is Ready, and decides") {
    world w(with_worker_1({{"ready-after", "5s"}}));
    w.create_job(colossalai("palm", 3));
    w.run_for(seconds{4});
    CHECK(w.live_pods() == 3);
    CHECK_FALSE(has_launcher(w));
    CHECK(w.status("palm").reason == "WaitingForWorkers");
    REQUIRE(w.run_until([&] { return w.is_phase("palm", "Running"); }, soon));
    CHECK(has_launcher(w));
    REQUIRE(w.run_until([&] { return w.is_phase("palm", "Succeeded"); }, soon));
    CHECK(w.audit().pods_created().size() == 4);
    CHECK(w.audit().pods_created().back().ends_with("-launcher-0"));
    w.run_for(seconds{5});
    CHECK(w.live_pods() == 3);  // cleanUpWorkers is off: sshd goes on
    CHECK(w.event_count("palm", "WorkersLeftRunning") == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 5.11] a worker lost under a running launcher fails the job, the launcher goes"
) {
    const auto fault =
        GENERATE(as<std::string>{}, "vanish-at", "evict-at", "delete-at", "preempt-at");
    CAPTURE(fault);
    world w(with_worker_1({{fault, "2s"}}));
    w.create_job(colossalai("palm", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("palm", "Failed"); }, soon));
    CHECK(w.status("palm").reason == "ReplicaLost");
    w.run_for(seconds{5});
    CHECK_FALSE(has_launcher(w));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 5.11] a worker disrupted before the launcher runs is made again") {
    world_options options = with_worker_1({{"delete-at", "1s"}});
    op::pods::rule late = pods_of_type("worker", {{"ready-after", "3s"}});
    late.index = core::index_set::parse("0");
    options.script.rules.push_back(late);
    world w(options);
    w.create_job(colossalai("palm", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("palm", "Succeeded"); }, seconds{60}));
    CHECK(w.audit().pods_created().size() == 4);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 5.11] the launcher's exit decides") {
    world_options options;
    options.script.rules.push_back(
        pods_of_type("launcher", {{"fail-at", "1s"}, {"exit-code", "3"}, {"message", "no GPU"}})
    );
    world w(options);
    w.create_job(colossalai("palm", 2, R"("runPolicy":{"cleanUpWorkers":true})"));
    REQUIRE(w.run_until([&] { return w.is_phase("palm", "Failed"); }, soon));
    CHECK(w.status("palm").reason == "ErrorInPod");
    w.run_for(seconds{5});
    CHECK(w.live_pods() == 0);
    CHECK(has_launcher(w));  // stays, for its log
}
