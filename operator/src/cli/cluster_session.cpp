// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_session.hpp"

#include "cli/settings.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <utility>

namespace signalbox::op::cli {

namespace asio = boost::asio;

cluster_session::cluster_session(const cluster_options& cluster, const std::string& ns) : ns_(ns) {
    auto made = k8sio::connect(loop_.get_executor(), connect_to(cluster));
    if (made.has_error()) {
        problem_ = made.error().text();
        return;
    }
    connection_.emplace(std::move(*made));
    if (ns_.empty()) {
        ns_ = connection_->ns();
    }
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
