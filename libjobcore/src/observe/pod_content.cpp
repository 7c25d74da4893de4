// SPDX-License-Identifier: Apache-2.0
#include "observe/pod_content.hpp"

#include "observe/pod_places.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::core::observe::pod {

static constexpr std::string_view our_volumes = "signalbox-";

void content_reader::open(node n) {
    if (n == in_container) {
        container_ = {};
    } else if (n == in_mount) {
        mount_ = {};
    } else if (n == in_volume) {
        volume_ = {};
    }
}

void content_reader::close(node n) {
    if (n == in_mount && mount_.name.starts_with(our_volumes)) {
        container_.mounts.field(mount_.name).field(mount_.path).field(mount_.sub_path);
    } else if (n == in_volume && volume_.name.starts_with(our_volumes)) {
        volumes_.field(volume_.name).field(volume_.secret);
    } else if (n == in_container) {
        container& c = container_;
        const std::uint64_t content = content_hash()
                                          .field(c.image)
                                          .number(c.command.value())
                                          .number(c.args.value())
                                          .number(c.mounts.value())
                                          .number(c.privileged ? 1 : 0)
                                          .value();
        containers_.push_back({std::move(c.name), content});
    }
}

void content_reader::text(node n, std::string_view value) {
    switch (n) {
        case container_name:
            container_.name = value;
            break;
        case container_image:
            container_.image = value;
            break;
        case command_word:
            add(container_.command, value);
            break;
        case args_word:
            add(container_.args, value);
            break;
        case mount_name:
            mount_.name = value;
            break;
        case mount_path:
            mount_.path = value;
            break;
        case mount_sub_path:
            mount_.sub_path = value;
            break;
        case volume_name:
            volume_.name = value;
            break;
        case volume_secret:
            volume_.secret = value;
            break;
        case service_account:
            account_ = value == "default" ? "" : value;
            break;
        case subdomain:
            subdomain_ = value;
            break;
        default:
            break;
    }
}

void content_reader::boolean(node n, bool value) {
    if (n == host_namespace && value) {
        ++host_namespaces_;
    } else if (n == is_privileged) {
        container_.privileged = value;
    }
}

std::uint64_t content_reader::finish(std::string_view training) const {
    content_hash hash;
    hash.field(account_).field(subdomain_).number(host_namespaces_).number(volumes_.value());
    for (const found_container& c : containers_) {
        if (c.name == training) {
            hash.number(c.content);
        }
    }
    return std::max<std::uint64_t>(hash.value(), 1);
}

}  // namespace signalbox::core::observe::pod
