// SPDX-License-Identifier: Apache-2.0
//
// The configuration of a pod (REQUIREMENTS.md C1), and what all configurations need.
#include "client/files.hpp"
#include "client/proxy.hpp"
#include "k8sio/config.hpp"

#include <fstream>
#include <iterator>

namespace signalbox::k8sio {

namespace {

constexpr const char* account_path = "/var/run/secrets/kubernetes.io/serviceaccount/";

api_error config_error(std::string message) {
    return make_error(errc::invalid_argument, "in-cluster configuration: " + std::move(message));
}

std::string trim_end(std::string text) {
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') {
        text.pop_back();
    }
    return text;
}

}  // namespace

std::optional<std::string> read_whole_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file.is_open() || file.bad()) {
        return std::nullopt;
    }
    return text;
}

result<cluster_config> load_in_cluster(
    const std::string& root, const std::function<std::string(const char*)>& env
) {
    cluster_config config;
    config.host = env("KUBERNETES_SERVICE_HOST");
    config.port = env("KUBERNETES_SERVICE_PORT");
    if (config.host.empty() || config.port.empty()) {
        return config_error("KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set");
    }
    if (config.host.front() == '[' && config.host.back() == ']') {
        config.host = config.host.substr(1, config.host.size() - 2);
    }
    const std::string wrong_proxy = use_proxy_of_environment(config, env);
    if (!wrong_proxy.empty()) {
        return config_error(wrong_proxy);
    }
    const std::string folder = root + account_path;
    const auto token = read_whole_file(folder + "token");
    if (!token || trim_end(*token).empty()) {
        return config_error("cannot read a token from " + folder + "token");
    }
    config.token = secret_text(trim_end(*token));
    config.token_file = folder + "token";
    const auto ca = read_whole_file(folder + "ca.crt");
    if (!ca || ca->empty()) {
        // The system's certificates would be the wrong ones.
        return config_error("cannot read certificates from " + folder + "ca.crt");
    }
    config.ca_pem = *ca;
    config.ca_file = folder + "ca.crt";
    const auto ns = read_whole_file(folder + "namespace");
    if (ns && !trim_end(*ns).empty()) {
        config.ns = trim_end(*ns);
    }
    return config;
}

}  // namespace signalbox::k8sio
