// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/volume_files.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

using file_map = std::map<std::string, planned_file>;

void put_file(file_map& in, planned_file file) {
    in.insert_or_assign(file.path, std::move(file));
}

/// Of a ConfigMap or a Secret. Gives what is wrong, or nothing.
std::string add_keys(
    const file_source& from, const volume_spec& volume, const object_data& objects, file_map& out
) {
    const bool secret = from.what == file_source::kind::secret;
    const string_map* data = secret ? objects.secret(from.name) : objects.config_map(from.name);
    if (data == nullptr) {
        return from.optional
                   ? std::string()
                   : fmt::format("{} \"{}\" not found", secret ? "secret" : "configmap", from.name);
    }
    if (from.items.empty()) {
        for (const auto& [key, value] : *data) {
            put_file(out, {key, value, volume.default_mode});
        }
    }
    for (const volume_item& item : from.items) {
        const auto value = data->find(item.key);
        if (value != data->end()) {
            put_file(out, {item.path, value->second, item.mode.value_or(volume.default_mode)});
        } else if (!from.optional) {
            return fmt::format(
                "references non-existent {} key: {}", secret ? "secret" : "config", item.key
            );
        }
    }
    return {};
}

std::string add_fields(
    const file_source& from,
    const volume_spec& volume,
    const pod_spec& pod,
    const pod_place& place,
    file_map& out
) {
    static const container_spec nobody;
    for (const volume_item& item : from.items) {
        const auto value = item.from.from == env_entry::source::field
                               ? field_value(item.from.text, pod, place)
                               : resource_value(item.from, nobody, pod, place);
        if (value.has_error()) {
            return value.error().message;
        }
        put_file(out, {item.path, *value, item.mode.value_or(volume.default_mode)});
    }
    return {};
}

}  // namespace

refusal mount_failed(const std::string& volume, const std::string& why) {
    return {
        "FailedMount", fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", volume, why)};
}

bool is_inner_path(std::string_view path) {
    if (path.empty() || path.front() == '/') {
        return false;
    }
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (path.substr(0, end) == "..") {
            return false;
        }
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return true;
}

std::uint32_t folder_mode(const volume_spec& volume) {
    const bool secret = std::ranges::any_of(volume.files, [](const file_source& f) {
        return f.what == file_source::kind::secret || f.what == file_source::kind::token;
    });
    return secret ? 01777 : 0777;
}

outcome<std::vector<planned_file>> files_of(
    const volume_spec& volume,
    const pod_spec& pod,
    const pod_place& place,
    const object_data& objects
) {
    file_map files;
    for (const file_source& from : volume.files) {
        std::string wrong;
        switch (from.what) {
            case file_source::kind::config_map:
            case file_source::kind::secret:
                wrong = add_keys(from, volume, objects, files);
                break;
            case file_source::kind::downward:
                wrong = add_fields(from, volume, pod, place, files);
                break;
            case file_source::kind::token: {
                const auto token = objects.tokens.find(from.audience);
                const std::string text = token == objects.tokens.end() ? "" : token->second;
                put_file(files, {from.items.front().path, text, volume.default_mode});
                break;
            }
        }
        if (!wrong.empty()) {
            return mount_failed(volume.name, wrong);
        }
    }
    std::vector<planned_file> out;
    for (auto& [path, file] : files) {
        // `..` begins the names of the folders that hold the versions.
        if (!is_inner_path(path) || path.starts_with("..")) {
            return mount_failed(
                volume.name, fmt::format("invalid path: must not contain '..': {}", path)
            );
        }
        out.push_back(std::move(file));
    }
    return out;
}

}  // namespace signalbox::op::kubelet
