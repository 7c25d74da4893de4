// SPDX-License-Identifier: Apache-2.0
//
// Secrets, ConfigMaps and PodGroups that somebody else has, deletes or made badly, and those of a
// job that pauses or goes.
#include "controller/resource_table.hpp"
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "scenario/job_texts.hpp"
#include "scenario/world.hpp"
#include "signalbox_test/sanitized.hpp"

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

const char* const debug = R"("runMode":{"debug":{"enabled":true}})";

std::size_t count(world& w, const k8sio::resource_type& type) {
    return w.list(type).size();
}

k8sio::object_meta only(world& w, const k8sio::resource_type& type) {
    const auto all = w.list(type);
    REQUIRE(all.size() == 1);
    return *k8sio::read_object_meta(all.front());
}

/// Without what the server sets, and with the string at the pointer set or, if it is null, with
/// nothing there.
std::string copy_with(const std::string& object_json, const char* pointer, const char* text) {
    rapidjson::Document object;
    object.Parse(object_json.c_str());
    for (const char* field : {"uid", "resourceVersion", "creationTimestamp"}) {
        object["metadata"].RemoveMember(field);
    }
    if (text == nullptr) {
        rapidjson::Pointer(pointer).Erase(object);
    } else {
        rapidjson::Pointer(pointer).Set(object, text);
    }
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    object.Accept(out);
    return buffer.GetString();
}

}  // namespace

TEST_CASE("[behaviour 2.6] a ConfigMap that somebody deletes is made again, and no pod restarts") {
    world w;
    w.create_job(deepspeed("cifar", 2, debug));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    const auto before = only(w, resources::config_maps());
    w.remove(resources::config_maps(), before.name);
    w.run_for(seconds{2});
    const auto after = only(w, resources::config_maps());
    CHECK(after.name == before.name);
    CHECK(after.uid != before.uid);
    CHECK(w.status("cifar").attempt == 1);
    CHECK(w.status("cifar").restarts.disruptions == 0);
}

TEST_CASE(
    "[behaviour 2.7] a Secret or ConfigMap of ours with other data is made anew before any pod"
) {
    const bool secret = GENERATE(true, false);
    CAPTURE(secret);
    const k8sio::resource_type& type = secret ? resources::secrets() : resources::config_maps();
    world w;
    const std::string uid = w.create_job(deepspeed("cifar", 2, debug));
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    const std::string made = w.list(type).front();
    const auto identity = only(w, type);
    w.patch_job("cifar", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
    REQUIRE(w.run_until([&] { return w.pods().empty(); }, soon));
    w.run_for(seconds{1});
    w.kill_operator();
    if (count(w, type) > 0) {
        w.remove(type, identity.name);
    }
    // As if the next attempt's object were there, made by an operator that did it otherwise.
    const std::string next =
        secret ? identity.name : identity.name.substr(0, identity.name.size() - 1) + "2";
    std::string bad = copy_with(made, secret ? "/data/config" : "/data/hostfile", nullptr);
    bad = copy_with(bad, "/metadata/name", next.c_str());
    if (!secret) {
        bad = copy_with(bad, "/metadata/labels/batch.tensorstack.dev~1attempt", "2");
    }
    const auto planted = k8sio::read_object_meta(w.create(type, bad));
    w.start_operator();
    w.patch_job("cifar", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{30}));
    const auto now = w.get(type, next);
    REQUIRE(now.has_value());
    CHECK(k8sio::read_object_meta(*now)->uid != planted->uid);
    CHECK(now->find(secret ? "\"config\"" : "\"hostfile\"") != std::string::npos);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 1.8] a Secret of somebody else is left alone, and the job waits for its name"
) {
    world w;
    w.kill_operator();
    const std::string uid = w.create_job(deepspeed("cifar", 2, debug));
    const std::string name = "cifar-" + core::name_hash("cifar", uid) + "-ssh";
    w.create(
        resources::secrets(),
        R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":")" + name +
            R"("},"data":{"mine":"bWluZQ=="}})"
    );
    w.start_operator();
    w.run_for(seconds{30});
    CHECK(w.status("cifar").reason == "NameConflict");
    CHECK(w.event_count("cifar", "NameConflict") == 1);
    CHECK(w.audit().pods_created().empty());
    const auto theirs = w.get(resources::secrets(), name);
    REQUIRE(theirs.has_value());
    CHECK(theirs->find("bWluZQ==") != std::string::npos);
    w.remove(resources::secrets(), name);
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, seconds{60}));
}

TEST_CASE("[behaviour 6.1] while a job is paused its Secret stays, its ConfigMap and PodGroup go") {
    world w;
    w.serve("podgroup");
    w.run_for(seconds{61});
    w.create_job(
        deepspeed("cifar", 2, debug + std::string(R"(,"scheduler":{"t9kScheduler":{"queue":"q"}})"))
    );
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    const auto& groups = op::type_of(core::object_kind::pod_group, core::job_kind::deepspeed);
    const auto secret = only(w, resources::secrets());
    CHECK(count(w, groups) == 1);
    w.patch_job("cifar", R"({"spec":{"runMode":{"pause":{"enabled":true}}}})");
    REQUIRE(w.run_until([&] { return w.pods().empty(); }, soon));
    w.run_for(seconds{2});
    CHECK(count(w, groups) == 0);
    CHECK(count(w, resources::config_maps()) == 0);
    CHECK(only(w, resources::secrets()).uid == secret.uid);
    w.patch_job("cifar", R"({"spec":{"runMode":{"pause":{"enabled":false}}}})");
    REQUIRE(w.run_until([&] { return w.is_phase("cifar", "Running"); }, soon));
    CHECK(w.status("cifar").attempt == 2);
    CHECK(only(w, resources::secrets()).uid == secret.uid);
    CHECK(only(w, resources::config_maps()).name.ends_with("-2"));
    CHECK(count(w, groups) == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 10.1] an ssh job deleted at any time leaves nothing behind") {
    const bool two_stages = GENERATE(true, false);
    for (int step = 0; step < 30; step += sanitized ? 7 : 1) {
        CAPTURE(two_stages, step);
        world w;
        w.create_job(two_stages ? colossalai("job", 2) : deepspeed("job", 2));
        w.run_for(step * milliseconds{100});
        w.remove(w.type_of_job("job"), "job");
        w.run_for(seconds{60});
        CHECK(w.pods().empty());
        for (const auto* type :
             {&resources::services(), &resources::secrets(), &resources::config_maps()}) {
            CHECK(count(w, *type) == 0);
        }
        CHECK(w.audit().violations() == std::vector<std::string>{});
    }
}
