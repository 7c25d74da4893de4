// SPDX-License-Identifier: Apache-2.0
#include "controller/controller.hpp"

#include "controller/context.hpp"
#include "controller/pass.hpp"
#include "controller/resource_table.hpp"
#include "controller/served_kinds.hpp"
#include "jobcore/schema.hpp"
#include "k8sio/event_recorder.hpp"
#include "k8sio/reflector.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <spdlog/sinks/null_sink.h>

#include <algorithm>
#include <exception>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// Up to this number of blocked jobs each advance of a view is looked at by itself.
constexpr std::size_t few_blocked = 16;
constexpr std::chrono::milliseconds blocked_interval{5};
/// No decision on a view of which the server has said nothing for so long: twice what a reflector
/// waits for a word.
constexpr std::chrono::seconds oldest_view{180};
constexpr std::chrono::milliseconds doubt_interval{200};
/// For what is under way at the end: with the recorder's time less than a pod's grace period.
constexpr std::chrono::seconds stop_limit{10};
/// After this number of passes in a row that all wrote something a job is slowed down: whatever it
/// is, it must not become a loop at full speed.
constexpr int writing_passes = 16;

std::shared_ptr<spdlog::logger> silent() {
    return std::make_shared<spdlog::logger>(
        "silent", std::make_shared<spdlog::sinks::null_sink_mt>()
    );
}

std::string what(std::exception_ptr broken) {
    try {
        std::rethrow_exception(broken);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "unknown exception";
    }
}

}  // namespace

struct controller::impl : view_listener, job_listener {
    impl(
        asio::any_io_executor executor,
        k8sio::client& api,
        k8sio::clock& clock,
        core::policy rules,
        controller_options options,
        std::shared_ptr<spdlog::logger> logger
    )
        : shared(
              executor,
              api,
              rules,
              std::move(options),
              logger ? std::move(logger) : silent(),
              *this,
              *this
          ),
          time(&clock),
          queue(shared.options.backoff),
          recorder(api, shared.options.component),
          extensions(shared, [this] { look_at_capabilities(); }),
          changed(executor),
          alive(std::make_shared<bool>(true)) {
        shared.suspect = [this] { doubt_views(); };
        for (const core::job_kind kind : core::all_job_kinds) {
            sinks.push_back(std::make_unique<job_sink>(kind, shared.jobs, *this));
        }
    }

    // view_listener, job_listener: remember only; the pump acts.
    void child_changed(const std::string& owner_uid) override;
    void view_advanced() override;
    void view_rewound() override;
    void job_changed(const std::string& uid, bool initial) override;
    void job_gone(const std::string& uid) override;
    void job_unreadable(std::string_view why) override;

    void add_reflector(
        const k8sio::resource_type& type, k8sio::reflector_sink& sink, std::string_view selector
    );
    void make_reflectors();
    template <class Coroutine>
    void spawn(Coroutine task, const char* name);

    void fail(std::string why);
    void stop();
    void doubt_views();
    bool views_in_doubt() const;
    bool may_decide();

    void request_pump();
    void pump();
    void arm_timer();
    void queue_change(const job_entry& entry);
    void start_pass(const std::string& uid);
    void end_pass(const std::string& uid, const pass_report& report);
    bool note_writing(job_entry& entry, const pass_report& report) const;
    void release_blocked();
    void look_at_capabilities();

    context shared;
    k8sio::clock* time;
    k8sio::work_queue queue;
    k8sio::event_recorder recorder;
    served_kinds extensions;
    core::capabilities capabilities;  ///< of the last look
    std::vector<std::unique_ptr<job_sink>> sinks;
    std::vector<std::unique_ptr<k8sio::reflector>> reflectors;
    /// Jobs whose views are behind their own writes.
    std::unordered_set<std::string> blocked;
    notification changed;
    std::string failure;     ///< why run() ends unasked
    std::size_t tasks = 0;   ///< coroutines that run() joins
    std::size_t passes = 0;  ///< those of them that are passes
    bool pump_posted = false;
    k8sio::clock::timer_id timer = 0;
    std::optional<k8sio::steady_time> timer_at;
    k8sio::clock::timer_id blocked_timer = 0;
    bool rewinding = false;  ///< the server went back, and not all views have followed
    k8sio::clock::timer_id doubt_timer = 0;
    std::shared_ptr<bool> alive;  ///< asked by posted functions
};

void controller::impl::child_changed(const std::string& owner_uid) {
    const job_entry_ptr entry = shared.jobs.find(owner_uid);
    if (!entry) {
        return;  // another controller's, or its job comes later and queues itself
    }
    if (entry->in_pass) {
        entry->changed_in_pass = true;  // how soon it is looked at depends on the pass
        return;
    }
    queue_change(*entry);
    request_pump();
}

void controller::impl::queue_change(const job_entry& entry) {
    const auto gathered = std::max(time->steady_now(), entry.last_pass + shared.options.gather);
    queue.add_at(entry.object->meta.uid, std::max(gathered, entry.slowed_until));
}

void controller::impl::view_advanced() {
    look_at_capabilities();
    if (!blocked.empty() && blocked.size() <= few_blocked) {
        release_blocked();
    } else if (!blocked.empty() && blocked_timer == 0) {
        blocked_timer = time->schedule(time->steady_now() + blocked_interval, [this] {
            blocked_timer = 0;
            release_blocked();
        });
    }
    request_pump();
}

void controller::impl::release_blocked() {
    std::vector<std::string> free;
    for (const std::string& uid : blocked) {
        const job_entry_ptr entry = shared.jobs.find(uid);
        if (!entry || shared.is_fresh(*entry)) {
            free.push_back(uid);
        }
    }
    std::sort(free.begin(), free.end());  // the order of a hash table must not show
    for (const std::string& uid : free) {
        blocked.erase(uid);
        queue.add(uid);
    }
    request_pump();
}

/// What the server serves decides about every job that has not ended (BEHAVIOUR.md 8.4).
void controller::impl::look_at_capabilities() {
    core::capabilities now = shared.capabilities();
    if (now != capabilities) {
        capabilities = std::move(now);
        for (const std::string& uid : shared.jobs.uids()) {
            if (!shared.jobs.find(uid)->parked) {
                queue.add(uid);
            }
        }
    }
    request_pump();
}

/// One view has shown it. The others are of a world that is no more, even if their versions do not
/// say so: none may be decided on before all have been listed anew.
void controller::impl::view_rewound() {
    if (std::exchange(rewinding, true)) {
        return;
    }
    shared.log->warn(
        "the server's data went back in time: all views are listed anew, every awaited version is "
        "forgotten"
    );
    shared.fence = {};
    for (const auto& reflector : reflectors) {
        reflector->start_over();
    }
    extensions.start_over();
}

/// An answer was older than what we had seen.
void controller::impl::doubt_views() {
    if (views_in_doubt()) {
        return;
    }
    shared.log->warn("an answer is older than what was seen before: views are checked");
    for (const auto& reflector : reflectors) {
        reflector->doubt();
    }
}

bool controller::impl::views_in_doubt() const {
    const std::size_t children = reflectors.size() - sinks.size();
    for (std::size_t i = 0; i < reflectors.size(); ++i) {
        const k8sio::reflector& each = *reflectors[i];
        // Of a job there is one object only, and writes of its status carry its version.
        const bool aged = i < children && time->steady_now() - each.heard_at() > oldest_view;
        // Of a kind that is not served no list ends.
        const bool served = each.synced() || each.last_error().empty();
        if ((served && each.doubtful()) || (each.synced() && aged)) {
            return true;
        }
    }
    return extensions.in_doubt();
}

/// False if views are incomplete, in doubt or too old; what ends that without an event is looked
/// for again soon.
bool controller::impl::may_decide() {
    if (shared.stopping || !shared.views_synced() || !extensions.settled()) {
        return false;  // the queue keeps what comes
    }
    if (shared.options.leads && !shared.options.leads()) {
        return false;  // so it does until take_over()
    }
    const bool incomplete = std::any_of(sinks.begin(), sinks.end(), [](const auto& sink) {
        return sink->listing_anew();
    });
    if (!incomplete && !views_in_doubt()) {
        rewinding = false;
        return true;
    }
    if (doubt_timer == 0) {
        doubt_timer = time->schedule(time->steady_now() + doubt_interval, [this] {
            doubt_timer = 0;
            pump();
        });
    }
    return false;
}

void controller::impl::job_changed(const std::string& uid, bool initial) {
    queue.add(uid, initial);
    request_pump();
}

void controller::impl::job_gone(const std::string& uid) {
    queue.drop(uid);
    queue.forget(uid);
    blocked.erase(uid);
    shared.fence.forget(uid);
}

void controller::impl::job_unreadable(std::string_view why) {
    shared.log->error("an object of a job kind is no job: {}", why);
}

void controller::impl::add_reflector(
    const k8sio::resource_type& type, k8sio::reflector_sink& sink, std::string_view selector
) {
    k8sio::reflector_options options;
    options.ns = shared.options.ns;
    options.label_selector = selector;
    options.seed = reflectors.size() + 1;
    reflectors.push_back(
        std::make_unique<k8sio::reflector>(*shared.api, type, sink, std::move(options))
    );
}

void controller::impl::make_reflectors() {
    add_reflector(k8sio::resources::pods(), shared.pods, children_selector);
    const auto rows = watched_children();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].when == watched::always) {
            add_reflector(*rows[i].type, shared.children[i]->store, children_selector);
        }
    }
    for (const auto& sink : sinks) {
        add_reflector(type_of(sink->kind()), *sink, {});
    }
}

template <class Coroutine>
void controller::impl::spawn(Coroutine task, const char* name) {
    ++tasks;
    asio::co_spawn(shared.executor, std::move(task), [this, name](std::exception_ptr broken) {
        if (broken) {
            fail(std::string(name) + " ended by an exception: " + what(broken));
        } else if (!shared.stopping) {
            fail(std::string(name) + " ended unasked");
        }
        --tasks;
        changed.notify();
    });
}

/// A part that is dead leaves a view frozen, or nobody to act: better no process than half a one.
void controller::impl::fail(std::string why) {
    shared.log->critical("{}", why);
    if (failure.empty()) {
        failure = std::move(why);
    }
    stop();
}

void controller::impl::stop() {
    if (!std::exchange(shared.stopping, true)) {
        shared.api->finish_by(time->steady_now() + stop_limit);
    }
    changed.notify();
}

void controller::impl::request_pump() {
    if (pump_posted) {
        return;
    }
    pump_posted = true;
    asio::post(shared.executor, [this, life = std::weak_ptr<bool>(alive)] {
        if (!life.expired()) {
            pump_posted = false;
            pump();
        }
    });
}

void controller::impl::pump() {
    if (!may_decide()) {
        return;
    }
    while (passes < shared.options.max_passes) {
        const auto uid = queue.pop(time->steady_now());
        if (!uid) {
            break;
        }
        start_pass(*uid);
    }
    arm_timer();
}

void controller::impl::arm_timer() {
    const auto next = queue.next_time();
    if (next == timer_at) {
        return;
    }
    if (timer_at) {
        time->cancel(timer);
    }
    timer_at = next;
    if (next) {
        timer = time->schedule(*next, [this] {
            timer_at.reset();
            pump();
        });
    }
}

void controller::impl::start_pass(const std::string& uid) {
    const job_entry_ptr entry = shared.jobs.find(uid);
    if (!entry) {
        queue.done(uid);
        return;
    }
    entry->last_pass = time->steady_now();
    entry->in_pass = true;
    ++tasks;
    ++passes;
    auto done = [this, uid](std::exception_ptr broken, pass_report report) {
        if (broken) {
            shared.log->error("a pass ended by an exception: uid={} {}", uid, what(broken));
            report.troubled = true;
        }
        end_pass(uid, report);
    };
    asio::co_spawn(shared.executor, run_pass(shared, recorder, entry), std::move(done));
}

/// True if the job has been writing in every pass for too long.
bool controller::impl::note_writing(job_entry& entry, const pass_report& report) const {
    int& count = entry.writing_passes;
    if (report.blocked) {
        return false;
    }
    count = report.again ? count + 1 : 0;
    if (count == writing_passes) {
        shared.log->warn("a job does not come to rest: uid={}", entry.object->meta.uid);
    }
    return count >= writing_passes;
}

void controller::impl::end_pass(const std::string& uid, const pass_report& report) {
    const auto now = time->steady_now();
    --tasks;
    --passes;
    changed.notify();
    queue.done(uid);
    const job_entry_ptr entry = shared.jobs.find(uid);
    if (!entry) {
        job_gone(uid);
        return;
    }
    entry->in_pass = false;
    const bool endless = note_writing(*entry, report);
    // A wake-up that has passed and yet brought nothing would spin.
    const bool spinning = endless || (report.at && *report.at <= now && !report.again);
    if (report.blocked) {
        blocked.insert(uid);
        release_blocked();  // the view may have advanced in between
    } else if (report.troubled || spinning) {
        const auto next = queue.add_rate_limited(uid, now);
        entry->slowed_until = endless ? next : k8sio::steady_time{};
    } else {
        queue.forget(uid);
        entry->slowed_until = {};
        if (report.again) {
            queue.add(uid);
        }
    }
    if (report.at && !spinning) {
        queue.add_at(uid, *report.at);
    }
    if (std::exchange(entry->changed_in_pass, false)) {
        queue_change(*entry);
    }
    request_pump();
}

controller::controller(
    asio::any_io_executor executor,
    k8sio::client& api,
    k8sio::clock& time,
    core::policy rules,
    controller_options options,
    std::shared_ptr<spdlog::logger> logger
)
    : impl_(std::make_unique<impl>(
          std::move(executor), api, time, rules, std::move(options), std::move(logger)
      )) {}

controller::~controller() = default;

asio::awaitable<void> controller::run() {
    impl& self = *impl_;
    self.make_reflectors();
    for (const auto& reflector : self.reflectors) {
        self.spawn(reflector->run(), "a reflector");
    }
    self.spawn(self.extensions.run(), "the look at discovery");
    self.spawn(self.recorder.run(), "the event recorder");
    while (!self.shared.stopping) {
        co_await self.changed.wait();
    }
    for (const auto& reflector : self.reflectors) {
        reflector->stop();
    }
    self.extensions.stop();
    // The passes first: their events shall still be flushed.
    while (self.passes > 0) {
        co_await self.changed.wait();
    }
    self.recorder.stop();
    self.shared.api->finish_by(self.time->steady_now() + stop_limit);
    while (self.tasks > 0) {
        co_await self.changed.wait();
    }
    self.time->cancel(self.timer);
    self.time->cancel(self.blocked_timer);
    self.time->cancel(self.doubt_timer);
    self.alive.reset();
}

void controller::stop() {
    impl_->stop();
}

void controller::take_over() {
    for (const auto& reflector : impl_->reflectors) {
        reflector->refresh();
    }
    impl_->extensions.refresh();
    impl_->request_pump();
}

bool controller::synced() const {
    const impl& self = *impl_;
    if (!self.shared.views_synced()) {
        return false;
    }
    const std::size_t first_kind = self.reflectors.size() - self.sinks.size();
    for (std::size_t i = 0; i < self.sinks.size(); ++i) {
        // An error though the views of children are complete: the kind is not served, or not to us.
        const bool unserved = self.reflectors[first_kind + i]->counters().errors > 0;
        if (!self.sinks[i]->synced() && !unserved) {
            return false;
        }
    }
    return true;
}

const std::string& controller::failure() const {
    return impl_->failure;
}

const controller_counters& controller::counters() const {
    return impl_->shared.counters;
}

std::vector<std::string> controller::problems() const {
    std::vector<std::string> all;
    for (const auto& reflector : impl_->reflectors) {
        if (!reflector->last_error().empty()) {
            all.push_back(reflector->type().plural() + ": " + reflector->last_error());
        }
    }
    for (std::string& problem : impl_->extensions.problems()) {
        all.push_back(std::move(problem));
    }
    return all;
}

std::size_t controller::job_count() const {
    return impl_->shared.jobs.size();
}

std::size_t controller::pod_count() const {
    return impl_->shared.pods.size();
}

std::size_t controller::queue_depth() const {
    return impl_->queue.ready_size();
}

std::size_t controller::active_passes() const {
    return impl_->passes;
}

std::uint64_t controller::dropped_events() const {
    return impl_->recorder.dropped();
}

}  // namespace signalbox::op
