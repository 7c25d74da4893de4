// SPDX-License-Identifier: Apache-2.0
//
// All pods of a machine: room, names, recovery.
#include "kubelet/machine/pod_machine.hpp"
#include "kubelet/node/cluster_view.hpp"
#include "kubelet/node/node_object.hpp"
#include "kubelet/node/scheduler.hpp"
#include "node_fixture.hpp"

#include <fmt/format.h>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;

namespace {

std::string with_gpus(int count) {
    return fmt::format(
        R"("restartPolicy":"Never","containers":[{}])",
        container(fmt::format(R"(,"resources":{{"limits":{{"nvidia.com/gpu":{}}}}})", count))
    );
}

kubelet::pod_spec gpu_pod(const std::string& uid, int main, int init = 0) {
    return kubelet::read_pod_spec(
               fmt::format(
                   R"({{"metadata":{{"name":"p","namespace":"ns","uid":"{}"}},"spec":{{)"
                   R"("initContainers":[{{"name":"i","resources":{{"limits":{{"nvidia.com/gpu":{}}}}}}}],)"
                   R"("containers":[{{"name":"c","resources":{{"limits":{{"nvidia.com/gpu":"{}"}}}}}},)"
                   R"({{"name":"d","resources":{{"limits":{{"cpu":"100"}}}}}}]}}}})",
                   uid,
                   init,
                   main
               )
    )
        .value();
}

kubelet::process_options with_resources(std::uint64_t gpus) {
    kubelet::process_options out;
    out.resources["nvidia.com/gpu"] = gpus;
    return out;
}

/// As a pod is when it is first seen.
kubelet::pod_machine begun(const kubelet::pod_spec& pod) {
    kubelet::pod_machine out(pod, pods::behaviour(), "", kubelet::moment());
    out.on_time(kubelet::moment());
    return out;
}

}  // namespace

TEST_CASE("accelerators are given out by count, and given back") {
    kubelet::scheduler s(kubelet::node_offers("n", 1, {{"nvidia.com/gpu", 4}}));
    const kubelet::pod_spec a = gpu_pod("a", 2), b = gpu_pod("b", 2, 1), c = gpu_pod("c", 1);
    CHECK(s.place(a).node == "n");
    CHECK(s.devices_of(a) == kubelet::device_map{{"i", ""}, {"c", "0,1"}, {"d", ""}});
    CHECK(s.place(b).node == "n");
    CHECK(s.devices_of(b) == kubelet::device_map{{"i", "2"}, {"c", "2,3"}, {"d", ""}});
    CHECK(s.place(c).why == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
    s.release("a");
    CHECK(s.place(c).node == "n");
    CHECK(s.devices_of(c).at("c") == "0");
    s.release("a");
    CHECK(s.place(gpu_pod("d", 2)).node.empty());
}

TEST_CASE("an init container has what its pod has not yet given to a sidecar") {
    const auto pod = [](int side, int init) {
        const auto asks = [](const char* name, int count, const char* more) {
            return fmt::format(
                R"({{"name":"{}","resources":{{"limits":{{"nvidia.com/gpu":{}}}}}{}}})",
                name,
                count,
                more
            );
        };
        return kubelet::read_pod_spec(
                   R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"initContainers":[)" +
                   asks("first", 3, "") + "," + asks("side", side, R"(,"restartPolicy":"Always")") +
                   "," + asks("init", init, "") + R"(],"containers":[)" + asks("c", 1, "") + "]}}"
        )
            .value();
    };
    kubelet::scheduler s(kubelet::node_offers("n", 1, {{"nvidia.com/gpu", 4}}));
    const kubelet::pod_spec fits = pod(2, 2);
    CHECK(s.place(fits).node == "n");
    CHECK(
        s.devices_of(fits) ==
        kubelet::device_map{{"first", "0,1,2"}, {"side", "0,1"}, {"init", "2,3"}, {"c", "2"}}
    );
    s.release("u");
    CHECK(s.place(pod(2, 3)).node.empty());
    CHECK(s.place(pod(3, 1)).node == "n");
    s.release("u");
    kubelet::scheduler small(kubelet::node_offers("n", 1, {{"nvidia.com/gpu", 2}}));
    CHECK(small.place(pod(1, 1)).node.empty());
}

TEST_CASE("several nodes share what the machine has") {
    kubelet::scheduler s(kubelet::node_offers("n", 2, {{"nvidia.com/gpu", 3}}));
    CHECK(s.place(gpu_pod("a", 2)).node == "n-0");
    const kubelet::pod_spec b = gpu_pod("b", 1);
    CHECK(s.place(b).node == "n-1");
    CHECK(s.devices_of(b).at("c") == "2");
    kubelet::pod_spec picky = gpu_pod("c", 0);
    picky.node_selector = {{"zone", "x"}};
    CHECK(
        s.place(picky).why ==
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. Nothing "
        "here "
        "has the label zone=x."
    );
    CHECK(
        s.place(gpu_pod("d", 1)).why == "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    );
}

TEST_CASE("what no pod that ends gives back is said to be lacking here") {
    const auto why = [](std::uint64_t has, int wants) {
        kubelet::scheduler s(kubelet::node_offers("n", 2, {{"nvidia.com/gpu", has}}));
        const std::string said = s.place(gpu_pod("a", wants)).why;
        const std::string scheduler = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.";
        CHECK(said.starts_with(scheduler));
        return said.substr(std::min(said.size(), scheduler.size()));
    };
    CHECK(
        why(0, 2) ==
        " This machine has no nvidia.com/gpu; --fake-resource nvidia.com/gpu=8 pretends."
    );
    // Of one node: no pod has parts of two.
    CHECK(
        why(3, 3) ==
        " This machine has 2 nvidia.com/gpu; --fake-resource nvidia.com/gpu=8 pretends."
    );
    CHECK(
        why(3, 9) ==
        " This machine has 2 nvidia.com/gpu; --fake-resource nvidia.com/gpu=9 pretends."
    );
}

TEST_CASE("a pod that asks for more than there is waits until others have ended") {
    node_fixture n(with_resources(2));
    n.create("a", with_gpus(2));
    n.run_for(1s);
    n.create("b", with_gpus(1));
    n.run_for(1s);
    CHECK(n.env(0, "CUDA_VISIBLE_DEVICES") == "0,1");
    CHECK(n.phase("b") == "Pending");
    CHECK(n.field("b", "/spec/nodeName") == "(none)");
    CHECK(n.field("b", "/status/conditions/0/reason") == "Unschedulable");
    CHECK(
        n.field("b", "/status/conditions/0/message") ==
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    );
    CHECK(n.has_event(
        "b", "FailedScheduling: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    ));
    n.process(0).end(0);
    n.run_for(1s);
    CHECK(n.phase("a") == "Succeeded");
    CHECK(n.phase("b") == "Running");
    CHECK(n.field("b", "/status/conditions/0/status") == "True");
    CHECK(n.env(1, "CUDA_VISIBLE_DEVICES") == "0");
}

TEST_CASE("a port of the node is one pod's at a time") {
    const std::string port = R"("hostPort":8080)", serves = R"("containerPort":8080)";
    const auto with_port = [](const std::string& text, const std::string& more = "") {
        return fmt::format(
            R"("restartPolicy":"Never","containers":[{}]{})",
            container(fmt::format(R"(,"ports":[{{{}}}])", text)),
            more
        );
    };
    node_fixture n;
    n.create("a", with_port(serves + "," + port));
    n.run_for(1s);
    n.create("b", with_port(serves, R"(,"hostNetwork":true)"));
    n.create("c", with_port(R"("protocol":"UDP",)" + serves + "," + port));
    n.create("d", with_port(serves));
    n.run_for(1s);
    CHECK(n.phase("a") == "Running");
    CHECK(
        n.field("b", "/status/conditions/0/message") ==
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
    );
    CHECK(n.phase("c") == "Running");
    CHECK(n.phase("d") == "Running");
    n.process(0).end(0);
    n.run_for(1s);
    CHECK(n.phase("b") == "Running");
}

namespace {

const std::string claiming =
    R"("restartPolicy":"Never","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}],)"
    R"("containers":[)" +
    container(R"(,"volumeMounts":[{"name":"v","mountPath":"/v"}])") + "]";

}  // namespace

TEST_CASE("a pod waits for a folder of its claim") {
    kubelet::process_options options;
    options.claims = "claims";
    node_fixture n(options);
    const std::filesystem::path folder = n.folder() / "claims/data";
    n.create("a", claiming);
    n.run_for(1s);
    CHECK(n.phase("a") == "Pending");
    CHECK(n.field("a", "/status/conditions/0/reason") == "Unschedulable");
    const std::string why = fmt::format(
        "0/1 nodes are available: persistentvolumeclaim \"data\" not found (there is no folder "
        "{}); one that is applied gets a folder.",
        folder.string()
    );
    CHECK(n.field("a", "/status/conditions/0/message") == why);
    CHECK(n.has_event("a", "FailedScheduling: " + why));
    std::filesystem::create_directories(folder);
    n.run_for(3s);
    CHECK(n.phase("a") == "Running");
    CHECK(n.mount(0, "/v")->source == folder.string());
}

TEST_CASE("a PersistentVolumeClaim gets a folder of its own") {
    node_fixture n;
    n.create("a", claiming);
    n.run_for(1s);
    CHECK(
        n.field("a", "/status/conditions/0/message") ==
        "0/1 nodes are available: persistentvolumeclaim \"data\" not found (no --claims DIR names "
        "its folder); one that is applied gets a folder."
    );
    const k8sio::resource_type claims("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim");
    n.create(
        claims,
        R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},)"
        R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})"
    );
    n.run_for(3s);
    CHECK(n.phase("a") == "Running");
    CHECK(n.mount(0, "/v")->source == (n.folder() / "made/default/data").string());
    const auto claim = n.wait(n.user().get(claims, "default", "data"));
    REQUIRE(claim.has_value());
    CHECK(claim->find(R"("phase":"Bound")") != std::string::npos);
}

TEST_CASE("a waiting pod that is deleted takes nothing along") {
    node_fixture n(with_resources(1));
    n.create("a", with_gpus(1));
    n.create("b", with_gpus(1));
    n.create("c", with_gpus(1));
    n.run_for(1s);
    n.remove("b");
    n.run_for(1s);
    CHECK(n.pod("b").empty());
    n.process(0).end(0);
    n.run_for(1s);
    CHECK(n.phase("c") == "Running");
}

TEST_CASE("two hundred pods at once all run and all go") {
    node_fixture n;
    for (int i = 0; i < 200; ++i) {
        n.create(
            fmt::format("p{}", i), R"("restartPolicy":"Never","containers":[)" + container() + "]"
        );
    }
    n.run_for(2s);
    CHECK(n.containers().runs.size() == 200);
    for (int i = 0; i < 200; ++i) {
        n.remove(fmt::format("p{}", i));
    }
    n.run_for(2s);
    CHECK(n.containers().sandboxes.empty());
    CHECK(n.runtime().counters().removed == 200);
    CHECK(n.runtime().counters().errors == 0);
}

TEST_CASE("pods that ran when their runtime was lost end or restart as after a reboot") {
    // The status as the lost runtime left it.
    const auto left_running = [](node_fixture& n, const std::string& name, const std::string& policy
                              ) {
        n.create(
            name,
            fmt::format(
                R"("nodeName":"machine","restartPolicy":"{}","containers":[{}])",
                policy,
                container()
            )
        );
    };
    const kubelet::pod_spec pod =
        kubelet::read_pod_spec(
            R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"restartPolicy":"OnFailure",)"
            R"("initContainers":[{"name":"i"}],"containers":[{"name":"c"},{"name":"d"}]},)"
            R"("status":{"phase":"Running","initContainerStatuses":[{"name":"i","restartCount":0,)"
            R"("state":{"terminated":{"exitCode":0}}}],"containerStatuses":[)"
            R"({"name":"c","restartCount":2,"state":{"running":{}}},)"
            R"({"name":"d","restartCount":0,"state":{"terminated":{"exitCode":0}}}]}})"
        )
            .value();
    SECTION("by OnFailure") {
        kubelet::pod_machine machine = begun(pod);
        machine.take_commands();
        machine.on_prepared({});
        const std::vector<kubelet::pod_command> start{kubelet::pod_commands::start{1, 0}};
        CHECK(machine.take_commands() == start);
        CHECK(machine.container(1).status().restarts == 3);
        const auto& status = machine.status();
        CHECK(status.phase == "Running");
        CHECK(status.containers[0].last->exit_code == 137);
        CHECK(status.containers[0].last->reason == "ContainerStatusUnknown");
    }
    SECTION("by Never") {
        kubelet::pod_spec once = pod;
        once.restart = kubelet::restart_policy::never;
        const kubelet::pod_machine machine = begun(once);
        CHECK(machine.released());
        CHECK(machine.status().phase == "Failed");
    }
    SECTION("a preset node is ours or is left alone") {
        node_fixture n;
        left_running(n, "ours", "Never");
        n.create("theirs", R"("nodeName":"other","containers":[)" + container() + "]");
        n.run_for(1s);
        CHECK(n.phase("ours") == "Running");
        CHECK(n.phase("theirs") == "Pending");
    }
}

TEST_CASE("a container that had ended before its runtime was lost keeps how") {
    const kubelet::pod_spec pod =
        kubelet::read_pod_spec(
            R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"restartPolicy":"Never",)"
            R"("containers":[{"name":"c"},{"name":"d"}]},"status":{"phase":"Running",)"
            R"("containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":3}}},)"
            R"({"name":"d","state":{"waiting":{}}}]}})"
        )
            .value();
    const kubelet::pod_machine machine = begun(pod);
    const auto& status = machine.status();
    CHECK(status.containers[0].now.exit_code == 3);
    CHECK(status.containers[0].now.reason == "Error");
    CHECK(status.containers[0].restarts == 0);
    CHECK(status.containers[1].now.what == pods::container_state::kind::waiting);
    CHECK_FALSE(machine.released());
}

TEST_CASE("the machine is a node that is ready") {
    node_fixture n(with_resources(3));
    const auto node = n.wait(n.user().get(k8sio::resources::nodes(), "", "machine"));
    REQUIRE(node.has_value());
    CHECK(node->find(R"("nvidia.com/gpu":"3")") != std::string::npos);
    CHECK(node->find(R"("type":"Ready","status":"True")") != std::string::npos);
    CHECK(
        kubelet::node_body(kubelet::node_offers("m", 1, {}).front()) ==
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"m","labels":{)"
        R"("kubernetes.io/hostname":"m","kubernetes.io/os":"linux"}}})"
    );
}

TEST_CASE("a Service is read as names and as variables") {
    const auto s = kubelet::read_service(
        R"({"metadata":{"name":"s","namespace":"ns","uid":"u","resourceVersion":"1"},)"
        R"("spec":{"clusterIP":"None","selector":{"a":"b"},"publishNotReadyAddresses":true,)"
        R"("ports":[{"name":"p","port":80,"protocol":"TCP"}]}})"
    );
    REQUIRE(s.has_value());
    CHECK(s->names.headless);
    CHECK(s->names.also_not_ready);
    CHECK(s->names.selector == kubelet::string_map{{"a", "b"}});
    CHECK(s->entry.ports.front().number == 80);
    CHECK_FALSE(kubelet::read_service("{}").has_value());
    CHECK_FALSE(kubelet::read_service("x").has_value());
}
