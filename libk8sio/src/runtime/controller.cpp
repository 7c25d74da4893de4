// SPDX-License-Identifier: Apache-2.0
#include "k8sio/controller.hpp"

#include "k8sio/synchronization.hpp"
#include "protocol/freshness_fsm.hpp"
#include "runtime/pass_runner.hpp"
#include "runtime/watched_view.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <exception>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

/// For what is under way at the end: with the recorder's time less than a pod's grace period.
constexpr std::chrono::seconds stop_limit{10};

struct part {
    std::string name;
    part_function run;
    std::function<void()> stop;
    stop_order order;
};

}  // namespace

struct controller::impl final : watched_view::listener {
    using watched = watched_view;
    using freshness_order = protocol::freshness_fsm::order;

    impl(
        asio::any_io_executor on,
        client& used,
        reconcile_function function,
        controller_options settings
    )
        : executor(std::move(on)),
          api(&used),
          time(&used.time()),
          options(std::move(settings)),
          passes(
              executor, *time, std::move(function), options, freshness, [this] { changed.notify(); }
          ),
          changed(executor) {}

    watched* find(const view& to);
    void start(watched& w);
    void end(watched& w);
    void spawn(asio::awaitable<void> task, std::string name);
    void join(std::exception_ptr broken, const std::string& name, bool asked);

    void log(severity how, const std::string& line) const;
    void fail(std::string why);
    void stop();
    void stop_parts(stop_order order);

    // What the watches see.
    void view_advanced() override { passes.view_advanced(); }
    void view_rewound() override;

    void carry_out(const freshness_order& order);

    asio::any_io_executor executor;
    client* api;
    clock* time;
    controller_options options;
    std::vector<std::unique_ptr<watched>> watches;
    std::size_t watches_made = 0;
    std::vector<part> parts;
    protocol::freshness_fsm freshness;
    pass_runner passes;
    notification changed;
    std::string failure;    ///< why run() ends by itself
    std::size_t tasks = 0;  ///< coroutines that run() joins, beside passes
    bool started = false;
    bool stopping = false;
};

controller::impl::watched* controller::impl::find(const view& to) {
    const auto found = std::find_if(watches.begin(), watches.end(), [&](const auto& w) {
        return &w->to() == &to;
    });
    return found == watches.end() ? nullptr : found->get();
}

void controller::impl::start(watched& w) {
    ++tasks;
    asio::co_spawn(executor, w.filled_by->run(), [this, &w](std::exception_ptr broken) {
        const std::string name = "the reflector of " + w.filled_by->type().plural();
        const bool asked = w.ending;
        if (asked) {
            end(w);
        }
        join(broken, name, asked);
    });
}

void controller::impl::end(watched& w) {
    const auto found = std::find_if(watches.begin(), watches.end(), [&](const auto& each) {
        return each.get() == &w;
    });
    const auto last = std::move(*found);
    watches.erase(found);
    freshness.remove(last->name());
    last->clear();
    view_advanced();  // for keys that waited for it
}

void controller::impl::spawn(asio::awaitable<void> task, std::string name) {
    ++tasks;
    asio::co_spawn(executor, std::move(task), [this, name](std::exception_ptr broken) {
        join(broken, name, false);
    });
}

void controller::impl::join(std::exception_ptr broken, const std::string& name, bool asked) {
    if (broken) {
        fail(name + " ended by an exception: " + what_of(broken));
    } else if (!stopping && !asked) {
        fail(name + " ended unasked");
    }
    --tasks;
    changed.notify();
}

void controller::impl::log(severity how, const std::string& line) const {
    if (options.log) {
        options.log(how, line);
    }
}

void controller::impl::fail(std::string why) {
    log(severity::error, why);
    if (failure.empty()) {
        failure = std::move(why);
    }
    stop();
}

void controller::impl::stop() {
    if (!std::exchange(stopping, true)) {
        passes.stop();
        api->finish_by(time->steady_now() + stop_limit);
    }
    changed.notify();
}

void controller::impl::stop_parts(stop_order order) {
    for (const part& p : parts) {
        if (p.order == order) {
            p.stop();
        }
    }
}

void controller::impl::view_rewound() {
    const freshness_order order = freshness.on_rewound();
    if (order.views.empty()) {
        return;
    }
    log(severity::warning,
        "the server's data went back in time: all views are listed anew, every awaited version is "
        "forgotten");
    carry_out(order);
}

void controller::impl::carry_out(const freshness_order& order) {
    using kind = freshness_order::kind;
    for (const auto& w : watches) {
        if (std::find(order.views.begin(), order.views.end(), w->name()) == order.views.end()) {
            continue;
        }
        switch (order.what) {
            case kind::probe:
                w->filled_by->doubt();
                break;
            case kind::list_anew:
                w->filled_by->refresh();
                break;
            case kind::start_over:
                w->filled_by->start_over();
                break;
        }
    }
}

controller::controller(
    asio::any_io_executor executor,
    client& api,
    reconcile_function reconcile,
    controller_options options
)
    : impl_(
          std::make_unique<impl>(std::move(executor), api, std::move(reconcile), std::move(options))
      ) {}

controller::~controller() = default;

void controller::watch(resource_type type, view& to, watch_options options) {
    impl& self = *impl_;
    const std::string number = std::to_string(++self.watches_made);
    options.reflect.seed += self.watches_made;
    auto made =
        std::make_unique<impl::watched>(self, to, type.plural() + "#" + number, std::move(options));
    made->filled_by =
        std::make_unique<reflector>(*self.api, std::move(type), *made, made->options().reflect);
    const watch_options& asked = made->options();
    self.freshness.add(made->name(), *made, asked.required, asked.max_age);
    self.watches.push_back(std::move(made));
    if (self.started && !self.stopping) {
        self.start(*self.watches.back());
    }
}

void controller::unwatch(const view& to) {
    impl& self = *impl_;
    impl::watched* const found = self.find(to);
    if (found == nullptr || found->ending) {
        return;
    }
    if (!self.started) {
        self.end(*found);
        return;
    }
    found->ending = true;
    self.freshness.end(found->name());
    found->filled_by->stop();
}

const reflector* controller::reflector_of(const view& to) const {
    const impl::watched* const found = impl_->find(to);
    return found == nullptr ? nullptr : found->filled_by.get();
}

void controller::add_part(
    std::string name, part_function run, std::function<void()> stop, stop_order order
) {
    impl_->parts.push_back({std::move(name), std::move(run), std::move(stop), order});
}

asio::awaitable<void> controller::run() {
    impl& self = *impl_;
    self.started = true;
    for (const auto& w : self.watches) {
        self.start(*w);
    }
    for (const part& p : self.parts) {
        self.spawn(p.run(), p.name);
    }
    self.passes.begin();
    while (!self.stopping) {
        co_await self.changed.wait();
    }
    for (const auto& w : self.watches) {
        w->filled_by->stop();
    }
    self.stop_parts(stop_order::with_watches);
    while (self.passes.under_way() > 0) {
        co_await self.changed.wait();
    }
    self.stop_parts(stop_order::after_reconciles);
    self.api->finish_by(self.time->steady_now() + stop_limit);
    while (self.tasks > 0) {
        co_await self.changed.wait();
    }
    self.passes.end();
}

void controller::stop() {
    impl_->stop();
}

bool controller::stopping() const {
    return impl_->stopping;
}

const std::string& controller::failure() const {
    return impl_->failure;
}

void controller::enqueue(const std::string& key, bool low_priority) {
    impl_->passes.schedule().add(key, low_priority, impl_->time->steady_now());
    impl_->passes.wake();
}

void controller::enqueue_gathered(const std::string& key) {
    impl_->passes.schedule().add_gathered(key, impl_->time->steady_now());
    impl_->passes.wake();
}

void controller::forget(const std::string& key) {
    impl_->passes.schedule().forget(key);
    impl_->freshness.forget(key);
}

void controller::wake() {
    impl_->passes.wake();
}

void controller::expect(const std::string& key, const view& v, std::string_view version) {
    const impl::watched* const found = impl_->find(v);
    if (found != nullptr) {
        impl_->freshness.expect(key, found->name(), version);
    }
}

bool controller::is_fresh(const std::string& key) const {
    return impl_->freshness.is_fresh(key);
}

void controller::doubt_views() {
    impl& self = *impl_;
    if (self.freshness.is_in_doubt(self.time->steady_now())) {
        return;
    }
    self.log(severity::warning, "an answer is older than what was seen before: views are checked");
    self.carry_out(self.freshness.on_older_answer(self.time->steady_now()));
}

void controller::contradicted(const view& v) {
    impl& self = *impl_;
    const impl::watched* const found = self.find(v);
    if (found == nullptr) {
        return;
    }
    const auto order = self.freshness.on_contradiction(found->name(), self.time->steady_now());
    if (order.views.empty()) {
        return;
    }
    ++self.passes.counters().contradicted;
    self.log(
        severity::warning,
        "an answer contradicts the view of " + found->filled_by->type().plural() +
            ": an event was lost, and it is listed anew"
    );
    self.carry_out(order);
}

void controller::refresh() {
    for (const auto& w : impl_->watches) {
        w->filled_by->refresh();
    }
    impl_->passes.wake();
}

bool controller::views_synced() const {
    return impl_->freshness.is_complete();
}

std::vector<std::string> controller::problems() const {
    std::vector<std::string> all;
    for (const auto& w : impl_->watches) {
        const reflector& r = *w->filled_by;
        if (!r.last_error().empty()) {
            all.push_back(r.type().plural() + ": " + r.last_error());
        }
    }
    return all;
}

std::uint64_t controller::keys_queued() const {
    return impl_->passes.schedule().arrivals();
}

std::vector<view_state> controller::views() const {
    std::vector<view_state> out;
    for (const auto& w : impl_->watches) {
        const reflector& r = *w->filled_by;
        const reflector_counters& c = r.counters();
        out.push_back(
            {r.type().plural(),
             r.synced(),
             r.heard_at(),
             c.lists + c.watches + c.events + c.errors + c.probes,
             r.last_error()}
        );
    }
    return out;
}

std::size_t controller::queue_depth() const {
    return impl_->passes.schedule().ready();
}

std::size_t controller::active_reconciles() const {
    return impl_->passes.under_way();
}

const reconcile_counters& controller::counters() const {
    return impl_->passes.counters();
}

}  // namespace signalbox::k8sio
