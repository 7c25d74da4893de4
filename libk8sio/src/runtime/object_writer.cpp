// SPDX-License-Identifier: Apache-2.0
//
// The shell of protocol/object_write_fsm.
#include "k8sio/object_writer.hpp"

#include "protocol/object_write_fsm.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <optional>
#include <string>
#include <utility>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

/// The object that a request is about.
struct place {
    client* api;
    const resource_type* type;
    std::string_view ns, name;
};

asio::awaitable<result<std::string>> send(const place& at, protocol::write_request& request) {
    client& api = *at.api;
    const write_step step = request.step;
    delete_options options(std::move(request.uid));
    options.propagation = std::move(request.propagation);
    switch (step) {
        case write_step::create:
            co_return co_await api.create(*at.type, at.ns, std::move(request.body));
        case write_step::patch:
        case write_step::restore:
            co_return co_await api.merge_patch(
                *at.type, at.ns, at.name, std::move(request.body), request.subresource
            );
        case write_step::remove:
        case write_step::take_back:
            co_return co_await api.remove(*at.type, at.ns, at.name, options);
        case write_step::confirm:
        case write_step::inspect:
            break;
    }
    co_return co_await api.get(*at.type, at.ns, at.name);
}

void tell(write_listener& listener, write_step step, const protocol::write_news& news) {
    switch (news.what) {
        case protocol::write_news::kind::nothing:
            break;
        case protocol::write_news::kind::shown:
            listener.shown(step, news.text);
            break;
        case protocol::write_news::kind::gone:
            listener.gone(news.text);
            break;
    }
}

}  // namespace

asio::awaitable<write_outcome> object_writer::write(
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    write_order order,
    const object_claims& claims,
    write_listener& listener
) {
    protocol::object_write_fsm machine(std::move(order), claims);
    const place at{api_, &type, ns, name};
    co_await asio::this_coro::throw_if_cancelled(false);
    while (std::optional<protocol::write_request> request = machine.next()) {
        const write_step step = request->step;
        api_error cancelled;
        cancelled.code = errc::cancelled;
        result<std::string> answer = cancelled;
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() == asio::cancellation_type::none) {
            listener.sending(step);
            answer = co_await send(at, *request);
        }
        tell(listener, step, machine.on_answer(answer));
    }
    co_return *machine.outcome();
}

}  // namespace signalbox::k8sio
