// SPDX-License-Identifier: Apache-2.0
//
// Published manifests of this API, where a copy of them lies beside the source tree.
#include "launch/compiled.hpp"

#include <yaml-cpp/yaml.h>

#include <cstdio>
#include <fstream>
#include <sstream>

using namespace signalbox;
using namespace signalbox::test;

namespace {

/// YAML 1.2 scalars as Kubernetes reads them: quoted ones are strings.
std::string scalar_json(const YAML::Node& node) {
    const std::string text = node.Scalar();
    if (node.Tag() == "!") {
        return quoted(text);
    }
    core::json::document number;
    core::json::parse(number, text);
    const bool literal = !number.HasParseError() && !number.IsString() && !text.empty();
    return literal ? text : quoted(text);
}

std::string to_json(const YAML::Node& node) {
    std::string out;
    if (node.IsMap()) {
        for (const auto& member : node) {
            out += (out.empty() ? "" : ",") + quoted(member.first.Scalar()) + ":" +
                   to_json(member.second);
        }
        return "{" + out + "}";
    }
    if (node.IsSequence()) {
        for (const auto& item : node) {
            out += (out.empty() ? "" : ",") + to_json(item);
        }
        return "[" + out + "]";
    }
    return node.IsNull() ? "null" : scalar_json(node);
}

/// Everything of the user's container is there, but for what we own or add to.
void check_passed_through(const value& user, const value& rendered, bool owns_program) {
    for (const auto& member : user.GetObject()) {
        const auto key = core::json::view(member.name);
        if (owns_program && (key == "command" || key == "args")) {
            continue;
        }
        CAPTURE(key);
        const value* ours = find(rendered, key);
        REQUIRE(ours != nullptr);
        if (!member.value.IsArray() || key == "command" || key == "args") {
            CHECK(*ours == member.value);
            continue;
        }
        for (const auto& item : member.value.GetArray()) {
            CHECK(std::find(ours->Begin(), ours->End(), item) != ours->End());
        }
    }
}

}  // namespace

TEST_CASE("published manifests compile and keep what the user wrote", "[launch]") {
    static constexpr std::array names{
        "debug__job_debug",
        "debug__job_debug_ssh",
        "em__data-parallel-training__job",
        "pytorchtrainingjob__ddp__job",
        "pytorchtrainingjob__ddp__job_cpu",
        "pytorchtrainingjob__ddp__job_torchrun",
        "pytorchtrainingjob__ps__job",
        "pytorchtrainingjob__ps__job_cpu"};
    for (const std::string name : names) {
        const std::string path =
            std::string(SIGNALBOX_SOURCE_DIR) + "/../shared/manifests/" + name + ".yaml";
        std::ifstream file(path);
        if (!file) {
            std::printf(
                "SKIPPED: no published manifests beside the source tree (%s)\n", name.c_str()
            );
            CHECK_FALSE(file.is_open());
            return;
        }
        std::stringstream text;
        text << file.rdbuf();
        auto tree = YAML::Load(text.str());
        tree["metadata"]["namespace"] = "default";
        tree["metadata"]["uid"] = "9dcea839-3a99-4b6f-b594-620d79f8377d";
        CAPTURE(name);
        const std::string json = to_json(tree);
        const compiled job(json);
        CHECK(job.plan.warnings.empty());

        const rendered source(json);
        const value& replicas = *find(source.spec(), "replicaSpecs");
        for (std::size_t role = 0; role < job.plan.roles.size(); ++role) {
            const value& user = *find(
                replicas[static_cast<rapidjson::SizeType>(role)], "template", "spec", "containers"
            );
            const auto pod = job.pod({.role = role});
            const auto& container = pod.container("pytorch");
            check_passed_through(user[0], container, job.plan.torchrun);
            CHECK(pod.env("MASTER_ADDR") == job.plan.objects[1].name);
            if (job.plan.torchrun && !job.plan.debug) {
                const auto args = pod.words("args");
                const value& script = *find(user[0], "args");
                REQUIRE(args.size() > script.Size());
                for (rapidjson::SizeType i = 0; i < script.Size(); ++i) {
                    CHECK(args[args.size() - script.Size() + i] == script[i].GetString());
                }
            }
        }
    }
}
