// SPDX-License-Identifier: Apache-2.0
//
// Children that somebody else makes in a job's name, with its UID in their owner reference
// (BEHAVIOUR.md 2.13, 2.14): before the operator makes its own, and between that and its first
// look.
#include "controller/key_material.hpp"
#include "controller/resource_table.hpp"
#include "k8sio/base64.hpp"
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
using core::object_kind;
namespace resources = k8sio::resources;

const char* const without_training = R"("runMode":{"debug":{"enabled":true}})";

core::job_object read(world& w, const std::string& name) {
    auto job = core::read_job(*w.get(w.type_of_job(name), name));
    REQUIRE(job);
    REQUIRE(job->compiled->plan);
    return *std::move(job);
}

core::key_pairs some_keys() {
    std::string error;
    return {{"client", *op::make_key_pair(error)}, {"host", *op::make_key_pair(error)}};
}

/// The object of that kind as the operator would make it: all that a forger can know.
std::string copy_of(const core::job_object& job, object_kind kind, std::size_t nth = 0) {
    const core::job_plan& plan = *job.compiled->plan;
    for (std::size_t i = 0; const core::planned_object* object = core::find_object(plan, i); ++i) {
        if (object->kind == kind && nth-- == 0) {
            return *core::render_object(plan, *object, 1, {}, some_keys());
        }
    }
    FAIL("no such object");
    return {};
}

/// With this JSON at the pointer.
std::string with(const std::string& object_json, const char* pointer, const std::string& json) {
    rapidjson::Document object;
    object.Parse(object_json.c_str());
    for (const char* field : {"uid", "resourceVersion", "creationTimestamp"}) {
        object["metadata"].RemoveMember(field);
    }
    rapidjson::Document value(&object.GetAllocator());
    value.Parse(json.c_str());
    rapidjson::Pointer(pointer).Set(object, value);
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    object.Accept(out);
    return buffer.GetString();
}

std::string encoded(const std::string& text) {
    return '"' + k8sio::base64_encode(text) + '"';
}

std::string uid_of(const std::string& object_json) {
    return k8sio::read_object_meta(object_json)->uid;
}

std::string text_at(const std::string& object_json, const char* pointer) {
    rapidjson::Document object;
    object.Parse(object_json.c_str());
    const rapidjson::Value* value = rapidjson::Pointer(pointer).Get(object);
    return value == nullptr || !value->IsString() ? "" : value->GetString();
}

std::string name_of(const std::string& object_json) {
    return text_at(object_json, "/metadata/name");
}

/// When somebody comes with an object of his own.
enum class comes { before, after, in_between };

/// An ssh job whose object of that kind somebody makes by the text that `forge` makes of ours.
/// Gives the UID of his.
template <class Forge>
std::string forge_object(world& w, comes when, const k8sio::resource_type& type, Forge forge) {
    bool held = true;
    w.kill_operator();
    w.create_job(deepspeed("cifar", 2, without_training));
    w.server().set_fault_hook([held = &held](std::string_view method, std::string_view target) {
        const bool pod = method == "POST" && target.substr(0, target.find('?')).ends_with("/pods");
        k8sio::server::fault fault;
        fault.status = *held && pod ? 500 : 0;
        return *held && pod ? fault : k8sio::server::fault();
    });
    if (when != comes::before) {
        w.start_operator();
        w.run_for(seconds{1});
        const auto ours = w.list(type);
        REQUIRE(ours.size() == 1);
        if (when == comes::after) {
            w.kill_operator();
        }
        w.remove(type, name_of(ours.front()));
    }
    const auto planted = w.create(type, forge());
    if (when != comes::in_between) {
        w.start_operator();
    }
    w.run_for(seconds{3});
    held = false;
    w.run_for(seconds{40});
    w.server().set_fault_hook({});
    return uid_of(planted);
}

}  // namespace

TEST_CASE("[behaviour 2.13] a Secret with foreign keys or texts holds the job by name, and no more"
) {
    const auto when = GENERATE(comes::before, comes::after, comes::in_between);
    const auto what = GENERATE(as<std::string>{}, "authorized_keys", "ssh-privatekey", "config");
    CAPTURE(static_cast<int>(when), what);
    world w;
    std::string name;
    const std::string planted = forge_object(w, when, resources::secrets(), [&] {
        const std::string copy = copy_of(read(w, "cifar"), object_kind::secret);
        name = name_of(copy);
        const core::key_pair mine = some_keys().at("client");
        const std::string text = what == "authorized_keys"  ? mine.public_line
                                 : what == "ssh-privatekey" ? mine.private_pem
                                                            : "Host *\nProxyCommand evil\n";
        return with(copy, ("/data/" + what).c_str(), encoded(text));
    });
    CHECK(w.status("cifar").reason == "NameConflict");
    CHECK(w.event_count("cifar", "NameConflict") == 1);
    const core::job_status status = w.status("cifar");
    CHECK(
        core::find_condition(status, "Running")
            ->message.find("Secret " + name + " has content that is not the operator's") !=
        std::string::npos
    );
    CHECK(w.pods().empty());
    CHECK(uid_of(*w.get(resources::secrets(), name)) == planted);  // left alone

    w.remove(resources::secrets(), name);
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{120}));
    CHECK(w.status("cifar").attempt == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 2.13] keys that fit, but that somebody else knows, are no pod's") {
    const auto when = GENERATE(comes::before, comes::after, comes::in_between);
    CAPTURE(static_cast<int>(when));
    world w;
    std::string his;
    const std::string planted = forge_object(w, when, resources::secrets(), [&] {
        const std::string copy = copy_of(read(w, "cifar"), object_kind::secret);
        his = text_at(copy, "/data/authorized_keys");
        return copy;
    });
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{60}));
    const auto secrets = w.list(resources::secrets());
    REQUIRE(secrets.size() == 1);
    CHECK(uid_of(secrets.front()) != planted);
    CHECK(text_at(secrets.front(), "/data/authorized_keys") != his);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 2.13] a Secret that was made here stays, however long its pods wait") {
    world w;
    bool held = true;
    w.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const bool pod = method == "POST" && target.find("/pods?") != target.npos;
        fault.status = held && pod ? 500 : 0;
        return fault.status == 0 ? k8sio::server::fault() : fault;
    });
    w.create_job(deepspeed("cifar", 2, without_training));
    w.run_for(seconds{1});
    const std::string made = uid_of(w.list(resources::secrets()).front());
    w.run_for(seconds{60});
    held = false;
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{120}));
    CHECK(uid_of(w.list(resources::secrets()).front()) == made);
}

TEST_CASE("[behaviour 2.13] a Secret put in the place of a running attempt's is its loss") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    options.script.rules = {pods_of_type("worker", {{"start-after", "600s"}})};
    options.script.rules.back().index = core::index_set::parse("1");
    options.script.rules.back().nth = core::index_set::parse("1");
    world w(options);
    w.create_job(deepspeed("cifar", 2));
    w.run_for(seconds{5});
    const std::string ours = w.list(resources::secrets()).front();
    w.remove(resources::secrets(), name_of(ours));
    w.create(
        resources::secrets(), with(ours, "/data/config", encoded("Host *\nProxyCommand evil\n"))
    );
    REQUIRE(w.run_until([&] { return w.status("cifar").attempt == 2; }, seconds{45}));
    CHECK(w.status("cifar").restarts.last->cause == "SecretLost");
    CHECK(w.status("cifar").backoff_count == 0);
    w.run_for(seconds{40});
    CHECK(w.status("cifar").reason == "NameConflict");
    CHECK(w.live_pods() == 0);
    w.remove(resources::secrets(), name_of(ours));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{400}));
}

TEST_CASE("[behaviour 2.13] a ConfigMap of other content is made anew before any pod") {
    const auto when = GENERATE(comes::before, comes::after);  // one that goes is made again at once
    const auto [pointer, value] = GENERATE(table<const char*, const char*>({
        {"/data/bootstrap.sh", "\"evil\""},
        {"/data/more", "\"evil\""},
        {"/binaryData", R"({"more":"ZXZpbA=="})"},
        {"/immutable", "false"},
    }));
    CAPTURE(static_cast<int>(when), pointer);
    world w;
    const std::string planted = forge_object(w, when, resources::config_maps(), [&] {
        return with(copy_of(read(w, "cifar"), object_kind::config_map), pointer, value);
    });
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{60}));
    const auto maps = w.list(resources::config_maps());
    REQUIRE(maps.size() == 1);
    CHECK(uid_of(maps.front()) != planted);
    CHECK(maps.front().find("evil") == std::string::npos);
    CHECK(w.status("cifar").attempt == 1);
}

TEST_CASE("[behaviour 2.13] a ConfigMap that is put in the place of the attempt's goes") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    world w(options);
    w.create_job(deepspeed("cifar", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    w.run_for(seconds{5});
    w.kill_operator();
    const std::string ours = w.list(resources::config_maps()).front();
    w.remove(resources::config_maps(), name_of(ours));
    w.create(resources::config_maps(), with(ours, "/data/run.sh", "\"evil\""));
    w.start_operator();
    w.run_for(seconds{5});
    const auto now = w.list(resources::config_maps());
    REQUIRE(now.size() == 1);
    CHECK(text_at(now.front(), "/data/run.sh") == text_at(ours, "/data/run.sh"));
    CHECK(w.is_phase("cifar", "Running"));
    CHECK(w.status("cifar").attempt == 1);
}

TEST_CASE("[behaviour 2.6] [behaviour 2.13] Services and PodGroups that others make are put right"
) {
    const bool service = GENERATE(true, false);
    CAPTURE(service);
    world w;
    w.serve("podgroup");
    w.run_for(seconds{61});
    w.kill_operator();
    w.create_job(deepspeed(
        "cifar", 2, without_training + std::string(R"(,"scheduler":{"t9kScheduler":{"queue":"q"}})")
    ));
    const auto kind = service ? object_kind::service : object_kind::pod_group;
    const auto& type = op::type_of(kind, core::job_kind::deepspeed);
    std::string copy = copy_of(read(w, "cifar"), kind);
    const std::string clean = copy;
    if (service) {
        copy = with(copy, "/spec/selector", R"({"app":"mine"})");
        copy = with(copy, "/spec/externalIPs", R"(["192.0.2.1"])");
        copy = with(copy, "/spec/ports", R"([{"port":22}])");
    } else {
        copy = with(copy, "/spec/queue", "\"mine\"");
        copy = with(copy, "/spec/minMember", "1");
    }
    w.create(type, copy);
    w.start_operator();
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{60}));
    const std::string now = *w.get(type, name_of(copy));
    rapidjson::Document wanted;
    rapidjson::Document live;
    wanted.Parse(clean.c_str());
    live.Parse(now.c_str());
    CHECK_FALSE(live["spec"].HasMember("externalIPs"));
    for (const char* field : {"selector", "queue", "minMember"}) {
        if (wanted["spec"].HasMember(field)) {
            CAPTURE(field);
            CHECK((live["spec"][field] == wanted["spec"][field]));
        }
    }
    if (service) {
        CHECK((!live["spec"].HasMember("ports") || live["spec"]["ports"].Empty()));
    }
}

TEST_CASE("[behaviour 2.13] a Deployment that carries our annotation and runs something else") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    world w(options);
    w.kill_operator();
    w.create_job(job_builder("mnist").field(
        "tensorboardSpec", R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})"
    ));
    const auto& type = op::type_of(object_kind::deployment, core::job_kind::pytorch);
    const std::string copy = copy_of(read(w, "mnist"), object_kind::deployment);
    const char* const command = "/spec/template/spec/containers/0/command";
    const char* const account = "/spec/template/spec/serviceAccountName";
    w.create(type, with(with(copy, command, R"(["sh","-c","evil"])"), account, "\"admin\""));
    w.start_operator();
    w.run_for(seconds{90});
    const std::string now = *w.get(type, name_of(copy));
    CHECK(text_at(now, "/spec/template/spec/containers/0/command/0") == "tensorboard");
    CHECK(text_at(now, account).empty());
}

TEST_CASE("[behaviour 2.14] a pod that somebody makes before us is replaced before it starts") {
    const bool watched = GENERATE(true, false);  // else it is met by our own creation
    CAPTURE(watched);
    world_options options;
    options.script.defaults = {{"duration", "never"}, {"start-after", "5s"}};
    world w(options);
    w.kill_operator();
    w.create_job(job_builder("mnist").replicas("worker", 2));
    const core::job_object job = read(w, "mnist");
    std::string pod = core::render_pod(*job.compiled->plan, {.type = 0, .index = 1}, {});
    pod = with(pod, "/spec/containers/0/command", R"(["evil"])");
    std::string planted;
    if (watched) {
        planted = uid_of(w.create(resources::pods(), pod));
    }
    w.start_operator();
    if (!watched) {
        w.operator_transport().hold_streams("/pods?");
        planted = uid_of(w.create(resources::pods(), pod));
        w.run_for(seconds{1});
        w.operator_transport().release_streams();
    }
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{120}));
    for (const core::pod_record& p : w.pods()) {
        CHECK(p.uid != planted);
    }
    CHECK(w.status("mnist").attempt == 1);
    CHECK(w.status("mnist").backoff_count == 0);
}

TEST_CASE("[behaviour 2.14] what admission makes of our own pods is theirs, and stays") {
    world w;
    w.operator_transport().admit = [](k8sio::http_request& request) {
        const std::string image = "\"image\":\"";
        const std::size_t at = request.body.find(image);
        if (request.method == "POST" && request.target.find("/pods") != std::string::npos &&
            at != request.body.npos) {
            request.body.insert(at + image.size(), "mirror.example.org/");
        }
    };
    w.create_job(job_builder("mnist").replicas("worker", 4));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, seconds{60}));
    CHECK(w.audit().pods_created().size() == 4);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}
