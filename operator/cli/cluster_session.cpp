// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_session.hpp"

#include "cli/settings.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <utility>

namespace signalbox::op::cli {

namespace asio = boost::asio;

cluster_session::cluster_session(
    const cluster_options& cluster, const std::string& ns, std::chrono::nanoseconds patience
)
    : ns_(ns) {
    k8sio::connect_options options = connect_to(cluster);
    if (patience.count() > 0) {
        options.client.request_timeout = patience;
        options.client.max_retries = 0;
    }
    auto made = k8sio::connect(loop_.get_executor(), std::move(options));
    if (made.has_error()) {
        problem_ = made.error().text();
        if (problem_.find("cannot read a kubeconfig") != std::string::npos) {
            problem_ +=
                ": no cluster? `signalbox dev` prints an `export KUBECONFIG=...` for its own; "
                "--kubeconfig FILE names another";
        }
        return;
    }
    connection_.emplace(std::move(*made));
    if (ns_.empty()) {
        ns_ = connection_->ns();
    }
}

core::instant cluster_session::server_time() {
    return std::chrono::time_point_cast<core::milliseconds>(connection_->api().server_now());
}

void cluster_session::run(asio::awaitable<void> task) {
    std::exception_ptr failed;
    asio::co_spawn(loop_, std::move(task), [&](std::exception_ptr e) { failed = e; });
    loop_.run();
    if (failed) {
        std::rethrow_exception(failed);
    }
}

}  // namespace signalbox::op::cli
