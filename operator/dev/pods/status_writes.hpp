// SPDX-License-Identifier: Apache-2.0
//
// What stand-ins for controllers write: statuses, side by side, answered by events.
#pragma once

#include <k8sio/client.hpp>
#include <k8sio/resource.hpp>
#include <k8sio/synchronization.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace signalbox::op::pods {

/// Tells of a write that failed, but for 404 and 409: the object is gone, or another one by now,
/// and what follows is observed. A null `complain` is told nothing.
void complain_of(
    const std::function<void(const std::string&)>& complain,
    std::string_view kind,
    std::string_view ns,
    std::string_view name,
    const k8sio::api_error& failure
);

/// Merge patches of the status of one type's objects. One thread.
class status_writes {
public:
    /// `api` and `type` must outlive finish(). `complain` is told of failures, as complain_of()
    /// does.
    status_writes(
        boost::asio::any_io_executor executor,
        k8sio::client& api,
        const k8sio::resource_type& type,
        std::function<void(const std::string&)> complain
    );
    status_writes(const status_writes&) = delete;
    status_writes& operator=(const status_writes&) = delete;

    /// Begins one; `body` is the merge patch.
    void patch(std::string ns, std::string name, std::string body);
    /// Nothing is told from now on.
    void stop() { stopping_ = true; }
    /// Returns when none is under way.
    boost::asio::awaitable<void> finish();

private:
    boost::asio::awaitable<void> write(std::string ns, std::string name, std::string body);

    boost::asio::any_io_executor executor_;
    k8sio::client& api_;
    const k8sio::resource_type& type_;
    std::function<void(const std::string&)> complain_;
    k8sio::notification idle_;
    std::size_t under_way_ = 0;
    bool stopping_ = false;
};

}  // namespace signalbox::op::pods
