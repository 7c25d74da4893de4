// SPDX-License-Identifier: Apache-2.0
#include "launch/compiled.hpp"
#include "render/labels.hpp"

using namespace signalbox;
using namespace signalbox::test;
namespace label = signalbox::core::label;

TEST_CASE("[behaviour 1.1] the name hash has the published vectors", "[render]") {
    using core::name_hash;
    CHECK(name_hash("gpt-125m", "e2a69076-1c19-46ce-9c70-2cdf20176e01") == "d02e2");
    CHECK(name_hash("torch-mnist-trainingjob", "9dcea839-3a99-4b6f-b594-620d79f8377d") == "7a8f5");
    CHECK(name_hash("mnist", "cffea855-5ce2-496a-8956-f6e76fe2f565") == "40c14");
    CHECK(name_hash("", "").size() == 5);
}

TEST_CASE("[behaviour 1.2] pods are named by job, hash, type and index", "[render]") {
    const compiled job(job_builder("mnist").replicas("ps", 1).replicas("worker", 20));
    CHECK(job.plan.base_name == "mnist-40c14");
    CHECK(core::pod_name(job.plan, {0, 0}) == "mnist-40c14-ps-0");
    CHECK(core::pod_name(job.plan, {1, 17}) == "mnist-40c14-worker-17");

    const auto pod = job.pod({1, 17});
    CHECK(pod.name() == "mnist-40c14-worker-17");
    CHECK(string_or_empty(pod.spec(), "hostname") == "mnist-40c14-worker-17");
    CHECK(string_or_empty(pod.spec(), "subdomain") == "mnist-40c14");
    CHECK(string_or_empty(*find(pod.root(), "metadata"), "namespace") == "default");
}

TEST_CASE("[behaviour 1.3] a renamed pod keeps its hostname", "[render]") {
    const compiled job(job_builder().replicas("worker", 3));
    const auto pod = job.pod({.index = 2, .attempt = 4, .round = 1, .rename = 3});
    CHECK(pod.name() == "mnist-40c14-worker-2-r3");
    CHECK(string_or_empty(pod.spec(), "hostname") == "mnist-40c14-worker-2");
}

TEST_CASE("[behaviour 1.6] pods carry all labels, the master one more", "[render]") {
    const compiled job(job_builder().replicas("ps", 1).replicas("worker", 2));
    const auto pod = job.pod({.type = 1, .index = 1, .attempt = 7, .round = 2});
    CHECK(pod.label(label::owner_name) == "mnist");
    CHECK(pod.label(label::owner_kind) == "PyTorchTrainingJob");
    CHECK(pod.label(label::component) == "pytorchtrainingjob");
    CHECK(pod.label(label::replica_type) == "worker");
    CHECK(pod.label(label::replica_index) == "1");
    CHECK(pod.label(label::job_uid) == "cffea855-5ce2-496a-8956-f6e76fe2f565");
    CHECK(pod.label(label::attempt) == "7");
    CHECK(pod.label(label::round) == "2");
    CHECK(pod.label(label::managed_by) == "signalbox");
    CHECK(pod.label(label::job_role) == "<none>");
    CHECK(job.pod({0, 0}).label(label::job_role) == "master");
    CHECK(job.pod({1, 0}).label(label::job_role) == "<none>");
}

TEST_CASE(
    "[behaviour 1.6] [behaviour I16] the user's labels stay, ours win with a warning", "[render]"
) {
    replica worker;
    worker.replicas = 2;
    worker.metadata = R"({"labels":{"team":"vision","replica-index":"9",
        "app.kubernetes.io/managed-by":"signalbox","job-role":"master",
        "batch.tensorstack.dev/round":"0"},"annotations":{"a/b":"c"}})";
    const compiled job(job_builder().replicas(worker));
    const auto pod = job.pod({.index = 1, .attempt = 2});
    CHECK(pod.label("team") == "vision");
    CHECK(pod.label(label::replica_index) == "1");
    CHECK(pod.label(label::job_role) == "<none>");
    CHECK(pod.annotation("a/b") == "c");
    CHECK(find(pod.root(), "metadata", "labels")->MemberCount() == 10);

    const std::string labels = "/spec/replicaSpecs/0/template/metadata/labels/";
    CHECK(job.warns(labels + "replica-index"));
    CHECK(job.warns(labels + "batch.tensorstack.dev~1round"));
    CHECK(job.warns(labels + "job-role"));
    CHECK_FALSE(job.warns(labels + "app.kubernetes.io~1managed-by"));
    CHECK_FALSE(job.warns(labels + "team"));
    CHECK(job.plan.warnings.size() == 3);
}

TEST_CASE("[behaviour 1.6] pods say which container trains", "[render]") {
    replica worker;
    const auto pod_with = [&](const std::string& metadata) {
        worker.pod_template = R"({"metadata":)" + metadata + R"(,"spec":{"containers":[
            {"name":"side","image":"s"},{"name":"pytorch","image":"t"}]}})";
        return compiled(job_builder().replicas(worker));
    };
    const std::string place =
        "/spec/replicaSpecs/0/template/metadata/annotations/"
        "batch.tensorstack.dev~1training-container";
    const auto plain = pod_with("{}");
    CHECK(plain.pod().annotation(label::training_container) == "pytorch");
    CHECK(plain.pod().annotation(label::default_container) == "pytorch");
    CHECK_FALSE(plain.warns(place));
    const auto theirs = pod_with(
        R"({"annotations":{"kubectl.kubernetes.io/default-container":"side","a/b":"c",
            "batch.tensorstack.dev/training-container":"side"}})"
    );
    CHECK(theirs.pod().annotation(label::training_container) == "pytorch");
    CHECK(theirs.pod().annotation(label::default_container) == "side");
    CHECK(theirs.pod().annotation("a/b") == "c");
    CHECK(theirs.warns(place));
    const auto wrong =
        pod_with(R"({"annotations":{"kubectl.kubernetes.io/default-container":"gone"}})");
    CHECK(wrong.pod().annotation(label::default_container) == "pytorch");
}

TEST_CASE("[behaviour 1.6] a user's own job-role survives where it claims nothing", "[render]") {
    replica worker;
    worker.replicas = 2;
    worker.metadata = R"({"labels":{"job-role":"trainer"}})";
    const compiled job(job_builder().replicas(worker));
    CHECK(job.pod({.index = 1}).label(label::job_role) == "trainer");
    CHECK(job.pod({.index = 0}).label(label::job_role) == "master");
    CHECK(job.warns("/spec/replicaSpecs/0/template/metadata/labels/job-role"));
}

TEST_CASE(
    "[behaviour 1.7] [requirement X10] every child has the job as its one owner", "[render]"
) {
    const compiled job{job_builder()};
    const auto check = [&](const rendered& object) {
        const value* owners = find(object.root(), "metadata", "ownerReferences");
        REQUIRE(owners != nullptr);
        REQUIRE(owners->Size() == 1);
        CHECK(
            (*owners)[0] == *find(
                                rendered(R"({"r":{"apiVersion":"batch.tensorstack.dev/v1beta1",
                    "kind":"PyTorchTrainingJob","name":"mnist",
                    "uid":"cffea855-5ce2-496a-8956-f6e76fe2f565","controller":true,
                    "blockOwnerDeletion":true}})")
                                    .root(),
                                "r"
                            )
        );
    };
    check(job.pod());
    for (const auto& object : job.plan.objects) {
        check(rendered(core::preview_object(job.plan, object, 1, {})));
    }
}

TEST_CASE(
    "[behaviour 3.2] of the template's metadata only labels and annotations are used", "[render]"
) {
    replica worker;
    worker.metadata = R"({"name":"x","namespace":"y","finalizers":["f/g"],
        "creationTimestamp":null,"ownerReferences":[{"uid":"z"}]})";
    const compiled job(job_builder().replicas(worker));
    const auto pod = job.pod();
    CHECK(pod.name() == "mnist-40c14-worker-0");
    CHECK(find(pod.root(), "metadata", "finalizers") == nullptr);
    CHECK(find(pod.root(), "metadata")->MemberCount() == 5);
    CHECK(job.warns("/spec/replicaSpecs/0/template/metadata/finalizers"));
    CHECK_FALSE(job.warns("/spec/replicaSpecs/0/template/metadata/creationTimestamp"));
}
