// SPDX-License-Identifier: Apache-2.0
//
// Writes one object to the end, whatever the server answers (REQUIREMENTS.md X16-X19): a name that
// is taken, a conflict, an object that is held by a finalizer or was made otherwise than sent.
#pragma once

#include "k8sio/client.hpp"
#include "k8sio/object_write.hpp"
#include "k8sio/resource.hpp"

#include <boost/asio/awaitable.hpp>

#include <string_view>

namespace signalbox::k8sio {

/// Sends what a write needs, by the verbs of a client. It keeps nothing between two writes, and any
/// number may be under way.
///
/// Thread: the loop's only.
class object_writer {
public:
    /// Lifetimes: `api` must outlive every write.
    explicit object_writer(client& api) : api_(&api) {}

    /// Carries `order` out on the object of that name: one to three requests (write_step), each
    /// sent when the answer to the one before is there. A write of which no one knows whether it
    /// happened is not sent again: the outcome says so, and the same order, given again, finds out.
    ///
    /// Errors: none but in the outcome: every error of the client has its place in write_failure,
    /// or means `outdated`.
    /// Lifetimes: all that is handed over by reference or view must live until completion.
    /// Cancellation: terminal or all; nothing more is sent, and the outcome is failed with
    /// write_failure::cancelled, unless the answer that is awaited comes first and is the last.
    boost::asio::awaitable<write_outcome> write(
        const resource_type& type,
        std::string_view ns,
        std::string_view name,
        write_order order,
        const object_claims& claims,
        write_listener& listener
    );

private:
    client* api_;
};

}  // namespace signalbox::k8sio
