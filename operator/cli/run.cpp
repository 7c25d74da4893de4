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
#include "http/changing_file.hpp"
#include "monitoring/monitor.hpp"
#include "progress/receiver.hpp"

#include <fmt/ostream.h>
#include <sys/resource.h>

#include <cstdlib>
#include <optional>
#include <ostream>
#include <sstream>
#include <vector>

namespace signalbox::op::cli {

namespace {

/// Of the annotations of a pod, which may have 256 KiB together.
constexpr std::size_t most_ca_bytes = 64 * 1024;

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
    out.series =
        options.single_jobs ? job_metrics::series::of_jobs_too : job_metrics::series::of_kinds;
    std::ostringstream line;
    version(line);
    const std::string text = line.str();
    out.version = text.substr(text.find(' ') + 1, text.find('\n') - text.find(' ') - 1);
    return out;
}

/// Starts them in order, and ends them in the reverse.
class all_of final : public attachment {
public:
    void add(attachment* one) { all_.push_back(one); }
    bool empty() const { return all_.empty(); }
    std::string begin(const running_operator& of) override {
        for (attachment* one : all_) {
            if (std::string wrong = one->begin(of); !wrong.empty()) {
                end();
                return wrong;
            }
            begun_.push_back(one);
        }
        return {};
    }
    void stopping() override {
        for (attachment* one : begun_) {
            one->stopping();
        }
    }
    void end() override {
        while (!begun_.empty()) {
            begun_.back()->end();
            begun_.pop_back();
        }
    }

private:
    std::vector<attachment*> all_, begun_;
};

/// What is wrong with the options of the receiver, or an empty text. Without an address there is
/// none, and nothing is set.
std::string read_progress(
    const progress_options& options,
    bool asked,
    const std::string& own_ns,
    progress::receiver_options& out,
    core::progress_access& access
) {
    out.listen.address = address_or_none(options.address);
    if (out.listen.address.empty()) {
        return asked ? "--with progress: --progress-bind-address is expected, too" : "";
    }
    if (options.tls_cert_file.empty() || options.tls_key_file.empty()) {
        return "--progress-bind-address: tokens are sent by TLS alone: --progress-tls-cert-file "
               "and "
               "--progress-tls-key-file are expected";
    }
    if (!options.url.starts_with("https://")) {
        return fmt::format(
            "--progress-url: `{}` is no https://HOST[:PORT], by which pods reach the receiver",
            options.url
        );
    }
    out.listen.tls_cert_file = options.tls_cert_file;
    out.listen.tls_key_file = options.tls_key_file;
    changing_file ca(options.ca_file.empty() ? options.tls_cert_file : options.ca_file);
    ca.refresh();
    if (!ca.problem().empty()) {
        return "--progress-ca-file: " + ca.problem();
    }
    if (!options.endpoints.empty()) {
        const char* address = std::getenv("POD_IP");  // NOLINT(concurrency-mt-unsafe): one thread
        if (address == nullptr || own_ns.empty()) {
            return "--progress-endpoints: it is for a pod, which has its address in POD_IP";
        }
        out.endpoints = progress::endpoint{own_ns, options.endpoints, address, 0};
    }
    access.url = options.url.substr(0, options.url.find_last_not_of('/') + 1);
    access.ca = ca.text();
    access.of_all_jobs = options.of_all_jobs;
    return access.ca.size() <= most_ca_bytes
               ? std::string()
               : fmt::format(
                     "--progress-ca-file: {} bytes are too many for an annotation; at most {} are "
                     "possible",
                     access.ca.size(),
                     most_ca_bytes
                 );
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
    auto no_default = set_default_scheduler(wanted.rules, options.default_scheduler);
    if (!no_default) {
        no_default = check_default_scheduler(options.default_scheduler, wanted.controller);
    }
    if (no_default) {
        print_line(err, "signalbox run: {}", *no_default);
        return exit_refused;
    }
    auto cluster = k8sio::find_config(options.cluster.kubeconfig, options.cluster.context);
    if (cluster.has_error()) {
        print_line(err, "signalbox run: {}", cluster.error().text());
        return exit_refused;
    }
    const bool in_pod =
        k8sio::finds_service_account(options.cluster.kubeconfig, options.cluster.context);
    const std::string own_ns = in_pod ? cluster->ns : std::string();
    if (options.election.wanted) {
        const auto wrong = read_election(options.election, own_ns, wanted.election.emplace());
        if (wrong) {
            print_line(err, "signalbox run: {}", *wrong);
            return exit_refused;
        }
    }
    wanted.cluster = std::move(*cluster);
    wanted.log = make_logger(options.log);
    progress::receiver_options to_receive;
    const std::string wrong = read_progress(
        options.progress,
        wanted.controller.reviews_tokens,
        own_ns,
        to_receive,
        wanted.controller.reports_to
    );
    if (!wrong.empty()) {
        print_line(err, "signalbox run: {}", wrong);
        return exit_refused;
    }
    all_of beside;
    std::optional<progress::receiver> receiver;
    monitor_options to_show = what_to_monitor(options.monitoring);
    if (!to_receive.listen.address.empty()) {
        receiver.emplace(std::move(to_receive));
        to_show.more_metrics = [&receiver] { return receiver->metrics_text(); };
        beside.add(&*receiver);
    }
    monitor shown(std::move(to_show));
    shown.attach_to(wanted);
    if (wanted.beside != nullptr) {
        beside.add(wanted.beside);
    }
    wanted.beside = beside.empty() ? nullptr : &beside;
    return run_operator(std::move(wanted));
}

}  // namespace signalbox::op::cli
