// SPDX-License-Identifier: Apache-2.0
//
// The shell of protocol/lease.
#include "k8sio/leader_election.hpp"

#include "client/cancellable_task.hpp"
#include "client/wakeable_sleep.hpp"
#include "protocol/lease.hpp"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <random>
#include <utility>

#include <unistd.h>

namespace signalbox::k8sio {

using protocol::elector_action;

namespace {

const resource_type& leases() {
    static const resource_type type("coordination.k8s.io", "v1", "leases", "Lease");
    return type;
}

protocol::elector_settings settings_of(const leader_election_options& options) {
    protocol::elector_settings settings;
    settings.identity = options.identity;
    settings.lease_duration = options.lease_duration;
    settings.renew_deadline = options.renew_deadline;
    settings.retry_period = options.retry_period;
    settings.seed = options.seed;
    return settings;
}

result<protocol::lease_record> record_of(result<std::string> answer) {
    if (answer.has_error()) {
        return std::move(answer).error();
    }
    auto record = protocol::read_lease(*answer);
    if (record) {
        return std::move(*record);
    }
    return make_error(errc::bad_response, "no Lease");
}

}  // namespace

struct leader_election::impl {
    impl(client& client_used, leader_election_options wanted)
        : api(&client_used), options(std::move(wanted)), fsm(settings_of(options)) {}

    client* api;
    leader_election_options options;
    protocol::elector_fsm fsm;
    bool told = false;
    std::optional<std::string> told_holder;
    sleep_waker waker;
    asio::cancellation_signal limit;  // of the request under way
    // Of the machine, for other threads; `never`: it does not lead.
    static constexpr steady_time never{steady_time::duration::min()};
    std::atomic<steady_time> until{never};
    std::atomic<bool> lost{false};

    void publish() {
        lost = fsm.lost();
        until = fsm.leads_until().value_or(never);
    }

    steady_time now() const { return api->time().steady_now(); }

    asio::awaitable<result<std::string>> send(const elector_action& action) {
        std::string body = protocol::lease_object(options.ns, options.name, action.record);
        if (action.what == elector_action::kind::create) {
            co_return co_await api->create(leases(), options.ns, std::move(body));
        }
        if (action.what == elector_action::kind::update) {
            // A patch with the version in it: what others have put there stays.
            co_return co_await api->merge_patch(
                leases(), options.ns, options.name, std::move(body)
            );
        }
        co_return co_await api->get(leases(), options.ns, options.name);
    }

    /// To let the Lease go is always right.
    bool is_held_back(const elector_action& action) const {
        return action.what != elector_action::kind::get && !action.record.holder.empty() &&
               options.fit && !options.fit();
    }

    static api_error unfit() {
        return make_error(errc::timeout, "the owner of the election is not fit to lead");
    }

    /// The client is more patient than a leader may be.
    asio::awaitable<result<protocol::lease_record>> send_in_time(const elector_action& action) {
        bool late = false;
        const clock::timer_id timer = api->time().schedule(action.until, [this, &late] {
            late = true;
            limit.emit(asio::cancellation_type::terminal);
        });
        asio::awaitable<result<std::string>> task = send(action);
        auto answer = co_await run_cancellable(limit, std::move(task));
        api->time().cancel(timer);
        auto record = record_of(std::move(answer));
        if (late && record.has_error()) {
            api_error error = std::move(record).error();
            error.code = errc::timeout;
            co_return error;
        }
        co_return record;
    }

    /// What the owner wants to know of an answer.
    void tell(const result<protocol::lease_record>& answer) {
        if (answer.has_error() && options.failed) {
            options.failed(answer.error());
        }
        if (fsm.leads(now()) && !std::exchange(told, true) && options.acquired) {
            options.acquired();
        }
        if (answer.has_value() && told_holder != fsm.holder()) {
            told_holder = fsm.holder();
            if (options.observed) {
                options.observed(*told_holder);
            }
        }
    }

    asio::awaitable<void> loop() {
        elector_action action;
        co_await asio::this_coro::throw_if_cancelled(false);
        for (;;) {
            const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none) {
                co_return;
            }
            action = fsm.next(now(), api->time().wall_now());
            publish();
            if (action.what == elector_action::kind::finish) {
                co_return;
            }
            if (action.what == elector_action::kind::sleep) {
                co_await sleep_until(api->time(), action.until, waker);
                continue;
            }
            result<protocol::lease_record> record = unfit();
            if (!is_held_back(action)) {
                record = co_await send_in_time(action);
            }
            if (action.what == elector_action::kind::get) {
                fsm.on_read(now(), record);
            } else {
                fsm.on_written(now(), record);
            }
            publish();
            tell(record);
        }
    }
};

leader_election::leader_election(client& api, leader_election_options options)
    : impl_(std::make_unique<impl>(api, std::move(options))) {}

leader_election::~leader_election() = default;

std::string make_identity() {
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0) {
        host[0] = '\0';  // the random part suffices
    }
    std::random_device random;
    return fmt::format("{}_{:08x}{:08x}{:08x}", host, random(), random(), random());
}

std::string leader_election::problem() const {
    const leader_election_options& options = impl_->options;
    const std::string of_settings = settings_of(options).problem();
    if (of_settings.empty() && (options.ns.empty() || options.name.empty())) {
        return "the Lease has no name, or no namespace";
    }
    return of_settings;
}

asio::awaitable<void> leader_election::run() {
    impl& self = *impl_;
    if (problem().empty()) {
        co_await self.loop();
    }
}

void leader_election::stop() {
    impl_->fsm.stop();
    impl_->waker.wake();
}

bool leader_election::leads() const {
    return impl_->now() < impl_->until.load();
}

std::optional<steady_time> leader_election::leads_until() const {
    const steady_time until = impl_->until;
    return until == impl::never ? std::nullopt : std::optional(until);
}

bool leader_election::lost() const {
    return impl_->lost;
}

std::int64_t leader_election::epoch() const {
    return impl_->fsm.epoch();
}

std::string leader_election::holder() const {
    return impl_->fsm.holder();
}

}  // namespace signalbox::k8sio
