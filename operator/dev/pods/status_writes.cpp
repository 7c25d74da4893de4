// SPDX-License-Identifier: Apache-2.0
#include "pods/status_writes.hpp"

#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace signalbox::op::pods {

namespace asio = boost::asio;

void complain_of(
    const std::function<void(const std::string&)>& complain,
    std::string_view kind,
    std::string_view ns,
    std::string_view name,
    const k8sio::api_error& failure
) {
    const bool is_settled_by_events = failure.http_status == 404 || failure.http_status == 409;
    if (!is_settled_by_events && complain) {
        complain(fmt::format("{} {}/{}: {}", kind, ns, name, failure.text()));
    }
}

status_writes::status_writes(
    asio::any_io_executor executor,
    k8sio::client& api,
    const k8sio::resource_type& type,
    std::function<void(const std::string&)> complain
)
    : executor_(executor),
      api_(api),
      type_(type),
      complain_(std::move(complain)),
      idle_(std::move(executor)) {}

void status_writes::patch(std::string ns, std::string name, std::string body) {
    ++under_way_;
    asio::co_spawn(
        executor_,
        write(std::move(ns), std::move(name), std::move(body)),
        [this](std::exception_ptr) {
            --under_way_;
            idle_.notify();
        }
    );
}

asio::awaitable<void> status_writes::finish() {
    k8sio::notification& idle = idle_;
    while (under_way_ > 0) {
        co_await idle.wait();
    }
}

asio::awaitable<void> status_writes::write(std::string ns, std::string name, std::string body) {
    std::string patch = std::move(body);
    const auto answer = co_await api_.merge_patch(type_, ns, name, std::move(patch), "status");
    if (answer.has_error() && !stopping_) {
        complain_of(complain_, type_.kind(), ns, name, answer.error());
    }
}

}  // namespace signalbox::op::pods
