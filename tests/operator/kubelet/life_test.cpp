// SPDX-License-Identifier: Apache-2.0
//
// The life of pods, over scripted containers.
#include "kubelet/disk/atomic_files.hpp"
#include "node_fixture.hpp"

#include <fmt/format.h>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;

namespace {

const std::string state = "/status/containerStatuses/0/state";
const std::string restarts = "/status/containerStatuses/0/restartCount";

}  // namespace

TEST_CASE("a process pod is bound, runs, and succeeds") {
    node_fixture n;
    n.containers().script = [](const auto&) { return ends_after(5s, 0); };
    n.create("a", one(R"(,"env":[{"name":"X","value":"1"}],"workingDir":"/w")"));
    n.run_for(1s);
    CHECK(n.field("a", "/spec/nodeName") == "machine");
    CHECK(n.phase("a") == "Running");
    CHECK(n.field("a", "/status/podIP") == "10.88.0.2");
    CHECK(n.field("a", "/status/hostIP") == "10.88.0.1");
    CHECK(n.field("a", "/status/conditions/3/type") == "Ready");
    CHECK(n.field("a", "/status/conditions/3/status") == "True");
    CHECK(n.field("a", state + "/running/startedAt") != "(none)");
    CHECK(n.containers().hostnames == std::vector<std::string>{"a"});
    REQUIRE(n.containers().runs.size() == 1);
    CHECK(n.containers().runs[0].process.argv == std::vector<std::string>{"run"});
    CHECK(n.containers().runs[0].process.working_dir == "/w");
    CHECK(n.env(0, "X") == "1");
    CHECK(n.env(0, "HOSTNAME") == "a");
    CHECK(n.mount(0, "/etc/hosts") != nullptr);
    n.run_for(10s);
    CHECK(n.phase("a") == "Succeeded");
    CHECK(n.field("a", state + "/terminated/reason") == "Completed");
    CHECK(n.field("a", state + "/terminated/exitCode") == "0");
    CHECK(n.containers().sandboxes.empty());
    CHECK(n.complaints().size() == 1);  // there is no network for names
    CHECK(n.has_event("a", "Scheduled: Successfully assigned default/a to machine"));
    CHECK(n.has_event("a", "Pulled: Container image \"i\" already present on machine"));
    CHECK(n.has_event("a", "Created: Created container: c"));
    CHECK(n.has_event("a", "Started: Started container c"));
    n.remove("a");
    n.run_for(1s);
    CHECK(n.pod("a").empty());
    CHECK(std::filesystem::is_empty(n.folder() / "pods"));
    CHECK(std::filesystem::is_empty(n.folder() / "logs"));
    CHECK(n.runtime().counters().removed == 1);
}

TEST_CASE("a container that fails is restarted as its pod says, with the kubelet's delays") {
    node_fixture n;
    n.containers().script = [](const auto&) { return ends_after(1s, 3); };
    SECTION("Never") {
        n.create("a", one());
        n.run_for(1min);
        CHECK(n.phase("a") == "Failed");
        CHECK(n.field("a", state + "/terminated/exitCode") == "3");
        CHECK(n.field("a", state + "/terminated/reason") == "Error");
        CHECK(n.containers().runs.size() == 1);
    }
    SECTION("OnFailure") {
        n.create("a", R"("restartPolicy":"OnFailure","containers":[)" + container() + "]");
        n.run_for(1500ms);  // at once
        CHECK(n.containers().runs.size() == 2);
        n.run_for(1s);
        CHECK(n.phase("a") == "Running");
        CHECK(n.field("a", state + "/waiting/reason") == "CrashLoopBackOff");
        const std::string uid = n.field("a", "/metadata/uid");
        CHECK(
            n.field("a", state + "/waiting/message") ==
            "back-off 10s restarting failed container=c pod=a_default(" + uid + ")"
        );
        CHECK(n.field("a", restarts) == "2");
        CHECK(n.field("a", "/status/containerStatuses/0/ready") == "false");
        CHECK(n.field("a", "/status/conditions/3/status") == "False");
        CHECK(n.field("a", "/status/containerStatuses/0/lastState/terminated/exitCode") == "3");
        CHECK(n.has_event(
            "a", "BackOff: Back-off restarting failed container c in pod a_default(" + uid + ")"
        ));
        n.run_for(8s);
        CHECK(n.containers().runs.size() == 2);
        n.run_for(2s);
        CHECK(n.containers().runs.size() == 3);
        n.run_for(19s);
        CHECK(n.containers().runs.size() == 3);
        n.run_for(2s);
        CHECK(n.containers().runs.size() == 4);
        n.containers().script = [](const auto&) { return ends_after(1s, 0); };
        n.run_for(1h);
        CHECK(n.phase("a") == "Succeeded");
        CHECK(n.field("a", restarts) == "4");
    }
    SECTION("Always, up to five minutes") {
        n.create("a", R"("containers":[)" + container() + "]");
        n.run_for(2h);
        const std::size_t before = n.containers().runs.size();
        n.run_for(1h);
        CHECK(n.containers().runs.size() - before == 12);
        CHECK(n.field("a", state + "/waiting/message").starts_with("back-off 5m0s "));
    }
}

TEST_CASE("[launchers 1.6] a termination message comes from its file, or from the log") {
    node_fixture n;
    process_script script = ends_after(1s, 1);
    script.says = "starting\n";
    script.complains = "Traceback: no data\n";
    SECTION("file") {
        script.message = std::string(5000, 'x') + "end";
        n.containers().script = [&](const auto&) { return script; };
        n.create("a", one(R"(,"terminationMessagePath":"/tmp/why")"));
        n.run_for(2s);
        CHECK(n.field("a", state + "/terminated/message") == std::string(4093, 'x') + "end");
        CHECK(n.mount(0, "/tmp/why") != nullptr);
    }
    SECTION("file with bytes that are no UTF-8") {
        script.message = "cut in \xf0\n the middle, \xff";
        n.containers().script = [&](const auto&) { return script; };
        n.create("a", one());
        n.run_for(2s);
        CHECK(n.phase("a") == "Failed");
        CHECK(
            n.field("a", state + "/terminated/message") ==
            "cut in \xef\xbf\xbd\n the middle, \xef\xbf\xbd"
        );
    }
    SECTION("log") {
        n.containers().script = [&](const auto&) { return script; };
        n.create("a", one(R"(,"terminationMessagePolicy":"FallbackToLogsOnError")"));
        n.run_for(2s);
        CHECK(n.field("a", state + "/terminated/message") == "starting\nTraceback: no data\n");
        const std::string folder = n.folder() / "logs/default_a_";
        const auto log =
            kubelet::read_file(folder + n.field("a", "/metadata/uid") + "/c/0.log", 1000);
        CHECK(log.value().find(" stdout F starting\n") != std::string::npos);
        CHECK(log.value().find(" stderr F Traceback: no data\n") != std::string::npos);
    }
    SECTION("not after a success") {
        script.code = 0;
        n.containers().script = [&](const auto&) { return script; };
        n.create("a", one(R"(,"terminationMessagePolicy":"FallbackToLogsOnError")"));
        n.run_for(2s);
        CHECK(n.field("a", state + "/terminated/message") == "(none)");
    }
}

TEST_CASE("init containers run one after the other, and sidecars beside the others") {
    node_fixture n;
    std::vector<std::string> order;
    n.containers().script = [&](const containers::container_spec& spec) {
        const std::string name = spec.process.argv.front();
        order.push_back(name);
        return name == "side" ? process_script() : ends_after(2s, name == "bad" ? 1 : 0);
    };
    const auto init = [](const std::string& name, const std::string& more = "") {
        return fmt::format(R"({{"name":"{0}","image":"i","command":["{0}"]{1}}})", name, more);
    };
    SECTION("in order") {
        n.create(
            "a",
            one("",
                R"(,"initContainers":[)" + init("first") + "," +
                    init("side", R"(,"restartPolicy":"Always")") + "," + init("second") + "]")
        );
        n.run_for(1s);
        CHECK(order == std::vector<std::string>{"first"});
        CHECK(n.phase("a") == "Pending");
        CHECK(n.field("a", state + "/waiting/reason") == "PodInitializing");
        CHECK(
            n.field("a", "/status/conditions/1/message") ==
            "containers with incomplete status: [first side second]"
        );
        n.run_for(2s);
        CHECK(order == std::vector<std::string>{"first", "side", "second"});
        n.run_for(2s);
        CHECK(order.back() == "run");
        CHECK(n.phase("a") == "Running");
        n.run_for(2s);
        CHECK(n.phase("a") == "Succeeded");
        CHECK(n.field("a", "/status/initContainerStatuses/1/state/terminated/exitCode") == "143");
    }
    SECTION("one that fails ends the pod") {
        n.create("a", one("", R"(,"initContainers":[)" + init("bad") + "]"));
        n.run_for(10s);
        CHECK(n.phase("a") == "Failed");
        CHECK(order == std::vector<std::string>{"bad"});
        CHECK(n.field("a", state + "/waiting/reason") == "PodInitializing");
    }
    SECTION("a sidecar that ends before it has started lets no other pass") {
        n.containers().exec_script = [](const auto&) { return ends_after(10ms, 1); };
        n.containers().script = [&](const containers::container_spec& spec) {
            order.push_back(spec.process.argv.front());
            return ends_after(2s, 1);
        };
        n.create(
            "a",
            one("",
                R"(,"initContainers":[)" +
                    init(
                        "side",
                        R"(,"restartPolicy":"Always","startupProbe":{"exec":{"command":["x"]},)"
                        R"("failureThreshold":100})"
                    ) +
                    "]")
        );
        n.run_for(1min);
        CHECK(order == std::vector<std::string>{"side", "side", "side", "side"});
        CHECK(n.phase("a") == "Pending");
    }
    SECTION("or is tried again") {
        n.create(
            "a",
            R"("restartPolicy":"OnFailure","initContainers":[)" + init("bad") +
                R"(],"containers":[)" + container() + "]"
        );
        n.run_for(10s);
        CHECK(n.phase("a") == "Pending");
        CHECK(order == std::vector<std::string>{"bad", "bad"});
    }
}

TEST_CASE("what a container lacks is said in the kubelet's words, and it starts when it comes") {
    node_fixture n;
    SECTION("a Secret of its environment") {
        n.create(
            "a", one(R"(,"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])")
        );
        n.run_for(1s);
        CHECK(n.phase("a") == "Pending");
        CHECK(n.field("a", state + "/waiting/reason") == "CreateContainerConfigError");
        CHECK(n.field("a", state + "/waiting/message") == "secret \"s\" not found");
        CHECK(n.has_event("a", "Failed: Error: secret \"s\" not found"));
        n.create(
            k8sio::resources::secrets(),
            R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"k":"dmFs"}})"
        );
        n.run_for(100ms);
        CHECK(n.phase("a") == "Running");
        CHECK(n.env(0, "A") == "val");
    }
    SECTION("a ConfigMap of a volume, which then follows changes") {
        n.create(
            "a",
            one(R"(,"volumeMounts":[{"name":"v","mountPath":"/v"}])",
                R"(,"volumes":[{"name":"v","configMap":{"name":"cm"}}])")
        );
        n.run_for(1s);
        INFO(n.pod("a"));
        // A kubelet has the event alone; here the job is to tell it.
        CHECK(n.field("a", state + "/waiting/reason") == "CreateContainerConfigError");
        CHECK(
            n.field("a", state + "/waiting/message") ==
            "MountVolume.SetUp failed for volume \"v\" : configmap \"cm\" not found"
        );
        CHECK(n.has_event(
            "a",
            "FailedMount: MountVolume.SetUp failed for volume \"v\" : configmap \"cm\" not found"
        ));
        n.create(
            k8sio::resources::config_maps(),
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm"},"data":{"f":"1"}})"
        );
        n.run_for(100ms);
        REQUIRE(n.phase("a") == "Running");
        const std::filesystem::path folder = n.mount(0, "/v")->source;
        CHECK(n.mount(0, "/v")->read_only);
        CHECK(std::filesystem::file_size(folder / "f") == 1);
        n.update_data(k8sio::resources::config_maps(), "cm", R"({"f":"22","g":""})");
        n.run_for(100ms);
        CHECK(std::filesystem::file_size(folder / "f") == 2);
        CHECK(std::filesystem::exists(folder / "g"));
    }
    SECTION("a volume of its labels and annotations, which follows them") {
        n.create(
            "a",
            one(R"(,"volumeMounts":[{"name":"v","mountPath":"/v"}])",
                R"(,"volumes":[{"name":"v","downwardAPI":{"items":[)"
                R"({"path":"l","fieldRef":{"fieldPath":"metadata.labels['x']"}},)"
                R"({"path":"n","fieldRef":{"fieldPath":"metadata.annotations['y']"}}]}}])"),
            R"(,"labels":{"x":"1"},"annotations":{"y":"2"})"
        );
        n.run_for(1s);
        const std::filesystem::path folder = n.mount(0, "/v")->source;
        CHECK(kubelet::read_file(folder / "l", 10) == "1");
        CHECK(kubelet::read_file(folder / "n", 10) == "2");
        std::string patch = R"({"metadata":{"labels":{"x":"3"},"annotations":{"y":"4"}}})";
        const auto done =
            n.wait(n.user().merge_patch(k8sio::resources::pods(), "default", "a", std::move(patch))
            );
        REQUIRE(done.has_value());
        n.run_for(100ms);
        CHECK(kubelet::read_file(folder / "l", 10) == "3");
        CHECK(kubelet::read_file(folder / "n", 10) == "4");
    }
    SECTION("a claim of a pod that has its node already") {
        n.create(
            "a",
            one("",
                R"(,"nodeName":"machine","volumes":[)"
                R"({"name":"v","persistentVolumeClaim":{"claimName":"data"}}])")
        );
        n.run_for(1s);
        CHECK(n.field("a", state + "/waiting/reason") == "CreateContainerConfigError");
        REQUIRE(n.events("a").size() == 1);
        CHECK(n.events("a")[0].find("error processing PVC default/data: ") != std::string::npos);
    }
    SECTION("a command") {
        n.create("a", R"("containers":[{"name":"c","image":"img:1","args":["x"]}])");
        n.run_for(1s);
        CHECK(n.field("a", state + "/waiting/reason") == "CreateContainerError");
        CHECK(
            n.field("a", state + "/waiting/message") ==
            "container c has no command: no one here knows the entrypoint of the image img:1, as "
            "images are not pulled; give the container a command in front of its args, or the "
            "image "
            "by --image img:1=FILE"
        );
    }
    SECTION("a program") {
        n.containers().script = [](const auto&) {
            process_script out;
            out.refused = containers::container_error{
                "StartError", "exec: \"run\": executable file not found in $PATH"};
            return out;
        };
        n.create("a", one());
        n.run_for(1s);
        CHECK(n.phase("a") == "Failed");
        CHECK(n.field("a", state + "/terminated/reason") == "StartError");
        CHECK(n.field("a", state + "/terminated/exitCode") == "128");
        // As the kubelet has it: it never started.
        CHECK(n.field("a", state + "/terminated/startedAt") == "1970-01-01T00:00:00Z");
        CHECK(n.field("a", state + "/terminated/finishedAt") == "2023-11-14T22:13:20Z");
    }
    SECTION("a sandbox") {
        n.containers().no_sandbox = containers::container_error{"NoRoom", "no address is left"};
        n.create("a", one());
        n.run_for(1s);
        CHECK(n.has_event(
            "a", "FailedCreatePodSandBox: Failed to create pod sandbox: no address is left"
        ));
        n.containers().no_sandbox.reset();
        n.run_for(2s);
        CHECK(n.phase("a") == "Running");
    }
    SECTION("rights") {
        n.create("a", one(R"(,"securityContext":{"runAsNonRoot":true})"));
        n.run_for(1s);
        CHECK(n.field("a", state + "/waiting/reason") == "CreateContainerConfigError");
        CHECK(n.field("a", state + "/waiting/message")
                  .starts_with(
                      "container has runAsNonRoot and image will run as root (pod: \"a_default("
                  ));
    }
}

TEST_CASE("a change while a pod gets its network gives it no second one") {
    node_fixture n;
    n.containers().sandbox_takes = 2s;
    n.create("a", one());
    n.run_for(1s);
    CHECK(n.phase("a") == "Pending");
    SECTION("of its labels") {
        std::string patch = R"({"metadata":{"labels":{"x":"1"}}})";
        const auto done =
            n.wait(n.user().merge_patch(k8sio::resources::pods(), "default", "a", std::move(patch))
            );
        REQUIRE(done.has_value());
        n.run_for(5s);
        CHECK(n.phase("a") == "Running");
        CHECK(n.containers().sandboxes == std::set<std::string>{"sandbox-1"});
        CHECK(n.containers().runs.size() == 1);
    }
    SECTION("that takes it away") {
        if (GENERATE(false, true)) {
            n.containers().no_sandbox = containers::container_error{"NoRoom", "no address is left"};
        }
        n.remove("a");
        n.run_for(2s);
        CHECK(n.pod("a").empty());
        CHECK(n.containers().sandboxes.empty());
        CHECK(n.containers().runs.empty());
    }
}

TEST_CASE("a status that the server does not take is written again") {
    node_fixture n;
    int left = 3;
    n.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault out;
        if (method == "PATCH" && target.find("/status") != std::string_view::npos && left-- > 0) {
            out.status = 403;
            out.reason = "Forbidden";
        }
        return out;
    });
    n.create(
        "a", one(R"(,"env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}])")
    );
    n.run_for(5s);
    CHECK(n.phase("a") == "Running");
    CHECK(n.env(0, "N") == "machine");
    CHECK(n.runtime().counters().errors == 3);
    CHECK(n.complaints().size() == 4);
}

TEST_CASE("lines that a log loses are told once") {
    node_fixture n;
    n.containers().script = [&](const auto&) {
        std::filesystem::remove_all(n.folder() / "logs");
        process_script out;
        out.says = "one\n";
        return out;
    };
    n.create("a", one());
    n.run_for(1s);
    n.process(0).say("two\n");
    n.run_for(1s);
    const auto all = n.events("a");
    const std::string told =
        "LogWriteFailed: lines of the log of container c are lost: No such file or directory";
    CHECK(std::ranges::count(all, told) == 1);
    CHECK(n.complaints().size() == 2);
}

TEST_CASE("a pod that runs too long ends") {
    node_fixture n;
    n.create("a", one("", R"(,"activeDeadlineSeconds":5)"));
    n.run_for(4s);
    CHECK(n.phase("a") == "Running");
    n.run_for(2s);
    CHECK(n.phase("a") == "Failed");
    CHECK(n.field("a", "/status/reason") == "DeadlineExceeded");
    CHECK(n.field("a", state + "/terminated/exitCode") == "143");
    CHECK_FALSE(n.pod("a").empty());
}

TEST_CASE("how long a pod is active counts from the start that its status tells") {
    node_fixture n;
    // Gated, so that it gets its status before it is seen as ours: as a process before left it.
    n.create("a", one("", R"(,"activeDeadlineSeconds":10,"schedulingGates":[{"name":"x"}])"));
    const std::string start = n.field("a", "/metadata/creationTimestamp");
    const auto patch = [&](const std::string& body, const char* subresource) {
        const auto& pods = k8sio::resources::pods();
        REQUIRE(n.wait(n.user().merge_patch(pods, "default", "a", body, subresource)).has_value());
    };
    patch(fmt::format(R"({{"status":{{"startTime":"{}"}}}})", start), "status");
    n.run_for(6s);
    patch(R"({"spec":{"schedulingGates":[]}})", "");
    n.run_for(2s);
    CHECK(n.phase("a") == "Running");
    CHECK(n.field("a", "/status/startTime") == start);
    n.run_for(3s);
    CHECK(n.phase("a") == "Failed");
    CHECK(n.field("a", "/status/reason") == "DeadlineExceeded");
}

TEST_CASE("a fault that is annotated later befalls the pod from then on") {
    node_fixture n;
    const std::string early = R"(,"annotations":{"sim.signalbox.dev/fail-at":"1h"})";
    n.create("a", one(), early);
    n.run_for(10s);
    const auto annotate = [&](const std::string& fault) {
        std::string patch =
            fmt::format(R"({{"metadata":{{"annotations":{{"sim.signalbox.dev/{}}}}}}})", fault);
        const auto done =
            n.wait(n.user().merge_patch(k8sio::resources::pods(), "default", "a", std::move(patch))
            );
        REQUIRE(done.has_value());
    };
    annotate(R"(evict-at":"5s")");
    n.run_for(4s);
    CHECK(n.phase("a") == "Running");
    annotate(R"(evict-soon":"5s")");
    n.run_for(500ms);
    // The first is that there is no name server.
    REQUIRE(n.complaints().size() == 2);
    CHECK(n.complaints()[1].find("pod default/a: sim.signalbox.dev/evict-soon: ") == 0);
    n.run_for(1s);
    CHECK(n.field("a", "/status/reason") == "Evicted");
}

TEST_CASE("faults of a scenario befall processes too") {
    node_fixture n;
    const auto pod_with = [&](const std::string& fault) {
        n.create(
            "a", one(), fmt::format(R"(,"annotations":{{"sim.signalbox.dev/{}":"2s"}})", fault)
        );
        n.run_for(3s);
    };
    SECTION("eviction") {
        pod_with("evict-at");
        CHECK(n.phase("a") == "Failed");
        CHECK(n.field("a", "/status/reason") == "Evicted");
        CHECK(n.field("a", "/status/conditions/4/reason") == "TerminationByKubelet");
    }
    SECTION("preemption") {
        pod_with("preempt-at");
        CHECK(n.pod("a").empty());
    }
    SECTION("a kill") {
        pod_with("fail-at");
        CHECK(n.phase("a") == "Failed");
        CHECK(n.field("a", state + "/terminated/exitCode") == "137");
    }
    SECTION("no memory left") {
        pod_with("oom-at");
        CHECK(n.field("a", state + "/terminated/reason") == "OOMKilled");
    }
    SECTION("a lost node") {
        pod_with("unknown-at");
        CHECK(n.phase("a") == "Unknown");
        CHECK(n.field("a", "/status/reason") == "NodeLost");
        CHECK(n.field("a", "/status/conditions/3/status") == "False");
        CHECK(n.containers().cut_off.size() == 1);
    }
    SECTION("a deletion by somebody") {
        pod_with("delete-at");
        CHECK(n.pod("a").empty());
        CHECK(n.runtime().counters().removed == 1);
    }
    SECTION("a vanished object") {
        pod_with("vanish-at");
        CHECK(n.pod("a").empty());
        CHECK(n.containers().sandboxes.empty());
    }
}
