// SPDX-License-Identifier: Apache-2.0
//
// What pods get that report progress, in every launcher (BEHAVIOUR.md 13.10).
#include "launch/compiled.hpp"
#include "launch/ssh_job.hpp"

#include <jobcore/observed.hpp>

using namespace signalbox;
using namespace signalbox::test;

namespace {

const core::render_options reporting{
    .wanted = {}, .reports = {"https://receiver:8444", "-----BEGIN CERTIFICATE-----\nx"}};

constexpr const char* url_name = "KUBEFLOW_TRAINER_SERVER_URL";
constexpr const char* ca_name = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
constexpr const char* token_name = "KUBEFLOW_TRAINER_SERVER_TOKEN";
constexpr const char* annotation = "batch.tensorstack.dev/progress-ca";

const value* volume_of(const rendered& pod) {
    const value* volumes = find(pod.spec(), "volumes");
    for (rapidjson::SizeType i = 0; volumes != nullptr && i < volumes->Size(); ++i) {
        if (string_or_empty((*volumes)[i], "name") == "signalbox-progress") {
            return &(*volumes)[i];
        }
    }
    return nullptr;
}

void check_access(const rendered& pod, const std::string& container, const std::string& path) {
    CHECK(pod.env(url_name, container) == "https://receiver:8444" + path);
    CHECK(pod.env(token_name, container) == "/var/run/signalbox/progress/token");
    CHECK(pod.env(ca_name, container) == "/var/run/signalbox/progress/ca.crt");
    CHECK(pod.annotation(annotation) == reporting.reports.ca);
    const value* mount = mount_at(pod, "/var/run/signalbox/progress", container);
    REQUIRE(mount != nullptr);
    CHECK(find(*mount, "readOnly")->IsTrue());
    const value* volume = volume_of(pod);
    REQUIRE(volume != nullptr);
    CHECK(same_json(core::json::to_text(*find(*volume, "projected")), R"({"sources":[
        {"serviceAccountToken":{"audience":"progress.batch.tensorstack.dev",
            "expirationSeconds":3600,"path":"token"}},
        {"downwardAPI":{"items":[{"path":"ca.crt","fieldRef":{
            "fieldPath":"metadata.annotations['batch.tensorstack.dev/progress-ca']"}}]}}]})"));
}

std::string text_of(const rendered& pod) {
    return core::json::to_text(pod.root());
}

}  // namespace

TEST_CASE("[behaviour 13.10] every launcher gives it to its training containers", "[launch]") {
    SECTION("plain processes") {
        const auto pod = compiled(job_builder()).pod({}, reporting);
        check_access(pod, "pytorch", "/namespaces/default/pytorchtrainingjobs/mnist");
    }
    SECTION("torchrun") {
        const auto pod = compiled(job_builder().torchrun()).pod({}, reporting);
        check_access(pod, "pytorch", "/namespaces/default/pytorchtrainingjobs/mnist");
        CHECK(pod.words("command") == compiled(job_builder().torchrun()).pod().words("command"));
    }
    SECTION("DeepSpeed by ssh") {
        const auto job = deepspeed_job(2).compile();
        for (const int index : {0, 1}) {
            const auto pod = job.pod({.index = index}, reporting);
            check_access(pod, "worker", "/namespaces/default/deepspeedjobs/cifar");
        }
    }
    SECTION("DeepSpeed without ssh") {
        deepspeed_job job(2);
        job.launch.other_args = {"--no_ssh"};
        job.compile();
        const auto pod = job.pod({}, reporting);
        check_access(pod, "worker", "/namespaces/default/deepspeedjobs/cifar");
    }
    SECTION("Colossal-AI, launcher and workers") {
        const auto job = colossalai_job(2).compile();
        const std::string path = "/namespaces/default/colossalaijobs/palm";
        check_access(job.pod({.type = 0}, reporting), "launcher", path);
        check_access(job.pod({.type = 1}, reporting), "worker", path);
    }
}

TEST_CASE("[behaviour 13.10] without a receiver not a byte is added", "[launch]") {
    const auto job = compiled(job_builder().run_policy(R"("progress":{})"));
    CHECK(text_of(job.pod()) == text_of(compiled(job_builder()).pod()));
    CHECK(volume_of(job.pod()) == nullptr);
}

TEST_CASE("[behaviour 13.10] values and places of the user stay as they are", "[launch]") {
    const auto unchanged = [](const replica& r) {
        const auto job = compiled(job_builder().replicas(r));
        CHECK(text_of(job.pod({}, reporting)) == text_of(job.pod()));
    };
    replica r;
    for (const char* name : {url_name, ca_name, token_name}) {
        r.container_more = std::string(R"("env":[{"name":")") + name + R"(","value":"mine"}])";
        unchanged(r);
    }
    for (const char* path :
         {"/var/run/signalbox", "/var/run/signalbox/progress", "/var/run/signalbox/progress/x"}) {
        r.container_more =
            std::string(R"("volumeMounts":[{"name":"v","mountPath":")") + path + R"("}])";
        unchanged(r);
    }
    r.container_more.clear();
    r.pod_more = R"("volumes":[{"name":"signalbox-progress","emptyDir":{}}])";
    unchanged(r);
}

TEST_CASE("[behaviour 13.10] what the user has beside it stays, behind ours", "[launch]") {
    replica r;
    r.container_more = R"x("env":[{"name":"A","value":"$(KUBEFLOW_TRAINER_SERVER_URL)"}],)x"
                       R"("volumeMounts":[{"name":"v","mountPath":"/var/run/signalboxes"}])";
    r.pod_more = R"("volumes":[{"name":"v","emptyDir":{}}])";
    r.metadata = R"({"annotations":{"mine":"1"}})";
    const auto pod = compiled(job_builder().replicas(r)).pod({}, reporting);
    const auto names = pod.env_names();
    CHECK(names.front() == url_name);
    CHECK(names.back() == "A");
    CHECK(mount_at(pod, "/var/run/signalboxes", "pytorch") != nullptr);
    CHECK(pod.annotation("mine") == "1");
}

TEST_CASE("[behaviour 13.10] a receiver that the image trusts needs no certificate", "[launch]") {
    core::render_options trusted = reporting;
    trusted.reports.ca.clear();
    const auto pod = compiled(job_builder()).pod({}, trusted);
    CHECK(pod.env(ca_name) == "<none>");
    CHECK(pod.annotation(annotation).empty());
    CHECK(find(*volume_of(pod), "projected", "sources")->Size() == 1);
    auto whole = text_of(pod);
    whole.insert(whole.find("\"metadata\":{") + 12, R"("uid":"u",)");
    REQUIRE(core::decode_pod(whole));
    CHECK(core::decode_pod(whole)->reports);
}
