// SPDX-License-Identifier: Apache-2.0
#include "pods/deployments.hpp"

#include "controller/resource_table.hpp"
#include "pods/status_writes.hpp"

#include <k8sio/reflector.hpp>

#include <chrono>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace signalbox::op::pods {

namespace asio = boost::asio;

const k8sio::resource_type& deployment_type() {
    return type_of(core::object_kind::deployment, core::job_kind::pytorch);
}

k8sio::reflector_options reflect(const deployment_options& options, std::string_view selector) {
    k8sio::reflector_options out;
    out.ns = options.ns;
    out.label_selector = selector;
    return out;
}

class simulated_deployments::impl final : public k8sio::reflector_sink {
public:
    impl(asio::any_io_executor executor, k8sio::client& api, deployment_options options)
        : api_(api),
          options_(std::move(options)),
          reflector_(api, deployment_type(), *this, reflect(options_, children_selector)),
          writes_(std::move(executor), api, deployment_type(), options_.complain) {}

    asio::awaitable<void> run() {
        status_writes& writes = writes_;
        co_await reflector_.run();
        co_await writes.finish();
    }

    void stop() {
        stopping_ = true;
        writes_.stop();
        reflector_.stop();
        for (const auto& [uid, timer] : timers_) {
            api_.time().cancel(timer);
        }
        timers_.clear();
    }

    void upsert(std::string_view json) override { see(json); }
    void remove(std::string_view) override {}  // a write that is due finds nothing

private:
    void see(std::string_view json) {
        auto seen = read_deployment_record(json);
        if (!seen || seen->says(seen->wanted, seen->wanted) || stopping_) {
            return;
        }
        const auto due = timers_.find(seen->uid);
        if (due != timers_.end()) {
            api_.time().cancel(due->second);
        }
        const auto at = api_.time().steady_now() +
                        std::chrono::duration_cast<k8sio::steady_time::duration>(options_.delay);
        const std::string uid = seen->uid;
        timers_[uid] = api_.time().schedule(at, [this, of = std::move(*seen)] {
            timers_.erase(of.uid);
            start(of);
        });
    }

    void start(const deployment_record& of) {
        const auto now = std::chrono::floor<core::milliseconds>(api_.server_now());
        writes_.patch(of.ns, of.name, status_patch(of, of.wanted, of.wanted, now));
    }

    k8sio::client& api_;
    deployment_options options_;
    k8sio::reflector reflector_;
    status_writes writes_;
    std::unordered_map<std::string, k8sio::clock::timer_id> timers_;  // by UID
    bool stopping_ = false;
};

simulated_deployments::simulated_deployments(
    asio::any_io_executor executor, k8sio::client& api, deployment_options options
)
    : impl_(std::make_unique<impl>(std::move(executor), api, std::move(options))) {}

simulated_deployments::~simulated_deployments() = default;

asio::awaitable<void> simulated_deployments::run() {
    return impl_->run();
}

void simulated_deployments::stop() {
    impl_->stop();
}

}  // namespace signalbox::op::pods
