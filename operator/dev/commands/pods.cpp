// SPDX-License-Identifier: Apache-2.0
//
// `signalbox pods`: a pod runtime for any API server.
#include "cli/cli.hpp"
#include "cli/print_line.hpp"
#include "cli/settings.hpp"
#include "commands/node_commands.hpp"
#include "commands/process_pods.hpp"
#include "commands/scenario_file.hpp"
#include "pods/simulated.hpp"

#include <k8sio/connect.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/ostream.h>

#include <csignal>
#include <ostream>

namespace signalbox::op::cli {

namespace {

namespace asio = boost::asio;

constexpr const char* pods_command_name = "signalbox pods";
constexpr int simulated_nodes = 4;

pods::simulated_options simulated(const pods_options& options, pods::scenario script) {
    pods::simulated_options out;
    out.script = std::move(script);
    out.ns = options.ns;
    out.label_selector = options.selector;
    out.speed = options.speed;
    out.nodes = options.nodes == 0 ? simulated_nodes : options.nodes;
    out.create_nodes = options.create_nodes;
    out.bound_only = options.bound_only;
    return out;
}

/// Runs it until a signal comes.
void run_pods(asio::io_context& loop, pods::pod_runtime& runtime, std::ostream& out) {
    asio::signal_set signals(loop, SIGINT, SIGTERM);
    signals.async_wait([&](boost::system::error_code failed, int) {
        if (!failed) {
            runtime.stop();
        }
    });
    asio::co_spawn(loop, runtime.run(), [&](std::exception_ptr) { signals.cancel(); });
    loop.run();
    const pods::runtime_counters& c = runtime.counters();
    fmt::print(
        out,
        "pods: {} bound, {} started, {} ended, {} removed, {} errors\n",
        c.bound,
        c.started,
        c.ended,
        c.removed,
        c.errors
    );
}

}  // namespace

int pods_command(const pods_options& options, std::ostream& out, std::ostream& err) {
    const auto refuse = [&](const std::string& why) {
        print_line(err, "{}: {}", pods_command_name, why);
        return exit_refused;
    };
    const auto complain = [&err](const std::string& what) {
        print_line(err, "{}: {}", pods_command_name, what);
        err.flush();
    };
    const std::string unused = flags_for_processes(options.process);
    if (options.runtime == pod_runtime_kind::simulated && !unused.empty()) {
        return refuse(unused + ": simulated pods run nothing; add --runtime process");
    }
    if (options.runtime == pod_runtime_kind::process && options.bound_only) {
        return refuse("--bound-only: pods that are processes are bound to this machine");
    }
    auto process = read_process_options(options.process, pods_command_name, err);
    if (!process) {
        return exit_refused;
    }
    pods::scenario script;
    std::string error;
    if (!load_scenario(options.scenario, script, error)) {
        return refuse(error);
    }
    asio::io_context loop(1);
    auto cluster = k8sio::connect(loop.get_executor(), connect_to(options.cluster));
    if (cluster.has_error()) {
        return refuse(cluster.error().text());
    }
    if (options.runtime == pod_runtime_kind::simulated) {
        pods::simulated_options wanted = simulated(options, std::move(script));
        wanted.complain = complain;
        const auto runtime =
            pods::make_simulated_runtime(loop.get_executor(), cluster->api(), std::move(wanted));
        run_pods(loop, *runtime, out);
        return exit_ok;
    }
    process->ns = options.ns;
    process->label_selector = options.selector;
    process->nodes = options.nodes == 0 ? 1 : options.nodes;
    process->script = std::move(script);
    process->complain = process->left = complain;
    const auto runtime =
        start_process_pods(loop, cluster->api(), std::move(*process), pods_command_name, err);
    if (!runtime) {
        return exit_refused;
    }
    for (const std::string& notice : runtime->notices()) {
        complain(notice);
    }
    // An API server asks a kubelet's port for these, and there is none.
    complain(fmt::format(
        "kubectl logs, exec, attach, cp and port-forward do not work here; logs are in {}",
        runtime->logs_folder()
    ));
    run_pods(loop, *runtime, out);
    return exit_ok;
}

}  // namespace signalbox::op::cli
