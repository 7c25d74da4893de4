// SPDX-License-Identifier: Apache-2.0
//
// Creates objects of any kind that an API server serves; the plural of a kind comes from discovery.
#pragma once

#include "manifests/manifest.hpp"

#include <k8sio/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <map>
#include <string>

namespace signalbox::op::cli {

class applier {
public:
    /// `ns` is for objects that name none. `api` must outlive every call.
    applier(k8sio::client& api, std::string ns) : api_(api), ns_(std::move(ns)) {}

    /// Creates the object, and its namespace if that is missing. Gives it as the server stored it.
    boost::asio::awaitable<k8sio::result<std::string>> create(const manifests::manifest& object);

private:
    boost::asio::awaitable<k8sio::result<k8sio::resource_type>> discover(
        std::string api_version, std::string kind
    );

    k8sio::client& api_;
    std::string ns_;
};

}  // namespace signalbox::op::cli
