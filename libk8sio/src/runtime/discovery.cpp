// SPDX-License-Identifier: Apache-2.0
//
// The shell of protocol/discovery_fsm.
#include "k8sio/discovery.hpp"

#include "client/wakeable_sleep.hpp"
#include "protocol/discovery_fsm.hpp"
#include "protocol/json_cursor.hpp"

#include <string>
#include <utility>
#include <variant>

namespace signalbox::k8sio {

namespace asio = boost::asio;

std::optional<bool> find_in_discovery(std::string_view document, std::string_view plural) {
    protocol::json_cursor cursor(document);
    bool listed = false;
    bool found = false;
    const auto read_resource = [&](protocol::json_cursor& at) {
        std::string name;
        protocol::read_members(at, {{"name", &name}});
        found = found || name == plural;
    };
    const auto read_resources = [&](protocol::json_cursor& at) {
        listed = at.begin_array();
        if (!listed) {
            at.skip();
        }
        while (listed && at.next_element()) {
            read_resource(at);
        }
    };
    protocol::read_members(cursor, {{"resources", read_resources}});
    return listed && cursor.at_end() ? std::optional(found) : std::nullopt;
}

asio::awaitable<std::optional<bool>> ask_discovery(client& api, const resource_type& type) {
    std::string target = "/apis/" + type.api_version();
    std::string none;
    const auto answer = co_await api.raw("GET", std::move(target), none, none);
    std::optional<bool> served;
    if (answer.has_value()) {
        served = find_in_discovery(*answer, type.plural());
    } else if (answer.error().http_status == 404) {
        served = false;
    }
    co_return served;
}

struct discovery_poll::impl {
    impl(
        client& client_used,
        std::vector<const resource_type*> all,
        discovery_listener& told,
        discovery_timing timing
    )
        : api(&client_used), types(std::move(all)), listener(&told), fsm(timing, types.size()) {}

    asio::awaitable<void> loop() {
        protocol::discovery_fsm::action action;
        while (!stopping) {
            action = fsm.next(api->time().steady_now(), listener->lists_complete());
            if (const auto* rest = std::get_if<protocol::discovery_fsm::sleep>(&action)) {
                listener->looked();
                co_await sleep_until(api->time(), rest->until, waker);
                continue;
            }
            const auto& ask = std::get<protocol::discovery_fsm::ask>(action);
            const resource_type& type = *types[ask.resource];
            const std::optional<bool> served = co_await ask_discovery(*api, type);
            if (stopping) {
                break;
            }
            fsm.answered(served);
            if (served) {
                listener->answered(type, *served);
            }
        }
    }

    client* api;
    std::vector<const resource_type*> types;
    discovery_listener* listener;
    protocol::discovery_fsm fsm;
    sleep_waker waker;
    bool stopping = false;
};

discovery_poll::discovery_poll(
    client& api,
    std::vector<const resource_type*> types,
    discovery_listener& listener,
    discovery_timing timing
)
    : impl_(std::make_unique<impl>(api, std::move(types), listener, timing)) {}

discovery_poll::~discovery_poll() = default;

asio::awaitable<void> discovery_poll::run() {
    return impl_->loop();
}

void discovery_poll::stop() {
    impl_->stopping = true;
    impl_->waker.wake();
}

bool discovery_poll::settled() const {
    return impl_->fsm.settled(impl_->listener->lists_complete());
}

}  // namespace signalbox::k8sio
