// SPDX-License-Identifier: Apache-2.0
#include "progress/endpoints.hpp"

#include <jobcore/strings.hpp>
#include <k8sio/object_verbs.hpp>
#include <k8sio/resource.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <fmt/format.h>

#include <utility>

namespace signalbox::op::progress {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds between_writes{10};

const k8sio::resource_type& endpoint_slices() {
    static const k8sio::resource_type type(
        "discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"
    );
    return type;
}

}  // namespace

std::string slice_of(const endpoint& to) {
    const std::string name = core::json_string(to.service);
    const char* type = to.address.find(':') == std::string::npos ? "IPv4" : "IPv6";
    return fmt::format(
        R"({{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{{"name":{},)"
        R"("namespace":{},"labels":{{"kubernetes.io/service-name":{},)"
        R"("endpointslice.kubernetes.io/managed-by":"signalbox"}}}},"addressType":"{}",)"
        R"("ports":[{{"name":"progress","port":{},"protocol":"TCP"}}],)"
        R"("endpoints":[{{"addresses":[{}],"conditions":{{"ready":true}}}}]}})",
        name,
        core::json_string(to.ns),
        name,
        type,
        to.port,
        core::json_string(to.address)
    );
}

endpoint_writer::endpoint_writer(
    asio::any_io_executor executor,
    k8sio::client& api,
    endpoint to,
    std::shared_ptr<spdlog::logger> log
)
    : executor_(std::move(executor)), api_(&api), to_(std::move(to)), log_(std::move(log)) {}

void endpoint_writer::lead() {
    const auto now = api_->time().steady_now();
    if (shared_->stopped || shared_->writing || now < next_) {
        return;
    }
    next_ = now + between_writes;
    shared_->writing = true;
    asio::co_spawn(
        executor_,
        write(shared_, *api_, to_.ns, to_.service, slice_of(to_), log_),
        asio::bind_cancellation_slot(shared_->cut.slot(), asio::detached)
    );
}

void endpoint_writer::stop() {
    const std::shared_ptr<shared_state> shared = shared_;
    if (!std::exchange(shared->stopped, true) && shared->writing) {
        shared->cut.emit(asio::cancellation_type::terminal);
        asio::post(executor_, [shared] {});  // the signal is behind what was emitted
    }
}

asio::awaitable<void> endpoint_writer::write(
    std::shared_ptr<shared_state> shared,
    k8sio::client& api,
    std::string ns,
    std::string name,
    std::string body,
    std::shared_ptr<spdlog::logger> log
) {
    const std::shared_ptr<shared_state> state = shared;
    k8sio::apply_options options;
    options.force = true;  // it may be of the leader before, by another version
    const auto done =
        co_await k8sio::apply(api, endpoint_slices(), ns, name, std::move(body), options);
    state->writing = false;
    if (done.has_error() && log && !state->stopped && !state->complained) {
        log->warn("reports of progress do not find this replica: {}", done.error().text());
    }
    state->complained = done.has_error();
}

}  // namespace signalbox::op::progress
