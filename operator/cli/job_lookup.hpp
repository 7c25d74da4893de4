// SPDX-License-Identifier: Apache-2.0
//
// The jobs of a cluster that a command line means.
#pragma once

#include "cli/job_target.hpp"

#include <k8sio/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::cli {

struct found_job {
    core::job_kind kind = core::job_kind::pytorch;
    std::string uid;
    std::string json;
};

/// One GET per kind that the target may be of. A kind that is not served, or may not be read, has
/// no job for us; another may.
class job_lookup {
public:
    /// `api` must outlive run().
    job_lookup(k8sio::client& api, std::string ns, job_target target);

    boost::asio::awaitable<void> run();

    /// Why there is none, or empty.
    const std::string& problem() const { return problem_; }
    std::vector<found_job>& found() { return found_; }
    const std::vector<found_job>& found() const { return found_; }
    const std::string& ns() const { return ns_; }
    /// problem(), or that there are several.
    std::string problem_unless_one() const;

private:
    boost::asio::awaitable<void> look(core::job_kind kind);

    k8sio::client* api_;
    std::string ns_;
    job_target target_;
    std::vector<found_job> found_;
    std::string problem_;
    std::string unreadable_;  ///< why a kind may not be read
    bool served_ = false;
};

/// The label selector of the children of the job with this UID.
std::string children_of(const std::string& uid);

/// Hands on each object of a list, page by page; gives the error that ended it, if one did. All
/// that it gets by reference must outlive it.
boost::asio::awaitable<std::optional<k8sio::api_error>> list_each(
    k8sio::client& api,
    const k8sio::resource_type& type,
    std::string ns,
    k8sio::list_options options,
    const std::function<void(std::string json)>& take
);

/// `pytorchtrainingjob/mnist`
std::string kubectl_name(core::job_kind kind, const std::string& name);

}  // namespace signalbox::op::cli
