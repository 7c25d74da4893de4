// SPDX-License-Identifier: Apache-2.0
//
// Kinds of children that not every API server serves (BEHAVIOUR.md 8.4, 9.1): discovery says which,
// and those that are get their views kept.
#pragma once

#include "controller/child_watches.hpp"
#include "controller/cluster_views.hpp"
#include "controller/settings.hpp"
#include "k8sio/client.hpp"
#include "k8sio/synchronization.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace signalbox::op {

class served_kinds {
public:
    /// All of them must outlive run(). `runtime` is woken when settled() or
    /// cluster_views::capabilities() may have changed.
    served_kinds(
        boost::asio::any_io_executor loop,
        k8sio::client& api,
        const settings& config,
        const cluster_views& views,
        const child_watches& watches,
        k8sio::controller& runtime
    );
    served_kinds(const served_kinds&) = delete;
    served_kinds& operator=(const served_kinds&) = delete;

    /// Asks the server at once, then every policy::capability_retry, until stop(); sooner after no
    /// answer. Once per object.
    boost::asio::awaitable<void> run();
    void stop();

    /// The first look is over, and the views of what is served had time for their first list:
    /// decisions need not take a restart of ours for a server without these kinds.
    bool settled() const;

private:
    struct row {
        child_view* view;
        const k8sio::resource_type* type;
    };

    boost::asio::awaitable<bool> look();
    boost::asio::awaitable<void> sleep(std::chrono::nanoseconds duration);
    void follow(const row& r, core::served answer);
    bool all_synced() const;

    k8sio::client* api_;
    const settings* config_;
    const child_watches* watches_;
    k8sio::controller* runtime_;
    std::vector<row> rows_;
    k8sio::notification wake_;
    k8sio::clock::timer_id timer_ = 0;
    bool stopping_ = false;
    bool waited_ = false;  ///< the first look and the time for first lists are over
    bool looked_ = false;
};

/// Whether a discovery document (`APIResourceList`) lists the resource; nothing if it is none.
std::optional<core::served> find_in_discovery(std::string_view document, std::string_view plural);

}  // namespace signalbox::op
