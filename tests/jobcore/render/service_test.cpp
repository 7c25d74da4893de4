// SPDX-License-Identifier: Apache-2.0
#include "launch/compiled.hpp"
#include "render/labels.hpp"

using namespace signalbox;
using namespace signalbox::test;
namespace label = signalbox::core::label;

namespace {

rendered service(const compiled& job, std::size_t which, std::int32_t attempt = 1) {
    return rendered(core::preview_object(job.plan, job.plan.objects.at(which), attempt, {}));
}

std::string selects(const rendered& object, std::string_view key) {
    return std::string(string_or_empty(*find(object.spec(), "selector"), key));
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    const auto where = text.find(what);
    REQUIRE(where != std::string::npos);
    return text.replace(where, what.size(), with);
}

/// A Service as the API server shows it: ours with its own fields and a user's additions.
std::string served(const std::string& ours) {
    auto text = replaced(
        ours,
        R"("metadata":{)",
        R"("metadata":{"uid":"u-1","resourceVersion":"77","creationTimestamp":"2026-01-01T00:00:00Z",
           "annotations":{"note":"mine"},"managedFields":[{"manager":"x","fieldsV1":{"f:spec":{}}}],)"
    );
    text = replaced(text, R"("labels":{)", R"("labels":{"team":"vision",)");
    return replaced(
        text,
        R"("ports":[])",
        R"("clusterIPs":["None"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack",
           "sessionAffinity":"None","internalTrafficPolicy":"Cluster")"
    );
}

struct compared {
    std::uint64_t fingerprint;
    std::int32_t attempt;  ///< that the selector names

    friend bool operator==(const compared&, const compared&) = default;
};

compared seen(const std::string& json) {
    const auto record = core::decode_child(core::object_kind::service, json);
    REQUIRE(record.has_value());
    return {record->fingerprint, record->selected_attempt};
}

compared expected_of(
    const compiled& job, const core::planned_object& object, std::int32_t attempt
) {
    return {
        core::expected_fingerprint(job.plan, object, {}),
        core::expected_selected_attempt(object, attempt)};
}

}  // namespace

TEST_CASE(
    "[behaviour 1.5] two headless Services: the subdomain, and an alias of rank 0", "[render]"
) {
    const compiled job(job_builder().replicas("ps", 0).replicas("node", 3).replicas("worker", 2));
    REQUIRE(job.plan.objects.size() == 2);
    const auto all = service(job, 0, 4);
    CHECK(all.name() == "mnist-40c14");
    CHECK(selects(all, label::job_uid) == job.plan.job_uid);
    CHECK(selects(all, label::attempt) == "4");
    CHECK(find(all.spec(), "selector")->MemberCount() == 2);

    const auto alias = service(job, 1, 4);
    CHECK(alias.name() == core::pod_name(job.plan, {job.plan.deciding_type, 0}));
    CHECK(alias.name() == "mnist-40c14-node-0");
    CHECK(find(alias.spec(), "selector")->MemberCount() == 4);
    // What it selects are labels of that pod, and of no other.
    const auto matches = [&](const core::pod_identity& identity) {
        const auto pod = job.pod(identity);
        for (const auto& entry : find(alias.spec(), "selector")->GetObject()) {
            if (pod.label(core::json::view(entry.name)) != core::json::view(entry.value)) {
                return false;
            }
        }
        return true;
    };
    CHECK(matches({.type = 1, .index = 0, .attempt = 4, .round = 2}));
    CHECK_FALSE(matches({.type = 1, .index = 0, .attempt = 3}));
    CHECK_FALSE(matches({.type = 1, .index = 1, .attempt = 4}));
    CHECK_FALSE(matches({.type = 2, .index = 0, .attempt = 4}));

    for (const auto& s : {all, alias}) {
        CHECK(string_or_empty(s.root(), "apiVersion") == "v1");
        CHECK(string_or_empty(s.root(), "kind") == "Service");
        CHECK(string_or_empty(s.spec(), "clusterIP") == "None");
        CHECK(find(s.spec(), "publishNotReadyAddresses")->IsTrue());
        CHECK(s.label(label::owner_name) == "mnist");
        CHECK(s.label(label::managed_by) == "signalbox");
        CHECK(s.label(label::job_uid) == job.plan.job_uid);
    }
}

TEST_CASE(
    "[behaviour 2.6] a Service as the server shows it has the expected fingerprint", "[render]"
) {
    const compiled job(job_builder().replicas("node", 3));
    for (const auto& object : job.plan.objects) {
        for (const std::int32_t attempt : {1, 2, 1000}) {
            const auto text = served(core::preview_object(job.plan, object, attempt, {}));
            CHECK(seen(text) == expected_of(job, object, attempt));
            CHECK_FALSE(seen(text) == expected_of(job, object, attempt + 1));
        }
    }
    CHECK(
        core::expected_fingerprint(job.plan, job.plan.objects[0], {}) !=
        core::expected_fingerprint(job.plan, job.plan.objects[1], {})
    );
}

TEST_CASE("[behaviour 2.6] every field that we set on a Service is watched", "[render]") {
    const compiled job(job_builder().replicas("node", 3));
    const auto& alias = job.plan.objects[1];
    const auto expected = expected_of(job, alias, 1);
    const auto text = served(core::preview_object(job.plan, alias, 1, {}));
    struct edit {
        std::string_view what, with;
    };
    const auto e = GENERATE(
        edit{R"("tensorstack.dev/owner-name":"mnist",)", ""},
        edit{
            R"("tensorstack.dev/owner-kind":"PyTorchTrainingJob")",
            R"("tensorstack.dev/owner-kind":"x")"},
        edit{R"("tensorstack.dev/component":"pytorchtrainingjob",)", ""},
        edit{
            R"("app.kubernetes.io/managed-by":"signalbox")",
            R"("app.kubernetes.io/x":"signalbox")"},
        edit{R"("controller":true)", R"("controller":false)"},
        edit{R"("blockOwnerDeletion":true)", R"("blockOwnerDeletion":false)"},
        edit{R"("clusterIP":"None")", R"("clusterIP":"10.0.0.1")"},
        edit{R"("type":"ClusterIP")", R"("type":"NodePort")"},
        edit{R"("publishNotReadyAddresses":true)", R"("publishNotReadyAddresses":false)"},
        edit{R"("replica-index":"0")", R"("replica-index":"1")"},
        edit{R"("selector":{"batch.tensorstack.dev/attempt":"1",)", R"("selector":{)"},
        edit{
            R"("selector":{"batch.tensorstack.dev/attempt":"1",)",
            R"("selector":{"batch.tensorstack.dev/attempt":"01",)"},
        edit{
            R"("selector":{"batch.tensorstack.dev/attempt":"1",)",
            R"("selector":{"batch.tensorstack.dev/attempt":"x",)"},
        edit{R"("replica-index":"0",)", ""},
        edit{R"("selector":{)", R"("selector":{"extra":"x",)"},
        edit{R"("clusterIP":)", R"("ports":[{"port":80}],"clusterIP":)"},
        edit{R"("clusterIP":)", R"("externalIPs":["192.0.2.1"],"clusterIP":)"}
    );
    CAPTURE(e.what);
    CHECK_FALSE(seen(replaced(text, e.what, e.with)) == expected);
}

TEST_CASE(
    "[behaviour 2.6] selector keys that are none of ours are named for the repair", "[render]"
) {
    const compiled job(job_builder().replicas("node", 3));
    const auto foreign = [&](std::size_t which, std::string_view added) {
        auto text = served(core::preview_object(job.plan, job.plan.objects[which], 1, {}));
        text = replaced(text, R"("selector":{)", R"("selector":{)" + std::string(added));
        return core::decode_child(core::object_kind::service, text)->foreign_selector_keys;
    };
    CHECK(foreign(0, "").empty());
    CHECK(foreign(1, "").empty());
    CHECK(foreign(1, R"("x/y":"1",)") == std::vector<std::string>{"x/y"});
    // The Service of all pods selects no single one.
    CHECK(foreign(0, R"("replica-index":"0",)") == std::vector<std::string>{"replica-index"});
}

TEST_CASE(
    "[behaviour 2.6] a rendered Service, as a merge patch, takes added ports away", "[render]"
) {
    const compiled job{job_builder()};
    const auto object = service(job, 0);
    const value* ports = find(object.spec(), "ports");
    REQUIRE(ports != nullptr);
    CHECK(ports->Empty());
}
