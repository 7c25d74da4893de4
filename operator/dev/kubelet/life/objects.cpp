// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/objects.hpp"

#include "pods/json_value.hpp"

#include <jobcore/strings.hpp>
#include <k8sio/base64.hpp>
#include <k8sio/resource.hpp>

#include <fmt/format.h>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;

constexpr int no_such_object = 404;
constexpr int token_seconds = 7 * 24 * 3600;

/// An empty text if there is no such object.
asio::awaitable<outcome<std::string>> fetch_one(
    k8sio::client& api, const k8sio::resource_type& type, std::string ns, std::string name
) {
    const k8sio::result<std::string> got = co_await api.get(type, ns, name);
    if (got.has_value()) {
        co_return outcome<std::string>(*got);
    }
    if (got.error().http_status == no_such_object) {
        co_return outcome<std::string>(std::string());
    }
    co_return outcome<std::string>(refusal("FailedMount", got.error().text()));
}

}  // namespace

string_map data_of(std::string_view object_json) {
    rapidjson::Document object;
    object.Parse<rapidjson::kParseIterativeFlag>(object_json.data(), object_json.size());
    string_map out;
    const bool secret = pods::text(object, "kind") == "Secret";
    const auto add = [&](const char* key, bool encoded) {
        pods::for_each_member(
            pods::member(object, key),
            [&](std::string_view name, const pods::json_value& value) {
                const std::string_view text = pods::text_of(value);
                out.insert_or_assign(
                    std::string(name),
                    encoded ? k8sio::base64_decode(text).value_or("") : std::string(text)
                );
            }
        );
    };
    add("data", secret);
    add("binaryData", true);
    return out;
}

asio::awaitable<void> fetch_tokens(k8sio::client& api, pod_spec pod, object_data& to) {
    const std::string account = pod.service_account.empty() ? "default" : pod.service_account;
    const std::string target = fmt::format(
        "/api/v1/namespaces/{}/serviceaccounts/{}/token",
        k8sio::percent_encode(pod.ns),
        k8sio::percent_encode(account)
    );
    for (const volume_spec& volume : pod.volumes) {
        for (const file_source& from : volume.files) {
            if (from.what != file_source::kind::token || from.audience.empty() ||
                to.tokens.contains(from.audience)) {
                continue;
            }
            std::string body = fmt::format(
                R"({{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{{)"
                R"("audiences":[{}],"expirationSeconds":{},"boundObjectRef":{{)"
                R"("apiVersion":"v1","kind":"Pod","name":{},"uid":{}}}}}}})",
                core::json_string(from.audience),
                token_seconds,
                core::json_string(pod.name),
                core::json_string(pod.uid)
            );
            const k8sio::result<std::string> got =
                co_await api.raw("POST", target, "application/json", std::move(body));
            if (got.has_value()) {
                rapidjson::Document answer;
                answer.Parse<rapidjson::kParseIterativeFlag>(got->data(), got->size());
                const std::string_view token = pods::text(pods::member(answer, "status"), "token");
                to.tokens.emplace(from.audience, token);
            }
        }
    }
}

asio::awaitable<outcome<object_data>> fetch_objects(
    k8sio::client& api, std::string ns, object_names names
) {
    object_data out;
    for (const bool secret : {false, true}) {
        const std::vector<std::string> wanted = secret ? names.secrets : names.config_maps;
        const k8sio::resource_type& type =
            secret ? k8sio::resources::secrets() : k8sio::resources::config_maps();
        for (const std::string& name : wanted) {
            const outcome<std::string> got = co_await fetch_one(api, type, ns, name);
            if (got.has_error()) {
                co_return outcome<object_data>(got.error());
            }
            if (!got->empty()) {
                (secret ? out.secrets : out.config_maps).emplace(name, data_of(*got));
            }
        }
    }
    co_return outcome<object_data>(std::move(out));
}

}  // namespace signalbox::op::kubelet
