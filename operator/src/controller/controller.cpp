// SPDX-License-Identifier: Apache-2.0
#include "controller/controller.hpp"

#include "controller/context.hpp"
#include "controller/key_reads.hpp"
#include "controller/pass.hpp"
#include "controller/resource_table.hpp"
#include "controller/served_kinds.hpp"
#include "jobcore/schema.hpp"
#include "k8sio/controller.hpp"
#include "k8sio/event_recorder.hpp"

#include <spdlog/sinks/null_sink.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

std::shared_ptr<spdlog::logger> silent() {
    return std::make_shared<spdlog::logger>(
        "silent", std::make_shared<spdlog::sinks::null_sink_mt>()
    );
}

}  // namespace

struct controller::impl final : job_listener {
    impl(
        asio::any_io_executor executor,
        k8sio::client& api,
        core::policy rules,
        controller_options options,
        std::shared_ptr<spdlog::logger> logger
    )
        : shared(
              executor, api, rules, std::move(options), logger ? std::move(logger) : silent(), *this
          ),
          recorder(api, shared.options.component),
          extensions(shared),
          runtime(
              executor, api, [this](const std::string& uid) { return pass(uid); }, runtime_options()
          ) {
        shared.runtime = &runtime;
        make_watches();
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

    k8sio::controller_options runtime_options();
    void make_watches();
    asio::awaitable<k8sio::reconcile_result> pass(const std::string& uid);
    void look_at_capabilities();

    context shared;
    k8sio::event_recorder recorder;
    served_kinds extensions;
    core::capabilities capabilities;  ///< of the last look
    std::vector<std::unique_ptr<job_sink>> sinks;
    k8sio::controller runtime;
};

k8sio::controller_options controller::impl::runtime_options() {
    k8sio::controller_options out;
    out.max_concurrent_reconciles = shared.options.max_passes;
    out.gather = shared.options.gather;
    out.backoff = shared.options.backoff;
    out.ready = [this] {
        look_at_capabilities();
        // A process that does not lead decides nothing until take_over().
        return extensions.settled() && (!shared.options.leads || shared.options.leads());
    };
    out.log = [log = shared.log](k8sio::severity how, const std::string& line) {
        log->log(how == k8sio::severity::error ? spdlog::level::err : spdlog::level::warn, line);
    };
    return out;
}

void controller::impl::make_watches() {
    shared.watch_children(k8sio::resources::pods(), shared.pods, true);
    const auto rows = watched_children();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].when == watched::always) {
            shared.watch_children(*rows[i].type, shared.children[i]->store, true);
        }
    }
    for (const core::job_kind kind : core::all_job_kinds) {
        sinks.push_back(std::make_unique<job_sink>(kind, shared.jobs));
        k8sio::watch_options options;
        options.reflect.ns = shared.options.ns;
        // Of a job there is one object only, and writes of its status carry its version.
        options.max_age = std::chrono::nanoseconds{0};
        runtime.watch(type_of(kind), *sinks.back(), std::move(options));
    }
}

/// What the server serves decides about every job that has not ended (BEHAVIOUR.md 8.4).
void controller::impl::look_at_capabilities() {
    core::capabilities now = shared.capabilities();
    if (now == capabilities) {
        return;
    }
    capabilities = std::move(now);
    // Before the first pass every job waits for its turn already (REQUIREMENTS.md Q5).
    const bool low_priority = runtime.counters().reconciles == 0;
    for (const std::string& uid : shared.jobs.uids()) {
        if (!shared.jobs.find(uid)->parked) {
            runtime.enqueue(uid, low_priority);
        }
    }
}

void controller::impl::job_changed(const std::string& uid, bool initial) {
    runtime.enqueue(uid, initial);
}

void controller::impl::job_gone(const std::string& uid) {
    runtime.forget(uid);
    forget_keys(shared, uid);
}

void controller::impl::job_unreadable(std::string_view why) {
    shared.log->error("an object of a job kind is no job: {}", why);
}

asio::awaitable<k8sio::reconcile_result> controller::impl::pass(const std::string& uid) {
    job_entry_ptr entry = shared.jobs.find(uid);
    if (!entry) {
        runtime.forget(uid);  // what its children did queued it
    }
    return run_pass(shared, recorder, std::move(entry));
}

controller::controller(
    asio::any_io_executor executor,
    k8sio::client& api,
    core::policy rules,
    controller_options options,
    std::shared_ptr<spdlog::logger> logger
)
    : impl_(std::make_unique<impl>(
          std::move(executor), api, rules, std::move(options), std::move(logger)
      )) {}

controller::~controller() = default;

asio::awaitable<void> controller::run() {
    return impl_->runtime.run();
}

void controller::stop() {
    impl_->runtime.stop();
}

void controller::take_over() {
    impl_->runtime.refresh();
}

bool controller::synced() const {
    const impl& self = *impl_;
    // An error though the views of children are complete: the kind is not served, or not to us.
    return self.runtime.views_synced() &&
           std::all_of(self.sinks.begin(), self.sinks.end(), [&](const auto& sink) {
               return sink->complete() || self.runtime.reflector_of(*sink)->counters().errors > 0;
           });
}

const std::string& controller::failure() const {
    return impl_->runtime.failure();
}

controller_counters controller::counters() const {
    controller_counters out = impl_->shared.counters;
    out.stale_skips = impl_->runtime.counters().behind;
    return out;
}

std::vector<std::string> controller::problems() const {
    return impl_->runtime.problems();
}

std::size_t controller::job_count() const {
    return impl_->shared.jobs.size();
}

std::size_t controller::pod_count() const {
    return impl_->shared.pods.size();
}

std::size_t controller::queue_depth() const {
    return impl_->runtime.queue_depth();
}

std::size_t controller::active_passes() const {
    return impl_->runtime.active_reconciles();
}

std::uint64_t controller::dropped_events() const {
    return impl_->recorder.dropped();
}

}  // namespace signalbox::op
