// SPDX-License-Identifier: Apache-2.0
//
// `signalbox run` and `signalbox pods`: the commands that connect to a cluster.
#include "controller/run.hpp"

#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/election.hpp"
#include "cli/scenario_file.hpp"
#include "cli/scope.hpp"
#include "cli/settings.hpp"
#include "monitoring/monitor.hpp"
#include "pods/simulated.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/ostream.h>

#include <csignal>
#include <fstream>
#include <ostream>
#include <sstream>

namespace signalbox::op::cli {

namespace asio = boost::asio;

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

}  // namespace

int run_operator_command(const run_options& options, std::ostream&, std::ostream& err) {
    op::run_options wanted;
    if (const auto wrong = set_policy(wanted.rules, options.policy)) {
        fmt::print(err, "signalbox run: --policy {}\n", *wrong);
        return exit_refused;
    }
    if (const auto wrong = read_scope(options.scope, wanted.controller)) {
        fmt::print(err, "signalbox run: {}\n", *wrong);
        return exit_refused;
    }
    auto cluster = k8sio::find_config(options.cluster.kubeconfig, options.cluster.context);
    if (cluster.has_error()) {
        fmt::print(err, "signalbox run: {}\n", cluster.error().text());
        return exit_refused;
    }
    if (options.election.wanted) {
        const bool in_pod =
            k8sio::finds_service_account(options.cluster.kubeconfig, options.cluster.context);
        const std::string own_ns = in_pod ? cluster->ns : std::string();
        const auto wrong = read_election(options.election, own_ns, wanted.election.emplace());
        if (wrong) {
            fmt::print(err, "signalbox run: {}\n", *wrong);
            return exit_refused;
        }
    }
    wanted.cluster = std::move(*cluster);
    wanted.log = make_logger(options.log);
    monitor beside(what_to_monitor(options.monitoring));
    beside.attach_to(wanted);
    return run_operator(std::move(wanted));
}

int pods_command(const pods_options& options, std::ostream& out, std::ostream& err) {
    const auto refuse = [&](const std::string& why) {
        fmt::print(err, "signalbox pods: {}\n", why);
        return exit_refused;
    };
    pods::simulated_options wanted;
    std::string error;
    if (!load_scenario(options.scenario, wanted.script, error)) {
        return refuse(error);
    }
    wanted.ns = options.ns;
    wanted.label_selector = options.selector;
    wanted.speed = options.speed;
    wanted.nodes = options.nodes;
    wanted.create_nodes = options.create_nodes;
    wanted.complain = [&err](const std::string& what) {
        fmt::print(err, "signalbox pods: {}\n", what);
        err.flush();
    };

    asio::io_context loop(1);
    auto cluster = k8sio::connect(loop.get_executor(), connect_to(options.cluster));
    if (cluster.has_error()) {
        return refuse(cluster.error().text());
    }
    const auto runtime =
        pods::make_simulated_runtime(loop.get_executor(), cluster->api(), std::move(wanted));
    asio::signal_set signals(loop, SIGINT, SIGTERM);
    signals.async_wait([&](boost::system::error_code failed, int) {
        if (!failed) {
            runtime->stop();
        }
    });
    asio::co_spawn(loop, runtime->run(), [&](std::exception_ptr) { signals.cancel(); });
    loop.run();
    const pods::runtime_counters& c = runtime->counters();
    fmt::print(
        out,
        "pods: {} bound, {} started, {} ended, {} removed, {} errors\n",
        c.bound,
        c.started,
        c.ended,
        c.removed,
        c.errors
    );
    return exit_ok;
}

}  // namespace signalbox::op::cli
