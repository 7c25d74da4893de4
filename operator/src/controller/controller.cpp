// SPDX-License-Identifier: Apache-2.0
#include "controller/controller.hpp"

#include "controller/action_executor.hpp"
#include "controller/child_watches.hpp"
#include "controller/cluster_views.hpp"
#include "controller/job_requests.hpp"
#include "controller/key_reads.hpp"
#include "controller/pass.hpp"
#include "controller/request_slots.hpp"
#include "controller/resource_table.hpp"
#include "controller/served_kinds.hpp"
#include "controller/settings.hpp"
#include "controller/stage_runner.hpp"
#include "controller/view_updates.hpp"
#include "jobcore/schema.hpp"
#include "k8sio/controller.hpp"
#include "k8sio/event_recorder.hpp"
#include "k8sio/synchronization.hpp"

#include <boost/asio/co_spawn.hpp>

#include <spdlog/sinks/null_sink.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// A smaller difference of two answers is that of two servers, or of a second that was cut off.
constexpr core::seconds jump{60};

/// Between two looks at a job that waits for the lists of jobs.
constexpr std::chrono::milliseconds lists_interval{100};

asio::awaitable<k8sio::reconcile_result> again_at(k8sio::steady_time at) {
    k8sio::reconcile_result result;
    result.requeue_at = at;
    co_return result;
}

std::shared_ptr<spdlog::logger> silent() {
    return std::make_shared<spdlog::logger>(
        "silent", std::make_shared<spdlog::sinks::null_sink_mt>()
    );
}

}  // namespace

/// All there is of a controller, for one namespace or for all. Jobs of different namespaces share
/// nothing.
struct controller::part final : job_listener {
    part(
        asio::any_io_executor executor,
        k8sio::client& api,
        core::policy rules,
        controller_options options,
        std::string ns,
        std::shared_ptr<spdlog::logger> logger,
        request_slots& slots
    )
        : config{rules, std::move(options), std::move(ns), std::move(logger)},
          clock(api),
          views(*this, config.options.without),
          recorder(api, config.options.component),
          runtime(
              executor, api, [this](const std::string& uid) { return pass(uid); }, runtime_options()
          ),
          watches(views, runtime, config.ns),
          extensions(api, config, views, watches, runtime),
          updates(views, runtime, clock),
          reports(
              config,
              clock,
              api.time(),
              views,
              [this](const std::string& uid) { runtime.enqueue_gathered(uid); }
          ),
          keys(api, config, views, counters),
          requests(api, config, updates, runtime, counters, slots),
          actions(api, config, updates, counters),
          stages(executor, actions, runtime, clock, *config.log, slots),
          parts{
              config,
              clock,
              views,
              updates,
              reports,
              keys,
              requests,
              stages,
              runtime,
              recorder,
              counters} {
        make_watches();
        views.jobs.keep_at_most([this] {
            const controller_options& o = config.options;
            return o.kept_bytes + o.kept_bytes_of_pod * views.pods.size();
        });
        views.jobs.bound_room(config.rules.namespace_bytes);
        runtime.add_part(
            "the look at discovery",
            [this] { return extensions.run(); },
            [this] { extensions.stop(); },
            k8sio::stop_order::with_watches
        );
        // Behind the passes: their events shall still be written.
        runtime.add_part(
            "the event recorder",
            [this] { return recorder.run(); },
            [this] { recorder.stop(); },
            k8sio::stop_order::after_reconciles
        );
    }

    // job_listener.
    void job_changed(const std::string& uid, bool initial) override;
    void job_gone(const std::string& uid) override;
    void job_unreadable(std::string_view why) override;
    bool decides() const override { return !config.options.leads || config.options.leads(); }

    k8sio::controller_options runtime_options();
    void make_watches();
    asio::awaitable<k8sio::reconcile_result> pass(const std::string& uid);
    void look_at_capabilities();
    void look_at_time();
    void decide_all(bool low_priority);
    bool synced() const;

    settings config;
    server_clock clock;
    controller_counters counters;
    cluster_views views;
    k8sio::event_recorder recorder;
    k8sio::controller runtime;
    child_watches watches;
    served_kinds extensions;
    view_updates updates;
    job_reports reports;
    key_reads keys;
    job_requests requests;
    action_executor actions;
    stage_runner stages;
    pass_parts parts;
    core::capabilities capabilities;  ///< of the last look
    /// What now() is ahead of the steady clock, by which wake-ups are set.
    std::optional<core::milliseconds> ahead;
};

k8sio::controller_options controller::part::runtime_options() {
    k8sio::controller_options out;
    out.max_concurrent_reconciles = config.options.max_passes;
    out.gather = config.options.gather;
    out.backoff = config.options.backoff;
    out.observer = config.options.observer;
    out.group_of = [this](const std::string& uid) {
        const job_entry_ptr entry = views.jobs.find(uid);
        return entry ? entry->object->meta.ns : std::string();
    };
    out.load_of = [this](const std::string& uid) {
        const job_entry_ptr entry = views.jobs.find(uid);
        return entry ? bytes_of_pass(*entry) : 0;
    };
    out.max_load = config.options.pass_bytes;
    out.ready = [this] {
        look_at_capabilities();
        look_at_time();
        // A process that does not lead decides nothing until take_over().
        return extensions.settled() && decides();
    };
    out.log = [log = config.log](k8sio::severity how, const std::string& line) {
        log->log(how == k8sio::severity::error ? spdlog::level::err : spdlog::level::warn, line);
    };
    return out;
}

void controller::part::make_watches() {
    watches.watch(k8sio::resources::pods(), views.pods, true);
    const auto rows = watched_children();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool wanted = is_wanted(rows[i].kind, config.options.without);
        if (wanted && rows[i].when == watched::always) {
            watches.watch(*rows[i].type, views.children[i]->store, true);
        }
    }
    for (const core::job_kind kind : config.options.kinds) {
        views.job_views.push_back(std::make_unique<job_sink>(kind, views.jobs));
        k8sio::watch_options options;
        options.reflect.ns = config.ns;
        options.reflect.backoff_max = longest_backoff;
        // Of a job there is one object only, and writes of its status carry its version.
        options.max_age = std::chrono::nanoseconds{0};
        runtime.watch(type_of(kind), *views.job_views.back(), std::move(options));
    }
}

/// What the server serves decides about every job that has not ended (BEHAVIOUR.md 8.4).
void controller::part::look_at_capabilities() {
    core::capabilities now = views.capabilities();
    if (now == capabilities) {
        return;
    }
    capabilities = std::move(now);
    // Before the first pass every job waits for its turn already (REQUIREMENTS.md Q5).
    decide_all(runtime.counters().reconciles == 0);
}

/// The server's time has jumped (REQUIREMENTS.md R9): wake-ups were set by the old one
/// (BEHAVIOUR.md 12.9).
void controller::part::look_at_time() {
    const auto steady = clock.steady_now().time_since_epoch();
    const core::milliseconds now =
        clock.now().time_since_epoch() - std::chrono::floor<core::milliseconds>(steady);
    const bool jumped = ahead && (now > *ahead + jump || now < *ahead - jump);
    if (jumped) {
        decide_all(true);
    }
    if (jumped || !ahead) {
        ahead = now;
    }
}

/// Every job that has not ended.
void controller::part::decide_all(bool low_priority) {
    for (const std::string& uid : views.jobs.uids()) {
        if (!views.jobs.find(uid)->at_rest) {
            runtime.enqueue(uid, low_priority);
        }
    }
}

void controller::part::job_changed(const std::string& uid, bool initial) {
    runtime.enqueue(uid, initial);
}

void controller::part::job_gone(const std::string& uid) {
    runtime.forget(uid);
    forget_keys(views, uid);
    reports.forget(uid);
}

void controller::part::job_unreadable(std::string_view why) {
    config.log->error("an object of a job kind is no job: {}", why);
}

asio::awaitable<k8sio::reconcile_result> controller::part::pass(const std::string& uid) {
    job_entry_ptr entry = views.jobs.find(uid);
    if (!entry) {
        runtime.forget(uid);  // what its children did queued it
    }
    // Whether there is room for a job that has not begun, all jobs of its namespace say.
    if (entry && !entry->object->status.start_time && !synced()) {
        return again_at(clock.steady_now() + lists_interval);
    }
    return run_pass(parts, std::move(entry));
}

bool controller::part::synced() const {
    // An error though the views of children are complete: the kind is not served, or not to us.
    return runtime.views_synced() && std::ranges::all_of(views.job_views, [this](const auto& sink) {
               return sink->complete() || runtime.reflector_of(*sink)->counters().errors > 0;
           });
}

controller_counters& controller_counters::operator+=(const controller_counters& more) {
    reconciles += more.reconciles;
    stale_skips += more.stale_skips;
    contradicted += more.contradicted;
    creates += more.creates;
    patches += more.patches;
    removes += more.removes;
    confirms += more.confirms;
    status_writes += more.status_writes;
    status_conflicts += more.status_conflicts;
    status_deferred += more.status_deferred;
    refusals += more.refusals;
    errors += more.errors;
    events += more.events;
    return *this;
}

controller::controller(
    asio::any_io_executor executor,
    k8sio::client& api,
    core::policy rules,
    controller_options options,
    std::shared_ptr<spdlog::logger> logger
)
    : executor_(executor),
      slots_(std::make_unique<request_slots>(executor, server_clock(api), options.max_in_flight)) {
    if (!logger) {
        logger = silent();
    }
    std::vector<std::string> namespaces = options.namespaces;
    if (namespaces.empty()) {
        namespaces.emplace_back();
    }
    options.kept_bytes /= namespaces.size();
    options.pass_bytes /= namespaces.size();
    for (std::string& ns : namespaces) {
        parts_.push_back(
            std::make_unique<part>(executor, api, rules, options, std::move(ns), logger, *slots_)
        );
    }
}

controller::~controller() = default;

asio::awaitable<void> controller::run() {
    k8sio::notification changed(executor_);
    std::size_t running = parts_.size();
    std::exception_ptr thrown;
    for (const auto& each : parts_) {
        asio::co_spawn(executor_, each->runtime.run(), [&](std::exception_ptr broken) {
            --running;
            thrown = thrown ? thrown : broken;
            stop();  // one that ended unasked takes the others with it
            changed.notify();
        });
    }
    while (running > 0) {
        co_await changed.wait();
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
}

void controller::stop() {
    for (const auto& each : parts_) {
        each->reports.stop();
        each->runtime.stop();
    }
}

report_outcome controller::take_report(
    const report_sender& from, const core::progress_message* said
) {
    for (const auto& each : parts_) {
        if (each->config.ns.empty() || each->config.ns == from.ns) {
            return said == nullptr ? each->reports.look_at(from) : each->reports.take(from, *said);
        }
    }
    return report_outcome::no_pod;
}

void controller::take_over() {
    for (const auto& each : parts_) {
        each->runtime.refresh();
    }
}

void controller::keep_status(core::job_kind kind, const std::vector<std::string>& pointers) {
    for (const auto& each : parts_) {
        each->views.jobs.keep_status(kind, pointers);
    }
}

bool controller::synced() const {
    return std::ranges::all_of(parts_, [](const auto& each) { return each->synced(); });
}

const std::string& controller::failure() const {
    const auto failed = std::ranges::find_if(parts_, [](const auto& each) {
        return !each->runtime.failure().empty();
    });
    return (failed == parts_.end() ? parts_.front() : *failed)->runtime.failure();
}

controller_counters controller::counters() const {
    controller_counters out;
    for (const auto& each : parts_) {
        controller_counters c = each->counters;
        c.stale_skips = each->runtime.counters().behind;
        c.contradicted = each->runtime.counters().contradicted;
        out += c;
    }
    return out;
}

std::vector<std::string> controller::problems() const {
    std::vector<std::string> out;
    for (const auto& each : parts_) {
        for (const std::string& problem : each->runtime.problems()) {
            out.push_back(each->config.ns.empty() ? problem : each->config.ns + "/" + problem);
        }
    }
    return out;
}

template <class Number>
std::size_t controller::sum(Number of) const {
    std::size_t out = 0;
    for (const auto& each : parts_) {
        out += of(*each);
    }
    return out;
}

std::size_t controller::job_count() const {
    return sum([](const part& p) { return p.views.jobs.size(); });
}

std::size_t controller::pod_count() const {
    return sum([](const part& p) { return p.views.pods.size(); });
}

std::size_t controller::jobs_without_room() const {
    return sum([](const part& p) { return p.views.jobs.room().refused(); });
}

std::size_t controller::queue_depth() const {
    return sum([](const part& p) { return p.runtime.queue_depth(); });
}

std::size_t controller::active_passes() const {
    return sum([](const part& p) { return p.runtime.active_reconciles(); });
}

std::size_t controller::request_limit() const {
    return slots_->limit();
}

std::uint64_t controller::keys_queued() const {
    return sum([](const part& p) { return p.runtime.keys_queued(); });
}

std::vector<k8sio::view_state> controller::views() const {
    std::vector<k8sio::view_state> out;
    for (const auto& each : parts_) {
        for (k8sio::view_state& view : each->runtime.views()) {
            view.resource =
                each->config.ns.empty() ? view.resource : each->config.ns + "/" + view.resource;
            out.push_back(std::move(view));
        }
    }
    return out;
}

void controller::for_each_job(
    const std::function<void(const core::job_object& job, core::instant now)>& visit
) const {
    for (const auto& each : parts_) {
        for (const auto& [uid, entry] : each->views.jobs.entries()) {
            visit(*entry->object, each->clock.now());
        }
    }
}

std::vector<explained_job> controller::explain(std::string_view ns, std::string_view name) const {
    std::vector<explained_job> out;
    for (const auto& each : parts_) {
        for (const auto& [uid, entry] : each->views.jobs.entries()) {
            const core::job_meta& meta = entry->object->meta;
            if (meta.ns == ns && meta.name == name) {
                out.push_back(explain_entry(each->parts, *entry));
            }
        }
    }
    return out;
}

std::uint64_t controller::dropped_events() const {
    return sum([](const part& p) { return p.recorder.dropped(); });
}

std::vector<event_loss> controller::event_losses() const {
    std::vector<event_loss> out;
    for (const auto& each : parts_) {
        out.push_back({each->recorder.dropped(), each->recorder.last_error()});
    }
    return out;
}

}  // namespace signalbox::op
