// SPDX-License-Identifier: Apache-2.0
//
// List and watch: keeps a sink equal to what the server holds of one resource type, with as few
// lists as possible (REQUIREMENTS.md V3-V7, L1-L6, W1-W9).
#pragma once

#include "k8sio/client.hpp"
#include "k8sio/reflector_sink.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace signalbox::k8sio {

/// Keeps a sink equal to the server.
///
/// Lifetimes: `api` and `sink` must outlive run(). Do not destroy it before run() has returned.
/// Thread: the loop's only.
class reflector {
public:
    reflector(
        client& api,
        resource_type type,
        reflector_sink& sink,
        reflector_options options = reflector_options()
    );
    ~reflector();
    reflector(const reflector&) = delete;
    reflector& operator=(const reflector&) = delete;

    /// Lists, then watches; resumes after a lost connection without a new list; lists again only
    /// after 410, a version that went backwards, or errors that do not pass. No failure ends it: it
    /// returns after stop(). Run it once.
    ///
    /// Cancellation: terminal or all; it returns soon, as after stop().
    boost::asio::awaitable<void> run();
    /// Ends run() soon, closing the stream; half a list is aborted. May be called again, and before
    /// run(), which then returns at once.
    void stop();

    /// Asks the server soon whether it went back in time, and goes on as before if not. Call it on
    /// a sign of that: an answer with an object that is older than one seen before.
    void doubt();
    /// Lists anew, and tells the sink that the server went back: another resource has shown it.
    void start_over();
    /// Lists anew, and goes on from there: for a caller that must see at least what the server has
    /// now, as a watch may be behind it.
    void refresh();
    /// True from doubt(), refresh() or a silence until the server has answered.
    bool doubtful() const { return doubtful_; }
    /// When the server last said something about this resource: the sink is no older than that.
    steady_time heard_at() const { return heard_at_; }

    /// The sink has had a complete list. Stays true; whether it is up to date says last_error().
    bool synced() const { return synced_; }
    const reflector_counters& counters() const { return counters_; }
    /// The last error, for logs and readiness; empty when all is well.
    const std::string& last_error() const { return last_error_; }
    const resource_type& type() const { return type_; }

private:
    void ask(bool& what);

    struct impl_access;
    friend struct impl_access;

    client* api_;
    resource_type type_;
    reflector_sink* sink_;
    reflector_options options_;
    bool synced_ = false;
    bool stopping_ = false;
    bool doubtful_ = false;
    bool doubt_asked_ = false;
    bool start_over_asked_ = false;
    bool refresh_asked_ = false;
    steady_time heard_at_{};
    response_stream* open_ = nullptr;
    reflector_counters counters_;
    std::string last_error_;
    std::unique_ptr<boost::asio::cancellation_signal> stop_signal_;
};

}  // namespace signalbox::k8sio
