// SPDX-License-Identifier: Apache-2.0
#include "controller/run.hpp"

#include "controller/definitions_wait.hpp"
#include "controller/leadership.hpp"
#include "controller/log_line.hpp"
#include "controller/schema_skew.hpp"
#include "k8sio/loop_thread.hpp"
#include "k8sio/process_memory.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include <spdlog/sinks/null_sink.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

constexpr int exit_ok = 0;
constexpr int exit_configuration = 2;
constexpr int exit_lease_lost = 4;
constexpr int exit_second_signal = 130;

/// Tells the log when the views are complete, and when they cannot be kept up to date.
class reporter {
public:
    reporter(
        k8sio::clock& time, controller& work, spdlog::logger& log, std::chrono::nanoseconds every
    )
        : time_(&time), work_(&work), log_(&log), every_(every) {}

    void start() { arm(until_synced); }
    void stop() { time_->cancel(timer_); }

    void tell_dropped() {
        const std::vector<event_loss> now = work_->event_losses();
        dropped_.resize(now.size());
        for (std::size_t i = 0; i < now.size(); ++i) {
            if (now[i].events > dropped_[i]) {
                log_line line("events could not be written");
                line.field("new", now[i].events - dropped_[i])
                    .field("all", now[i].events)
                    .field("error", now[i].last_error);
                line.write(*log_, spdlog::level::warn);
                dropped_[i] = now[i].events;
            }
        }
    }

private:
    static constexpr std::chrono::nanoseconds until_synced = std::chrono::milliseconds{100};

    void arm(std::chrono::nanoseconds wait) {
        const auto at =
            time_->steady_now() + std::chrono::duration_cast<k8sio::steady_time::duration>(wait);
        timer_ = time_->schedule(at, [this] { look(); });
    }

    void look() {
        if (!synced_ && work_->synced()) {
            synced_ = true;
            log_->info(
                "views are complete: jobs={} pods={}", work_->job_count(), work_->pod_count()
            );
        }
        std::vector<std::string> problems = work_->problems();
        if (problems != problems_) {
            for (const std::string& problem : problems) {
                log_->warn("view is not up to date: {}", problem);
            }
            if (problems.empty()) {
                log_->info("all views are up to date again");
            }
            problems_ = std::move(problems);
        }
        tell_dropped();
        release();
        arm(synced_ ? every_ : std::min(every_, until_synced));
    }

    void release() {
        // Once more some seconds later: a leader lists all again.
        if (synced_ && startup_releases_ < 2) {
            k8sio::release_startup_memory();
            ++startup_releases_;
        }
        const std::uint64_t queued = work_->keys_queued();
        const bool idle = work_->queue_depth() == 0 && work_->active_passes() == 0;
        if (synced_ && idle && queued != released_at_) {
            k8sio::release_free_memory();
            released_at_ = queued;
        }
    }

    k8sio::clock* time_;
    controller* work_;
    spdlog::logger* log_;
    std::chrono::nanoseconds every_;
    k8sio::clock::timer_id timer_ = 0;
    bool synced_ = false;
    std::vector<std::string> problems_;
    std::vector<std::uint64_t> dropped_;  ///< as event_losses()
    int startup_releases_ = 0;
    std::uint64_t released_at_ = 0;  ///< by keys_queued()
};

/// The first signal stops, the second ends: whoever sends it twice does not want to wait.
class signal_watch {
public:
    /// `lead` and `beside` may be null.
    signal_watch(
        asio::io_context& loop,
        definitions_wait& kinds,
        controller& work,
        leadership* lead,
        attachment* beside,
        spdlog::logger& log
    )
        : signals_(loop, SIGINT, SIGTERM),
          kinds_(&kinds),
          work_(&work),
          lead_(lead),
          beside_(beside),
          log_(&log) {}

    void start() {
        signals_.async_wait([this](boost::system::error_code failed, int number) {
            if (failed) {
                return;
            }
            if (stopping_) {
                std::_Exit(exit_second_signal);
            }
            stopping_ = true;
            log_->info("stopping: signal={}", number);
            if (beside_ != nullptr) {
                beside_->stopping();
            }
            kinds_->stop();
            work_->stop();
            if (lead_ != nullptr) {
                lead_->stop();
            }
            start();
        });
    }
    void cancel() { signals_.cancel(); }

private:
    asio::signal_set signals_;
    definitions_wait* kinds_;
    controller* work_;
    leadership* lead_;
    attachment* beside_;
    spdlog::logger* log_;
    bool stopping_ = false;
};

/// `lead` may be null: then this process always leads.
asio::awaitable<void> run_all(
    definitions_wait& kinds,
    controller& work,
    leadership* lead,
    k8sio::client& api,
    reporter& report,
    spdlog::logger& log
) {
    definitions_wait& first = kinds;
    co_await first.run();
    if (first.stopped()) {
        co_return;
    }
    co_await look_for_skew(api, work, log, first.kinds());
    if (first.stopped()) {
        co_return;
    }
    report.start();
    if (lead != nullptr) {
        co_await lead->run(work, api);
    } else {
        co_await work.run();
    }
}

/// The election with a connection of its own: its requests wait behind no others.
struct election_parts {
    std::optional<k8sio::connection> cluster;
    std::optional<leadership> lead;
};

using exchange_listener = decltype(k8sio::client_options::on_exchange);

/// For a listener that belongs to another loop.
exchange_listener told_on(asio::any_io_executor loop, exchange_listener listener) {
    return [loop = std::move(loop), listener = std::move(listener)](
               const k8sio::http_request& sent, int status, std::chrono::nanoseconds took
           ) {
        k8sio::http_request what(sent.method, sent.target);
        asio::post(loop, [listener, what = std::move(what), status, took] {
            listener(what, status, took);
        });
    };
}

/// A process that hangs must not outlive its Lease: its successor would begin beside it.
void end_after_loss(election_parts& parts, std::chrono::seconds wait, spdlog::logger& log) {
    k8sio::clock& time = parts.cluster->time();
    time.schedule(time.steady_now() + wait, [&log] {
        log.critical("the lease is lost, and this process hangs: it is ended");
        log.flush();
        std::_Exit(exit_lease_lost);
    });
}

/// Gives what is wrong, or an empty text. Without an election in `options` it does nothing.
/// `second` is the loop that the election runs on, behind no computation; `parts` and `beat` stay
/// in place.
std::string prepare_election(
    election_parts& parts,
    const run_options& options,
    asio::io_context& loop,
    asio::io_context& second,
    const k8sio::heartbeat& beat,
    const std::shared_ptr<spdlog::logger>& log
) {
    if (!options.election) {
        return {};
    }
    k8sio::connect_options connect = options.connect;
    connect.client.may_write = nullptr;
    connect.client.manager = "signalbox-leader-election";
    if (connect.client.on_exchange) {
        connect.client.on_exchange =
            told_on(loop.get_executor(), std::move(connect.client.on_exchange));
    }
    auto made = k8sio::connect(second.get_executor(), options.cluster, std::move(connect));
    if (made.has_error()) {
        return made.error().text();
    }
    parts.cluster.emplace(std::move(*made));
    parts.lead.emplace(
        loop.get_executor(),
        second.get_executor(),
        parts.cluster->api(),
        *options.election,
        beat,
        log
    );
    parts.lead->at_loss = [&parts, wait = options.election->lease_duration, &to = *log] {
        end_after_loss(parts, wait, to);
    };
    const std::string problem = parts.lead->problem();
    return problem.empty() ? problem : "leader election: " + problem;
}

/// Ends the process at an exception: parts still run and refer to each other, so that nothing can
/// be taken down in order.
void run_loop(asio::io_context& loop, spdlog::logger& log) {
    try {
        loop.run();
    } catch (const std::exception& broken) {
        log.critical("the operator ended by an exception: {}", broken.what());
        log.flush();
        std::_Exit(EXIT_FAILURE);
    }
}

}  // namespace

int run_operator(run_options options) {
    std::shared_ptr<spdlog::logger> log = options.log;
    if (!log) {
        log = std::make_shared<spdlog::logger>(
            "silent", std::make_shared<spdlog::sinks::null_sink_mt>()
        );
    }
    asio::io_context loop(1);
    asio::io_context second(1);  // what answers while `loop` computes
    const std::string server =
        options.cluster.scheme + "://" + options.cluster.host + ":" + options.cluster.port;
    k8sio::client_options& client = options.connect.client;
    if (!client.notice) {
        client.notice = [log](const std::string& line) { log->warn("{}", line); };
    }
    if (client.seed == 0) {
        client.seed = std::random_device()();
    }
    election_parts election;
    if (options.election) {
        client.may_write = [&election] { return election.lead->leads(); };
        options.controller.leads = client.may_write;
    }
    auto cluster = k8sio::connect(loop.get_executor(), options.cluster, options.connect);
    if (cluster.has_error()) {
        log->error("cannot connect to {}: {}", server, cluster.error().text());
        return exit_configuration;
    }
    k8sio::heartbeat beat(cluster->time());
    const std::string problem = prepare_election(election, options, loop, second, beat, log);
    if (!problem.empty()) {
        log->error("{}", problem);
        return exit_configuration;
    }
    leadership* const lead = election.lead ? &*election.lead : nullptr;
    k8sio::client& api = cluster->api();
    for (const feature_row& row : all_features()) {
        if (options.controller.without.count(row.which) != 0) {
            log->info("running without {}: {}", row.name, row.without);
        }
    }
    const std::vector<core::job_kind> served = options.controller.kinds;
    controller work(loop.get_executor(), api, options.rules, std::move(options.controller), log);
    reporter report(cluster->time(), work, *log, options.report_interval);
    definitions_wait kinds(loop.get_executor(), api, *log, served);
    attachment* const beside = options.beside;
    signal_watch signals(loop, kinds, work, lead, beside, *log);
    int code = exit_ok;
    auto ended = [&](std::exception_ptr broken) {
        if (broken) {
            std::rethrow_exception(broken);  // out of the loop
        }
        if (!work.failure().empty()) {
            code = EXIT_FAILURE;
        }
        if (lead != nullptr && lead->lost()) {
            code = exit_lease_lost;
        }
        signals.cancel();
        beat.stop();
        report.stop();
        report.tell_dropped();
        if (beside != nullptr) {
            beside->end();
        }
    };
    std::optional<k8sio::loop_thread> second_thread;
    if (lead != nullptr || beside != nullptr) {
        second_thread.emplace(second, [&] { run_loop(second, *log); });
        beat.start();
    }
    if (beside != nullptr) {
        running_operator seen;
        seen.loop = loop.get_executor();
        seen.answers = second.get_executor();
        seen.beat = &beat;
        seen.time = &cluster->time();
        seen.work = &work;
        seen.api = &api;
        seen.log = log;
        seen.leads = [lead] { return lead == nullptr || lead->leads(); };
        seen.lease = options.election ? options.election->name : std::string();
        const std::string wrong = beside->begin(seen);
        if (!wrong.empty()) {
            log->error("{}", wrong);
            return exit_configuration;
        }
    }
    log->info("starting: server={}", server);
    signals.start();
    asio::co_spawn(loop, run_all(kinds, work, lead, api, report, *log), ended);
    run_loop(loop, *log);
    log->info("stopped");
    return code;
}

}  // namespace signalbox::op
