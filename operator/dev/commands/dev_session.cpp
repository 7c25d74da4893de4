// SPDX-License-Identifier: Apache-2.0
#include "commands/dev_session.hpp"

#include "cli/cli.hpp"
#include "cli/print_line.hpp"
#include "cli/settings.hpp"
#include "cli/text_layout.hpp"
#include "commands/apply.hpp"
#include "commands/dev_report.hpp"
#include "commands/dev_watch.hpp"
#include "commands/kubeconfig_file.hpp"
#include "commands/process_pods.hpp"
#include "commands/progress.hpp"
#include "controller/controller.hpp"
#include "controller/resource_table.hpp"
#include "manifests/json_edit.hpp"
#include "pods/admission.hpp"
#include "pods/deployed_pods.hpp"
#include "pods/simulated.hpp"
#include "progress/receiver.hpp"

#include <jobcore/schema.hpp>
#include <k8sio/reflector.hpp>
#include <k8sio/server/api_server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <ostream>

#include <unistd.h>

namespace signalbox::op::cli {

namespace {

namespace asio = boost::asio;
using k8sio::result;

/// How long jobs may wait for what does not come by itself: somebody may be about to make it.
constexpr std::chrono::seconds hindered_for{10};
/// A transport of its own, so that no part waits behind another.
struct connection {
    connection(k8sio::server::api_server& server, k8sio::clock& time)
        : transport(server.connect()), api(*transport, time) {}
    std::unique_ptr<k8sio::transport> transport;
    k8sio::client api;
};

class dev_session {
public:
    dev_session(dev_setup setup, std::ostream& out, std::ostream& err);
    int run();

private:
    bool begin();
    bool make_pods();
    bool make_operator();
    void announce();
    void start();
    void spawn(asio::awaitable<void> task);
    void ended();
    void stop();
    void wait_for_signal();
    void wait_for_resize();
    asio::awaitable<void> apply_all();
    void changed();
    void watch_hindrances();
    void give_up(const std::string& why);
    int exit_code() const;
    int report();
    void print_end();

    bool says_json() const { return setup_.options.output == output_format::json; }
    pods::deployment_options deployment_options();
    std::chrono::nanoseconds elapsed() const { return time_->steady_now() - started_; }

    dev_setup setup_;
    std::ostream& out_;
    std::ostream& err_;
    asio::io_context loop_{1};
    std::unique_ptr<k8sio::clock> time_ = k8sio::make_machine_clock(loop_.get_executor());
    k8sio::steady_time started_ = time_->steady_now();
    std::string token_ = random_token();
    std::shared_ptr<k8sio::server::pod_streams> streams_;  // outlives the server
    k8sio::server::api_server server_;
    connection for_operator_, for_pods_, for_us_;
    std::unique_ptr<pods::pod_runtime> pods_;
    std::vector<std::string> notices_;
    std::string kept_logs_;          ///< folder of logs that outlive pods; empty: none
    std::vector<std::string> left_;  ///< what pods have written that is lost, or kept
    std::unique_ptr<pods::deployment_controller> deployments_;
    std::unique_ptr<pods::simulated_admission> admission_;  ///< null: nothing asks for quota
    std::unique_ptr<controller> operator_;
    std::unique_ptr<op::progress::receiver> receiver_;  ///< null if no pod could reach it
    progress progress_;
    std::vector<std::unique_ptr<job_watch>> job_watches_;
    std::unique_ptr<event_watch> event_watch_;
    std::unique_ptr<log_watch> log_watch_;  ///< null if pods write nothing
    std::vector<std::unique_ptr<k8sio::reflector>> reflectors_;
    asio::signal_set signals_{loop_, SIGINT, SIGTERM}, resizes_{loop_, SIGWINCH};
    kubeconfig_file kubeconfig_;
    std::uint16_t port_ = 0;
    std::vector<std::string> applied_;  ///< UIDs of jobs
    std::size_t running_ = 0;
    k8sio::clock::timer_id quiet_ = 0, hindered_ = 0, timeout_ = 0;
    bool all_applied_ = false;
    bool failed_ = false;
    bool interrupted_ = false;
    bool gave_up_ = false;  ///< jobs have not ended, and are not waited for any more
    bool stopping_ = false;
};

k8sio::server::server_options server_options(const std::string& token) {
    k8sio::server::server_options out;
    out.token = token;
    return out;
}

/// Whoever runs `dev` may read the logs of its pods; simulated ones have none (BEHAVIOUR.md 3.13).
controller_options options_of_operator(const dev_setup& setup) {
    controller_options out;
    out.without = {};  // whatever scheduler a job asks for
    out.reads_logs = setup.options.pods == pod_runtime_kind::process;
    return out;
}

dev_session::dev_session(dev_setup setup, std::ostream& out, std::ostream& err)
    : setup_(std::move(setup)),
      out_(out),
      err_(err),
      server_(loop_.get_executor(), *time_, server_options(token_)),
      for_operator_(server_, *time_),
      for_pods_(server_, *time_),
      for_us_(server_, *time_),
      progress_(
          says_json() ? err : out,
          !says_json() && &out == &std::cout && ::isatty(STDOUT_FILENO) == 1,
          !says_json() && &out == &std::cout && output_has_colours()
      ) {}

bool dev_session::make_pods() {
    const auto complain = [this](const std::string& what) { progress_.note("pods: " + what); };
    if (setup_.admits_workloads) {
        admission_ = std::make_unique<pods::simulated_admission>(
            loop_.get_executor(), for_pods_.api, complain
        );
    }
    if (setup_.options.pods == pod_runtime_kind::simulated) {
        pods::simulated_options wanted;
        wanted.speed = setup_.options.speed;
        wanted.create_nodes = true;
        wanted.script = setup_.scenario;
        wanted.complain = complain;
        wanted.report = [this](const report_sender& from, const core::progress_message& said) {
            if (operator_) {
                operator_->take_report(from, &said);
            }
        };
        pods_ =
            pods::make_simulated_runtime(loop_.get_executor(), for_pods_.api, std::move(wanted));
        deployments_ = std::make_unique<pods::simulated_deployments>(
            loop_.get_executor(), for_pods_.api, deployment_options()
        );
        return true;
    }
    kubelet::process_options wanted = setup_.process;
    wanted.script = setup_.scenario;
    wanted.complain = complain;
    wanted.left = [this](const std::string& what) { left_.push_back(what); };
    if (!setup_.options.until_finished) {
        wanted.left = complain;
    }
    auto made = start_process_pods(loop_, for_pods_.api, std::move(wanted), "signalbox dev", err_);
    if (!made) {
        return false;
    }
    notices_ = made->notices();
    notices_.insert(notices_.end(), setup_.notices.begin(), setup_.notices.end());
    streams_ = made->streams();
    kept_logs_ = made->kept_logs();
    server_.set_pod_streams(streams_.get());
    pods_ = std::move(made);
    deployments_ =
        pods::make_deployed_pods(loop_.get_executor(), for_pods_.api, deployment_options());
    return true;
}

std::string url_of(int socket) {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size);
    std::array<char, INET_ADDRSTRLEN> host{};
    ::inet_ntop(AF_INET, &at.sin_addr, host.data(), host.size());
    return fmt::format("http://{}:{}", host.data(), ntohs(at.sin_port));
}

/// Reports go over the bridge of this machine alone, so without TLS.
bool dev_session::make_operator() {
    controller_options options = options_of_operator(setup_);
    op::progress::receiver_options reports;
    if (setup_.options.pods == pod_runtime_kind::simulated) {
        options.reports_to.url = "http://simulated";  // no one calls it: see make_pods()
    }
    auto* const of_machine = dynamic_cast<kubelet::process_runtime*>(pods_.get());
    const int socket = of_machine == nullptr ? -1 : of_machine->service_socket();
    if (socket >= 0) {
        reports.socket = socket;
        receiver_ = std::make_unique<op::progress::receiver>(std::move(reports));
        options.reports_to.url = url_of(socket);
    }
    auto log = make_logger(setup_.options.log);
    operator_ = std::make_unique<controller>(
        loop_.get_executor(), for_operator_.api, setup_.rules, std::move(options), log
    );
    if (!receiver_) {
        return true;
    }
    running_operator seen;
    seen.loop = seen.answers = loop_.get_executor();
    seen.time = time_.get();
    seen.work = operator_.get();
    seen.api = &for_operator_.api;
    seen.leads = [] { return true; };
    seen.log = std::move(log);
    const std::string wrong = receiver_->begin(seen);
    if (!wrong.empty()) {
        print_line(err_, "signalbox dev: {}", wrong);
    }
    return wrong.empty();
}

pods::deployment_options dev_session::deployment_options() {
    pods::deployment_options out;
    out.complain = [this](const std::string& what) { progress_.note("pods: " + what); };
    return out;
}

bool dev_session::begin() {
    const auto failed = [&](const std::string& why) {
        print_line(err_, "signalbox dev: {}", why);
        return false;
    };
    for (const std::string& definition : setup_.definitions) {
        const result<void> added = server_.add_custom_resource(definition);
        if (added.has_error()) {
            return failed(added.error().text());
        }
    }
    const result<std::uint16_t> port = server_.listen(setup_.listen.host, setup_.listen.port);
    if (port.has_error()) {
        return failed(fmt::format("--listen {}: {}", setup_.options.listen, port.error().text()));
    }
    port_ = *port;
    std::string path = setup_.options.kubeconfig.empty()
                           ? default_kubeconfig_path(setup_.listen.host, port_)
                           : setup_.options.kubeconfig;
    std::string text = server_.kubeconfig(setup_.listen.host, port_);
    if (const auto wrong = kubeconfig_.write(std::move(path), std::move(text))) {
        return failed(*wrong);
    }
    if (!kept_logs_.empty()) {
        kubeconfig_.add_logs(kept_logs_);
    }
    return true;
}

void dev_session::announce() {
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(elapsed()).count();
    progress_.note(fmt::format(
        "API server, operator and {} are ready after {} ms at https://{}:{}\n"
        "  export KUBECONFIG={}\n",
        setup_.options.pods == pod_runtime_kind::simulated ? "simulated pods"
                                                           : "pods of this machine",
        milliseconds,
        setup_.listen.host.find(':') == std::string::npos ? setup_.listen.host
                                                          : fmt::format("[{}]", setup_.listen.host),
        port_,
        shell_word(kubeconfig_.path())
    ));
    if (admission_) {
        progress_.note(
            "queues: no Kueue is here; a stand-in admits every Workload at once, with all that it "
            "asks for"
        );
    }
    for (const std::string& notice : notices_) {
        progress_.note("pods: " + notice);
    }
    if (setup_.objects.objects.empty()) {
        progress_.note("Apply a job: kubectl apply -f examples/manifests/ddp.yaml. Ctrl-C ends.");
    }
}

void dev_session::spawn(asio::awaitable<void> task) {
    ++running_;
    asio::co_spawn(loop_, std::move(task), [this](std::exception_ptr broken) {
        if (broken) {
            failed_ = true;
            stop();
        }
        ended();
    });
}

void dev_session::ended() {
    --running_;
    if (running_ == 0) {
        for (const k8sio::clock::timer_id timer : {quiet_, hindered_, timeout_}) {
            time_->cancel(timer);
        }
        signals_.cancel();
        resizes_.cancel();
        server_.stop();
    }
}

void dev_session::start() {
    const auto seconds = [this] { return elapsed(); };
    const auto tell = [this] { changed(); };
    for (const core::job_kind kind : core::all_job_kinds) {
        const k8sio::resource_type type(
            std::string(core::api_group),
            "v1beta1",
            std::string(core::plural(kind)),
            std::string(core::to_string(kind))
        );
        job_watches_.push_back(std::make_unique<job_watch>(progress_, seconds, tell));
        reflectors_.push_back(
            std::make_unique<k8sio::reflector>(for_us_.api, type, *job_watches_.back())
        );
    }
    if (setup_.options.pods == pod_runtime_kind::process) {
        progress_.show_logs(setup_.options.logs);
        log_watch_ =
            std::make_unique<log_watch>(loop_.get_executor(), for_us_.api, progress_, seconds);
        k8sio::reflector_options ours;
        ours.label_selector = children_selector;
        reflectors_.push_back(std::make_unique<k8sio::reflector>(
            for_us_.api, k8sio::resources::pods(), *log_watch_, ours
        ));
    }
    event_watch_ = std::make_unique<event_watch>(progress_, seconds, tell);
    reflectors_.push_back(
        std::make_unique<k8sio::reflector>(for_us_.api, k8sio::resources::events(), *event_watch_)
    );
    for (const auto& r : reflectors_) {
        spawn(r->run());
    }
    spawn(pods_->run());
    spawn(deployments_->run());
    if (admission_) {
        spawn(admission_->run());
    }
    spawn(operator_->run());
    spawn(apply_all());
    if (setup_.patience && *setup_.patience != never) {
        timeout_ = time_->schedule(time_->steady_now() + *setup_.patience, [this] {
            give_up(fmt::format("--timeout {}: the time is up", setup_.options.timeout));
        });
    }
    wait_for_signal();
    wait_for_resize();
}

void dev_session::wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code failed, int) {
        if (failed) {
            return;
        }
        if (interrupted_) {
            kubeconfig_.remove();
            std::_Exit(130);
        }
        interrupted_ = true;
        stop();
        wait_for_signal();
    });
}

void dev_session::wait_for_resize() {
    resizes_.async_wait([this](boost::system::error_code failed, int) {
        if (!failed) {
            progress_.resized();
            wait_for_resize();
        }
    });
}

void dev_session::stop() {
    if (stopping_) {
        return;
    }
    stopping_ = true;
    pods_->stop();
    deployments_->stop();
    if (admission_) {
        admission_->stop();
    }
    operator_->stop();
    if (receiver_) {
        receiver_->end();
    }
    for (const auto& r : reflectors_) {
        r->stop();
    }
    if (log_watch_) {
        spawn(log_watch_->stop());
    }
}

asio::awaitable<void> dev_session::apply_all() {
    applier apply(for_us_.api, setup_.options.ns);
    for (const checked_object& o : setup_.objects.objects) {
        if (stopping_) {
            co_return;
        }
        const result<std::string> made = co_await apply.create(o.source);
        if (made.has_error()) {
            failed_ = true;
            progress_.note(fmt::format(
                "{}: {} was not applied: {}", o.source.file(), title(o.source), made.error().text()
            ));
        } else if (o.is_job) {
            applied_.push_back(manifests::string_at(*made, "/metadata/uid"));
        }
    }
    all_applied_ = true;
    changed();
}

// The end comes when nothing moves any more, so that clean-up and last events are seen.
void dev_session::changed() {
    const bool over =
        setup_.options.until_finished && all_applied_ && (failed_ || progress_.all_final(applied_));
    if (!over || stopping_) {
        watch_hindrances();
        return;
    }
    time_->cancel(quiet_);
    const auto at = time_->steady_now() + std::chrono::milliseconds{300};
    quiet_ = time_->schedule(at, [this] { stop(); });
}

/// Who waits for an end that cannot come is told so, and not kept.
void dev_session::watch_hindrances() {
    const bool waits = setup_.options.until_finished && all_applied_ && !stopping_ &&
                       setup_.options.pods == pod_runtime_kind::process;
    if (!waits || progress_.hindered(applied_).empty()) {
        time_->cancel(std::exchange(hindered_, 0));
    } else if (hindered_ == 0) {
        hindered_ = time_->schedule(time_->steady_now() + hindered_for, [this] {
            give_up("Nothing here can start:" + progress_.hindered(applied_));
        });
    }
}

void dev_session::give_up(const std::string& why) {
    if (!stopping_) {
        gave_up_ = true;
        progress_.note(why);
        stop();
    }
}

int dev_session::exit_code() const {
    if (interrupted_ && setup_.options.until_finished) {
        return 130;
    }
    if (gave_up_) {
        return exit_time_is_up;
    }
    const bool good = !setup_.options.until_finished || progress_.all_succeeded(applied_);
    return good && !failed_ ? exit_ok : exit_failed;
}

int dev_session::report() {
    progress_.close();
    const int code = exit_code();
    if (says_json()) {
        write_dev_json(out_, progress_.jobs(), left_, code);
    } else {
        print_end();
    }
    if (!setup_.options.junit.empty()) {
        std::ofstream file(setup_.options.junit);
        file << junit_of(progress_.jobs());
        file.close();
        if (!file) {
            print_line(err_, "signalbox dev: --junit: cannot write {}", setup_.options.junit);
            return exit_refused;
        }
    }
    return code;
}

namespace {

/// Examples where this program is run from a checkout.
void print_next(std::ostream& out, const std::string& program) {
    constexpr const char* scenario = "examples/scenarios/faults.yaml";
    fmt::print(
        out,
        "\nNext:\n"
        "  {0} dev    (stays up, for kubectl; Ctrl-C ends it)\n"
        "  {0} plan -f FILE    (the objects behind a job)\n",
        program
    );
    std::error_code unreadable;
    if (std::filesystem::exists(scenario, unreadable)) {
        fmt::print(
            out,
            "  {} dev --until-finished --apply FILE --scenario {}\n"
            "  examples/README.md has more jobs to try.\n",
            program,
            scenario
        );
    }
}

}  // namespace

void dev_session::print_end() {
    if (!setup_.objects.objects.empty()) {
        fmt::print(out_, "\n{}\n{}", progress_.table(), progress_.events(elapsed()));
    }
    if (!left_.empty()) {
        fmt::print(out_, "\nFiles that pods have written:\n");
    }
    for (const std::string& what : left_) {
        print_line(out_, "  {}", what);
    }
    const bool simulated = setup_.options.pods == pod_runtime_kind::simulated;
    if (simulated && !setup_.objects.objects.empty()) {
        fmt::print(
            out_,
            "\nThe pods were simulated, and none of their programs ran: --pods process runs them.\n"
        );
    }
    if (setup_.options.until_finished && !interrupted_ && !gave_up_) {
        print_next(out_, shell_word(setup_.options.program));
    }
}

int dev_session::run() {
    // Pods come first: what they refuse is said before anybody connects.
    if (!make_pods() || !make_operator() || !begin()) {
        return exit_refused;
    }
    announce();
    start();
    loop_.run();
    kubeconfig_.remove();
    return report();
}
}  // namespace

int run_dev(dev_setup setup, std::ostream& out, std::ostream& err) {
    return dev_session(std::move(setup), out, err).run();
}

}  // namespace signalbox::op::cli
