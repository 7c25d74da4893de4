// SPDX-License-Identifier: Apache-2.0
#include "k8sio/server/api_server.hpp"

#include "server/faces/http_face.hpp"
#include "server/faces/in_process.hpp"
#include "server/faces/reception.hpp"

#include <fmt/format.h>

#include <utility>

namespace signalbox::k8sio::server {

struct api_server::impl {
    impl(boost::asio::any_io_executor executor, clock& time, server_options options)
        : door(std::make_shared<reception>(std::move(executor), time, std::move(options))) {}

    std::shared_ptr<reception> door;
    std::vector<std::shared_ptr<http_face>> faces;
};

api_server::api_server(boost::asio::any_io_executor executor, clock& time, server_options options)
    : impl_(std::make_unique<impl>(std::move(executor), time, std::move(options))) {}

api_server::~api_server() {
    stop();
}

result<void> api_server::add_custom_resource(std::string_view crd_json) {
    const outcome<void> done = impl_->door->definitions().add(crd_json);
    if (!done) {
        api_error e;
        e.code = errc::http_status;
        e.http_status = done.error().code;
        e.reason = done.error().reason;
        e.message = done.error().message;
        e.causes = done.error().causes;
        return e;
    }
    return {};
}

void api_server::share_custom_resources(const api_server& other) {
    impl_->door->definitions().share(other.impl_->door->definitions());
}

std::unique_ptr<transport> api_server::connect() {
    return make_in_process_transport(impl_->door);
}

result<std::uint16_t> api_server::listen(const std::string& address, std::uint16_t port) {
    std::shared_ptr<http_face> face = make_http_face(*impl_->door);
    const result<std::uint16_t> got = face->listen(address, port);
    if (got) {
        impl_->faces.push_back(std::move(face));
    }
    return got;
}

std::string api_server::kubeconfig(const std::string& address, std::uint16_t port) const {
    const std::string& token = impl_->door->options().token;
    const std::string none;
    return kubeconfig_for(
        address, port, token, impl_->faces.empty() ? none : impl_->faces.back()->certificate()
    );
}

void api_server::stop() {
    for (const auto& face : impl_->faces) {
        face->stop();
    }
    impl_->faces.clear();
    break_watches();
}

void api_server::break_watches() {
    impl_->door->break_watches();
}

void api_server::compact() {
    impl_->door->world().objects().compact();
}

void api_server::set_fault_hook(fault_hook hook) {
    impl_->door->set_fault_hook(std::move(hook));
}

void api_server::set_pod_streams(pod_streams* of_pods) {
    impl_->door->set_pod_streams(of_pods);
}

std::uint64_t api_server::count_requests(std::string_view method, std::string_view path_part)
    const {
    return impl_->door->count(method, path_part);
}

}  // namespace signalbox::k8sio::server
