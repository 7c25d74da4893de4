// SPDX-License-Identifier: Apache-2.0
//
// `signalbox run`.
#include "controller/run.hpp"

#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/election.hpp"
#include "cli/print_line.hpp"
#include "cli/scope.hpp"
#include "cli/settings.hpp"
#include "monitoring/monitor.hpp"

#include <fmt/ostream.h>
#include <sys/resource.h>

#include <ostream>
#include <sstream>

namespace signalbox::op::cli {

namespace {

std::string address_or_none(const std::string& text) {
    return text == "0" ? std::string() : text;
}

monitor_options what_to_monitor(const monitoring_options& options) {
    monitor_options out;
    out.metrics.address = address_or_none(options.metrics_address);
    out.metrics.tls_cert_file = options.tls_cert_file;
    out.metrics.tls_key_file = options.tls_key_file;
    out.metrics.token_file = options.token_file;
    out.health_address = address_or_none(options.health_address);
    std::ostringstream line;
    version(line);
    const std::string text = line.str();
    out.version = text.substr(text.find(' ') + 1, text.find('\n') - text.find(' ') - 1);
    return out;
}

/// A core dump would hold keys and tokens. With the limit 1 the kernel writes no file, and starts
/// no program that dumps are piped to either; to such a program a limit of 0 is none.
void forbid_core_dumps() {
    const rlimit least{1, 1};
    ::setrlimit(RLIMIT_CORE, &least);
}

}  // namespace

int run_operator_command(const run_options& options, std::ostream&, std::ostream& err) {
    forbid_core_dumps();
    op::run_options wanted;
    if (const auto wrong = set_policy(wanted.rules, options.policy)) {
        print_line(err, "signalbox run: --policy {}", *wrong);
        return exit_refused;
    }
    if (const auto wrong = read_scope(options.scope, wanted.controller)) {
        print_line(err, "signalbox run: {}", *wrong);
        return exit_refused;
    }
    auto cluster = k8sio::find_config(options.cluster.kubeconfig, options.cluster.context);
    if (cluster.has_error()) {
        print_line(err, "signalbox run: {}", cluster.error().text());
        return exit_refused;
    }
    if (options.election.wanted) {
        const bool in_pod =
            k8sio::finds_service_account(options.cluster.kubeconfig, options.cluster.context);
        const std::string own_ns = in_pod ? cluster->ns : std::string();
        const auto wrong = read_election(options.election, own_ns, wanted.election.emplace());
        if (wrong) {
            print_line(err, "signalbox run: {}", *wrong);
            return exit_refused;
        }
    }
    wanted.cluster = std::move(*cluster);
    wanted.log = make_logger(options.log);
    monitor beside(what_to_monitor(options.monitoring));
    beside.attach_to(wanted);
    return run_operator(std::move(wanted));
}

}  // namespace signalbox::op::cli
