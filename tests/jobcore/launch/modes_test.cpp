// SPDX-License-Identifier: Apache-2.0
//
// Debug and resume.
#include "launch/compiled.hpp"

using namespace signalbox;
using namespace signalbox::test;

namespace {

using words = std::vector<std::string>;

job_builder two_types() {
    replica a, b;
    a.type = "a";
    b.type = "b";
    a.replicas = b.replicas = 2;
    a.args = b.args = {"train.py", "--lr", "1"};
    a.command = b.command = {"python"};
    a.pod_more = b.pod_more = R"("initContainers":[{"name":"i","image":"i"}])";
    return job_builder().replicas(a).replicas(b);
}

bool has_init(const rendered& pod) {
    return find(pod.spec(), "initContainers") != nullptr;
}

}  // namespace

TEST_CASE(
    "[behaviour 3.10] [api runMode.debug.enabled] debug: idle command, no args, all else as for a "
    "real run",
    "[launch]"
) {
    const auto real = compiled(two_types().torchrun()).pod();
    const compiled job(two_types().torchrun().debug());
    const auto pod = job.pod();
    CHECK(pod.words("command") == words{"sleep", "inf"});
    CHECK(find(pod.container("pytorch"), "args") == nullptr);
    CHECK(pod.env_names() == real.env_names());
    CHECK(has_init(pod));
    CHECK(*find(pod.spec(), "volumes") == *find(real.spec(), "volumes"));
}

TEST_CASE(
    "[api runMode.debug.replicaSpecs] commands by type, the master's own entry first", "[launch]"
) {
    const compiled job(two_types().debug(
        R"({"type":"a","command":["x"],"skipInitContainer":true},{"type":"master","command":["m"]})"
    ));
    CHECK(job.pod({0, 0}).words("command") == words{"m"});
    CHECK(has_init(job.pod({0, 0})));
    CHECK(job.pod({0, 1}).words("command") == words{"x"});
    CHECK_FALSE(has_init(job.pod({0, 1})));
    CHECK(job.pod({1, 0}).words("command") == words{"sleep", "inf"});
    CHECK(has_init(job.pod({1, 0})));
}

TEST_CASE("[api runMode types] a type named master keeps its name in these lists", "[launch]") {
    const compiled job(job_builder()
                           .replicas("first", 1)
                           .replicas("master", 1)
                           .debug(R"({"type":"master","command":["m"]})"));
    CHECK(job.pod({0, 0}).words("command") == words{"sleep", "inf"});
    CHECK(job.pod({1, 0}).words("command") == words{"m"});
}

TEST_CASE("[behaviour 3.11] resume acts in attempts made by a resume only", "[launch]") {
    const compiled job(two_types().resume(R"({"type":"a","command":["r"]})"));
    CHECK(job.pod({0, 0}).words("command") == words{"python"});
    CHECK(job.pod({0, 0}, resumed).words("command") == words{"r"});
    CHECK(job.pod({1, 0}, resumed).words("command") == words{"python"});
}

TEST_CASE(
    "[behaviour 3.11] [api runMode.pause.resumeSpecs] resume, plain: what command and args replace",
    "[launch]"
) {
    const auto after = [](const std::string& entry) {
        return compiled(two_types().resume(entry)).pod({0, 1}, resumed);
    };
    const auto command = after(R"({"type":"a","command":["r"]})");
    CHECK(command.words("command") == words{"r"});
    CHECK(command.words("args").empty());
    const auto both = after(R"({"type":"a","command":["r"],"args":["1"]})");
    CHECK(both.words("command") == words{"r"});
    CHECK(both.words("args") == words{"1"});
    const auto args = after(R"({"type":"a","args":["1","2"]})");
    CHECK(args.words("command") == words{"python"});
    CHECK(args.words("args") == words{"1", "2"});
    const auto skip = after(R"({"type":"a","skipInitContainer":true})");
    CHECK(skip.words("args") == words{"train.py", "--lr", "1"});
    CHECK_FALSE(has_init(skip));
}

TEST_CASE(
    "[behaviour 3.11] resume, torchrun: args replace the script, command replaces torchrun",
    "[launch]"
) {
    const auto after = [](const std::string& entry) {
        return compiled(two_types().torchrun().resume(entry)).pod({0, 1}, resumed);
    };
    const auto args = after(R"({"type":"a","args":["again.py"]})");
    CHECK(args.words("command") == words{"torchrun"});
    CHECK(args.words("args").back() == "again.py");
    CHECK(contains(args.words("args"), "--nnodes=4"));
    CHECK_FALSE(contains(args.words("args"), "train.py"));
    const auto command = after(R"({"type":"a","command":["r"]})");
    CHECK(command.words("command") == words{"r"});
    CHECK(command.words("args").empty());
}

TEST_CASE("[api runMode types] the master's resume entry goes before its type's", "[launch]") {
    const compiled job(
        two_types().resume(R"({"type":"a","args":["t"]},{"type":"master","args":["m"]})")
    );
    CHECK(job.pod({0, 0}, resumed).words("args") == words{"m"});
    CHECK(job.pod({0, 1}, resumed).words("args") == words{"t"});
}

TEST_CASE("[behaviour 3.10] debug goes before resume", "[launch]") {
    const compiled job(two_types().debug().resume(R"({"type":"a","command":["r"]})"));
    CHECK(job.pod({0, 0}, resumed).words("command") == words{"sleep", "inf"});
}
