// SPDX-License-Identifier: Apache-2.0
//
// The text API: the same answers as the C++ API gives, errors at their places, and hostile
// requests. schema_test.py holds both sides to the JSON Schema.
#include "jobcore/text.hpp"

#include "jobcore/explain.hpp"
#include "jobcore/object_kind.hpp"
#include "jobcore/policy_fields.hpp"
#include "jobcore/schema.hpp"
#include "json/json.hpp"
#include "signalbox_test/jobcore_builders.hpp"
#include "signalbox_test/source_files.hpp"
#include "text/request.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/pointer.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::job_builder;

namespace {

class answer {
public:
    explicit answer(std::string_view request) : text_(text::call(request)) {
        json::parse(document_, text_);
        REQUIRE_FALSE(document_.HasParseError());
        CHECK(string("/apiVersion") == "text.jobcore/v1");
    }

    const json::value* at(const std::string& pointer) const {
        return rapidjson::Pointer(pointer).Get(document_);
    }
    std::string string(const std::string& pointer) const {
        const json::value* v = at(pointer);
        return v != nullptr && v->IsString() ? std::string(json::view(*v)) : "";
    }
    std::string json_at(const std::string& pointer) const {
        const json::value* v = at(pointer);
        return v == nullptr ? "" : json::to_text(*v);
    }
    std::size_t size(const std::string& pointer) const {
        const json::value* v = at(pointer);
        return v != nullptr && v->IsArray() ? v->Size() : 0;
    }
    /// `pointer: message` of each error, one a line.
    std::string errors() const {
        std::string out;
        for (std::size_t i = 0; i < size("/errors"); ++i) {
            const std::string place = "/errors/" + std::to_string(i);
            out += string(place + "/pointer") + ": " + string(place + "/message") + "\n";
        }
        return out;
    }
    const std::string& text() const { return text_; }

private:
    std::string text_;
    json::document document_;
};

std::string request(const std::string& operation, const std::string& members) {
    return R"({"apiVersion":"text.jobcore/v1","operation":")" + operation + "\"," + members + "}";
}

const std::string now = format_time(at(0));

std::string decide_request(const std::string& job, const std::string& more = {}) {
    return request("decide", "\"job\":" + job + ",\"now\":\"" + now + "\"" + more);
}

/// A job whose Services are there; `children` for a request.
struct begun {
    std::string job;
    std::string children;
    std::vector<std::string> pods;
};

begun begin(const job_builder& builder) {
    auto job = read_job(builder.json());
    REQUIRE(job);
    const decision d = decide(*job, {}, policy(), at(0));
    REQUIRE(d.status);
    job->status = *d.status;
    begun out;
    job_builder with_status = builder;
    out.job = with_status.status(format_status(*d.status, job->meta.kind)).json();
    const auto as_seen = [](std::string object, const std::string& uid) {
        const std::string start = "\"metadata\":{";
        object.insert(object.find(start) + start.size(), "\"uid\":\"" + uid + "\",");
        return object;
    };
    const job_plan& plan = *job->compiled->plan;
    for (const planned_object& object : plan.objects) {
        out.children += (out.children.empty() ? "" : ",") +
                        as_seen(preview_object(plan, object, 1, {}), object.name);
    }
    for (std::int32_t i = 0; i < plan.types[0].wanted; ++i) {
        out.pods.push_back(
            as_seen(render_pod(plan, {0, i, 1, 0, 0}, {}), "pod-" + std::to_string(i))
        );
    }
    return out;
}

job_builder deepspeed() {
    return job_builder("cifar")
        .kind(job_kind::deepspeed)
        .field("config", R"({"run":{"python":["train.py"]}})")
        .field(
            "worker",
            R"({"replicas":2,"template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}})"
        );
}

std::string as_paused(job_builder builder) {
    return builder.pause()
        .status(R"({"phase":"Paused","attempt":1,"conditions":[{"type":"Paused","status":"True"}]})"
        )
        .json();
}

}  // namespace

TEST_CASE("decide: a new job gets a status first, and nothing else", "[text]") {
    const job_builder job("mnist");
    const answer a(decide_request(job.json()));
    CHECK(a.string("/operation") == "decide");
    CHECK(a.string("/status/phase") == "Pending");
    CHECK(a.json_at("/defer") == "0");
    CHECK(a.json_at("/stages") == "[]");
    CHECK(a.string("/events/0/reason") == "Created");
    CHECK(a.string("/events/0/type") == "Normal");
}

TEST_CASE("[behaviour 2.12] decide: without room a job waits", "[text]") {
    job_builder job("mnist");
    const answer first(decide_request(job.json()));
    job.status(first.json_at("/status"));
    const answer a(decide_request(job.json(), ",\"noRoom\":true"));
    CHECK(a.string("/status/reason") == "WaitingForRoom");
    CHECK(a.json_at("/stages") == "[]");
}

TEST_CASE("decide: the answer is that of the C++ function, objects rendered", "[text]") {
    const begun b = begin(job_builder("mnist").replicas("worker", 2));
    const answer a(decide_request(b.job, ",\"children\":[" + b.children + "]"));
    INFO(a.text());
    REQUIRE(a.size("/stages") == 1);
    REQUIRE(a.size("/stages/0") == 2);
    CHECK(a.string("/stages/0/0/verb") == "create");
    CHECK(a.string("/stages/0/0/kind") == "Pod");
    CHECK(a.string("/stages/0/0/objectApiVersion") == "v1");
    CHECK(a.string("/stages/0/1/replica/type") == "worker");
    CHECK(a.json_at("/stages/0/1/replica/index") == "1");
    CHECK(a.string("/stages/0/1/rule") == "behaviour 2.1");
    CHECK(a.string("/stages/0/1/object/metadata/name") == a.string("/stages/0/1/name"));
    CHECK(a.string("/stages/0/1/object/spec/restartPolicy") == "Never");

    const auto job = read_job(b.job);
    REQUIRE(job);
    const std::string expected =
        render_pod(*job->compiled->plan, {0, 1, 1, 0, 0}, render_options{});
    CHECK(a.json_at("/stages/0/1/object") == expected);
}

TEST_CASE("decide: deletes carry the UID", "[text]") {
    const begun b = begin(job_builder("mnist").replicas("worker", 1));
    const std::string paused = as_paused(job_builder("mnist").replicas("worker", 1));
    const answer a(decide_request(paused, ",\"children\":[" + b.pods[0] + "]"));
    INFO(a.text());
    REQUIRE(a.size("/stages") == 1);
    REQUIRE(a.size("/stages/0") == 1);
    CHECK(a.string("/stages/0/0/verb") == "delete");
    CHECK(a.string("/stages/0/0/uid") == "pod-0");
    CHECK(a.at("/stages/0/0/object") == nullptr);
}

TEST_CASE("decide: children of other owners are left out of account", "[text]") {
    const begun b = begin(deepspeed());
    std::string stranger = b.pods[0];
    const std::string owner = "cffea855-5ce2-496a-8956-f6e76fe2f565";
    for (std::size_t i = stranger.find(owner); i != stranger.npos; i = stranger.find(owner, i)) {
        stranger.replace(i, owner.size(), "another-owner");
    }
    // A ConfigMap goes with the last pod of a paused job (BEHAVIOUR.md 6.1).
    const std::string paused = as_paused(deepspeed());
    const std::string children = ",\"children\":[" + b.children + "," + stranger + "]";
    const answer a(decide_request(paused, children));
    INFO(a.text());
    REQUIRE(a.size("/stages") == 1);
    CHECK(a.size("/stages/0") == 1);
    CHECK(a.string("/stages/0/0/verb") == "delete");
    CHECK(a.string("/stages/0/0/kind") == "ConfigMap");
}

namespace {

/// Of a whole second.
std::string precise(instant t) {
    std::string text = format_time(t);
    text.insert(text.size() - 1, ".000");
    return text;
}

}  // namespace

TEST_CASE("decide: refusals hold, and policy overrides change for how long", "[text]") {
    const begun b = begin(job_builder("mnist").replicas("worker", 1));
    const std::string refusal =
        R"(,"refusals":[{"kind":"Pod","name":"mnist-40c14-worker-0","attempt":1,"httpCode":403,)"
        R"("message":"exceeded quota: gpus","last":")" +
        now + "\"}]";
    const std::string children = ",\"children\":[" + b.children + "]";
    const answer usual(decide_request(b.job, children + refusal));
    CHECK(usual.string("/status/reason") == "QuotaExceeded");
    CHECK(usual.string("/stages/0/0/notBefore") == precise(at(5)));
    CHECK(usual.string("/wakeUp") == precise(at(5)));
    const answer slower(
        decide_request(b.job, children + refusal + R"(,"policy":{"quota_retry":60000})")
    );
    CHECK(slower.string("/wakeUp") == precise(at(60)));
}

TEST_CASE("[behaviour 13.7] a request has what the processes reported", "[text]") {
    progress_report expected;
    expected.attempt = 3;
    expected.rank = 1;
    expected.current_step = 120;
    expected.total_steps = 1000;
    expected.percentage = 12;
    expected.remaining_seconds = 88;
    expected.metrics = {{"loss", "0.5"}, {"lr", "1e-4"}};
    expected.checkpoint_step = 100;
    expected.checkpoint_time = at(20);
    expected.checkpoint_seconds = 7;
    expected.time = at(30);
    expected.advanced = at(25);
    expected.ranks = {{0, 119, at(24)}, {1, std::nullopt, at(30)}};
    const auto read = [](const std::string& progress) {
        std::vector<text::request_error> errors;
        text::request out = text::read_request(
            decide_request(job_builder("mnist").json(), ",\"progress\":" + progress), {}, errors
        );
        CHECK(errors.empty());
        return out.progress;
    };
    const auto time = [](int s) { return '"' + format_time(at(s)) + '"'; };
    CHECK(
        read(
            R"({"attempt":3,"rank":1,"currentStep":120,"totalSteps":1000,"progressPercentage":12,)"
            R"("estimatedRemainingSeconds":88,"checkpointStep":100,"checkpointSeconds":7,)"
            R"("metrics":[{"name":"loss","value":"0.5"},{"name":"lr","value":"1e-4"}],)"
            R"("checkpointTime":)" +
            time(20) + R"(,"lastUpdatedTime":)" + time(30) + R"(,"lastProgressTime":)" + time(25) +
            R"(,"ranks":[{"rank":0,"step":119,"lastProgressTime":)" + time(24) + "},{\"rank\":1}]}"
        ) == expected
    );
    // What is left out is not known, and the last message told of progress.
    expected = {};
    expected.attempt = 1;
    expected.time = expected.advanced = at(30);
    CHECK(read(R"({"attempt":1,"lastUpdatedTime":)" + time(30) + "}") == expected);
}

TEST_CASE("decide: keys of a Secret are slots, not values", "[text]") {
    const begun b = begin(deepspeed());
    const answer a(decide_request(b.job));
    INFO(a.text());
    std::size_t secrets = 0;
    for (std::size_t stage = 0; stage < a.size("/stages"); ++stage) {
        const std::string first = "/stages/" + std::to_string(stage) + "/0";
        if (a.string(first + "/kind") != "Secret") {
            continue;
        }
        ++secrets;
        CHECK(a.size(first + "/keySlots") > 0);
        CHECK(a.string(first + "/keySlots/0/dataKey") != "");
        CHECK(a.json_at(first + "/object/data").find(generated_marker) != std::string::npos);
    }
    CHECK(secrets == 1);
}

TEST_CASE("an invalid specification is no wrong request", "[text]") {
    const std::string job = job_builder("mnist").run_policy("\"backoffLimit\":-1").json();
    const answer a(decide_request(job));
    CHECK(a.string("/status/reason") == "InvalidSpec");
    CHECK(a.string("/findings/0/pointer") == "/spec/runPolicy/backoffLimit");
    CHECK(a.string("/findings/0/level") == "error");

    const answer planned(request("plan", "\"job\":" + job));
    CHECK(planned.json_at("/objects") == "[]");
    CHECK(planned.size("/findings") == 1);

    const answer checked(request("validate", "\"job\":" + job));
    CHECK(checked.json_at("/valid") == "false");
    CHECK(checked.string("/findings/0/pointer") == "/spec/runPolicy/backoffLimit");
}

TEST_CASE("validate: a job without UID, and the change of one", "[text]") {
    const std::string job = job_builder("mnist").uid("").json();
    CHECK(answer(request("validate", "\"job\":" + job)).json_at("/valid") == "true");
    const std::string other = job_builder("mnist").uid("").replicas("worker", 7).json();
    const answer changed(request("validate", "\"job\":" + other + ",\"previous\":" + job));
    CHECK(changed.json_at("/valid") == "false");
    CHECK(changed.string("/findings/0/pointer").starts_with("/spec"));
    CHECK(
        answer(request("validate", "\"job\":" + job + ",\"previous\":" + job)).json_at("/valid") ==
        "true"
    );
}

TEST_CASE("plan: every object of the attempt", "[text]") {
    const std::string job = job_builder("mnist").replicas("worker", 2).json();
    const answer a(request("plan", "\"attempt\":3,\"job\":" + job));
    REQUIRE(a.size("/objects") == 4);
    CHECK(a.string("/objects/0/object/kind") == "Service");
    CHECK(a.string("/objects/3/object/metadata/labels/batch.tensorstack.dev~1attempt") == "3");
    const answer first(request("plan", "\"attempt\":1,\"job\":" + job));
    CHECK(first.string("/objects/3/object/metadata/labels/batch.tensorstack.dev~1attempt") == "1");
    CHECK(
        answer(request("plan", "\"attempt\":0,\"job\":" + job)).errors() ==
        "/attempt: a whole number from 1 to 2147483647 is expected\n"
    );
}

TEST_CASE("explain: the lines of the C++ function", "[text]") {
    const std::string text = job_builder("mnist").json();
    const auto job = read_job(text);
    REQUIRE(job);
    const auto lines = explain(*job, {}, policy(), at(0));
    const answer a(request("explain", "\"job\":" + text + ",\"now\":\"" + now + "\""));
    REQUIRE(a.size("/lines") == lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string place = "/lines/" + std::to_string(i);
        CHECK(a.string(place + "/section") == to_string(lines[i].section));
        CHECK(a.string(place + "/sentence") == lines[i].sentence);
        CHECK(a.string(place + "/rule") == lines[i].rule);
    }
}

TEST_CASE("wrong requests: every error at its place, all at once", "[text]") {
    CHECK(answer("{}").errors() == "/apiVersion: missing\n/operation: missing\n");
    CHECK(answer("[]").errors() == ": an object is expected\n");
    CHECK(
        answer(R"({"apiVersion":"v2","operation":"fly"})").errors() ==
        "/apiVersion: `v2` is none of: text.jobcore/v1\n"
        "/operation: `fly` is none of: validate, plan, decide, explain\n"
    );
    CHECK(answer(decide_request("{}")).errors().starts_with("/job: "));
    const std::string job = job_builder("mnist").json();
    const answer many(request(
        "decide",
        "\"job\":" + job +
            R"(,"now":"noon","children":[{"kind":"Node","apiVersion":"v1"},{"kind":"Pod","apiVersion":"v1"}],)"
            R"("refusals":[{"kind":"Pod","name":1,"httpCode":"403"}],"absences":[{}],"capabilities":{"volcano":"yes"},)"
            R"("policy":{"settle":-1,"restart_delay":"10s","speed":2},"a/b":1)"
    ));
    const std::string errors = many.errors();
    INFO(errors);
    for (const char* expected :
         {"/now: `noon` is no RFC 3339 time",
          "/children/0: no child of a job",
          "/children/1: metadata.name and metadata.uid are expected",
          "/refusals/0/name: a text is expected",
          "/refusals/0/httpCode: a whole number",
          "/refusals/0/last: missing",
          "/absences/0/kind: missing",
          "/absences/0/name: missing",
          "/capabilities/volcano: unknown; there are: podGroup, "
          "podgroups.v1beta1.scheduling.k8s.io, workload, podgroups.v1alpha1.scheduling.x-k8s.io, "
          "podgroups.v1beta1.scheduling.volcano.sh, tensorBoard",
          "/policy/settle: a whole number from 0",
          "/policy/restart_delay: a whole number",
          "/policy/speed: unknown; there are: always_delay",
          "/a~1b: unknown; there are: apiVersion, operation, job, now"}) {
        CAPTURE(expected);
        CHECK(("\n" + errors).find("\n" + std::string(expected)) != std::string::npos);
    }
    CHECK(many.size("/errors") == 13);
    CHECK(
        answer(request("plan", "\"job\":" + job + ",\"now\":\"" + now + "\"")).errors() ==
        "/now: unknown; there are: apiVersion, operation, job, attempt\n"
    );
    CHECK(
        answer(decide_request(job, ",\"now\":\"" + now + "\"")).errors() == "/now: given twice\n"
    );
}

TEST_CASE("hostile requests are answered", "[text]") {
    const auto nested = [](std::size_t levels) {
        return std::string(levels, '[') + std::string(levels, ']');
    };
    const std::string job = job_builder("mnist").json();
    CHECK(answer(nested(100'000)).errors().starts_with(": nested deeper than 600 levels"));
    CHECK(answer(std::string(100'000, '[')).errors().starts_with(": nested deeper than 600 levels")
    );
    CHECK(answer(decide_request(job, ",\"deep\":" + nested(500)))
              .errors()
              .starts_with("/deep: unknown"));
    CHECK(answer("").errors().starts_with(": no JSON: "));
    CHECK(answer("{\"a\":1e999}").errors().starts_with(": no JSON: "));
    CHECK(answer("{\"\xFF\":1}").errors().starts_with(": no JSON: "));
    CHECK(answer(std::string("{\"a\":\"\0\"}", 9)).errors().starts_with(": no JSON: "));
    CHECK(answer(decide_request(job, R"(,"policy":{"settle":99999999999999999999})"))
              .errors()
              .starts_with("/policy/settle: a whole number"));

    std::string members;
    for (int i = 0; i < 10'000; ++i) {
        members += ",\"m" + std::to_string(i) + "\":0";
    }
    CHECK(answer(decide_request(job, members)).size("/errors") == 100);
    const answer long_name(decide_request(job, ",\"" + std::string(100'000, 'x') + "\":1"));
    CHECK(long_name.text().size() < 2'000);

    const std::string deep_job =
        R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob",)"
        R"("metadata":{"name":"a","uid":"u"},"spec":)" +
        nested(590) + "}";
    const answer a(request("plan", "\"job\":" + deep_job));
    CHECK(a.json_at("/objects") == "[]");
    CHECK(a.size("/findings") > 0);
}

TEST_CASE("what a call has compiled is kept for the next one about the same job", "[text]") {
    const std::string job = job_builder("mnist").json();
    const std::string one = decide_request(job);
    std::shared_ptr<const compiled_job> kept;
    CHECK(text::call(one, kept) == text::call(one));
    const compiled_job* const first = kept.get();
    REQUIRE(first != nullptr);
    CHECK(text::call(one, kept) == text::call(one));
    CHECK(kept.get() == first);
    text::call(request("plan", "\"job\":" + job), kept);
    CHECK(kept.get() == first);
    text::call(request("validate", "\"job\":" + job), kept);
    CHECK(kept.get() == first);
    text::call("{}", kept);
    CHECK(kept.get() == first);
    text::call(decide_request(job_builder("mnist").uid("another").json()), kept);
    CHECK(kept->uid == "another");
}

TEST_CASE("[behaviour 10.2] an edit is noticed by a call that knows what was before", "[text]") {
    const auto begun_job = [](const std::string& restart_policy, int generation) {
        return decide_request(
            job_builder("mnist")
                .replicas("worker", 1, restart_policy)
                .generation(generation)
                .status(R"({"phase":"Pending","attempt":1,"observedGeneration":1})")
                .json()
        );
    };
    std::shared_ptr<const compiled_job> kept;
    text::call(begun_job("OnFailure", 1), kept);
    const std::string edited = begun_job("Never", 2);
    CHECK(text::call(edited, kept).find("SpecChanged") != std::string::npos);
    CHECK(text::call(edited).find("SpecChanged") == std::string::npos);
}

TEST_CASE("[behaviour 12.11] the same request gives the same answer", "[text]") {
    const begun b = begin(job_builder("mnist").replicas("worker", 3));
    const std::string one = decide_request(b.job, ",\"children\":[" + b.children + "]");
    CHECK(text::call(one) == text::call(one));
}

namespace {

json::document text_api_schema() {
    json::document schema;
    json::parse(schema, signalbox::test::source_text("libjobcore/text-api.schema.json"));
    return schema;
}

}  // namespace

TEST_CASE("[behaviour 8.15] the JSON Schema has every default scheduler that there is") {
    const json::document schema = text_api_schema();
    const json::value* names =
        rapidjson::Pointer("/$defs/policy/properties/default_scheduler/enum").Get(schema);
    REQUIRE(names != nullptr);
    std::vector<std::string_view> found;
    for (const json::value& name : names->GetArray()) {
        found.push_back(json::view(name));
    }
    CHECK(found == default_schedulers());
}

TEST_CASE("[behaviour 12.11] the JSON Schema has every kind that a job may own") {
    const json::document schema = text_api_schema();
    const json::value* kinds = rapidjson::Pointer("/$defs/child/oneOf").Get(schema);
    REQUIRE(kinds != nullptr);
    std::set<std::string> found;
    for (const json::value& each : kinds->GetArray()) {
        const json::value& is = each["properties"];
        found.insert(
            std::string(json::view(is["apiVersion"]["const"])) + " " +
            std::string(json::view(is["kind"]["const"]))
        );
    }
    std::set<std::string> expected;
    for (const object_kind kind : all_child_kinds()) {
        expected.insert(std::string(api_version_of(kind)) + " " + std::string(to_string(kind)));
    }
    CHECK(found == expected);
}

TEST_CASE("[behaviour 12.11] the JSON Schema has the name of every kind that a refusal may be of") {
    const json::document schema = text_api_schema();
    const json::value* names = rapidjson::Pointer("/$defs/childKind/enum").Get(schema);
    REQUIRE(names != nullptr);
    std::set<std::string_view> found, expected;
    for (const json::value& name : names->GetArray()) {
        found.insert(json::view(name));
    }
    for (const object_kind kind : all_child_kinds()) {
        expected.insert(to_string(kind));
    }
    CHECK(found == expected);
}

TEST_CASE("[behaviour 12.11] the JSON Schema has every kind that a server may lack") {
    const json::document schema = text_api_schema();
    const json::value* names = rapidjson::Pointer("/$defs/capabilities/properties").Get(schema);
    REQUIRE(names != nullptr);
    // What can be given is told where something else is.
    const std::string answer = text::call(
        R"({"apiVersion":"text.jobcore/v1","operation":"decide","capabilities":{"none":"yes"}})"
    );
    std::string expected = "/capabilities/none\",\"message\":\"unknown; there are: ";
    for (auto name = names->MemberBegin(); name != names->MemberEnd(); ++name) {
        expected += name == names->MemberBegin() ? "" : ", ";
        expected += json::view(name->name);
    }
    CHECK(answer.find(expected + "\"") != std::string::npos);
}
