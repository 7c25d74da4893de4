// SPDX-License-Identifier: Apache-2.0
//
// The jobs of a namespace, or of a cluster: one list of each kind.
#pragma once

#include <jobcore/spec.hpp>
#include <k8sio/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace signalbox::op::cli {

class job_lists {
public:
    using taker = std::function<void(core::job_kind kind, std::string_view json)>;

    /// `api` must outlive run(). `ns`: empty: all. `selector`: of labels. `take` gets each job.
    job_lists(k8sio::client& api, std::string ns, const std::string& selector, taker take);

    boost::asio::awaitable<void> run();
    /// Why the lists are not whole, or empty.
    const std::string& problem() const { return problem_; }

private:
    boost::asio::awaitable<void> list(core::job_kind kind);

    k8sio::client* api_;
    std::string ns_;
    taker take_;
    k8sio::list_options options_;
    std::string problem_;
    bool served_ = false;
};

}  // namespace signalbox::op::cli
