// SPDX-License-Identifier: Apache-2.0
//
// The CustomResourceDefinitions, as far as they can be judged without an API server; what a real
// one makes of them is tested by tests/envtest/test_crd_rules.py.
#include "json/json.hpp"

#include <jobcore/schema.hpp>
#include <jobcore/status.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <set>

using namespace signalbox::core;

namespace {

constexpr job_kind kinds[] = {job_kind::pytorch, job_kind::deepspeed, job_kind::colossalai};

json::document crd(job_kind kind) {
    json::document document;
    json::parse(document, crd_json(kind));
    REQUIRE(document.IsObject());
    return document;
}

const json::value& version(const json::document& document) {
    return document["spec"]["versions"][0];
}

const json::value& schema(const json::document& document) {
    return version(document)["schema"]["openAPIV3Schema"];
}

/// Calls `visit` with each schema node below `node`, its path and whether it is required.
void walk(
    const json::value& node,
    const std::string& path,
    bool required,
    const std::function<void(const json::value&, const std::string&, bool)>& visit
) {
    visit(node, path, required);
    if (node.HasMember("items")) {
        // An item is there or not, but never null.
        walk(node["items"], path + "[]", true, visit);
    }
    if (!node.HasMember("properties")) {
        return;
    }
    for (const auto& [name, child] : node["properties"].GetObject()) {
        bool is_required = false;
        if (node.HasMember("required")) {
            for (const auto& key : node["required"].GetArray()) {
                is_required = is_required || json::view(key) == json::view(name);
            }
        }
        walk(child, path + "." + name.GetString(), is_required, visit);
    }
}

bool is_true(const json::value& node, const char* key) {
    return node.HasMember(key) && node[key].IsTrue();
}

/// Every key of `value` is in the schema.
void expect_known(const json::value& value, const json::value& node, const std::string& path) {
    INFO(path);
    if (value.IsArray()) {
        for (const auto& item : value.GetArray()) {
            expect_known(item, node["items"], path + "[]");
        }
    } else if (value.IsObject()) {
        REQUIRE(node.HasMember("properties"));
        for (const auto& [name, member] : value.GetObject()) {
            INFO(name.GetString());
            REQUIRE(node["properties"].HasMember(name));
            expect_known(member, node["properties"][name], path + "." + name.GetString());
        }
    }
}

}  // namespace

TEST_CASE("[api kinds] names, scope, versions and subresources of the CRDs", "[api]") {
    const std::pair<job_kind, std::string> short_names[] = {
        {job_kind::pytorch, "pj"}, {job_kind::deepspeed, "dj"}, {job_kind::colossalai, "caij"}};
    for (const auto& [kind, short_name] : short_names) {
        const auto document = crd(kind);
        const auto& spec = document["spec"];
        const std::string name(to_string(kind));
        CHECK(
            json::view(document["metadata"]["name"]) ==
            std::string(plural(kind)) + ".batch.tensorstack.dev"
        );
        CHECK(spec["group"] == "batch.tensorstack.dev");
        CHECK(spec["scope"] == "Namespaced");
        CHECK(json::view(spec["names"]["kind"]) == name);
        CHECK(json::view(spec["names"]["listKind"]) == name + "List");
        CHECK(json::view(spec["names"]["shortNames"][0]) == short_name);
        CHECK(spec["names"]["categories"][0] == "training");
        CHECK(spec["names"]["categories"][1] == "all");
        CHECK(version(document)["selectableFields"][0]["jsonPath"] == ".status.phase");
        REQUIRE(spec["versions"].Size() == 1);
        CHECK(version(document)["name"] == "v1beta1");
        CHECK(is_true(version(document), "served"));
        CHECK(is_true(version(document), "storage"));
        const auto& subresources = version(document)["subresources"];
        CHECK(subresources.HasMember("status"));
        const auto& scale = subresources["scale"];
        CHECK(scale["specReplicasPath"] == ".spec.elastic.expectedReplicas");
        CHECK(scale["statusReplicasPath"] == ".status.replicas");
        CHECK(scale["labelSelectorPath"] == ".status.selector");
    }
}

TEST_CASE("[api columns] names and priorities of the columns", "[api]") {
    for (const auto kind : kinds) {
        const auto document = crd(kind);
        std::string narrow;
        std::string wide;
        for (const auto& column : version(document)["additionalPrinterColumns"].GetArray()) {
            (column.HasMember("priority") ? wide : narrow) +=
                column["name"].GetString() + std::string(" ");
        }
        CHECK(
            narrow == (kind == job_kind::colossalai ? "PHASE READY REASON AGE "
                                                    : "PHASE READY RESTARTS REASON AGE ")
        );
        CHECK(wide == "QUEUE PROGRESS STARTED DURATION DISRUPTIONS ");
    }
}

TEST_CASE(
    "[api defaults] [api null] no default in the CRD, nullable wherever a field may be absent",
    "[api]"
) {
    for (const auto kind : kinds) {
        const auto document = crd(kind);
        int fields = 0;
        const auto visit = [&](const json::value& node, const std::string& path, bool required) {
            INFO(path);
            ++fields;
            const bool root = path == "spec" || path == "status";
            CHECK_FALSE(node.HasMember("default"));
            CHECK((is_true(node, "nullable") || root) != (required && !root));
        };
        for (const char* part : {"spec", "status"}) {
            walk(schema(document)["properties"][part], part, true, visit);
        }
        CHECK(fields > 100);
    }
}

TEST_CASE("[api 6.2] everything in the specification that has a size has a bound", "[api]") {
    for (const auto kind : kinds) {
        const auto document = crd(kind);
        const auto& root = schema(document)["properties"]["spec"];
        walk(root, "spec", true, [&](const json::value& node, const std::string& path, bool) {
            INFO(path);
            if (is_true(node, "x-kubernetes-int-or-string")) {
                CHECK(node.HasMember("pattern"));
                return;
            }
            const auto type = json::view(node["type"]);
            CHECK((type != "array" || node.HasMember("maxItems")));
            CHECK((type != "string" || node.HasMember("maxLength")));
            CHECK((type != "integer" || (node.HasMember("minimum") && node.HasMember("format"))));
        });
    }
}

TEST_CASE("[api template] the CRD keeps unknown fields of templates, and knows none", "[api]") {
    // Templates, the TensorBoard's and the launcher's resources, items of the launcher's env.
    const std::pair<job_kind, std::set<std::string>> preserving[] = {
        {job_kind::pytorch, {".replicaSpecs[].template", ".tensorboardSpec.resources"}},
        {job_kind::deepspeed, {".worker.template"}},
        {job_kind::colossalai,
         {".launcher.env[]",
          ".launcher.resources",
          ".worker.template",
          ".replicaSpecs[].template"}}};
    for (const auto& [kind, expected] : preserving) {
        const auto document = crd(kind);
        std::set<std::string> found;
        const auto& root = schema(document)["properties"]["spec"];
        walk(root, "", true, [&](const json::value& node, const std::string& path, bool) {
            if (is_true(node, "x-kubernetes-preserve-unknown-fields")) {
                found.insert(path);
                CHECK_FALSE(node.HasMember("properties"));
                CHECK(node["type"] == "object");
            }
        });
        CHECK(found == expected);
    }
}

TEST_CASE("[api aliases] declared beside the fields they stand for", "[api]") {
    const auto document = crd(job_kind::pytorch);
    const auto& spec = schema(document)["properties"]["spec"]["properties"];
    const auto& mode = spec["runMode"]["properties"];
    CHECK(mode["debug"]["properties"].HasMember("enable"));
    CHECK(mode["pause"]["properties"].HasMember("enable"));
    CHECK(spec["elastic"]["properties"].HasMember("enable"));
    CHECK(spec["torchrunConfig"]["properties"].HasMember("enable"));
    CHECK(spec["torchrunConfig"]["properties"].HasMember("minNodes"));
    CHECK(spec["scheduler"]["properties"]["t9kScheduler"]["properties"].HasMember("Queue"));
    // Not `enum`: a real server refuses null there, though the field is nullable.
    CHECK(
        spec["runPolicy"]["properties"]["cleanUpPolicy"]["pattern"] ==
        "^(All|all|Unfinished|unfinished|None|none)$"
    );
}

TEST_CASE("the status that we write is in the schema whole", "[api]") {
    job_status s;
    const instant t{seconds{1}};
    s.phase = job_phase::running;
    s.reason = "r";
    s.conditions = {{"Running", true, "r", "m", t}};
    s.tasks = {{"worker", 1, 1, {{"n", "u", "Running", {{"c", "Terminated", 1}}}}}};
    s.aggregate = aggregate_counts{};
    s.backoff_count = 1;
    s.tensorboard = tensorboard_status{
        "t", dependent_reference{"v1", "k", "n", "ns", "u"}, true, "r", "a", "n", "TensorBoard"};
    s.observed_generation = 1;
    s.start_time = s.completion_time = t;
    s.duration = "1s";
    s.ready = "1/1";
    s.replicas = 1;
    s.selector = "a=b";
    s.next_transition = transition{t, "r"};
    s.attempt = 1;
    const std::vector<typed_indexes> indexes{{"worker", index_set::parse("0-3")}};
    s.restarts.disruptions = s.restarts.free_streak = s.restarts.streak = s.restarts.renames = 1;
    s.restarts.seen = s.restarts.given_up = s.restarts.completed = indexes;
    s.restarts.last =
        incident_record{t, "c", "r", restart_scope::job, true, 1, t, {{"n", "u", 1, "r"}}, 1};
    s.restarts.settling = s.restarts.last;
    s.restarts.replaced = {{"worker", 1, 1}};
    s.restarts.renamed = {{"worker", 1, 1}};
    for (const auto kind : kinds) {
        if (kind != job_kind::pytorch) {
            s.tensorboard.reset();  // no other kind has one
        }
        const auto document = crd(kind);
        json::document status;
        json::parse(status, format_status(s, kind));
        REQUIRE(status.IsObject());
        expect_known(status, schema(document)["properties"]["status"], "status");
    }
}
