// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/claims.hpp"

#include "kubelet/disk/atomic_files.hpp"
#include "kubelet/pod/volume_files.hpp"
#include "pods/json_value.hpp"

#include <k8sio/resource.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::uint32_t for_all_users = 0777;

const k8sio::resource_type& claims() {
    static const k8sio::resource_type type(
        "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"
    );
    return type;
}

bool is_claim(const volume_spec& volume) {
    return volume.what == volume_spec::kind::claim;
}

std::string phase_of(std::string_view claim_json) {
    rapidjson::Document claim;
    claim.Parse<rapidjson::kParseIterativeFlag>(claim_json.data(), claim_json.size());
    return std::string(pods::text(pods::member(claim, "status"), "phase"));
}

/// Empty, or why the claim is not there.
asio::awaitable<std::string> provide(node_services& node, std::string ns, std::string name) {
    const process_options& options = node.options;
    const fs::path folder = claim_folder(options, ns, name);
    std::error_code ignored;
    const bool inner = is_inner_path(name);
    // A folder that was made needs its object, as elsewhere: it may be of an earlier session.
    if (inner && !options.claims.empty() && fs::is_directory(folder, ignored)) {
        co_return std::string();
    }
    const k8sio::result<std::string> got = co_await node.api.get(claims(), ns, name);
    if (got.has_error()) {
        const k8sio::api_error& error = got.error();
        const std::string where = options.claims.empty()
                                      ? std::string("no --claims DIR names its folder")
                                      : fmt::format("there is no folder {}", folder.string());
        co_return error.http_status == 404
            ? fmt::format(
                  "persistentvolumeclaim \"{}\" not found ({}); one that is applied gets a folder",
                  name,
                  where
              )
            : error.text();
    }
    const auto made = make_folder(folder, for_all_users);
    if (made.has_error() || !inner) {
        co_return fmt::format(
            "persistentvolumeclaim \"{}\": {}",
            name,
            inner ? made.error().message : "no name of a folder"
        );
    }
    if (phase_of(*got) != "Bound") {
        std::string patch = R"({"status":{"phase":"Bound"}})";
        const auto answer =
            co_await node.api.merge_patch(claims(), ns, name, std::move(patch), "status");
        if (answer.has_error()) {
            node.complain(fmt::format("claim {}/{}: {}", ns, name, answer.error().text()));
        }
    }
    co_return std::string();
}

}  // namespace

fs::path claim_folder(
    const process_options& options, const std::string& ns, const std::string& name
) {
    return options.claims.empty() ? fs::path(options.made_claims) / ns / name
                                  : fs::path(options.claims) / name;
}

bool has_claims(const pod_spec& pod) {
    return std::ranges::any_of(pod.volumes, is_claim);
}

asio::awaitable<std::string> provide_claims(node_services& node, pod_spec pod) {
    std::string lacks;
    for (const volume_spec& volume : pod.volumes) {
        if (lacks.empty() && is_claim(volume)) {
            lacks = co_await provide(node, pod.ns, volume.path);
        }
    }
    co_return lacks;
}

}  // namespace signalbox::op::kubelet
