// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/objects.hpp"

#include "pods/json_value.hpp"

#include <k8sio/base64.hpp>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;

constexpr int no_such_object = 404;

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
