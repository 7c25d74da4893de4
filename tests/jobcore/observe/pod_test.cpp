// SPDX-License-Identifier: Apache-2.0
#include "gang/scheduler.hpp"
#include "jobcore/observed.hpp"
#include "launch/compiled.hpp"

#include <catch2/catch.hpp>

using namespace signalbox;
using namespace signalbox::test;
using core::container_state;
using core::decode_pod;
using core::pod_phase;

namespace {

std::string pod_json(
    const std::string& metadata_more, const std::string& spec = {}, const std::string& status = {}
) {
    return R"({"kind":"Pod","metadata":{"name":"p","uid":"u")" +
           (metadata_more.empty() ? "" : "," + metadata_more) + "},\"spec\":{" + spec +
           "},\"status\":{" + status + "}}";
}

core::pod_record decoded(const std::string& json) {
    const auto record = decode_pod(json);
    INFO(json);
    REQUIRE(record.has_value());
    return *record;
}

core::pod_record with_labels(const std::string& labels) {
    return decoded(pod_json("\"labels\":{" + labels + "}"));
}

core::pod_record with_status(const std::string& status, const std::string& spec = {}) {
    return decoded(pod_json({}, spec, status));
}

const std::string all_labels =
    R"("tensorstack.dev/owner-name":"j","tensorstack.dev/owner-kind":"K",
       "tensorstack.dev/component":"k","replica-type":"worker","replica-index":"3",
       "batch.tensorstack.dev/job-uid":"ju","batch.tensorstack.dev/attempt":"2",
       "batch.tensorstack.dev/round":"1","app.kubernetes.io/managed-by":"signalbox")";

std::string without(std::string text, std::string_view what) {
    const auto where = text.find(what);
    REQUIRE(where != std::string::npos);
    return text.erase(where, what.size());
}

}  // namespace

TEST_CASE("[behaviour 1.6] a pod that we rendered is read back with its identity", "[observe]") {
    const compiled job(job_builder().replicas("ps", 1).replicas("worker", 2));
    auto text = core::render_pod(job.plan, {.type = 1, .index = 1, .attempt = 3, .round = 2}, {});
    text.insert(text.find("\"metadata\":{") + 12, R"("uid":"u-9","resourceVersion":"5",)");
    const auto p = decoded(text);
    CHECK(p.name == core::pod_name(job.plan, {1, 1}));
    CHECK(p.uid == "u-9");
    CHECK(p.resource_version == "5");
    CHECK(p.owner_uid == job.plan.job_uid);
    CHECK(p.type == "worker");
    CHECK(p.index == 1);
    CHECK(p.attempt == 3);
    CHECK(p.round == 2);
    CHECK(p.labels_complete);
    CHECK(p.phase == pod_phase::unknown);  // not yet written by the server
    REQUIRE(p.containers.size() == 1);
    CHECK(p.containers[0].training);
}

TEST_CASE("[behaviour 1.6] the annotation marks one regular container", "[observe]") {
    const std::string spec =
        R"("containers":[{"name":"a"},{"name":"b"}],"initContainers":[{"name":"b"}])";
    const std::string status =
        R"("initContainerStatuses":[{"name":"b","state":{"terminated":{"exitCode":1}}}])";
    const auto marked = [&](const std::string& annotations) {
        std::string out;
        for (const auto& c : decoded(pod_json(annotations, spec, status)).containers) {
            out += c.training ? c.name.str() + (c.init ? " (init)" : "") : "";
        }
        return out;
    };
    CHECK(
        marked(R"("annotations":{"x":"a","batch.tensorstack.dev/training-container":"b"})") == "b"
    );
    CHECK(marked(R"("annotations":{"batch.tensorstack.dev/training-container":"c"})").empty());
    CHECK(marked(R"("annotations":{"batch.tensorstack.dev/training-container":7})").empty());
    CHECK(marked("").empty());
}

TEST_CASE("[behaviour 1.6] each label counts for completeness", "[observe]") {
    CHECK(with_labels(all_labels).labels_complete);
    const auto missing = GENERATE(
        R"("tensorstack.dev/owner-name":"j",)",
        R"("tensorstack.dev/owner-kind":"K",)",
        R"("tensorstack.dev/component":"k",)",
        R"("replica-type":"worker",)",
        R"("replica-index":"3",)",
        R"("batch.tensorstack.dev/job-uid":"ju",)",
        R"("batch.tensorstack.dev/attempt":"2",)",
        R"("batch.tensorstack.dev/round":"1",)",
        R"(,"app.kubernetes.io/managed-by":"signalbox")"
    );
    CAPTURE(missing);
    CHECK_FALSE(with_labels(without(all_labels, missing)).labels_complete);
}

TEST_CASE("[behaviour 1.9] malformed numbers in labels are missing ones", "[observe]") {
    const auto text = GENERATE(
        "-1", "2147483648", "99999999999999999999", "x", "", " 1", "1 ", "+1", "01", "1.0", "0x1"
    );
    CAPTURE(text);
    const auto labelled = [&](std::string_view key, std::string_view old) {
        auto labels = all_labels;
        const std::string entry = "\"" + std::string(key) + "\":\"";
        const auto where = labels.find(entry) + entry.size();
        return with_labels(labels.replace(where, old.size(), text));
    };
    const auto index = labelled("replica-index", "3");
    CHECK(index.index == -1);
    CHECK_FALSE(index.labels_complete);
    const auto attempt = labelled("batch.tensorstack.dev/attempt", "2");
    CHECK(attempt.attempt == 0);
    CHECK_FALSE(attempt.labels_complete);
    const auto round = labelled("batch.tensorstack.dev/round", "1");
    CHECK(round.round == 0);
    CHECK_FALSE(round.labels_complete);
}

TEST_CASE("[behaviour 1.3] attempt label gone", "[observe]") {
    auto labels = all_labels;
    labels.replace(labels.find("attempt\":\"2") + 10, 1, "gone");
    const auto p = with_labels(labels);
    CHECK(p.attempt == core::gone_attempt);
    CHECK(p.labels_complete);
}

TEST_CASE("[behaviour 1.7] the owner is the controller reference", "[observe]") {
    const auto owner = [](const std::string& list) {
        return decoded(pod_json("\"ownerReferences\":" + list)).owner_uid;
    };
    CHECK(
        owner(R"([{"uid":"a"},{"uid":"b","controller":true},{"uid":"c","controller":false}])") ==
        "b"
    );
    CHECK(owner(R"([{"controller":true,"uid":"a"},{"uid":"z"}])") == "a");
    CHECK(owner(R"([{"uid":"a"}])").empty());
    CHECK(owner("[]").empty());
    CHECK(owner("null").empty());
}

TEST_CASE("times, deletion and grace period", "[observe]") {
    const auto p = decoded(pod_json(
        R"("creationTimestamp":"2026-01-01T00:00:05Z","deletionTimestamp":"2026-01-01T00:01:00Z",
           "deletionGracePeriodSeconds":30)"
    ));
    CHECK(p.creation == at(5));
    CHECK(p.deletion == at(60));
    CHECK(p.grace_seconds == 30);
    const auto bad = decoded(pod_json(
        R"("creationTimestamp":"yesterday","deletionTimestamp":null,"deletionGracePeriodSeconds":-5)"
    ));
    CHECK_FALSE(bad.creation.has_value());
    CHECK_FALSE(bad.deletion.has_value());
    CHECK(bad.grace_seconds == 0);
}

TEST_CASE("phase, reason and message of the pod", "[observe]") {
    const auto p = with_status(
        R"("phase":"Failed","reason":"Evicted","message":")" + std::string(511, 'x') + "\xC3\xA9" +
        R"(")"
    );
    CHECK(p.phase == pod_phase::failed);
    CHECK(p.reason == "Evicted");
    CHECK(p.message == std::string(511, 'x'));  // no half character
    CHECK(with_status(R"("phase":"Pending")").phase == pod_phase::pending);
    CHECK(with_status(R"("phase":"Running")").phase == pod_phase::running);
    CHECK(with_status(R"("phase":"Succeeded")").phase == pod_phase::succeeded);
    CHECK(with_status(R"("phase":"Sleeping")").phase == pod_phase::unknown);
}

TEST_CASE("conditions: ready, disrupted, unschedulable", "[observe]") {
    const auto p = with_status(
        R"("conditions":[{"type":"Ready","status":"True"},
            {"status":"True","type":"DisruptionTarget","reason":"PreemptionByScheduler"},
            {"type":"PodScheduled","status":"False","reason":"Unschedulable",
             "message":"0/4 nodes are available"}])"
    );
    CHECK(p.ready);
    CHECK(p.disruption_target);
    CHECK(p.unschedulable);
    CHECK(p.scheduler_message == "0/4 nodes are available");
    const auto q = with_status(
        R"("conditions":[{"type":"Ready","status":"Unknown"},
            {"type":"DisruptionTarget","status":"False"},
            {"type":"PodScheduled","status":"False","reason":"SchedulingGated",
             "message":"a gate"}])"
    );
    CHECK_FALSE(q.ready);
    CHECK_FALSE(q.disruption_target);
    CHECK_FALSE(q.unschedulable);
    CHECK(q.scheduler_message.empty());
    CHECK_FALSE(with_status(R"("conditions":[{"type":"PodScheduled","status":"True",
        "reason":"Unschedulable"}])")
                    .unschedulable);
    CHECK(decoded(pod_json({}, R"("nodeName":"n")")).scheduled);
    CHECK(decoded(pod_json({}, R"("nodeName":"n")")).node == "n");
    CHECK(p.conditions == "DisruptionTarget=True\n");
    const std::string long_type(2000, 'x');
    CHECK(
        with_status(
            R"("conditions":[{"type":"ConfigIssue","status":"Unknown"},{"type":")" + long_type +
            R"(","status":"True"},{"type":"B","status":"False"},{"type":"Initialized","status":"True"}])"
        )
            .conditions == "ConfigIssue=Unknown\nB=False\n"
    );
    CHECK_FALSE(decoded(pod_json({}, R"("nodeName":"")")).scheduled);
}

TEST_CASE("[behaviour 3.9] who takes a pod says why in DisruptionTarget", "[observe]") {
    const auto taken = with_status(
        R"("conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI",
            "message":"Eviction API: evicting"}])"
    );
    CHECK(taken.disruption_reason.str() == "EvictionByEvictionAPI");
    CHECK(taken.disruption_message.str() == "Eviction API: evicting");
    const auto left = with_status(
        R"("conditions":[{"type":"DisruptionTarget","status":"False","reason":"no","message":"m"}])"
    );
    CHECK(left.disruption_reason.empty());
    CHECK(left.disruption_message.empty());
}

TEST_CASE("[behaviour 4.12] scheduling gates of a pod without a node are named", "[observe]") {
    const std::string gates = R"("schedulingGates":[{"name":"a/b"},{"name":"c"},{"x":1},7])";
    CHECK(decoded(pod_json({}, gates)).gates.str() == "a/b, c");
    CHECK(decoded(pod_json({}, gates + R"(,"nodeName":"n")")).gates.empty());
    CHECK(decoded(pod_json({})).gates.empty());
}

TEST_CASE("containers come in the order of the specification", "[observe]") {
    const auto p = with_status(
        R"("phase":"Running","containerStatuses":[
            {"name":"late","state":{"waiting":{"reason":"ImagePullBackOff","message":"no such image"}}},
            {"name":"a","state":{"running":{"startedAt":"2026-01-01T00:00:01Z"}}},
            {"name":"z","lastState":{"terminated":{"exitCode":9}},"state":{"terminated":{"exitCode":3,
             "reason":"Error","message":"boom","startedAt":"2026-01-01T00:00:01Z",
             "finishedAt":"2026-01-01T00:00:09Z"}}}])",
        R"("containers":[{"name":"z","env":[{"name":"a","value":"{"}]},{"name":"a"},{"name":"unseen"},
            {"name":"late"}])"
    );
    REQUIRE(p.containers.size() == 4);
    const auto& z = p.containers[0];
    CHECK(z.name == "z");
    CHECK(z.state == container_state::terminated);
    CHECK(z.exit_code == 3);
    CHECK(z.reason == "Error");
    CHECK(z.message == "boom");
    CHECK(z.started == at(1));
    CHECK(z.finished == at(9));
    CHECK_FALSE(z.init);
    CHECK(p.containers[1].name == "a");
    CHECK(p.containers[1].state == container_state::running);
    CHECK(p.containers[1].started == at(1));
    CHECK(p.containers[2].name == "unseen");
    CHECK(p.containers[2].state == container_state::unknown);
    CHECK(p.containers[3].state == container_state::waiting);
    CHECK(p.containers[3].reason == "ImagePullBackOff");
    CHECK(p.containers[3].message == "no such image");
}

TEST_CASE("the specification may come after the status", "[observe]") {
    const auto p = decoded(
        R"({"status":{"phase":"Running","containerStatuses":[{"state":{"running":{}},"name":"a"},
            {"name":"b","state":{}}]},"spec":{"containers":[{"name":"b"},{"name":"a"}]},
            "metadata":{"uid":"u","name":"p"}})"
    );
    REQUIRE(p.containers.size() == 2);
    CHECK(p.containers[0].name == "b");
    CHECK(p.containers[0].state == container_state::waiting);  // what an empty state means
    CHECK(p.containers[1].state == container_state::running);
}

TEST_CASE("a container without status waits while the pod is pending", "[observe]") {
    const auto p = with_status(R"("phase":"Pending")", R"("containers":[{"name":"pytorch"}])");
    REQUIRE(p.containers.size() == 1);
    CHECK(p.containers[0].state == container_state::waiting);
    const auto q = with_status(R"("phase":"Failed")", R"("containers":[{"name":"pytorch"}])");
    CHECK(q.containers[0].state == container_state::unknown);
}

TEST_CASE("init containers count only when they failed or wait in error", "[observe]") {
    const auto p = with_status(
        R"("phase":"Pending","initContainerStatuses":[
            {"name":"ok","state":{"terminated":{"exitCode":0}}},
            {"name":"bad","state":{"terminated":{"exitCode":2,"reason":"Error"}}},
            {"name":"side","state":{"terminated":{"exitCode":143}}},
            {"name":"next","state":{"waiting":{"reason":"PodInitializing"}}},
            {"name":"pull","state":{"waiting":{"reason":"ErrImagePull"}}},
            {"name":"runs","state":{"running":{}}}],
           "containerStatuses":[{"name":"m","state":{"waiting":{"reason":"PodInitializing"}}}])",
        R"("containers":[{"name":"m"}],"initContainers":[{"name":"ok"},{"name":"bad"},
            {"restartPolicy":"Always","name":"side"},{"name":"next"},{"name":"pull"}])"
    );
    REQUIRE(p.containers.size() == 3);
    CHECK(p.containers[0].name == "m");
    CHECK_FALSE(p.containers[0].init);
    CHECK(p.containers[1].name == "bad");
    CHECK(p.containers[1].init);
    CHECK(p.containers[1].exit_code == 2);
    CHECK(p.containers[2].name == "pull");
}

TEST_CASE("[behaviour 3.9] of a long termination message the end is kept", "[observe]") {
    const auto p = with_status(
        R"("containerStatuses":[{"name":"m","state":{"terminated":{"exitCode":1,"message":")" +
        std::string(5000, 'a') + R"(the end"}}}])"
    );
    REQUIRE(p.containers.size() == 1);
    CHECK(p.containers[0].message.size() == 4096);
    CHECK(p.containers[0].message.str().ends_with("the end"));
}

TEST_CASE("wrong types anywhere are skipped", "[observe]") {
    static constexpr std::array values{
        "null",
        "true",
        "7",
        "-1",
        "1e300",
        "99999999999",
        "18446744073709551615",
        "\"t\"",
        "[]",
        "{}",
        "[[[]]]",
        "{\"a\":{\"name\":\"x\"}}",
        "[{\"name\":5},\"x\",null,[{}]]"};
    static constexpr std::array places{
        R"({"metadata":@})",
        R"({"metadata":{"name":"p","uid":"u","labels":@,"ownerReferences":@},"spec":@,"status":@})",
        R"({"metadata":{"name":@,"uid":@,"resourceVersion":@,"creationTimestamp":@,
            "deletionTimestamp":@,"deletionGracePeriodSeconds":@,"labels":{"replica-index":@},
            "ownerReferences":[{"uid":@,"controller":@},@]}})",
        R"({"metadata":{"name":"p","uid":"u"},"spec":{"nodeName":@,"containers":@,
            "initContainers":@},"status":{"phase":@,"reason":@,"message":@,"conditions":@,
            "containerStatuses":@,"initContainerStatuses":@}})",
        R"({"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"name":@},@],
            "initContainers":[{"name":@,"restartPolicy":@}]},"status":{"conditions":[@,{"type":@,
            "status":@,"reason":@}],"containerStatuses":[@,{"name":@,"state":@},{"name":"c",
            "state":{"waiting":@,"running":@,"terminated":@}},{"state":{"terminated":{"exitCode":@,
            "reason":@,"message":@,"startedAt":@,"finishedAt":@}}}]}})"};
    for (const std::string_view place : places) {
        for (const std::string_view value : values) {
            std::string text;
            for (const char c : place) {
                text += c == '@' ? std::string(value) : std::string(1, c);
            }
            CAPTURE(text);
            const auto record = decode_pod(text);
            if (place.find("\"name\":\"p\"") != std::string_view::npos) {
                REQUIRE(record.has_value());
                CHECK(record->name == "p");
            }
            for (const auto& c :
                 record ? record->containers : std::vector<core::container_record>{}) {
                CHECK((c.exit_code == 0 || c.exit_code == 7 || c.exit_code == -1));
            }
        }
    }
}

TEST_CASE("an exit code that is none is not taken over", "[observe]") {
    const auto code = [](const std::string& text) {
        return with_status(
                   R"("containerStatuses":[{"name":"m","state":{"terminated":{"exitCode":)" + text +
                   "}}}]"
        )
            .containers.at(0)
            .exit_code;
    };
    CHECK(code("137") == 137);
    CHECK(code("-1") == -1);
    CHECK(code("2147483648") == 0);
    CHECK(code("99999999999") == 0);
    CHECK(code("18446744073709551615") == 0);
    CHECK(code("1.0") == 0);
    CHECK(code("\"1\"") == 0);
}

TEST_CASE("what is no pod is refused", "[observe]") {
    for (const std::string_view text :
         {"",
          " ",
          "{",
          "[]",
          "7",
          "\"x\"",
          "null",
          "{}",
          R"({"metadata":{"name":"p"}})",
          R"({"metadata":{"uid":"u"}})",
          R"({"metadata":{"name":"p","uid":"u"}} x)",
          R"({"metadata":{"name":"p","uid":"u"})"}) {
        CAPTURE(text);
        CHECK_FALSE(decode_pod(text).has_value());
    }
    CHECK_FALSE(decode_pod("{\"metadata\":{\"name\":\"p\",\"uid\":\"\xff\"}}").has_value());
}

TEST_CASE("text that is no UTF-8 never gets into a record", "[observe]") {
    const auto message = [](const std::string& text) {
        return with_status("\"reason\":\"r\",\"message\":\"" + text + "\"").message;
    };
    for (const std::string text :
         {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "\x80"}) {
        CHECK(message(text).empty());
    }
    CHECK(message("\xc3\xa9\xf0\x9f\x9a\x80") == "\xc3\xa9\xf0\x9f\x9a\x80");
    CHECK(decode_pod("{\"x\":\"\xff\",\"metadata\":{\"name\":\"p\",\"uid\":\"u\"}}").has_value());
}

TEST_CASE("deep nesting costs no stack", "[observe]") {
    const std::size_t depth = 1'000'000;
    const std::string nested = std::string(depth, '[') + std::string(depth, ']');
    CHECK(decoded(pod_json({}, "\"x\":" + nested)).name == "p");
    CHECK(decoded(pod_json({}, "\"containers\":" + nested)).name == "p");
    CHECK_FALSE(decode_pod(std::string(depth, '[')).has_value());
}

TEST_CASE("every prefix of a pod is refused without harm", "[observe]") {
    const auto whole = pod_json(
        "\"labels\":{" + all_labels + "}",
        R"("containers":[{"name":"m"}])",
        R"("containerStatuses":[{"name":"m","state":{"terminated":{"exitCode":1}}}])"
    );
    for (std::size_t n = 0; n < whole.size(); ++n) {
        // A heap block of exactly that size: the sanitizer sees a read past the end.
        const std::vector<char> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
        CHECK_FALSE(decode_pod({part.data(), part.size()}).has_value());
    }
    CHECK(decode_pod(whole).has_value());
}

namespace {

struct pod_edit {
    const char* what;
    const char* with;
};

std::string edited(std::string text, const pod_edit& e) {
    const std::string_view what = e.what;
    const auto where = text.find(what);
    INFO(text);
    REQUIRE(where != std::string::npos);
    return text.replace(where, what.size(), e.with);
}

/// A pod of an ssh job, which has all that counts.
std::string ssh_pod() {
    static const compiled job(
        job_builder("cifar")
            .kind(core::job_kind::deepspeed)
            .field("config", R"({"run":{"python":["train.py"]}})")
            .field(
                "worker",
                R"({"replicas":2,"template":{"spec":{"containers":[{"name":"worker","image":"ds:1"}]}}})"
            )
    );
    return core::render_pod(job.plan, {.type = 0, .index = 1}, {});
}

}  // namespace

TEST_CASE("[behaviour 2.14] what of a pod counts as its content", "[observe]") {
    const std::string pod = ssh_pod();
    const auto content = core::content_of_pod(pod);
    CHECK(content != 0);
    const std::string stored = edited(pod, {"\"metadata\":{", R"("metadata":{"uid":"u",)"});
    CHECK(decoded(stored).content == content);
    const auto in_phase = [&](const std::string& phase) {
        return decoded(
                   stored.substr(0, stored.size() - 1) + R"(,"status":{"phase":")" + phase + "\"}}"
        )
            .content;
    };
    CHECK(in_phase("Pending") == content);
    CHECK(in_phase("Running") == 0);
    CHECK(in_phase("Failed") == 0);
    const auto e = GENERATE(
        pod_edit{R"("image":"ds:1")", R"("image":"evil")"},
        pod_edit{"\"/bin/sh\"", "\"/bin/evil\""},
        pod_edit{R"("image":"ds:1")", R"("args":["x"],"image":"ds:1")"},
        pod_edit{R"("image":"ds:1")", R"("securityContext":{"privileged":true},"image":"ds:1")"},
        pod_edit{R"("secretName":"cifar)", R"("secretName":"other)"},
        pod_edit{R"("mountPath":"/root/.ssh")", R"("mountPath":"/tmp/x")"},
        pod_edit{R"("mountPath":"/root/.ssh")", R"("subPath":"x","mountPath":"/root/.ssh")"},
        pod_edit{R"("spec":{)", R"("spec":{"serviceAccountName":"admin",)"},
        pod_edit{R"("spec":{)", R"("spec":{"hostNetwork":true,)"},
        pod_edit{R"("spec":{)", R"("spec":{"hostPID":true,)"},
        pod_edit{R"("spec":{)", R"("spec":{"hostIPC":true,)"},
        pod_edit{R"("subdomain":"cifar)", R"("subdomain":"other)"},
        pod_edit{R"(training-container":"worker")", R"(training-container":"mesh")"}
    );
    CAPTURE(e.what, e.with);
    CHECK(core::content_of_pod(edited(pod, e)) != content);
}

TEST_CASE("[behaviour 2.14] what others add to a pod is no other content", "[observe]") {
    const std::string pod = ssh_pod();
    const auto e = GENERATE(
        pod_edit{R"("containers":[)", R"("containers":[{"name":"mesh","image":"m","args":["x"]},)"},
        pod_edit{R"("spec":{)", R"("spec":{"initContainers":[{"name":"i","image":"m"}],)"},
        pod_edit{R"("spec":{)", R"("spec":{"nodeName":"n","tolerations":[{"key":"k"}],)"},
        pod_edit{
            R"("spec":{)", R"("spec":{"serviceAccount":"default","serviceAccountName":"default",)"},
        pod_edit{R"("spec":{)", R"("spec":{"hostNetwork":false,)"},
        pod_edit{R"("volumes":[)", R"("volumes":[{"name":"token","secret":{"secretName":"t"}},)"},
        pod_edit{R"("volumeMounts":[)", R"("volumeMounts":[{"name":"token","mountPath":"/t"},)"},
        pod_edit{R"("env":[)", R"("env":[{"name":"A","value":"b"},)"},
        pod_edit{R"("labels":{)", R"("labels":{"team":"x",)"}
    );
    CAPTURE(e.what, e.with);
    CHECK(core::content_of_pod(edited(pod, e)) == core::content_of_pod(pod));
}

TEST_CASE("[behaviour 2.14] the order of members and of who is named first means nothing") {
    const std::string head = R"({"metadata":{"name":"p","annotations":{)"
                             R"("batch.tensorstack.dev/training-container":"c"}},"spec":)";
    const auto of = [&](const std::string& spec) {
        return core::content_of_pod(head + spec + "}");
    };
    CHECK(
        of(R"({"subdomain":"s","containers":[{"name":"c","image":"i","command":["a"],"args":["b"]}]})"
        ) ==
        of(R"({"containers":[{"args":["b"],"command":["a"],"image":"i","name":"c"}],"subdomain":"s"})"
        )
    );
    CHECK(
        of(R"({"containers":[{"name":"c","command":["a","b"]}]})") !=
        of(R"({"containers":[{"name":"c","command":["a"],"args":["b"]}]})")
    );
    CHECK(
        of(R"({"containers":[{"name":"c","command":["ab"]}]})") !=
        of(R"({"containers":[{"name":"c","command":["a","b"]}]})")
    );
    CHECK(core::content_of_pod("no JSON") == 0);
    CHECK(core::content_of_pod("{}") != 0);
    // Of a text that lists all pods of a large job the beginning and the length count.
    const std::string list(10'000, 'x');
    const auto with = [&](const std::string& word) {
        return of(R"({"containers":[{"name":"c","args":[")" + word + R"("]}]})");
    };
    CHECK(with(list) != with(list + "x"));
    CHECK(with(list) != with("y" + list.substr(1)));
    // Of a mount all counts.
    const std::string mount =
        R"({"containers":[{"name":"c","volumeMounts":[{"name":"signalbox-x",)";
    const auto mounted = [&](const std::string& path) {
        return of(mount + R"("mountPath":")" + path + R"("}]}]})");
    };
    CHECK(mounted(list + "x") != mounted(list + "y"));
}

TEST_CASE("[api 5.7] a pod tells whose gang it is a member of", "[observe]") {
    const auto member = [](const std::string& metadata, const std::string& more = "") {
        const auto whose = decoded(
                               R"({"metadata":{"name":"mnist-40c14-worker-0","uid":"u",)" +
                               metadata + R"(},"spec":{"subdomain":"mnist-40c14")" + more + "}}"
        )
                               .gang;
        return whose == nullptr ? std::string_view() : whose->name;
    };
    const std::string label = R"("labels":{"scheduling.x-k8s.io/pod-group":)";
    const std::string volcano = R"("annotations":{"scheduling.k8s.io/group-name":)";
    CHECK(member(label + R"("mnist-40c14"})") == "coscheduling");
    CHECK(
        member(R"("labels":{"scheduler.tensorstack.dev/group-name":"mnist-40c14"})") ==
        "t9kScheduler"
    );
    CHECK(
        member(R"("annotations":{"gang.scheduling.koordinator.sh/name":"mnist-40c14"})") ==
        "koordinator"
    );
    CHECK(member(volcano + R"("mnist-40c14"})") == "volcano");
    CHECK(
        member(R"("labels":{})", R"(,"schedulingGroup":{"podGroupName":"mnist-40c14"})") ==
        "kubernetes"
    );
    // A user's own, beside the job's too.
    CHECK(member(label + R"("team-a"})").empty());
    CHECK(member(label + R"("mnist"})").empty());
    CHECK(member(label + R"(""})").empty());
    CHECK(member(R"("labels":{})").empty());
    CHECK(member(label + R"("mnist-40c14"},)" + volcano + R"("team-a"})") == "coscheduling");
    CHECK(member(label + R"("team-a"},)" + volcano + R"("mnist-40c14"})") == "volcano");
    CHECK(decoded(R"({"metadata":{"name":"p","uid":"u",)" + label + R"(""}}})").gang == nullptr);
}
