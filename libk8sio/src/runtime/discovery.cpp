// SPDX-License-Identifier: Apache-2.0
//
// The shell of protocol/discovery_fsm.
#include "k8sio/discovery.hpp"

#include "client/wakeable_sleep.hpp"
#include "protocol/discovery_fsm.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace signalbox::k8sio {

namespace asio = boost::asio;

std::optional<bool> find_in_discovery(std::string_view document, std::string_view plural) {
    rapidjson::Document list;
    list.Parse<rapidjson::kParseIterativeFlag>(document.data(), document.size());
    if (list.HasParseError() || !list.IsObject() || !list.HasMember("resources") ||
        !list["resources"].IsArray()) {
        return std::nullopt;
    }
    const auto resources = list["resources"].GetArray();
    return std::any_of(resources.begin(), resources.end(), [&](const rapidjson::Value& resource) {
        return resource.IsObject() && resource.HasMember("name") && resource["name"].IsString() &&
               resource["name"].GetString() == plural;
    });
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
