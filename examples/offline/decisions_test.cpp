// SPDX-License-Identifier: Apache-2.0
//
// What the operator would do in situations that matter to us, as unit tests: no cluster, no clock.
// The fixture is what `kubectl get pj,pods,svc -o yaml` printed of a running job; each test changes
// one fact of it and asks for the decision.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

#include <jobcore/text.hpp>

#include <yaml-cpp/yaml.h>

#include <string>

namespace {

/// YAML's plain scalars are what they look like; quoted ones are texts. JSON is YAML, so that
/// yaml-cpp needs no help on the way back.
std::string to_json(const YAML::Node& node) {
    if (node.IsNull()) {
        return "null";
    }
    if (node.IsScalar()) {
        const std::string& written = node.Scalar();
        double number = 0;
        const bool plain = node.Tag() != "!";
        const bool boolean = written == "true" || written == "false";
        if (plain && (boolean || YAML::convert<double>::decode(node, number))) {
            return written;
        }
        YAML::Emitter quoted;
        quoted << YAML::DoubleQuoted << written;
        return quoted.c_str();
    }
    std::string out;
    for (const auto& child : node) {
        out += out.empty() ? "" : ",";
        if (node.IsMap()) {
            out += to_json(YAML::Node(child.first)) + ":" + to_json(child.second);
        } else {
            out += to_json(child);
        }
    }
    return node.IsMap() ? "{" + out + "}" : "[" + out + "]";
}

class recording {
public:
    explicit recording(const std::string& file) {
        for (const YAML::Node& item : YAML::LoadFile(FIXTURES "/" + file)["items"]) {
            if (item["kind"].as<std::string>() == "PyTorchTrainingJob") {
                job = item;
            } else {
                children.push_back(item);
            }
        }
    }

    /// The first container of the pod whose name ends so has ended.
    void exited(const std::string& pod, int code, const std::string& when) {
        YAML::Node status = find(pod)["status"];
        YAML::Node state;
        state["terminated"]["exitCode"] = code;
        state["terminated"]["finishedAt"] = when;
        status["phase"] = code == 0 ? "Succeeded" : "Failed";
        status["containerStatuses"][0]["state"] = state;
    }

    /// Its node is being drained.
    void drained(const std::string& pod, const std::string& when) {
        YAML::Node target;
        target["type"] = "DisruptionTarget";
        target["status"] = "True";
        find(pod)["status"]["conditions"].push_back(target);
        find(pod)["metadata"]["deletionTimestamp"] = when;
        find(pod)["metadata"]["deletionGracePeriodSeconds"] = 0;
    }

    YAML::Node decide(const std::string& now) const {
        const std::string response = signalbox::core::text::call(
            R"({"apiVersion":"text.jobcore/v1","operation":"decide","now":")" + now +
            R"(","job":)" + to_json(job) + R"(,"children":)" + to_json(children) + "}"
        );
        INFO(response);
        YAML::Node answer = YAML::Load(response);
        REQUIRE_FALSE(answer["errors"]);
        return answer;
    }

    YAML::Node job;
    YAML::Node children;

private:
    YAML::Node find(const std::string& suffix) {
        for (YAML::Node child : children) {
            if (child["kind"].as<std::string>() == "Pod" &&
                child["metadata"]["name"].as<std::string>().ends_with(suffix)) {
                return child;
            }
        }
        throw std::runtime_error("the fixture has no pod " + suffix);
    }
};

std::string text(const YAML::Node& node) {
    return node ? node.as<std::string>() : "";
}

}  // namespace

TEST_CASE("nothing happens to a job that runs") {
    const YAML::Node d = recording("running.yaml").decide("2026-01-31T12:10:00Z");
    CHECK(d["status"].IsNull());
    CHECK(d["stages"].size() == 0);
    CHECK(text(d["wakeUp"]) == "2026-01-31T14:00:00.000Z");  // our deadline of two hours
}

TEST_CASE("a worker that fails costs one of our three restarts") {
    recording r("running.yaml");
    r.exited("worker-1", 1, "2026-01-31T12:09:58Z");
    const YAML::Node d = r.decide("2026-01-31T12:10:00Z");
    CHECK(text(d["status"]["backoffCount"]) == "1");
    CHECK(text(d["status"]["attempt"]) == "2");
    CHECK(d["stages"].size() == 0);  // recorded first, acted on after
}

TEST_CASE("a worker whose node is drained costs none") {
    recording r("running.yaml");
    r.drained("worker-1", "2026-01-31T12:09:58Z");
    const YAML::Node d = r.decide("2026-01-31T12:10:00Z");
    CHECK_FALSE(d["status"]["backoffCount"].as<int>(0));
    CHECK(text(d["status"]["restarts"]["disruptions"]) == "1");
}

TEST_CASE("after the last restart a failure ends the job, and says why") {
    recording r("running.yaml");
    r.job["status"]["backoffCount"] = 3;
    r.exited("worker-1", 1, "2026-01-31T12:09:58Z");
    const YAML::Node d = r.decide("2026-01-31T12:10:00Z");
    CHECK(text(d["status"]["phase"]) == "Failed");
    CHECK(text(d["status"]["reason"]) == "BackoffLimitExceeded");
}

TEST_CASE("the deadline deletes what still runs") {
    recording r("running.yaml");
    YAML::Node d = r.decide("2026-01-31T14:00:00Z");
    CHECK(text(d["status"]["reason"]) == "DeadlineExceeded");
    r.job["status"] = d["status"];
    d = r.decide("2026-01-31T14:00:01Z");
    REQUIRE(d["stages"].size() > 0);
    CHECK(d["stages"][0].size() == 2);
    for (const YAML::Node& action : d["stages"][0]) {
        CHECK(text(action["verb"]) == "delete");
        CHECK(text(action["kind"]) == "Pod");
        CHECK(text(action["why"]) == "the deadline has passed");
    }
}
