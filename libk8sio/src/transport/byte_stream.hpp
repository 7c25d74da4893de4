// SPDX-License-Identifier: Apache-2.0
//
// A connection as HTTP needs it, whether plain or TLS, real or scripted by a test. Each kind of
// socket is known to one .cpp file only: that keeps compile times low.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/config.hpp"
#include "k8sio/error.hpp"
#include "protocol/credentials.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

namespace signalbox::k8sio {

class byte_stream {
public:
    virtual ~byte_stream() = default;

    /// Number of bytes; 0 at the clean end. Errors: cancelled, connection_lost.
    virtual boost::asio::awaitable<result<std::size_t>> read_some(char* data, std::size_t size) = 0;
    /// Writes all; the number of bytes. `bytes` must live until completion.
    virtual boost::asio::awaitable<result<std::size_t>> write_all(std::string_view bytes) = 0;
    /// At once; pending operations fail with cancelled.
    virtual void close() = 0;
    /// False if an idle connection was closed or sent something without a request.
    virtual bool looks_alive() = 0;
};

/// Makes connections to one server.
class connector {
public:
    virtual ~connector() = default;
    /// Errors: resolve, connect, tls, cancelled; nothing of a request was sent.
    virtual boost::asio::awaitable<result<std::unique_ptr<byte_stream>>> connect(
        steady_time deadline
    ) = 0;
    /// Errors: keys or certificates that cannot be used.
    virtual result<void> check_keys(const protocol::tls_keys&) const { return {}; }
    /// Connections from now on are made with these. Errors: as of check_keys(); the old ones then
    /// stay.
    virtual result<void> use_keys(const protocol::tls_keys&) { return {}; }
};

/// `time` must outlive the connector. Errors of the second: keys or certificates that cannot be
/// used.
std::unique_ptr<connector> make_tcp_connector(
    boost::asio::any_io_executor executor,
    clock& time,
    const cluster_config& config,
    const http_transport_options& options
);
result<std::unique_ptr<connector>> make_tls_connector(
    boost::asio::any_io_executor executor,
    clock& time,
    const cluster_config& config,
    const http_transport_options& options
);

/// Calls close() on what it guards when the time is up, unless destroyed before.
class deadline_guard {
public:
    template <class Closable>
    deadline_guard(clock& time, steady_time at, Closable& guarded) : time_(&time) {
        id_ = time.schedule(at, [this, &guarded] {
            fired_ = true;
            guarded.close();
        });
    }
    ~deadline_guard() { time_->cancel(id_); }
    deadline_guard(const deadline_guard&) = delete;
    deadline_guard& operator=(const deadline_guard&) = delete;

    bool fired() const { return fired_; }
    /// Turns the `cancelled` that close() causes into what it is: `code`.
    api_error explain(api_error error, std::string_view stage, errc code = errc::timeout) const {
        if (fired_) {
            error.code = code;
            error.message = stage;
        }
        return error;
    }

private:
    clock* time_;
    clock::timer_id id_ = 0;
    bool fired_ = false;
};

}  // namespace signalbox::k8sio
