// SPDX-License-Identifier: Apache-2.0
//
// The operator in a cluster.
#include "cli/commands.hpp"
#include "cli/scope.hpp"
#include "cli/settings.hpp"
#include "cli/tree/registry.hpp"
#include "cli/tree/shared_options.hpp"

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

constexpr const char* rbac_footer = R"(
A ClusterRole, or with -n a Role in each namespace, and what binds it to a service account; with
--leader-elect also the Role for the Lease. JSON is the list of rules, each with its feature.

Examples:
  signalbox rbac --leader-elect | kubectl apply -f -
  signalbox rbac -n team-a -n team-b --without ssh,gang
  signalbox rbac --scheduler kubernetes)";

void add_scope(CLI::App& to, scope_options& scope) {
    const auto add =
        [&to](const char* flag, std::vector<std::string>& into, const std::string& what) {
            return to.add_option(flag, into, what)->type_name("NAME")->allow_extra_args(false);
        };
    add("-n,--namespace", scope.namespaces, "Only this namespace; may be repeated; all if not given"
    );
    add("--without", scope.without, "Without a feature: " + feature_names())->delimiter(',');
    add("--with",
        scope.with,
        "With what has to be asked for: logs, to read why pods failed; progress, to look at the "
        "tokens of reports")
        ->delimiter(',');
    add("--scheduler",
        scope.schedulers,
        "Also this scheduler of gangs: " + scheduler_names() + "; may be repeated")
        ->delimiter(',');
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
    to.add_flag(
        "--metrics-of-jobs",
        options.single_jobs,
        "Series of single jobs, too, with names and namespaces; of 1000 at most"
    );
}

void add_progress(CLI::App& to, progress_options& options) {
    const auto add = [&to](const char* name, std::string& into, const char* what, const char* of) {
        to.add_option(name, into, what)->type_name(of)->capture_default_str();
    };
    add("--progress-bind-address",
        options.address,
        "Receives reports of progress of jobs that ask for it there, by TLS; 0: none",
        "ADDR:PORT");
    add("--progress-tls-cert-file", options.tls_cert_file, "The certificate of that", "FILE");
    add("--progress-tls-key-file", options.tls_key_file, "The key of the certificate", "FILE");
    add("--progress-ca-file",
        options.ca_file,
        "What pods know it by; if not given, the certificate itself",
        "FILE");
    add("--progress-endpoints",
        options.endpoints,
        "Service without a selector that the leader leads to itself, by an EndpointSlice",
        "NAME");
    add("--progress-url",
        options.url,
        "By which pods reach it, e.g. https://NAME.NS.svc:8444",
        "URL");
    to.add_flag(
        "--progress-of-all-jobs",
        options.of_all_jobs,
        "Attempts that begin from now on report, also of jobs that do not ask for it"
    );
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
    add_default_scheduler(c, options.default_scheduler);
    add_election(c, options.election);
    add_monitoring(c, options.monitoring);
    add_progress(c, options.progress);
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

const registered_command operator_commands[] = {
    {"run", 130, &add_run, {{overview_part::with_cluster, 30}}},
    {"rbac", 140, &add_rbac, {{overview_part::with_cluster, 20}}},
};

}  // namespace

}  // namespace signalbox::op::cli
