// SPDX-License-Identifier: Apache-2.0
//
// `signalbox dev` and `signalbox pods` on the command line, and the node process, which is this
// program once more.
#include "cli/tree/registry.hpp"
#include "cli/tree/shared_options.hpp"
#include "commands/node_commands.hpp"
#include "commands/script_job.hpp"
#include "containers/node_process.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace signalbox::op::cli {

namespace {

constexpr const char* dev_footer = R"(
One process on this machine: an API server that keeps everything in memory, the operator, and pods.
kubectl works against it: each instance writes a kubeconfig of its own, and removes it at the end.

Examples:
  signalbox dev train.py --nodes 2 --nproc 2 -- --lr 0.1    # really trains; 0 if it succeeds
  signalbox dev                                        # then, elsewhere: kubectl apply -f train.yaml
  signalbox dev --apply train.yaml --until-finished --timeout 10m
  signalbox dev --apply train.yaml --scenario faults.yaml --speed 10
  signalbox dev --pods process --venv ~/venv --apply train.yaml    # really trains
  signalbox dev --pods process --image train.tar --apply train.yaml    # in its image, of `docker save`
  signalbox dev --pods process --fake-resource nvidia.com/gpu=8 --claims ~/claims

--pods simulated: pods are timelines. No containers, no root, nothing leaves the loopback interface.
What one does is said in a scenario file or in annotations `sim.signalbox.dev/...` of its template:
operator/dev/pods/README.md.
--pods process: pods are processes of this machine in namespaces of their own, as root or as an
ordinary user. Without --image they see this machine's own file system, copy on write:
operator/dev/kubelet/README.md.

Exit codes: 0 stopped, or all jobs succeeded; with --until-finished also 1 a job failed, 3 the time is
up, or pods that are processes wait for what does not come; 2 the command line or a manifest is wrong.)";

constexpr const char* pods_footer = R"(
A kubelet and scheduler for any API server, for tests and demonstrations. `simulated` binds pods to
nodes that do not exist and lets them run, end and fail as a scenario or their annotations say;
`process` runs them as processes of this machine. NEVER point it at a cluster that has nodes, unless
they are mere objects for a real scheduler: `--bound-only` leaves the binding to that one.

Examples:
  signalbox pods --kubeconfig test.kubeconfig --scenario faults.yaml
  signalbox pods --kubeconfig test.kubeconfig --runtime process --claims ~/claims)";

/// Empty, or what is wrong with the word.
std::string no_pod_runtime(std::string& word) {
    const std::vector<std::string_view> kinds{"simulated", "process"};
    if (std::ranges::find(kinds, word) != kinds.end()) {
        return {};
    }
    const std::string_view near = core::nearest_name(word, kinds);
    return fmt::format(
        "must be simulated or process{}",
        near.empty() ? "" : fmt::format("; did you mean {}?", near)
    );
}

void add_pod_runtime(
    CLI::App& to, const char* flag, pod_runtime_kind& kind, pod_process_options& options
) {
    to.add_option_function<std::string>(
          flag,
          [&kind](const std::string& word) {
              kind = word == "process" ? pod_runtime_kind::process : pod_runtime_kind::simulated;
          },
          "What pods are: timelines, or processes of this machine"
    )
        ->check(CLI::Validator(&no_pod_runtime, "", ""))
        ->type_name("simulated|process")
        ->default_str("simulated");
    const auto group = "Pods as processes";
    const auto list =
        [&](const char* name, std::vector<std::string>& into, const char* what, const char* type) {
            to.add_option(name, into, what)->type_name(type)->allow_extra_args(false)->group(group);
        };
    const auto text = [&](const char* name, std::string& into, const char* what) {
        to.add_option(name, into, what)->type_name("DIR")->group(group);
    };
    list(
        "--image",
        options.images,
        "An image: OCI layout or archive, docker-archive, root folder; PATH alone: all in an "
        "archive",
        "NAME=PATH"
    );
    list("--image-env", options.image_variables, "A variable that images set", "GLOB:NAME=VALUE");
    text("--image-cache", options.image_cache, "Where images are unpacked, and kept");
    text("--venv", options.venv, "Python environment: in all pods, read-only, first in PATH");
    list("--bind", options.binds, "A file or folder of this machine in all pods", "SRC:DST");
    text(
        "--claims",
        options.claims,
        "Its folders are the persistent volume claims; missing ones are made for claims on the "
        "server"
    );
    text(
        "--outputs", options.outputs, "Keep in it what pods write into their images' file systems"
    );
    text("--log-dir", options.log_dir, "Keep in it the logs of pods: JOB/attempt-N/TYPE-INDEX.log");
    to.add_flag("--offline", options.offline, "Pods reach nothing but each other")->group(group);
    to.add_flag(
          "--user-namespaces",
          options.user_namespaces,
          "As root: in every pod root is no root of this machine, as with hostUsers: false"
    )
        ->group(group);
    list("--fake-resource", options.fake_resources, "Count of a resource to be had", "NAME=COUNT");
    text("--pods-dir", options.folder, "Where pods live while they run");
}

/// The positional words, and what belongs to them. There are two options for them, since CLI11
/// takes
/// `--` for the end of a command whose positional words are all there.
void add_script(CLI::App& to, dev_options& options) {
    to.add_option_function<std::string>(
          "PROGRAM",
          [&options](const std::string& first) {
              options.script.words.insert(options.script.words.begin(), first);
          },
          "A Python program, run by torchrun in pods that are processes; or a manifest, as with "
          "--apply"
    )
        ->type_name("");
    to.add_option_function<std::vector<std::string>>(
          program_arguments,
          [&options](const std::vector<std::string>& more) {
              options.script.words.insert(options.script.words.end(), more.begin(), more.end());
          },
          "The program's own arguments, behind --; or more manifests"
    )
        ->type_name("");
    const auto group = "A program in place of a manifest";
    to.add_option("--nodes", options.script.nodes, "Pods of the program; 1 if not given")
        ->check(CLI::Range(1, 1000))
        ->type_name("N")
        ->group(group);
    to.add_option(
          "--nproc",
          options.script.processes,
          "Processes in each; one per GPU, else 1, if not given"
    )
        ->check(CLI::Range(1, 1000))
        ->type_name("N")
        ->group(group);
    to.parse_complete_callback([&options, &to] {
        const bool program = names_program(options.script);
        for (const char* name : {"--nodes", "--nproc"}) {
            if (!program && to.get_option(name)->count() > 0) {
                throw CLI::ValidationError(
                    name, "it is for a program: signalbox dev train.py --nodes 2"
                );
            }
        }
        const bool simulated =
            to.get_option("--pods")->count() > 0 && options.pods == pod_runtime_kind::simulated;
        if (program && simulated) {
            throw CLI::ValidationError("--pods", "simulated pods run no program; leave it out");
        }
    });
}

void add_dev(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(), "dev", "Try jobs on this machine, without a cluster", dev_footer, &dev
    );
    options.program = tree.program();
    dev_options& to = options;
    add_script(c, to);
    c.add_option("-f,--apply", options.files, "Apply what is in this file; may be repeated")
        ->type_name("FILE");
    c.add_flag("--until-finished", options.until_finished, "End when all applied jobs have ended");
    c.add_option("--timeout", options.timeout, "End after this long: 30s, 10m, 2h")
        ->type_name("TIME")
        ->needs("--until-finished");
    add_output(c, options.output);
    c.add_option(
         "--junit", options.junit, "Write the jobs' ends to this file, as test cases in XML"
    )
        ->type_name("FILE");
    add_pod_runtime(c, "--pods", options.pods, options.process);
    c.add_flag("--logs", options.logs, "Print what pods that are processes write");
    c.add_option("--scenario", options.scenario, "What the pods do: of processes, the faults")
        ->type_name("FILE");
    c.add_option("--speed", options.speed, "Simulated pods live this many times as fast")
        ->check(CLI::Range(0.01, 10000.0))
        ->type_name("FACTOR")
        ->capture_default_str();
    c.add_option("--listen", options.listen, "Where kubectl reaches the API server; port 0: any")
        ->type_name("ADDR:PORT")
        ->capture_default_str();
    c.add_option("--kubeconfig", options.kubeconfig, "Where to write the kubeconfig")
        ->type_name("FILE");
    c.add_option("-n,--namespace", options.ns, "Namespace of applied objects that name none")
        ->type_name("NAME")
        ->capture_default_str();
    add_policy(c, options.policy);
    add_log(c, options.log);
}

void add_pods(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(),
        "pods",
        "Nodes and pods for any API server (tests, demos)",
        pods_footer,
        &pods_command
    );
    add_cluster(c, options.cluster);
    add_pod_runtime(c, "--runtime", options.runtime, options.process);
    add_namespace(c, options.ns, "Only this namespace; all if not given");
    c.add_option("-l,--selector", options.selector, "Only pods with these labels")
        ->type_name("SELECTOR");
    c.add_option("--scenario", options.scenario, "What the pods do")->type_name("FILE");
    c.add_option("--speed", options.speed, "Simulated pods live this many times as fast")
        ->check(CLI::Range(0.01, 10000.0))
        ->type_name("FACTOR")
        ->capture_default_str();
    c.add_option("--nodes", options.nodes, "Number of nodes; 4 simulated ones, else 1")
        ->check(CLI::Range(1, 5000))
        ->type_name("N");
    c.add_flag("--create-nodes", options.create_nodes, "Create the simulated Node objects too");
    c.add_flag(
        "--bound-only", options.bound_only, "Bind none: simulated pods live once they are bound"
    );
}

const registered_command node_commands[] = {
    {"dev", 120, &add_dev, {{overview_part::without_cluster, 50}}},
    {"pods", 150, &add_pods},
};

const registered_start node_process(&containers::become_node_process_if_asked);

}  // namespace

}  // namespace signalbox::op::cli
