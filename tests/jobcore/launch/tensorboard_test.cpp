// SPDX-License-Identifier: Apache-2.0
//
// The objects of a job's TensorBoard.
#include "launch/ssh_job.hpp"
#include "render/labels.hpp"

using namespace signalbox;
using namespace signalbox::test;
using core::object_kind;

namespace {

compiled with_tensorboard(const std::string& spec) {
    return compiled(job_builder().field("tensorboardSpec", spec));
}

const core::planned_object& planned(const compiled& job, object_kind kind) {
    for (const auto& object : job.plan.companions) {
        if (object.kind == kind) {
            return object;
        }
    }
    FAIL("no such object");
    return job.plan.objects.front();
}

std::string text_of(const compiled& job, object_kind kind) {
    return core::preview_object(job.plan, planned(job, kind), 1, {});
}

const value& container_of(const rendered& deployment) {
    return (*find(deployment.spec(), "template", "spec", "containers"))[0];
}

words command_of(const compiled& job) {
    words out;
    const rendered deployment(text_of(job, object_kind::deployment));
    for (const auto& word : find(container_of(deployment), "command")->GetArray()) {
        out.emplace_back(word.GetString());
    }
    return out;
}

}  // namespace

TEST_CASE("[behaviour 9.1] the TensorBoard object has the job's specification", "[launch]") {
    const std::string spec = R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})";
    const auto job = with_tensorboard(spec);
    const rendered object(text_of(job, object_kind::tensorboard));
    CHECK(string_or_empty(object.root(), "apiVersion") == "tensorstack.dev/v1beta1");
    CHECK(string_or_empty(object.root(), "kind") == "TensorBoard");
    CHECK(object.name() == job.plan.base_name);
    CHECK(same_json(core::json::to_text(object.spec()), spec));
    CHECK(compiled(job_builder()).plan.companions.empty());
    for (const auto& o : job.plan.objects) {
        CHECK(o.kind == object_kind::service);
    }
}

TEST_CASE(
    "[behaviour 1.5] the names of our own fit into a label, however long the job's is", "[launch]"
) {
    for (const int length : {44, 45, 46, 48}) {
        const std::string name(static_cast<std::size_t>(length), 'j');
        const compiled job(job_builder(name).field(
            "tensorboardSpec", R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})"
        ));
        const rendered d(text_of(job, object_kind::deployment));
        INFO(d.name());
        CHECK(d.name().size() <= 63);
        CHECK(d.name().ends_with("-tensorboard"));
        CHECK(d.name().find(job.plan.base_name.substr(name.size())) != std::string::npos);
        CHECK((d.name() == job.plan.base_name + "-tensorboard") == (length <= 45));
        CHECK(planned(job, object_kind::service).name == d.name());
    }
}

TEST_CASE("[behaviour 9.1] our own: a Deployment on the claims, read-only", "[launch]") {
    const auto job = with_tensorboard(
        R"({"image":"tb:2","trainingLogFilesets":["t9k://pvc/p/a/b"],"resources":{"limits":{"cpu":2}}})"
    );
    const rendered d(text_of(job, object_kind::deployment));
    CHECK(d.name() == job.plan.base_name + "-tensorboard");
    CHECK(string_or_empty(d.root(), "apiVersion") == "apps/v1");
    CHECK(find(d.spec(), "replicas")->GetInt() == 1);
    CHECK(
        command_of(job) ==
        words{"tensorboard", "--logdir=/logs/0/a/b", "--host=0.0.0.0", "--port=6006"}
    );
    const auto& c = container_of(d);
    CHECK(string_or_empty(c, "image") == "tb:2");
    CHECK(find(c, "resources", "limits", "cpu")->GetInt() == 2);
    CHECK(string_or_empty((*find(c, "volumeMounts"))[0], "mountPath") == "/logs/0");
    CHECK(find((*find(c, "volumeMounts"))[0], "readOnly")->IsTrue());
    const value& volume = (*find(d.spec(), "template", "spec", "volumes"))[0];
    CHECK(string_or_empty(*find(volume, "persistentVolumeClaim"), "claimName") == "p");
    const auto suspended =
        with_tensorboard(R"({"image":"tb","suspend":true,"trainingLogFilesets":["t9k://pvc/p/d"]})"
        );
    CHECK(
        find(rendered(text_of(suspended, object_kind::deployment)).spec(), "replicas")->GetInt() ==
        0
    );
}

TEST_CASE("[behaviour 9.1] it runs as and where the deciding pod does", "[launch]") {
    test::replica node;
    node.pod_more = R"("imagePullSecrets":[{"name":"pull"}],"securityContext":{"fsGroup":7},
                       "tolerations":[{"key":"gpu","operator":"Exists"}])";
    node.container_more = R"("securityContext":{"runAsUser":7,"privileged":true,
                             "capabilities":{"add":["IPC_LOCK"],"drop":["ALL"]}})";
    const compiled job(job_builder().replicas(node).field(
        "tensorboardSpec", R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})"
    ));
    const rendered d(text_of(job, object_kind::deployment));
    const value& pod = *find(d.spec(), "template", "spec");
    const auto text = [&](const char* name) { return core::json::to_text(*find(pod, name)); };
    CHECK(same_json(text("imagePullSecrets"), R"([{"name":"pull"}])"));
    CHECK(same_json(text("tolerations"), R"([{"key":"gpu","operator":"Exists"}])"));
    CHECK(same_json(text("securityContext"), R"({"fsGroup":7})"));
    CHECK(same_json(
        core::json::to_text(*find(container_of(d), "securityContext")),
        R"({"runAsUser":7,"capabilities":{"drop":["ALL"]}})"
    ));
    const value& preferred =
        (*find(pod, "affinity", "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
        )[0];
    CHECK(find(preferred, "weight")->GetInt() == 100);
    const value& term = *find(preferred, "podAffinityTerm");
    CHECK(string_or_empty(term, "topologyKey") == "kubernetes.io/hostname");
    const value& chosen = *find(term, "labelSelector", "matchLabels");
    const rendered master = job.pod();
    for (const auto& each : chosen.GetObject()) {
        CHECK(*find(master.root(), "metadata", "labels", each.name.GetString()) == each.value);
    }
    CHECK(chosen.MemberCount() == 3);

    // No difference: what another version made, or an edit of the template, restarts no
    // TensorBoard.
    node.pod_more = {};
    const compiled other(job_builder().replicas(node).field(
        "tensorboardSpec", R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})"
    ));
    const auto fingerprint = [](const compiled& of) {
        return core::expected_fingerprint(of.plan, planned(of, object_kind::deployment), {});
    };
    CHECK(fingerprint(job) == fingerprint(other));
}

TEST_CASE("[behaviour 3.6] our own TensorBoard asks for little, unless it is told", "[launch]") {
    const auto job = with_tensorboard(R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})");
    const rendered d(text_of(job, object_kind::deployment));
    CHECK(same_json(
        core::json::to_text(*find(container_of(d), "resources")),
        R"({"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"cpu":"1","memory":"1Gi"}})"
    ));
    const value& volume = (*find(d.spec(), "template", "spec", "volumes"))[0];
    CHECK(find(volume, "persistentVolumeClaim", "readOnly")->IsTrue());
}

TEST_CASE("[api tensorboardSpec] what our own TensorBoard cannot do is said", "[launch]") {
    const auto job = with_tensorboard(
        R"({"trainingLogFilesets":["t9k://pvc/p/d"],"logDir":{"http":{"url":["http://h"]}}})"
    );
    CHECK(job.warns("/spec/tensorboardSpec/image"));
    CHECK(job.warns("/spec/tensorboardSpec/logDir/http"));
    const rendered d(text_of(job, object_kind::deployment));
    CHECK(string_or_empty(container_of(d), "image").empty());
    const rendered board(text_of(job, object_kind::tensorboard));
    CHECK(find(board.spec(), "image") == nullptr);
    const auto complete =
        with_tensorboard(R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})");
    CHECK(complete.plan.warnings.empty());
}

TEST_CASE("[launchers 8.5] several places, and object storage with its Secret", "[launch]") {
    const auto job = with_tensorboard(
        R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/a","t9k://minio/keys/bucket/x"],
            "logDir":{"pvc":[{"name":"p","subPath":["b"]},{"name":"q"}]}})"
    );
    CHECK(command_of(job)[1] == "--logdir_spec=0:/logs/0/a,1:s3://bucket/x,2:/logs/0/b,3:/logs/1");
    const rendered d(text_of(job, object_kind::deployment));
    const value& sources = *find(container_of(d), "envFrom");
    REQUIRE(sources.Size() == 1);
    CHECK(string_or_empty(*find(sources[0], "secretRef"), "name") == "keys");
    CHECK(find(d.spec(), "template", "spec", "volumes")->Size() == 2);
}

TEST_CASE("[behaviour 1.5] TensorBoard's pods carry none of the job's labels", "[launch]") {
    const auto job = with_tensorboard(R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})");
    const rendered d(text_of(job, object_kind::deployment));
    const value& labels = *find(d.spec(), "template", "metadata", "labels");
    for (const auto key :
         {core::label::owner_name,
          core::label::job_uid,
          core::label::managed_by,
          core::label::replica_type,
          core::label::attempt}) {
        CHECK(find(labels, key) == nullptr);
    }
    CHECK(*find(d.spec(), "selector", "matchLabels") == labels);
    const rendered service(text_of(job, object_kind::service));
    CHECK(*find(service.spec(), "selector") == labels);
    CHECK(find(service.spec(), "clusterIP") == nullptr);
    CHECK(find((*find(service.spec(), "ports"))[0], "targetPort")->GetInt() == 6006);
}

TEST_CASE("[behaviour 9.2] whether a TensorBoard serves is read from its status", "[observe]") {
    const auto read = [](object_kind kind, const std::string& more) {
        return *core::decode_child(kind, R"({"metadata":{"name":"t","uid":"u"},)" + more + "}");
    };
    const auto board = [&](const std::string& status) {
        return read(object_kind::tensorboard, R"("status":)" + status);
    };
    CHECK(board(R"({"phase":"Running"})").ready);
    CHECK(board(R"({"conditions":[{"type":"Ready","status":"True","reason":"Up"}]})").ready);
    const auto waiting =
        board(R"({"conditions":[{"type":"Ready","status":"False","reason":"NoImage"}]})");
    CHECK_FALSE(waiting.ready);
    CHECK(waiting.reason == "NoImage");
    CHECK(board(R"({"phase":"Pending"})").reason == "Pending");
    const auto up =
        read(object_kind::deployment, R"("spec":{"replicas":1},"status":{"availableReplicas":1})");
    CHECK(up.ready);
    CHECK(up.reason.empty());
    const auto off = read(object_kind::deployment, R"("spec":{"replicas":0},"status":{})");
    CHECK_FALSE(off.ready);
    CHECK(off.reason == "Suspended");
}

TEST_CASE("[behaviour 2.6] TensorBoard's objects as the server shows them", "[render]") {
    const auto job = with_tensorboard(R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})");
    const auto other =
        with_tensorboard(R"({"image":"tb2","trainingLogFilesets":["t9k://pvc/p/d"]})");
    for (const auto kind :
         {object_kind::tensorboard, object_kind::deployment, object_kind::service}) {
        auto text = text_of(job, kind);
        text.replace(text.find("\"metadata\":{"), 12, R"("metadata":{"uid":"u-1",)");
        text.replace(text.find("\"spec\":{"), 8, R"("spec":{"clusterIP":"10.0.0.1","replicas":1,)");
        const auto seen = core::decode_child(kind, text);
        REQUIRE(seen.has_value());
        CHECK(seen->foreign_selector_keys.empty());
        CHECK(seen->selected_attempt == core::expected_selected_attempt(planned(job, kind), 1));
        CHECK(seen->fingerprint == core::expected_fingerprint(job.plan, planned(job, kind), {}));
        const bool same =
            seen->fingerprint == core::expected_fingerprint(other.plan, planned(other, kind), {});
        CHECK(same == (kind == object_kind::service));
    }
}

namespace {

/// A change of the Deployment's text.
struct board_edit {
    const char* what;
    const char* with;
};

std::uint64_t seen_with(const compiled& job, object_kind kind, const board_edit& e) {
    auto text = text_of(job, kind);
    text.replace(text.find("\"metadata\":{"), 12, R"("metadata":{"uid":"u-1",)");
    const auto at = text.find(e.what);
    INFO(text);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string_view(e.what).size(), e.with);
    return core::decode_child(kind, text)->fingerprint;
}

}  // namespace

TEST_CASE("[behaviour 2.13] our annotation on another Deployment proves nothing", "[render]") {
    const auto job = with_tensorboard(
        R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d","t9k://minio/s/b/x"]})"
    );
    const auto e = GENERATE(
        board_edit{R"("command":["tensorboard",)", R"("command":["sh","-c","evil"],"x":[)"},
        board_edit{R"("command":["tensorboard",)", R"("args":["more"],"command":["tensorboard",)"},
        board_edit{"--host=0.0.0.0", "--host=::"},
        board_edit{R"("claimName":"p")", R"("claimName":"another")"},
        board_edit{R"("secretRef":{"name":"s"})", R"("secretRef":{"name":"t"})"},
        board_edit{R"("envFrom":[)", R"("envFrom":[{"configMapRef":{"name":"evil"}},)"},
        board_edit{R"("mountPath":"/logs/0")", R"("mountPath":"/")"},
        board_edit{R"("mountPath":"/logs/0")", R"("subPath":"d","mountPath":"/logs/0")"},
        board_edit{R"("image":"tb")", R"("image":"tb","securityContext":{"privileged":true})"},
        board_edit{R"("name":"tensorboard","image")", R"("name":"other","image")"},
        board_edit{
            R"("enableServiceLinks")", R"("serviceAccountName":"admin","enableServiceLinks")"},
        board_edit{R"("enableServiceLinks")", R"("hostNetwork":true,"enableServiceLinks")"},
        board_edit{R"("enableServiceLinks")", R"("hostPID":true,"enableServiceLinks")"},
        board_edit{R"("enableServiceLinks")", R"("hostIPC":true,"enableServiceLinks")"}
    );
    CAPTURE(e.what, e.with);
    const auto expected =
        core::expected_fingerprint(job.plan, planned(job, object_kind::deployment), {});
    CHECK(seen_with(job, object_kind::deployment, e) != expected);
}

TEST_CASE("[behaviour 2.13] what servers and admission add to it is no difference", "[render]") {
    const auto job = with_tensorboard(R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})");
    const auto e = GENERATE(
        board_edit{R"("image":"tb")", R"("image":"mirror.example.org/tb@sha256:00","tty":false)"},
        board_edit{R"("command":["tensorboard",)", R"("command":["/wrap","tensorboard",)"},
        board_edit{R"("containers":[)", R"("containers":[{"name":"mesh","image":"m"},)"},
        board_edit{R"("volumes":[)", R"("volumes":[{"name":"token","emptyDir":{}},)"},
        board_edit{R"("volumeMounts":[)", R"("volumeMounts":[{"name":"token","mountPath":"/t"},)"},
        board_edit{R"("envFrom":[])", R"("env":[{"name":"A","value":"b"}])"},
        board_edit{
            R"("enableServiceLinks")",
            R"("serviceAccountName":"default","hostNetwork":false,"enableServiceLinks")"},
        board_edit{R"("replicas":1)", R"("replicas":3)"}
    );
    CAPTURE(e.what, e.with);
    const auto expected =
        core::expected_fingerprint(job.plan, planned(job, object_kind::deployment), {});
    CHECK(seen_with(job, object_kind::deployment, e) == expected);
}

TEST_CASE("[behaviour 2.13] its Service leads to the port that was meant", "[render]") {
    const auto job = with_tensorboard(R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"]})");
    const auto expected =
        core::expected_fingerprint(job.plan, planned(job, object_kind::service), {});
    const auto seen = [&](const char* what, const char* with) {
        return seen_with(job, object_kind::service, {what, with});
    };
    CHECK(seen("\"port\":80", R"("protocol":"TCP","port":80)") == expected);
    CHECK(seen("\"port\":80", R"("protocol":"UDP","port":80)") != expected);
    CHECK(seen("\"port\":80", "\"port\":81") != expected);
    CHECK(seen("\"targetPort\":6006", "\"targetPort\":22") != expected);
    CHECK(seen("\"targetPort\":6006", R"("targetPort":"ssh")") != expected);
    CHECK(seen(",\"targetPort\":6006", "") != expected);
}
