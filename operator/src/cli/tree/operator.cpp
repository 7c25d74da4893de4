// SPDX-License-Identifier: Apache-2.0
//
// The operator in a cluster, and what stands in for one.
#include "cli/commands.hpp"
#include "cli/scope.hpp"
#include "cli/settings.hpp"
#include "cli/tree/groups.hpp"
#include "cli/tree/shared_options.hpp"

#include <map>

namespace signalbox::op::cli {

namespace {

constexpr const char* run_footer = R"(
Finds the API server like kubectl: --kubeconfig, else the service account of the pod it runs in, else
$KUBECONFIG, else ~/.kube/config. It waits for the CRDs (`signalbox crds`). SIGTERM ends it cleanly.

Examples:
  signalbox run --kubeconfig ~/.kube/config --log-level debug
  signalbox run --policy restart_delay=100 --policy settle=200     # for tests
  signalbox run --leader-elect                                     # one of several replicas acts
  signalbox run --metrics-bind-address 127.0.0.1:8080              # then: curl 127.0.0.1:8080/metrics

Exit codes: 0 ended by a signal, 1 a part of it died, 2 refused, 4 the Lease was lost to another
replica or could not be renewed.

Keys of --policy, all in milliseconds but the counts:
  )";

constexpr const char* dev_footer = R"(
One process on this machine: an API server that keeps everything in memory, the operator, and pods.
kubectl works against it: each instance writes a kubeconfig of its own, and removes it at the end.

Examples:
  signalbox dev                                        # then, elsewhere: kubectl apply -f train.yaml
  signalbox dev --apply train.yaml --until-finished    # 0 if all jobs succeed, 1 if not
  signalbox dev --apply train.yaml --scenario faults.yaml --speed 10
  signalbox dev --pods process --venv ~/venv --apply train.yaml    # really trains
  signalbox dev --pods process --fake-resource nvidia.com/gpu=8 --claims ~/claims

--pods simulated: pods are timelines. No containers, no root, nothing leaves the loopback interface.
What one does is said in a scenario file or in annotations `sim.signalbox.dev/...` of its template:
operator/src/pods/README.md.
--pods process: pods are processes of this machine in namespaces of their own, as root or as an
ordinary user. Every image is this machine's own file system, copy on write: operator/src/kubelet/README.md.)";

constexpr const char* pods_footer = R"(
A kubelet and scheduler for any API server, for tests and demonstrations. `simulated` binds pods to
nodes that do not exist and lets them run, end and fail as a scenario or their annotations say;
`process` runs them as processes of this machine. NEVER point it at a cluster that has nodes.

Examples:
  signalbox pods --kubeconfig test.kubeconfig --scenario faults.yaml
  signalbox pods --kubeconfig test.kubeconfig --runtime process --claims ~/claims)";

constexpr const char* rbac_footer = R"(
A ClusterRole, or with -n a Role in each namespace, and what binds it to a service account; with
--leader-elect also the Role for the Lease. JSON is the list of rules, each with its feature.

Examples:
  signalbox rbac --leader-elect | kubectl apply -f -
  signalbox rbac -n team-a -n team-b --without ssh,gang)";

void add_scope(CLI::App& to, scope_options& scope) {
    const auto add =
        [&to](const char* flag, std::vector<std::string>& into, const std::string& what) {
            return to.add_option(flag, into, what)->type_name("NAME")->allow_extra_args(false);
        };
    add("-n,--namespace", scope.namespaces, "Only this namespace; may be repeated; all if not given"
    );
    add("--without", scope.without, "Without a feature: " + feature_names())->delimiter(',');
    add("--kind", scope.kinds, "Only this kind of jobs: pj, dj, caij; may be repeated")
        ->delimiter(',');
}

void add_election(CLI::App& to, election_options& options) {
    const auto add = [&to](const char* name, std::string& into, const char* what, const char* of) {
        to.add_option(name, into, what)->type_name(of)->capture_default_str();
    };
    to.add_flag("--leader-elect", options.wanted, "Act only as the holder of a Lease");
    add("--leader-elect-lease-duration",
        options.lease_duration,
        "Others wait so long for a renewal",
        "TIME");
    add("--leader-elect-renew-deadline",
        options.renew_deadline,
        "So long after a renewal the leader gives up",
        "TIME");
    add("--leader-elect-retry-period", options.retry_period, "Between two tries", "TIME");
    add("--leader-elect-resource-name", options.name, "Name of the Lease", "NAME");
    to.add_option(
          "--leader-elect-resource-namespace", options.ns, "Its namespace; in a pod the pod's own"
    )
        ->type_name("NAME");
}

void add_monitoring(CLI::App& to, monitoring_options& options) {
    const auto add = [&to](const char* name, std::string& into, const char* what, const char* of) {
        to.add_option(name, into, what)->type_name(of)->capture_default_str();
    };
    add("--metrics-bind-address",
        options.metrics_address,
        "Serves /metrics, /debug and health there; 0: none",
        "ADDR:PORT");
    add("--health-probe-bind-address",
        options.health_address,
        "Serves /livez and /readyz alone there; 0: none",
        "ADDR:PORT");
    add("--metrics-tls-cert-file", options.tls_cert_file, "Metrics by TLS, with this", "FILE");
    add("--metrics-tls-key-file", options.tls_key_file, "The key of that", "FILE");
    add("--metrics-token-file",
        options.token_file,
        "/metrics and /debug for who sends this as bearer token",
        "FILE");
}

void add_pod_runtime(
    CLI::App& to, const char* flag, pod_runtime_kind& kind, pod_process_options& options
) {
    const std::map<std::string, pod_runtime_kind> kinds{
        {"simulated", pod_runtime_kind::simulated}, {"process", pod_runtime_kind::process}};
    to.add_option(flag, kind, "What pods are: timelines, or processes of this machine")
        ->transform(CLI::CheckedTransformer(kinds).description(""))
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
    list("--image", options.images, "Images whose root file system is a folder", "GLOB=DIR");
    list("--image-env", options.image_variables, "A variable that images set", "GLOB:NAME=VALUE");
    text("--venv", options.venv, "Python environment: in all pods, read-only, first in PATH");
    list("--bind", options.binds, "A file or folder of this machine in all pods", "SRC:DST");
    text(
        "--claims",
        options.claims,
        "Its folders are the persistent volume claims; missing ones are made for claims on the "
        "server"
    );
    to.add_flag("--offline", options.offline, "Pods reach nothing but each other")->group(group);
    list("--fake-resource", options.fake_resources, "Count of a resource to be had", "NAME=COUNT");
    text("--pods-dir", options.folder, "Where pods live while they run");
}

void add_dev(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(), "dev", "Try jobs on this machine, without a cluster", dev_footer, &dev
    );
    options.program = tree.program();
    c.add_option("--apply", options.files, "Apply what is in this file; may be repeated")
        ->type_name("FILE");
    c.add_flag("--until-finished", options.until_finished, "End when all applied jobs have ended");
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

void add_run(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(),
        "run",
        "Run the operator against a cluster",
        run_footer + policy_keys(),
        &run_operator_command
    );
    add_cluster(c, options.cluster);
    add_scope(c, options.scope);
    add_election(c, options.election);
    add_monitoring(c, options.monitoring);
    add_policy(c, options.policy);
    add_log(c, options.log);
}

void add_rbac(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(),
        "rbac",
        "Print the roles that `run` with the same flags needs",
        rbac_footer,
        &rbac
    );
    add_scope(c, options.scope);
    add_election(c, options.election);
    const auto text = [&to = c](const char* flag, std::string& into, const char* what) {
        to.add_option(flag, into, what)->type_name("NAME")->capture_default_str();
    };
    text("--name", options.name, "Of the roles and bindings");
    text("--service-account", options.account, "Who gets them");
    text("--service-account-namespace", options.account_ns, "The operator's own namespace");
    add_output(c, options.output);
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
}

}  // namespace

void add_operator_commands(command_tree& tree) {
    add_dev(tree);
    add_run(tree);
    add_rbac(tree);
    add_pods(tree);
}

}  // namespace signalbox::op::cli
