// SPDX-License-Identifier: Apache-2.0
//
// From nothing to a client: what most programs begin with.
#pragma once

#include "k8sio/client.hpp"
#include "k8sio/clock.hpp"
#include "k8sio/config.hpp"
#include "k8sio/error.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace signalbox::k8sio {

/// Which server, and how it is talked to.
class connect_options {
public:
    connect_options() = default;
    std::string kubeconfig;  ///< a path; empty: see find_config()
    std::string context;     ///< empty: that of the kubeconfig
    http_transport_options http;
    client_options client;
};

/// The configuration that is named, by path or context; else, in a pod, its service account; else
/// what kubectl would take. Reads files at once, so call it before the loop runs.
///
/// Errors: those of load_kubeconfig() and load_in_cluster().
result<cluster_config> find_config(const std::string& kubeconfig, const std::string& context);
/// True if that is the service account of the pod we run in.
bool finds_service_account(const std::string& kubeconfig, const std::string& context);

/// The machine's clock, a transport and a client of one server.
///
/// Lifetimes: destroy it behind everything that was given its parts, and before the loop.
class connection {
public:
    connection(
        std::unique_ptr<clock> time,
        std::unique_ptr<transport> to,
        client_options options,
        std::string ns
    );
    connection(connection&&) = default;
    ~connection();

    clock& time() { return *time_; }
    client& api() { return *api_; }
    /// Namespace of the context, or of the pod.
    const std::string& ns() const { return ns_; }

private:
    std::unique_ptr<clock> time_;
    std::unique_ptr<transport> transport_;
    std::unique_ptr<client> api_;
    std::string ns_;
};

/// A client of the server that find_config() finds; nothing is sent before the first request.
///
/// Errors: those of find_config() and make_http_transport().
/// Thread: that of `executor`, whose context must be run by one thread.
result<connection> connect(
    boost::asio::any_io_executor executor, connect_options options = connect_options()
);
/// The same for a configuration that is known already.
///
/// Errors: those of make_http_transport().
/// Thread: that of `executor`, whose context must be run by one thread.
result<connection> connect(
    boost::asio::any_io_executor executor,
    cluster_config config,
    connect_options options = connect_options()
);

}  // namespace signalbox::k8sio
