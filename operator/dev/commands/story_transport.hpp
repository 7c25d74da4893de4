// SPDX-License-Identifier: Apache-2.0
//
// The operator's way to the API server in a story: it refuses what the story says, tells which
// actions took effect, and ends with the process.
#pragma once

#include "cli/stories/cluster.hpp"

#include <k8sio/transport.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::stories {

/// An action by its request: what it is done to, and what it does.
struct asked_action {
    core::object_kind kind;
    done_action what;
};

class story_transport final : public k8sio::transport {
public:
    /// Is told of each action, and says how it is refused; nothing: it is not.
    using judge = std::function<std::optional<k8sio::http_response>(const asked_action&)>;

    /// `written` is called after each write of whatever kind.
    story_transport(
        std::unique_ptr<k8sio::transport> inner, judge actions, std::function<void()> written
    )
        : inner_(std::move(inner)), actions_(std::move(actions)), written_(std::move(written)) {}

    /// Nothing is sent or heard from now on; streams end.
    void die();

    boost::asio::awaitable<k8sio::result<k8sio::http_response>> exchange(
        const k8sio::http_request& request, k8sio::steady_time deadline
    ) override;
    boost::asio::awaitable<k8sio::result<std::unique_ptr<k8sio::response_stream>>> open_stream(
        const k8sio::http_request& request, std::chrono::nanoseconds idle
    ) override;

private:
    class stream;

    std::unique_ptr<k8sio::transport> inner_;
    judge actions_;
    std::function<void()> written_;
    std::vector<stream*> streams_;
    std::set<std::string> foreign_;  ///< paths of objects that another one has
    bool dead_ = false;
};

/// The answer of a server that refuses.
k8sio::http_response refusal_answer(const refusal_rule& rule);

}  // namespace signalbox::op::stories
