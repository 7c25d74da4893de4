// SPDX-License-Identifier: Apache-2.0
//
// The requests in flight that all jobs share: namespaces take turns, and a server that answers
// slowly gets fewer (REQUIREMENTS.md Q11, R10).
#pragma once

#include "controller/server_clock.hpp"
#include "k8sio/fair_slots.hpp"
#include "k8sio/in_flight_limit.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::op {

struct job_entry;

/// Must outlive every permit and take().
class request_slots {
public:
    /// To send one request. Ends with its answer.
    class permit {
    public:
        permit(request_slots& of, std::string ns, std::string kind);
        permit(permit&& other) noexcept
            : of_(std::exchange(other.of_, nullptr)),
              ns_(std::move(other.ns_)),
              kind_(std::move(other.kind_)),
              begun_(other.begun_),
              worked_(other.worked_) {}
        ~permit();
        permit(const permit&) = delete;
        permit& operator=(const permit&) = delete;
        /// The server did what it was asked.
        void note_success() { worked_ = true; }

    private:
        request_slots* of_;
        std::string ns_, kind_;
        k8sio::steady_time begun_;
        bool worked_ = false;
    };

    /// `most`: at least 1.
    request_slots(boost::asio::any_io_executor loop, server_clock clock, std::size_t most);
    /// Waits until a request of that job may be sent: `verb` is done to an object of the kind
    /// `object`. Times are compared with those of the same verb, kind and size of the job. No verb:
    /// they are not compared, as they are not the server's own.
    ///
    /// Cancellation: none.
    boost::asio::awaitable<permit> take(
        const job_entry& entry, std::string_view verb, std::string_view object
    );
    /// As many as there may be at best.
    std::size_t most() const { return most_; }
    /// As many as there may be now.
    std::size_t limit() const { return limit_.size(); }

private:
    server_clock clock_;
    std::size_t most_;
    k8sio::in_flight_limit limit_;
    k8sio::fair_slots slots_;
};

}  // namespace signalbox::op
