// SPDX-License-Identifier: Apache-2.0
//
// Kinds of children that not every API server serves (BEHAVIOUR.md 8.4, 9.1): discovery says which,
// and those that are get their views kept.
#pragma once

#include "controller/context.hpp"
#include "k8sio/reflector.hpp"

#include <boost/asio/awaitable.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op {

class served_kinds {
public:
    /// `shared` must outlive run(). `changed` is called from inside run() when settled() or
    /// context::capabilities() may have changed.
    served_kinds(context& shared, std::function<void()> changed);
    /// Only before run() started or after it returned.
    ~served_kinds();
    served_kinds(const served_kinds&) = delete;
    served_kinds& operator=(const served_kinds&) = delete;

    /// Asks the server at once, then every policy::capability_retry, until stop(); sooner after no
    /// answer. Returns when nothing of it is pending. Once per object.
    boost::asio::awaitable<void> run();
    void stop();
    /// The server's data went back in time: lists all views anew.
    void start_over();
    /// Lists all views anew: they may be behind what has to be seen.
    void refresh();
    /// A view that was complete waits for the server's word.
    bool in_doubt() const;

    /// The first look is over, and the views of what is served had time for their first list:
    /// decisions need not take a restart of ours for a server without these kinds.
    bool settled() const;
    /// What keeps these views from being up to date, one line each.
    std::vector<std::string> problems() const;

private:
    struct row {
        child_view* view;
        const k8sio::resource_type* type;
        std::unique_ptr<k8sio::reflector> reflector;
    };

    boost::asio::awaitable<bool> look();
    boost::asio::awaitable<void> sleep(std::chrono::nanoseconds duration);
    void follow(row& r, core::served answer);
    void start(row& r);
    bool all_synced() const;

    context* shared_;
    std::function<void()> changed_;
    std::vector<row> rows_;
    notification wake_;
    notification ended_;
    k8sio::clock::timer_id timer_ = 0;
    std::size_t running_ = 0;  ///< reflectors
    bool stopping_ = false;
    std::exception_ptr broken_;  ///< of a reflector; run() ends with it
    bool waited_ = false;        ///< the first look and the time for first lists are over
    bool looked_ = false;
};

/// Whether a discovery document (`APIResourceList`) lists the resource; nothing if it is none.
std::optional<core::served> find_in_discovery(std::string_view document, std::string_view plural);

}  // namespace signalbox::op
