// SPDX-License-Identifier: Apache-2.0
//
// Stands in for Kueue where there is none: every Workload of ours is admitted, with all that it
// asks for. It knows no queues and no quota. A Workload that somebody deactivates is evicted.
#pragma once

#include <jobcore/time.hpp>
#include <k8sio/client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::op::pods {

/// What is to be written into the status of a Workload.
struct workload_answer {
    std::string ns, name;
    std::string patch;  ///< merge patch of the subresource `status`, of that very version
};

/// Nothing if it needs no answer now, or the text is no Workload.
std::optional<workload_answer> answer_workload(std::string_view json, core::instant now);

class simulated_admission {
public:
    /// `api` must outlive run(). `complain` is told of writes that failed.
    simulated_admission(
        boost::asio::any_io_executor executor,
        k8sio::client& api,
        std::function<void(const std::string&)> complain
    );
    /// Only before run() started or after it returned.
    ~simulated_admission();

    /// Goes on until stop(); returns when no write is under way. Call once.
    boost::asio::awaitable<void> run();
    void stop();

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace signalbox::op::pods
