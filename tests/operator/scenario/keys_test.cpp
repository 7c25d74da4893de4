// SPDX-License-Identifier: Apache-2.0
//
// The Secret of jobs that use ssh: it is read, never watched, and jobs without ssh need no right on
// it.
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "scenario/job_texts.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace resources = k8sio::resources;

/// Worker `index` does something else than the others.
op::pods::rule worker(const char* index, op::pods::settings does) {
    op::pods::rule rule = pods_of_type("worker", std::move(does));
    rule.index = core::index_set::parse(index);
    return rule;
}

k8sio::object_meta secret(world& w) {
    const auto all = w.list(resources::secrets());
    REQUIRE(all.size() == 1);
    return *k8sio::read_object_meta(all.front());
}

void remove_secret(world& w) {
    w.remove(resources::secrets(), secret(w).name);
}

bool has_secret(world& w) {
    return !w.list(resources::secrets()).empty();
}

/// Requests about Secrets of operators that start from now on.
std::vector<std::string>& note_requests(world& w, std::vector<std::string>& into) {
    w.on_request = [&into](const k8sio::http_request& request) {
        if (request.target.find("/secrets") != std::string::npos) {
            into.push_back(request.method + " " + request.target);
        }
    };
    return into;
}

/// Every request about a Secret is answered with `fault` while `failing` says so.
void fail_secrets(world& w, const bool& failing, k8sio::server::fault fault) {
    w.server().set_fault_hook([&failing, fault](std::string_view, std::string_view target) {
        const bool about_secret = target.find("/secrets") != target.npos;
        return failing && about_secret ? fault : k8sio::server::fault();
    });
}

/// Every request about a Secret is refused while `taken` says so.
void take_right_on_secrets(world& w, const bool& taken) {
    k8sio::server::fault fault;
    fault.status = 403;
    fault.reason = "Forbidden";
    fault.message = "secrets is forbidden: User \"op\" cannot create resource \"secrets\"";
    fail_secrets(w, taken, fault);
}

}  // namespace

TEST_CASE("[behaviour 2.10] a Secret is made and read by name, never listed and never watched") {
    world w;
    w.kill_operator();
    std::vector<std::string> requests;
    note_requests(w, requests);
    w.start_operator();
    w.create_job(deepspeed("cifar", 3));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Succeeded"); }, soon));
    REQUIRE(requests.size() == 2);
    CHECK(requests[0].ends_with("-ssh"));
    CHECK(requests[0].starts_with("GET "));
    CHECK(requests[1] == "POST /api/v1/namespaces/default/secrets?fieldManager=signalbox");
}

TEST_CASE("[behaviour 2.6] a Secret deleted before any container started is made again") {
    world_options options;
    options.script.defaults = {{"start-after", "60s"}};
    world w(options);
    w.create_job(deepspeed("cifar", 2));
    w.run_for(seconds{1});
    const std::string before = secret(w).uid;
    remove_secret(w);
    w.run_for(seconds{25});
    CHECK_FALSE(has_secret(w));  // nothing tells before the pods have waited for 30 s (2.10)
    w.run_for(seconds{10});
    CHECK(secret(w).uid != before);
    CHECK(w.status("cifar").attempt == 1);
    CHECK(w.status("cifar").restarts.disruptions == 0);
}

TEST_CASE("[behaviour 2.10] a pod that starts nothing has the Secret read twice a minute, no more"
) {
    world_options options;
    options.script.defaults = {{"start-after", "never"}};
    world w(options);
    w.kill_operator();
    std::vector<std::string> requests;
    note_requests(w, requests);
    w.start_operator();
    w.create_job(deepspeed("cifar", 4));
    w.run_for(seconds{5});
    requests.clear();
    w.run_for(seconds{300});
    CHECK(requests.size() == 10);
}

TEST_CASE("[behaviour 2.6] a Secret deleted while all run is made for the next attempt, not before"
) {
    world_options options;
    options.script.rules = {worker("0", {{"duration", "90s"}})};
    options.script.rules.push_back(worker("1", {{"fail-at", "60s"}, {"exit-code", "1"}}));
    options.script.rules.back().nth = core::index_set::parse("1");
    world w(options);
    w.create_job(deepspeed("cifar", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    remove_secret(w);
    w.run_for(seconds{30});
    CHECK_FALSE(has_secret(w));
    CHECK(w.is_phase("cifar", "Running"));
    // Who has not seen the deletion does not know of it; the first read of a new process does.
    const bool restarted = GENERATE(true, false);
    CAPTURE(restarted);
    if (restarted) {
        w.kill_operator();
        w.start_operator();
        w.run_for(seconds{10});
    }
    CHECK_FALSE(has_secret(w));
    CHECK(w.event_count("cifar", "SecretLost") == (restarted ? 1U : 0U));
    REQUIRE(w.run_until([&] { return w.status("cifar").attempt == 2; }, seconds{60}));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    CHECK(has_secret(w));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 2.6] a Secret deleted when only some have started restarts the job for free"
) {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    options.script.rules = {worker("1", {{"start-after", "600s"}})};
    options.script.rules.back().nth = core::index_set::parse("1");
    world w(options);
    w.create_job(deepspeed("cifar", 2));
    w.run_for(seconds{5});
    remove_secret(w);
    REQUIRE(w.run_until([&] { return w.status("cifar").attempt == 2; }, seconds{45}));
    REQUIRE(w.status("cifar").restarts.last);
    CHECK(w.status("cifar").restarts.last->cause == "SecretLost");
    CHECK(w.status("cifar").backoff_count == 0);
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{60}));
    CHECK(has_secret(w));
}

TEST_CASE("[behaviour 2.10] a launcher is made only when the Secret was seen to be there") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    options.script.rules = {worker("1", {{"ready-after", "20s"}})};
    options.script.rules.back().nth = core::index_set::parse("1");
    world w(options);
    w.create_job(colossalai("palm", 2));
    w.run_for(seconds{5});
    remove_secret(w);
    w.run_for(seconds{10});
    CHECK(w.status("palm").attempt == 1);
    // The workers hold keys that the launcher would not have.
    REQUIRE(w.run_until([&] { return w.status("palm").attempt == 2; }, seconds{30}));
    CHECK(w.status("palm").restarts.last->cause == "SecretLost");
    REQUIRE(w.run_until([&] { return w.is_phase("palm", "Running"); }, seconds{60}));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 2.10] without the right on Secrets, jobs that need no key run") {
    world w;
    w.kill_operator();
    bool taken = true;
    take_right_on_secrets(w, taken);
    w.start_operator();
    w.create_job(job_builder("mnist").replicas("worker", 2));
    w.create_job(deepspeed("alone", 2));
    const std::string own_ranks =
        R"("config":{"run":{"python":["train.py"]},"otherArgs":["--no_ssh"]})";
    std::string free = deepspeed("free", 2);
    const std::string config = R"("config":{"run":{"python":["train.py"]}})";
    free.replace(free.find(config), config.size(), own_ranks);
    w.create_job(free);
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, soon));
    REQUIRE(w.run_until([&] { return w.is_phase("free", "Succeeded"); }, soon));
    CHECK(w.status("alone").reason == "ObjectRefused");
    const auto told = w.get(w.type_of_job("alone"), "alone");
    CHECK(told->find("cannot create resource") != std::string::npos);
    taken = false;
    REQUIRE(w.run_until([&] { return w.is_phase("alone", "Succeeded"); }, seconds{300}));
}

TEST_CASE("[behaviour 2.10] taking the right on Secrets from running jobs ends none of them") {
    world_options options;
    options.script.defaults = {{"duration", "120s"}};
    world w(options);
    w.create_job(deepspeed("cifar", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    bool taken = true;
    take_right_on_secrets(w, taken);
    w.kill_operator();
    w.start_operator();
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Succeeded"); }, seconds{200}));
    CHECK(w.status("cifar").attempt == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 2.10] what a process before made is known before the first decision") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    world w(options);
    w.create_job(deepspeed("cifar", 2, R"("runPolicy":{"cleanUpPolicy":"All"})"));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    const std::string uid = secret(w).uid;
    w.kill_operator();
    w.start_operator();
    w.run_for(seconds{20});
    CHECK(secret(w).uid == uid);
    CHECK(w.event_count("cifar", "SecretLost") == 0);
    CHECK(w.operator_transport().writes().empty());
}

TEST_CASE("[behaviour 2.10] nothing is decided while the Secret cannot be read") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    world w(options);
    w.create_job(deepspeed("cifar", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    w.kill_operator();
    bool failing = true;
    k8sio::server::fault fault;
    fault.status = 500;
    fault.reason = "InternalError";
    fault.message = "etcdserver: request timed out";
    fail_secrets(w, failing, fault);
    w.patch_job("cifar", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
    w.start_operator();
    w.run_for(seconds{20});
    CHECK(w.operator_transport().writes().empty());
    CHECK(w.is_phase("cifar", "Running"));
    failing = false;
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Paused"); }, seconds{60}));
}
