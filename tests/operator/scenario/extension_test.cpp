// SPDX-License-Identifier: Apache-2.0
//
// Sizes that change while a job runs, and kinds that the server may or may not serve.
#include "controller/resource_table.hpp"
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "scenario/job_texts.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace resources = k8sio::resources;

/// Pods run until they are deleted.
world_options without_end() {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    return options;
}

const k8sio::resource_type& type_of(core::object_kind kind) {
    return op::type_of(kind, core::job_kind::pytorch);
}

std::int64_t number_at(const std::string& json, const char* pointer) {
    rapidjson::Document object;
    object.Parse(json.c_str());
    const rapidjson::Value* v = rapidjson::Pointer(pointer).Get(object);
    return v != nullptr && v->IsInt64() ? v->GetInt64() : -1;
}

std::string job_json(world& w, const std::string& name) {
    const auto job = w.get(w.type_of_job(name), name);
    REQUIRE(job.has_value());
    return *job;
}

/// What the scale subresource says is wanted; -1 while it answers with an error.
std::int64_t shown_size(world& w, const std::string& name) {
    const auto scale = w.read_scale(name);
    return scale.has_value() ? number_at(*scale, "/spec/replicas") : -1;
}

/// How often the operator patched what has that path.
std::ptrdiff_t patches_of(world& w, const std::string& path) {
    const auto& writes = w.operator_transport().writes();
    return std::count_if(writes.begin(), writes.end(), [&](const sent_write& write) {
        return write.method == "PATCH" && write.target.find(path) != std::string::npos;
    });
}

/// A merge patch that gives the first type so many replicas.
std::string with_replicas(const std::string& job, int replicas) {
    rapidjson::Document object;
    object.Parse(job.c_str());
    rapidjson::Pointer("/spec/replicaSpecs/0/replicas").Set(object, replicas);
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    object["spec"]["replicaSpecs"].Accept(out);
    return std::string(R"({"spec":{"replicaSpecs":)") + buffer.GetString() + "}}";
}

job_builder elastic_torchrun() {
    return job_builder("bert").replicas("worker", 2).torchrun().elastic(1, 4);
}

const char* const gang = R"({"t9kScheduler":{"queue":"research","priority":20}})";

job_builder with_board(const std::string& more = {}) {
    return job_builder("board")
        .replicas("worker", 2)
        .field(
            "tensorboardSpec",
            R"({"image":"tb:1","trainingLogFilesets":["t9k://pvc/logs/run"])" + more + "}"
        );
}

}  // namespace

TEST_CASE("[behaviour 7.1] the default size is written into the job once, so that it can be scaled"
) {
    world w(without_end());
    w.create_job(elastic_torchrun());
    REQUIRE(w.run_until([&] { return w.is_phase("bert", "Running"); }, soon));
    CHECK(number_at(job_json(w, "bert"), "/spec/elastic/expectedReplicas") == 2);
    w.run_for(seconds{120});
    CHECK(patches_of(w, "/pytorchtrainingjobs/bert") == 1);
}

TEST_CASE("[behaviour 7.1] a job that changed under the default's patch is decided again") {
    world w(without_end());
    w.kill_operator();
    bool changed = false;
    w.on_request = [&](const k8sio::http_request& request) {
        const bool default_size =
            request.method == "PATCH" &&
            request.target.find("/pytorchtrainingjobs/bert") != std::string::npos;
        if (default_size && !changed) {
            changed = true;
            w.patch_soon(
                op::type_of(core::job_kind::pytorch),
                "bert",
                R"({"spec":{"elastic":{"expectedReplicas":3}}})"
            );
        }
    };
    w.start_operator();
    w.create_job(elastic_torchrun());
    REQUIRE(w.run_until([&] { return w.status("bert").replicas == 3; }, seconds{30}));
    CHECK(changed);
    CHECK(number_at(job_json(w, "bert"), "/spec/elastic/expectedReplicas") == 3);
    CHECK(w.operator_().counters().refusals == 0);
}

TEST_CASE(
    "[behaviour 7.1] [behaviour 7.5] [behaviour I21] [api 7.1] the size of a job that is not "
    "elastic is written once, and stays"
) {
    world w(without_end());
    w.create_job(job_builder("plain").replicas("master", 1).replicas("worker", 2));
    w.create_job(deepspeed("zero", 3));
    w.create_job(colossalai("palm", 2));
    for (const char* name : {"plain", "zero", "palm"}) {
        INFO(name);
        REQUIRE(w.run_until([&] { return w.is_phase(name, "Running"); }, soon));
        REQUIRE(w.run_until([&] { return shown_size(w, name) == 3; }, soon));
    }
    w.run_for(seconds{5});
    const std::size_t writes = w.operator_transport().writes().size();
    CHECK(w.operator_().counters().patches == 3);
    w.run_for(std::chrono::hours{1});
    CHECK(w.operator_transport().writes().size() == writes);

    for (const char* name : {"plain", "zero", "palm"}) {
        INFO(name);
        const auto refused = w.scale_job(name, 4);
        REQUIRE(refused.has_error());
        CHECK_THAT(
            refused.error().text(), Catch::Contains("of a job that is not elastic must be its size")
        );
        CHECK(w.scale_job(name, 3).has_value());
        CHECK(shown_size(w, name) == 3);
        CHECK(w.event_count(name, "FieldIgnored") == 0);
        CHECK(w.event_count(name, "SpecChanged") == 0);
    }
    CHECK(w.operator_().counters().refusals == 0);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 7.1] [api 7.1] the size follows the replicas of a paused job") {
    world w(without_end());
    w.create_job(job_builder("plain").replicas("worker", 2).expected(9));
    REQUIRE(w.run_until([&] { return w.is_phase("plain", "Running"); }, soon));
    REQUIRE(w.run_until([&] { return shown_size(w, "plain") == 2; }, soon));
    CHECK(w.event_count("plain", "FieldIgnored") == 1);

    w.patch_job("plain", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
    REQUIRE(w.run_until([&] { return w.is_phase("plain", "Paused"); }, soon));
    w.patch_job("plain", with_replicas(job_json(w, "plain"), 4));
    w.run_for(seconds{60});
    CHECK(shown_size(w, "plain") == 2);
    w.patch_job("plain", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    REQUIRE(w.run_until([&] { return shown_size(w, "plain") == 4; }, seconds{30}));
    w.run_for(seconds{5});
    CHECK(w.live_pods() == 4);
    CHECK(w.event_count("plain", "FieldIgnored") == 1);
    CHECK(patches_of(w, "/pytorchtrainingjobs/plain") == 2);
}

TEST_CASE("[behaviour 7.2] kubectl scale adds torchrun pods and takes them away, in one attempt") {
    world w(without_end());
    w.create_job(elastic_torchrun());
    REQUIRE(w.run_until([&] { return w.is_phase("bert", "Running"); }, soon));
    REQUIRE(w.scale_job("bert", 4).has_value());
    REQUIRE(w.run_until([&] { return w.status("bert").replicas == 4; }, soon));
    CHECK(w.live_pods() == 4);
    REQUIRE(w.scale_job("bert", 1).has_value());
    REQUIRE(w.run_until([&] { return w.status("bert").replicas == 1; }, soon));
    REQUIRE(w.run_until([&] { return w.pods().size() == 1; }, soon));
    CHECK(w.pods().front().index == 0);
    REQUIRE(w.scale_job("bert", 3).has_value());
    REQUIRE(w.run_until([&] { return w.live_pods() == 3; }, soon));
    w.run_for(seconds{60});
    const core::job_status status = w.status("bert");
    CHECK(status.attempt == 1);
    CHECK(status.backoff_count == 0);
    CHECK(status.restarts.disruptions == 0);
    CHECK(status.phase == core::job_phase::running);
    CHECK(w.event_count("bert", "Scaled") == 3);
    CHECK(w.scale_job("bert", 5).has_error());  // above maxReplicas
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 7.3] every size of a DeepSpeedJob is a new attempt with a new host list") {
    world w;
    w.create_job(deepspeed(
        "cifar",
        2,
        R"("elastic":{"enabled":true,"minReplicas":1,"maxReplicas":4},)"
        R"("runMode":{"debug":{"enabled":true}})"
    ));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    int attempt = 1;
    for (const int size : {3, 1}) {
        CAPTURE(size);
        REQUIRE(w.scale_job("cifar", size).has_value());
        ++attempt;
        REQUIRE(w.run_until(
            [&] {
                const core::job_status s = w.status("cifar");
                return s.attempt == attempt && s.phase == core::job_phase::running &&
                       s.replicas == size;
            },
            soon
        ));
        w.run_for(seconds{1});
        const auto maps = w.list(resources::config_maps());
        REQUIRE(maps.size() == 1);
        rapidjson::Document map;
        map.Parse(maps.front().c_str());
        const std::string hosts = map["data"]["hostfile"].GetString();
        CHECK(std::count(hosts.begin(), hosts.end(), '\n') == size);
    }
    CHECK(w.status("cifar").backoff_count == 0);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 8.4] without PodGroup a gang waits, and starts when the server serves it") {
    world w(without_end());
    w.create_job(job_builder("gang").replicas("worker", 3).field("scheduler", gang));
    w.run_for(seconds{200});
    CHECK(w.status("gang").reason == "WaitingForPodGroup");
    CHECK(w.audit().pods_created().empty());
    const std::size_t writes = w.operator_transport().writes().size();
    w.run_for(seconds{600});
    CHECK(w.operator_transport().writes().size() == writes);  // looking is no writing

    w.serve("podgroup");
    REQUIRE(w.run_until([&] { return w.is_phase("gang", "Running"); }, seconds{75}));
    const auto groups = w.list(type_of(core::object_kind::pod_group));
    REQUIRE(groups.size() == 1);
    CHECK(number_at(groups.front(), "/spec/minMember") == 3);
    CHECK(number_at(groups.front(), "/spec/priority") == 20);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 8.4] pods that run stay when PodGroup is served no more") {
    world w(without_end());
    w.serve("podgroup");
    w.run_for(seconds{61});
    w.create_job(job_builder("gang").replicas("worker", 2).field("scheduler", gang));
    REQUIRE(w.run_until([&] { return w.is_phase("gang", "Running"); }, soon));
    w.remove(resources::custom_resource_definitions(), "podgroups.scheduler.tensorstack.dev");
    w.run_for(seconds{300});
    CHECK(w.is_phase("gang", "Running"));
    CHECK(w.audit().pods_created().size() == 2);
    CHECK(w.operator_().problems() == std::vector<std::string>{});

    w.serve("podgroup");
    w.run_for(seconds{120});
    CHECK(w.list(type_of(core::object_kind::pod_group)).size() == 1);
    CHECK(w.is_phase("gang", "Running"));
}

TEST_CASE("[behaviour 9.1] discovery that does not answer says nothing, and is asked again") {
    world w(without_end());
    w.serve("tensorboard");
    w.kill_operator();
    bool broken = true;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const bool discovery = method == "GET" && target == "/apis/tensorstack.dev/v1beta1";
        fault.status = broken && discovery ? 503 : 0;
        return fault;
    });
    w.start_operator();
    w.create_job(with_board());
    REQUIRE(w.run_until([&] { return w.is_phase("board", "Running"); }, soon));
    w.run_for(seconds{20});
    // Neither way is chosen, and no one waits for it.
    CHECK(w.list(type_of(core::object_kind::deployment)).empty());
    CHECK(w.list(type_of(core::object_kind::tensorboard)).empty());
    broken = false;
    REQUIRE(w.run_until(
        [&] { return !w.list(type_of(core::object_kind::tensorboard)).empty(); }, seconds{61}
    ));
    CHECK(w.list(type_of(core::object_kind::deployment)).empty());
}

TEST_CASE("[behaviour 12.7] discovery that is refused for hours is asked about once a minute") {
    world w(without_end());
    w.kill_operator();
    int asked = 0;
    bool refused = true;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const bool discovery = method == "GET" && target == "/apis/tensorstack.dev/v1beta1";
        asked += discovery;
        fault.status = refused && discovery ? 403 : 0;
        fault.reason = "Forbidden";
        return fault;
    });
    w.start_operator();
    w.run_for(milliseconds{1500});
    CHECK(asked == 2);  // at once, and after a second
    w.run_for(seconds{30});
    CHECK(asked == 6);  // after 2, 4, 8, 16 s more
    w.run_for(std::chrono::hours{1});
    CHECK(asked >= 63);
    CHECK(asked <= 68);
    refused = false;
    w.serve("tensorboard");
    w.create_job(with_board());
    REQUIRE(w.run_until(
        [&] { return !w.list(type_of(core::object_kind::tensorboard)).empty(); }, seconds{62}
    ));
}

TEST_CASE(
    "[behaviour 8.4] [behaviour 12.2] an operator that starts again does not take its young view "
    "for the server"
) {
    world w(without_end());
    w.serve("podgroup");
    w.serve("tensorboard");
    w.run_for(seconds{61});
    w.create_job(with_board().field("scheduler", gang));
    REQUIRE(w.run_until([&] { return w.is_phase("board", "Running"); }, soon));
    REQUIRE(w.list(type_of(core::object_kind::tensorboard)).size() == 1);
    w.kill_operator();
    w.start_operator();
    w.run_for(seconds{120});
    CHECK(w.operator_().synced());
    CHECK(w.operator_transport().writes().empty());
}

TEST_CASE(
    "[behaviour 8.4] [behaviour 12.7] a kind that is served but cannot be listed counts as not "
    "served yet"
) {
    world w(without_end());
    w.serve("podgroup");
    w.kill_operator();
    bool refused = true;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const bool list = method == "GET" && target.find("/podgroups") != target.npos;
        fault.status = refused && list ? 403 : 0;
        fault.reason = "Forbidden";
        return fault;
    });
    w.start_operator();
    w.create_job(job_builder("plain").replicas("worker", 1));
    w.create_job(job_builder("gang").replicas("worker", 2).field("scheduler", gang));
    REQUIRE(w.run_until([&] { return w.is_phase("plain", "Running"); }, soon));
    w.run_for(seconds{30});
    CHECK(w.status("gang").reason == "WaitingForPodGroup");
    for (const sent_write& write : w.operator_transport().writes()) {
        CHECK(write.target.find("/podgroups") == std::string::npos);
    }
    REQUIRE(w.operator_().problems().size() == 1);
    CHECK(w.operator_().problems().front().find("podgroups") == 0);
    refused = false;
    REQUIRE(w.run_until([&] { return w.is_phase("gang", "Running"); }, seconds{60}));
}

TEST_CASE("[behaviour 8.3] an edited or deleted PodGroup is put back; it goes with the job's end") {
    world_options options;
    options.script.defaults = {{"duration", "30s"}};
    world w(options);
    w.serve("podgroup");
    w.run_for(seconds{61});
    w.create_job(job_builder("gang").replicas("worker", 2).field("scheduler", gang));
    REQUIRE(w.run_until([&] { return w.is_phase("gang", "Running"); }, soon));
    const k8sio::resource_type& groups = type_of(core::object_kind::pod_group);
    const std::string name = k8sio::read_object_meta(w.list(groups).front())->name;
    REQUIRE(w.patch(groups, name, R"({"spec":{"minMember":9}})").has_value());
    w.run_for(seconds{1});
    CHECK(number_at(w.list(groups).front(), "/spec/minMember") == 2);
    w.remove(groups, name);
    w.run_for(seconds{1});
    CHECK(w.list(groups).size() == 1);
    REQUIRE(w.run_until([&] { return w.is_phase("gang", "Succeeded"); }, seconds{60}));
    w.run_for(seconds{2});
    CHECK(w.list(groups).empty());
}

TEST_CASE(
    "[behaviour 9.1] where no TensorBoard is served, a Deployment and a Service of ours run it"
) {
    world w(without_end());
    w.create_job(with_board());
    REQUIRE(w.run_until([&] { return w.is_phase("board", "Running"); }, soon));
    REQUIRE(w.run_until(
        [&] { return w.status("board").tensorboard && w.status("board").tensorboard->ready; }, soon
    ));
    const k8sio::resource_type& deployments = type_of(core::object_kind::deployment);
    const auto made = w.list(deployments);
    REQUIRE(made.size() == 1);
    CHECK(number_at(made.front(), "/spec/replicas") == 1);
    const std::string name = k8sio::read_object_meta(made.front())->name;
    CHECK(w.get(resources::services(), name).has_value());

    w.patch_job("board", R"({"spec":{"tensorboardSpec":{"suspend":true}}})");
    w.run_for(seconds{2});
    CHECK(number_at(w.list(deployments).front(), "/spec/replicas") == 0);
    REQUIRE(w.status("board").tensorboard);
    CHECK_FALSE(w.status("board").tensorboard->ready);
    // A kind that appears later moves nothing.
    w.serve("tensorboard");
    w.run_for(seconds{120});
    CHECK(w.list(deployments).size() == 1);
    CHECK(w.list(type_of(core::object_kind::tensorboard)).empty());
}

TEST_CASE("[behaviour 9.1] where TensorBoard is served, one such object with that specification") {
    world_options options;
    options.script.defaults = {{"duration", "5s"}};
    world w(options);
    w.serve("tensorboard");
    w.run_for(seconds{61});
    w.create_job(with_board());
    REQUIRE(w.run_until([&] { return w.is_phase("board", "Running"); }, soon));
    const k8sio::resource_type& boards = type_of(core::object_kind::tensorboard);
    const auto made = w.list(boards);
    REQUIRE(made.size() == 1);
    CHECK(made.front().find("t9k://pvc/logs/run") != std::string::npos);
    CHECK(w.list(type_of(core::object_kind::deployment)).empty());
    const std::string name = k8sio::read_object_meta(made.front())->name;
    REQUIRE(w.patch(boards, name, R"({"status":{"phase":"Running"}})", "status").has_value());
    w.run_for(seconds{2});
    REQUIRE(w.status("board").tensorboard);
    CHECK(w.status("board").tensorboard->ready);
    // It outlives the pods, and goes with the job (9.2).
    REQUIRE(w.run_until([&] { return w.is_phase("board", "Succeeded"); }, seconds{20}));
    w.run_for(seconds{60});
    CHECK(w.list(boards).size() == 1);
    w.remove(w.type_of_job("board"), "board");
    w.run_for(seconds{60});
    CHECK(w.list(boards).empty());
}

TEST_CASE("[behaviour 9.2] a TensorBoard that the server refuses neither fails nor delays the job"
) {
    world_options options;
    options.script.defaults = {{"duration", "5s"}};
    world w(options);
    w.server().set_fault_hook([](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const bool board = method == "POST" && target.find("/deployments") != target.npos;
        fault.status = board ? 403 : 0;
        fault.reason = board ? "Forbidden" : "";
        return fault;
    });
    const auto start = w.elapsed();
    w.create_job(with_board());
    REQUIRE(w.run_until([&] { return w.is_phase("board", "Running"); }, soon));
    CHECK(w.elapsed() - start < seconds{1});
    const auto refused = [&] {
        const core::job_status seen = w.status("board");
        return seen.tensorboard && seen.tensorboard->reason == "ObjectRefused";
    };
    REQUIRE(w.run_until(refused, soon));
    CHECK_FALSE(w.status("board").tensorboard->ready);
    CHECK(w.is_phase("board", "Running"));
    REQUIRE(w.run_until([&] { return w.is_phase("board", "Succeeded"); }, seconds{20}));
    CHECK(w.elapsed() - start < seconds{7});
    CHECK(w.audit().phases("board") == std::vector<std::string>{"Pending", "Running", "Succeeded"});
}
