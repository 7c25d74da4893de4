// SPDX-License-Identifier: Apache-2.0
//
// The shell of protocol/reflector_fsm: it does what the machine says and tells it what came of it.
#include "k8sio/reflector.hpp"

#include "client/cancellable_task.hpp"
#include "client/refused_stream.hpp"
#include "protocol/reflector_fsm.hpp"
#include "protocol/requests.hpp"

#include <optional>

namespace signalbox::k8sio {

namespace asio = boost::asio;
using protocol::reflector_action;
using protocol::reflector_fsm;

namespace {

/// Within which the next bytes of an event come, once it has begun (REQUIREMENTS.md W7).
constexpr std::chrono::seconds event_patience{10};

/// Closes a stream when the rest of an event does not come.
class rest_of_event {
public:
    rest_of_event(clock& time, response_stream& body) : time_(&time) {
        id_ = time.schedule(time.steady_now() + event_patience, [this, stream = &body] {
            late_ = true;
            stream->close();
        });
    }
    ~rest_of_event() { time_->cancel(id_); }
    rest_of_event(const rest_of_event&) = delete;
    rest_of_event& operator=(const rest_of_event&) = delete;

    bool is_late() const { return late_; }

private:
    clock* time_;
    clock::timer_id id_ = 0;
    bool late_ = false;
};

}  // namespace

void reflector_sink::advance(std::string_view) {}

void reflector_sink::replace_begin() {}

void reflector_sink::replace_item(std::string_view object_json) {
    upsert(object_json);
}

void reflector_sink::replace_end(std::string_view resource_version) {
    advance(resource_version);
}

void reflector_sink::replace_abort() {}

void reflector_sink::rewound() {}

void reflector_sink::replace_after_rewind(std::string_view resource_version) {
    replace_end(resource_version);
}

struct reflector::impl_access {
    static steady_time now(reflector& self) { return self.api_->time().steady_now(); }

    static void publish(reflector& self, const reflector_fsm& fsm) {
        self.synced_ = fsm.synced();
        self.counters_ = fsm.counters();
        self.last_error_ = fsm.last_error();
        self.heard_at_ = fsm.heard_at();
        self.doubtful_ = fsm.doubtful() || is_asked(self);
    }

    static asio::awaitable<void> watch(
        reflector& self, reflector_fsm& fsm, const reflector_action& action
    ) {
        http_request request =
            protocol::watch_request(self.type_, self.options_, action.version, action.timeout);
        request.headers.emplace_back("User-Agent", self.api_->user_agent());
        auto stream = co_await self.api_->transport().open_stream(request, action.idle);
        if (stream.has_error()) {
            fsm.on_watch_error(now(self), stream.error());
            co_return;
        }
        response_stream& body = **stream;
        if (body.status() != 200) {
            const api_error refusal = co_await read_refusal(request, body);
            fsm.on_watch_error(now(self), refusal);
            co_return;
        }
        fsm.on_watch_open(now(self));
        co_await read_events(self, fsm, body);
    }

    static asio::awaitable<void> read_events(
        reflector& self, reflector_fsm& fsm, response_stream& body
    ) {
        bool more = true;
        self.open_ = &body;
        while (more && !self.stopping_ && !is_asked(self)) {
            publish(self, fsm);
            std::optional<rest_of_event> rest;
            if (fsm.is_within_event()) {
                rest.emplace(self.api_->time(), body);
            }
            auto piece = co_await body.read_some();
            const bool late = rest && rest->is_late();
            rest.reset();
            if (is_asked(self)) {
                more = false;  // who asked has closed the stream
            } else if (late && !self.stopping_) {
                fsm.on_watch_stalled(now(self));
                more = false;
            } else if (piece.has_error()) {
                fsm.on_watch_error(now(self), piece.error());
                more = false;
            } else if (piece->empty()) {
                fsm.on_watch_end(now(self));
                more = false;
            } else {
                more = fsm.on_bytes(now(self), *piece);
                if (more && body.outdated() && fsm.may_end_watch()) {
                    fsm.on_watch_end(now(self));  // C3: it goes on with the new keys
                    more = false;
                }
            }
        }
        self.open_ = nullptr;
        body.close();
    }

    static bool is_asked(const reflector& self) {
        return self.doubt_asked_ || self.start_over_asked_ || self.refresh_asked_;
    }

    static asio::awaitable<void> loop(reflector& self) {
        reflector_options options = self.options_;
        options.seed += self.api_->options().seed;
        reflector_fsm fsm(self.type_, *self.sink_, std::move(options));
        co_await asio::this_coro::throw_if_cancelled(false);
        for (;;) {
            const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
            if (self.stopping_ || state.cancelled() != asio::cancellation_type::none) {
                fsm.stop();
            }
            if (std::exchange(self.start_over_asked_, false)) {
                fsm.start_over();
            }
            if (std::exchange(self.refresh_asked_, false)) {
                fsm.refresh();
            }
            if (std::exchange(self.doubt_asked_, false)) {
                fsm.doubt();
            }
            const reflector_action action = fsm.next(now(self));
            publish(self, fsm);
            if (action.what == reflector_action::kind::list) {
                client::item_function item = [&fsm](auto json, auto version) {
                    fsm.on_item(json, version);
                };
                auto page = co_await self.api_->list(
                    self.type_, self.options_.ns, action.list, std::move(item)
                );
                fsm.on_list(now(self), page);
            } else if (action.what == reflector_action::kind::probe) {
                // Its version alone counts; a server that ignores the limit sends any number.
                client::item_function item = [](std::string_view, std::string_view) {};
                auto page = co_await self.api_->list(
                    self.type_, self.options_.ns, action.list, std::move(item)
                );
                fsm.on_probe(now(self), page);
            } else if (action.what == reflector_action::kind::watch) {
                co_await watch(self, fsm, action);
            } else if (action.what == reflector_action::kind::sleep) {
                co_await sleep_for(self.api_->time(), action.wait);
            } else {
                co_return;
            }
        }
    }
};

reflector::reflector(
    client& api, resource_type type, reflector_sink& sink, reflector_options options
)
    : api_(&api),
      type_(std::move(type)),
      sink_(&sink),
      options_(std::move(options)),
      stop_signal_(std::make_unique<asio::cancellation_signal>()) {}

reflector::~reflector() = default;

asio::awaitable<void> reflector::run() {
    asio::awaitable<void> task = impl_access::loop(*this);
    co_await run_cancellable(*stop_signal_, std::move(task));
}

void reflector::ask(bool& what) {
    what = doubtful_ = true;
    if (open_ != nullptr) {
        open_->close();
    }
}

void reflector::doubt() {
    ask(doubt_asked_);
}

void reflector::start_over() {
    ask(start_over_asked_);
}

void reflector::refresh() {
    ask(refresh_asked_);
}

void reflector::stop() {
    stopping_ = true;
    stop_signal_->emit(asio::cancellation_type::terminal);
}

}  // namespace signalbox::k8sio
