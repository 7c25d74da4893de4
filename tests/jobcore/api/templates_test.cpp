// SPDX-License-Identifier: Apache-2.0
//
// What `validate` says of pod templates. Each row is a fact of a real API server:
// tests/envtest/test_templates.py compares many more.
#include "json_cases.hpp"

#include <jobcore/decide.hpp>
#include <jobcore/schema.hpp>
#include <jobcore/text.hpp>

#include <catch2/catch.hpp>

using namespace signalbox;
using Catch::Matchers::Contains;
using core::severity;

namespace {

constexpr const char* base =
    R"({"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
        "metadata": {"name": "mnist", "uid": "u"},
        "spec": {"replicaSpecs": [{"type": "worker", "replicas": 2, "template": {
            "metadata": {"labels": {"team": "a"}},
            "spec": {"containers": [{"name": "pytorch", "image": "torch:2", "command": ["train"]}]}}}]}})";

/// The base job with values set at pointers below the template.
std::string job_with(const std::vector<std::pair<std::string, std::string>>& changes) {
    core::json::document object;
    core::json::parse(object, base);
    for (const auto& [pointer, text] : changes) {
        core::json::document v;
        core::json::parse(v, text);
        INFO(text);
        REQUIRE_FALSE(v.HasParseError());
        const std::string full = "/spec/replicaSpecs/0/template" + pointer;
        rapidjson::Pointer(full.c_str()).Set(object, core::json::value(v, object.GetAllocator()));
    }
    return core::json::to_text(object);
}

std::string brief(const std::vector<core::diagnostic>& findings) {
    std::string out;
    for (const core::diagnostic& d : findings) {
        out += (out.empty() ? "" : "\n") + d.pointer + ": " + d.message;
    }
    return out;
}

struct row {
    const char* pointer;  ///< below the template
    const char* value;
    const char* at;       ///< where the one finding is, below the template; nullptr: none
    const char* message;  ///< a part of it
};

const std::vector<row>& rows() {
    static const std::vector<row> table{
        // Names and types.
        {"/spec/containers/0/imagePullPolcy",
         "\"Always\"",
         "/spec/containers/0/imagePullPolcy",
         "no field of Container; did you mean `imagePullPolicy`?"},
        {"/specs", "{}", "/specs", "did you mean `spec`?"},
        {"/spec/containers/0/env",
         R"([{"name": "A", "value": 4}])",
         "/spec/containers/0/env/0/value",
         "must be a string, not 4"},
        {"/spec/containers/0/env",
         R"([{"name": "A", "value": true}])",
         "/spec/containers/0/env/0/value",
         "must be a string, not true"},
        {"/spec/containers/0/env", R"([{"name": "A", "value": null}])", nullptr, ""},
        {"/spec/nodeSelector", R"({"gpu": true})", "/spec/nodeSelector/gpu", "must be a string"},
        {"/metadata/labels", R"({"team": 4})", "/metadata/labels/team", "must be a string, not 4"},
        {"/spec/terminationGracePeriodSeconds", "30.0", nullptr, ""},
        {"/spec/terminationGracePeriodSeconds",
         "30.5",
         "/spec/terminationGracePeriodSeconds",
         "must be an integer, not 30.5"},
        {"/spec/hostNetwork", "\"yes\"", "/spec/hostNetwork", "must be true or false, not \"yes\""},
        {"/spec/tolerations", "{}", "/spec/tolerations", "must be a list, not {}"},
        {"/spec/containers/0/resources",
         R"({"limits": {"cpu": "lots"}})",
         "/spec/containers/0/resources/limits/cpu",
         "must be a quantity such as 2, 500m or 1.5Gi, not \"lots\""},
        {"/spec/containers/0/resources",
         R"({"limits": {"cpu": 1.5, "memory": "1e3"}})",
         nullptr,
         ""},
        // Values.
        {"/spec/containers/0/imagePullPolicy",
         "\"always\"",
         "/spec/containers/0/imagePullPolicy",
         "supported values: \"Always\", \"IfNotPresent\", \"Never\""},
        {"/metadata/labels", R"({"team": "a b"})", "/metadata/labels", "a valid label must"},
        {"/metadata/annotations", R"({"A.example/B": "any text"})", nullptr, ""},
        {"/spec/nodeSelector", R"({"a b": "c"})", "/spec/nodeSelector", "name part must consist"},
        {"/spec/containers/0/ports",
         R"([{"containerPort": 70000}])",
         "/spec/containers/0/ports/0/containerPort",
         "must be between 1 and 65535"},
        {"/spec/containers/0/ports",
         R"([{"name": "http"}])",
         "/spec/containers/0/ports/0/containerPort",
         "`containerPort` is missing"},
        {"/spec/containers/0/securityContext",
         R"({"runAsUser": -1})",
         "/spec/containers/0/securityContext/runAsUser",
         "must be between 0 and"},
        {"/spec/activeDeadlineSeconds", "0", "/spec/activeDeadlineSeconds", "must be between 1"},
        {"/spec/imagePullSecrets", R"([{"name": "A b"}])", nullptr, ""},
        // Rules over several fields.
        {"/spec/containers/0/volumeMounts",
         R"([{"name": "data", "mountPath": "/data"}])",
         "/spec/containers/0/volumeMounts/0/name",
         "\"data\" is not in this template"},
        {"/spec/volumes",
         R"([{"name": "a", "emptyDir": {}, "hostPath": {"path": "/a"}}])",
         "/spec/volumes/0/hostPath",
         "may not specify more than 1 volume type"},
        {"/spec/volumes",
         R"([{"name": "a"}, {"name": "a"}])",
         "/spec/volumes/1/name",
         "\"a\" is there twice"},
        {"/spec/initContainers",
         R"([{"name": "pytorch", "image": "i"}])",
         "/spec/initContainers/0/name",
         "is there twice"},
        {"/spec/initContainers",
         R"([{"name": "a", "image": "i", "livenessProbe": {"exec": {"command": ["x"]}}}])",
         "/spec/initContainers/0/livenessProbe",
         "may not be set for init containers"},
        {"/spec/containers/0/resources",
         R"({"limits": {"nvidia.com/gpu": "500m"}})",
         "/spec/containers/0/resources/limits/nvidia.com~1gpu",
         "must be an integer"},
        {"/spec/containers/0/resources",
         R"({"requests": {"nvidia.com/gpu": 1}})",
         "/spec/containers/0/resources/limits",
         "Limit must be set"},
        {"/spec/containers/0/resources",
         R"({"limits": {"cpu": "500m"}, "requests": {"cpu": 0.5}})",
         nullptr,
         ""},
        {"/spec/containers/0/resources",
         R"({"limits": {"cpu": "1"}, "requests": {"cpu": "1001m"}})",
         "/spec/containers/0/resources/requests",
         "must be less than or equal to cpu limit of 1"},
        {"/spec/containers/0/env",
         R"([{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])",
         "/spec/containers/0/env/0/valueFrom",
         "may not be specified when `value` is not empty"},
        {"/spec/tolerations",
         R"([{"operator": "Equal"}])",
         "/spec/tolerations/0/operator",
         "operator must be Exists when `key` is empty"},
        {"/spec/tolerations", R"([{"operator": "Exists"}])", nullptr, ""},
        {"/spec/affinity",
         R"({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
             {"weight": 101, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname"}}]}})",
         "/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/weight",
         "must be in the range 1-100"},
        {"/spec/containers/0/readinessProbe",
         R"({"tcpSocket": {"port": 80}, "exec": {"command": ["x"]}})",
         "/spec/containers/0/readinessProbe/tcpSocket",
         "may not specify more than 1 handler type"},
    };
    return table;
}

}  // namespace

TEST_CASE("[api 6.6] what a server would refuse of a template is found at its place") {
    CHECK(core::parse_job(base).template_findings.empty());
    for (const row& r : rows()) {
        DYNAMIC_SECTION(r.pointer << " " << r.value) {
            const auto parsed = core::parse_job(job_with({{r.pointer, r.value}}));
            const std::string found = brief(parsed.template_findings);
            INFO(found);
            if (r.at == nullptr) {
                CHECK(found.empty());
            } else {
                REQUIRE(parsed.template_findings.size() == 1);
                const core::diagnostic& d = parsed.template_findings.front();
                CHECK(d.pointer == std::string("/spec/replicaSpecs/0/template") + r.at);
                CHECK_THAT(d.message, Contains(r.message));
                CHECK(d.level == severity::error);
                CHECK(d.reason == "InvalidTemplate");
            }
        }
    }
}

TEST_CASE("[api 6.6] whoever runs the job is warned, and whoever checks it is refused") {
    const std::string job =
        job_with({{"/spec/containers/0/env", R"([{"name": "A", "valeu": ""}])"}});
    const auto read = core::read_job(job);
    REQUIRE(read);
    CHECK(read->compiled->plan);
    REQUIRE(read->compiled->findings.size() == 1);
    CHECK(read->compiled->findings.front().level == severity::warning);
    CHECK(read->compiled->findings.front().reason == "InvalidTemplate");

    const auto answer = [&](const std::string& operation) {
        return core::text::call(
            R"({"apiVersion": "text.jobcore/v1", "operation": ")" + operation + R"(", "job": )" +
            job + "}"
        );
    };
    CHECK_THAT(answer("validate"), Contains(R"("valid":false)"));
    CHECK_THAT(answer("validate"), Contains("did you mean `value`?"));
    CHECK_THAT(answer("plan"), Contains(R"("objects":[])"));
    CHECK_THAT(answer("plan"), Contains(R"("level":"error")"));
}

TEST_CASE("[api 6.6] parts of pods outside of templates are looked at too") {
    const auto parsed = core::parse_job(R"({
        "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "ColossalAIJob", "metadata": {"name": "a"},
        "spec": {
            "launcher": {"env": [{"name": "A", "value": 1}], "resources": {"limits": {"cpu": "x"}}},
            "worker": {"replicas": 1, "procPerWorker": 1, "command": ["train.py"], "template": {"spec": {
                "containers": [{"name": "worker", "image": "i"}]}}}}})");
    CHECK(
        brief(parsed.template_findings) ==
        "/spec/launcher/env/0/value: `value` must be a string, not 1\n"
        "/spec/launcher/resources/limits/cpu: `cpu` must be a quantity such as 2, 500m or 1.5Gi, "
        "not "
        "\"x\""
    );
}

TEST_CASE("[api 6.6] of a launcher's template only what is used is looked at") {
    const auto parsed = core::parse_job(R"({
        "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "ColossalAIJob", "metadata": {"name": "a"},
        "spec": {"torchConfig": {"script": ["train.py"], "procPerWorker": 1}, "replicaSpecs": [
            {"type": "launcher", "template": {"spec": {"nodeSelector": 4, "containers": [
                {"image": "i", "env": [{"name": "A", "value": 1}]}]}}},
            {"type": "worker", "replicas": 1, "template": {"spec": {
                "containers": [{"name": "worker", "image": "i"}]}}}]}})");
    CHECK(
        brief(parsed.template_findings) ==
        "/spec/replicaSpecs/0/template/spec/containers/0/env/0/value: `value` must be a string, "
        "not 1"
    );
}

TEST_CASE("[api 6.6] one place is told once") {
    std::vector<core::diagnostic> findings{{severity::error, "/a", "first", "InvalidSpec"}};
    core::add_findings(
        findings,
        {{severity::error, "/a", "again", "InvalidTemplate"},
         {severity::error, "/a/b", "below", "InvalidTemplate"},
         {severity::error, "/ab", "other", "InvalidTemplate"},
         {severity::warning, "/a", "more", "FieldOverridden"}}
    );
    CHECK(brief(findings) == "/a: first\n/ab: other\n/a: more");

    const std::string no_image = GENERATE(R"("")", "5", "null");
    const auto read = core::read_job(job_with({{"/spec/containers/0/image", no_image}}));
    REQUIRE(read);
    REQUIRE(read->compiled->findings.size() == 1);
    CHECK(read->compiled->findings.front().level == severity::error);
}

TEST_CASE("[api 6.8] a rank of one's own is an error for several replicas in plain mode only") {
    const std::string name = GENERATE("RANK", "WORLD_SIZE");
    const std::string container =
        R"("template": {"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "pytorch", "image": "i",
            "args": ["x"], "env": [{"name": "A", "value": "1"}, {"name": ")" +
        name + R"(", "value": "0"}]}]}})";
    const auto findings_of = [](const std::string& spec) {
        const auto parsed = core::parse_job(
            R"({"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
                "metadata": {"name": "a"}, "spec": )" +
            spec + "}"
        );
        CHECK(parsed.spec);
        REQUIRE(parsed.template_findings.size() == 1);
        const core::diagnostic& d = parsed.template_findings.front();
        CHECK(d.pointer == "/spec/replicaSpecs/0/template/spec/containers/1/env/1/name");
        return std::string(d.level == severity::error ? "error " : "warning ") + d.reason;
    };
    const std::string two =
        R"("replicaSpecs": [{"type": "worker", "replicas": 2, )" + container + "}]}";
    const std::string one =
        R"("replicaSpecs": [{"type": "worker", "replicas": 1, )" + container + "}]}";
    CHECK(findings_of("{" + two) == "error InvalidTemplate");
    CHECK(findings_of("{" + one) == "warning SpecWarning");
    CHECK(findings_of(R"({"torchrunConfig": {"enabled": true}, )" + two) == "warning FieldIgnored");
}

TEST_CASE("[api 6.8] the local rank of the only process of a pod is 0") {
    const auto findings_of = [](const std::string& value, const std::string& more) {
        const auto parsed = core::parse_job(
            R"({"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
                "metadata": {"name": "a"}, "spec": {)" +
            more +
            R"("replicaSpecs": [{"type": "worker", "replicas": 2, "template": {"spec": {"containers": [
                {"name": "pytorch", "image": "i", "args": ["x"], "env": [{"name": "LOCAL_RANK", )" +
            value + "}]}]}}}]}}"
        );
        CHECK(parsed.spec);
        std::string out;
        for (const core::diagnostic& d : parsed.template_findings) {
            out += (d.level == severity::error ? "error " : "warning ") + d.reason;
        }
        return out;
    };
    CHECK(findings_of(R"("value": "0")", "").empty());
    CHECK(findings_of(R"("value": "1")", "") == "warning SpecWarning");
    CHECK(
        findings_of(R"("valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}})", "") ==
        "warning SpecWarning"
    );
    CHECK(
        findings_of(R"("value": "0")", R"("torchrunConfig": {"enabled": true}, )") ==
        "warning FieldIgnored"
    );
}

TEST_CASE("[api 6.8] an address of one's own wins, with a warning, in every kind") {
    const std::string name = GENERATE("MASTER_ADDR", "MASTER_PORT");
    const std::string container =
        R"({"name": "worker", "image": "i", "env": [{"name": ")" + name + R"(", "value": "1"}]})";
    const std::string pods = R"("template": {"spec": {"containers": [)" + container + "]}}";
    const std::vector<std::pair<std::string, std::string>> jobs{
        {"PyTorchTrainingJob",
         R"({"replicaSpecs": [{"type": "worker", "replicas": 2, )" + pods + "}]}"},
        {"DeepSpeedJob",
         R"({"config": {"run": {"python": ["a.py"]}}, "worker": {"replicas": 2, )" + pods + "}}"},
        {"ColossalAIJob",
         R"({"worker": {"replicas": 2, "procPerWorker": 1, "command": ["a.py"], )" + pods + "}}"},
    };
    for (const auto& [kind, spec] : jobs) {
        INFO(kind);
        const auto parsed = core::parse_job(
            R"({"apiVersion": "batch.tensorstack.dev/v1beta1", "metadata": {"name": "a"}, "kind": ")" +
            kind + R"(", "spec": )" + spec + "}"
        );
        CHECK(parsed.spec);
        REQUIRE(parsed.template_findings.size() == 1);
        const core::diagnostic& d = parsed.template_findings.front();
        CHECK(d.level == severity::warning);
        CHECK(d.reason == "SpecWarning");
        CHECK_THAT(d.pointer, Catch::Matchers::EndsWith("/containers/0/env/0/name"));
        CHECK_THAT(d.message, Contains("this " + name + " is used in place of the operator's"));
    }
}
