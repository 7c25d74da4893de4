// SPDX-License-Identifier: Apache-2.0
//
// Which resources an API server serves, for kinds that not every server has: extensions that come
// and go while a controller runs (REQUIREMENTS.md Q12).
#pragma once

#include "k8sio/client.hpp"
#include "k8sio/discovery_timing.hpp"
#include "k8sio/resource.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace signalbox::k8sio {

/// Whether a discovery document (`APIResourceList`) lists the resource of that plural; nothing if
/// it is no such document.
std::optional<bool> find_in_discovery(std::string_view document, std::string_view plural);

/// Asks discovery for one resource. Nothing if the server gave no usable answer; that the group
/// version is not there (404) is one.
///
/// Errors: none. Lifetimes: `api` and `type` until completion.
/// Cancellation: as client::raw(); gives nothing.
boost::asio::awaitable<std::optional<bool>> ask_discovery(client& api, const resource_type& type);

/// What is done with the answers. It must neither throw nor destroy the poll.
class discovery_listener {
public:
    virtual ~discovery_listener() = default;
    /// The server has said whether it serves the resource; with each look, also when it is no news.
    virtual void answered(const resource_type& type, bool served) = 0;
    /// Everything that is served, by the answers so far, has been listed.
    virtual bool lists_complete() const = 0;
    /// discovery_poll::settled() may have changed.
    virtual void looked() = 0;
};

/// Asks again and again which of some resources are served.
///
/// Lifetimes: client, listener and types must outlive run(). Do not destroy it before run() has
/// returned.
/// Thread: the loop's only.
class discovery_poll {
public:
    discovery_poll(
        client& api,
        std::vector<const resource_type*> types,
        discovery_listener& listener,
        discovery_timing timing = discovery_timing()
    );
    ~discovery_poll();
    discovery_poll(const discovery_poll&) = delete;
    discovery_poll& operator=(const discovery_poll&) = delete;

    /// Asks at once, then after each discovery_timing::interval, until stop(). Once per object.
    ///
    /// Cancellation: none, use stop().
    boost::asio::awaitable<void> run();
    void stop();

    /// The first look is over, and what is served has been listed or had the time for it: absence
    /// from a view means something now.
    bool settled() const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace signalbox::k8sio
