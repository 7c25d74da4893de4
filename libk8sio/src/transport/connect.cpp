// SPDX-License-Identifier: Apache-2.0
#include "k8sio/connect.hpp"

#include <cstdlib>
#include <utility>

namespace signalbox::k8sio {

namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

}  // namespace

bool finds_service_account(const std::string& kubeconfig, const std::string& context) {
    const bool named = !kubeconfig.empty() || !context.empty();
    return !named && !environment("KUBERNETES_SERVICE_HOST").empty();
}

result<cluster_config> find_config(const std::string& kubeconfig, const std::string& context) {
    if (finds_service_account(kubeconfig, context)) {
        return load_in_cluster("", environment);
    }
    return load_kubeconfig(kubeconfig, context);
}

connection::connection(
    std::unique_ptr<clock> time,
    std::unique_ptr<transport> to,
    client_options options,
    std::string ns
)
    : time_(std::move(time)),
      transport_(std::move(to)),
      api_(std::make_unique<client>(*transport_, *time_, std::move(options))),
      ns_(std::move(ns)) {}

connection::~connection() = default;

result<connection> connect(boost::asio::any_io_executor executor, connect_options options) {
    auto config = find_config(options.kubeconfig, options.context);
    if (config.has_error()) {
        return config.error();
    }
    return connect(std::move(executor), std::move(*config), std::move(options));
}

result<connection> connect(
    boost::asio::any_io_executor executor, cluster_config config, connect_options options
) {
    std::unique_ptr<clock> time = make_machine_clock(executor);
    std::string ns = config.ns;
    if (!options.http.notice) {
        options.http.notice = options.client.notice;
    }
    auto made = make_http_transport(std::move(executor), *time, std::move(config), options.http);
    if (made.has_error()) {
        return made.error();
    }
    return connection(std::move(time), std::move(*made), std::move(options.client), std::move(ns));
}

}  // namespace signalbox::k8sio
