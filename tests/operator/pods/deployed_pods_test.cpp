// SPDX-License-Identifier: Apache-2.0
//
// The Deployment controller of pods that really run.
#include "pods/deployed_pods.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <vector>

using namespace signalbox;
using namespace signalbox::op::pods;

namespace {

deployment_record board(
    int replicas, const std::string& image = "tb", const std::string& status = "{}"
) {
    const auto read = read_deployment_record(fmt::format(
        R"({{"metadata":{{"name":"d","namespace":"n","uid":"u","generation":3,"resourceVersion":"1"}},)"
        R"("spec":{{"replicas":{},"template":{{"metadata":{{"labels":{{"app":"x"}}}},)"
        R"("spec":{{"containers":[{{"name":"c","image":"{}"}}]}}}}}},"status":{}}})",
        replicas,
        image,
        status
    ));
    REQUIRE(read.has_value());
    return *read;
}

/// A Deployment together with its pods; writes are carried out at once.
struct machine {
    deployment_record deployment;
    std::vector<deployed_pod> pods;

    std::optional<deployment_step> look() const {
        std::vector<const deployed_pod*> all;
        for (const auto& pod : pods) {
            all.push_back(&pod);
        }
        return next_step(deployment, all, core::instant{});
    }

    /// Steps until nothing is to be done or a deletion is awaited; as words.
    std::vector<std::string> settle() {
        std::vector<std::string> done;
        while (const auto step = look()) {
            REQUIRE(done.size() < 20);
            if (const auto* made = std::get_if<make_pod>(&*step)) {
                auto pod = read_deployed_pod(made->body);
                if (!pod) {  // the server gives the UID
                    std::string body = made->body;
                    body.replace(body.find("\"metadata\":{"), 12, R"("metadata":{"uid":"new",)");
                    pod = read_deployed_pod(body);
                }
                REQUIRE(pod.has_value());
                CHECK(pod->deployment == "u");
                pod->uid = "pod-" + pod->name;
                pods.push_back(*pod);
                done.push_back("make");
            } else if (const auto* gone = std::get_if<remove_pod>(&*step)) {
                const auto it = std::ranges::find(pods, gone->uid, &deployed_pod::uid);
                REQUIRE(it != pods.end());
                it->deleting = true;
                done.push_back("remove");
            } else {
                const std::string patch = std::get<write_status>(*step).patch;
                const auto status = patch.find(R"("status":)") + 9;
                const std::string kept = deployment.pod_template;
                const std::int64_t wanted = deployment.wanted;
                const bool was = deployment.available;
                deployment = board(1, "tb", patch.substr(status, patch.size() - status - 1));
                deployment.pod_template = kept;
                deployment.wanted = wanted;
                if (patch.find("conditions") == std::string::npos) {
                    deployment.available = was;
                }
                done.push_back(deployment.available ? "available" : "status");
            }
        }
        return done;
    }
};

using words = std::vector<std::string>;

}  // namespace

TEST_CASE("a Deployment gets its pod, and serves when that is ready", "[pods]") {
    machine m{board(1), {}};
    CHECK(m.settle() == words{"status", "make", "status"});
    REQUIRE(m.pods.size() == 1);
    CHECK(m.pods[0].ns == "n");
    m.pods[0].ready = true;
    CHECK(m.settle() == words{"available"});
    CHECK(m.settle().empty());
}

TEST_CASE("another template: the old pod is gone before the new one comes", "[pods]") {
    machine m{board(1), {}};
    m.settle();
    m.pods[0].ready = true;
    m.settle();
    const std::string old = m.pods[0].name;
    m.deployment.pod_template = board(1, "tb2").pod_template;
    CHECK(m.settle() == words{"remove", "status"});
    m.pods.clear();
    CHECK(m.settle() == words{"make", "status"});
    CHECK(m.pods[0].name != old);
}

TEST_CASE("scaled to 0 it has no pod; one that has ended is replaced", "[pods]") {
    machine m{board(2), {}};
    m.settle();
    CHECK(m.pods.size() == 2);
    CHECK(m.pods[0].name != m.pods[1].name);
    m.pods[0].ended = true;
    CHECK(m.settle() == words{"remove", "status"});
    m.pods.erase(m.pods.begin());
    m.settle();
    CHECK(m.pods.size() == 2);
    m.deployment.wanted = 0;
    m.settle();
    CHECK(m.pods[0].deleting);
    CHECK(m.pods[1].deleting);
}

TEST_CASE("the first status has a condition, and those behind it where it changes", "[pods]") {
    const auto patch = [](const char* status, std::int64_t ready) {
        return status_patch(board(1, "tb", status), 1, ready, core::instant{});
    };
    const std::string says = R"("type":"Available","status":)";
    CHECK(patch("{}", 0).find(says + R"("False")") != std::string::npos);
    CHECK(patch(R"({"observedGeneration":1})", 0).find("conditions") == std::string::npos);
    CHECK(patch(R"({"observedGeneration":1})", 1).find(says + R"("True")") != std::string::npos);
}

TEST_CASE("what is no object is passed over", "[pods]") {
    CHECK_FALSE(read_deployment_record("").has_value());
    CHECK_FALSE(read_deployment_record(R"({"spec":1})").has_value());
    CHECK_FALSE(read_deployed_pod("[]").has_value());
}
