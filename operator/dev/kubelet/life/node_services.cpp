// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/node_services.hpp"

#include <boost/asio/co_spawn.hpp>

namespace signalbox::op::kubelet {

namespace {

constexpr std::size_t requests_at_a_time = 16;

}  // namespace

node_services::node_services(
    boost::asio::any_io_executor of,
    k8sio::client& client,
    containers::container_runtime& runtime,
    const process_options& said
)
    : executor(of),
      api(client),
      containers(runtime),
      options(said),
      events(client, "kubelet"),
      requests(of, requests_at_a_time),
      no_task_(of) {}

void node_services::spawn(boost::asio::awaitable<void> task) {
    ++tasks_;
    boost::asio::co_spawn(executor, std::move(task), [this](std::exception_ptr broken) {
        if (broken) {
            try {
                std::rethrow_exception(broken);
            } catch (const std::exception& e) {
                complain(std::string("a pod's task failed: ") + e.what());
            }
        }
        --tasks_;
        if (tasks_ == 0) {
            no_task_.notify();
        }
    });
}

boost::asio::awaitable<void> node_services::idle() {
    const std::size_t& left = tasks_;
    while (left > 0) {
        co_await no_task_.wait();
    }
}

core::instant node_services::server_now() const {
    return std::chrono::floor<core::milliseconds>(api.server_now());
}

void node_services::tell(
    const pod_spec& pod, bool warning, std::string reason, std::string message
) {
    k8sio::event_note note;
    note.regarding.api_version = "v1";
    note.regarding.kind = "Pod";
    note.regarding.ns = pod.ns;
    note.regarding.name = pod.name;
    note.regarding.uid = pod.uid;
    note.warning = warning;
    note.reason = std::move(reason);
    note.message = std::move(message);
    events.record(std::move(note));
}

void node_services::complain(const std::string& what) const {
    if (options.complain) {
        options.complain(what);
    }
}

}  // namespace signalbox::op::kubelet
