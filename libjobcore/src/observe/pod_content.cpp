// SPDX-License-Identifier: Apache-2.0
#include "observe/pod_content.hpp"

#include "observe/pod_places.hpp"
#include "strings/content_hash.hpp"

#include <algorithm>
#include <cstddef>

namespace signalbox::core::observe::pod {
namespace {

constexpr std::string_view our_volumes = "signalbox-";
/// Arguments may be as long as a list of all pods; the beginning of such a text tells enough.
constexpr std::size_t longest = 4096;

void add_number(std::string& to, std::uint64_t value) {
    for (int shift = 56; shift >= 0; shift -= 8) {
        to += static_cast<char>(value >> shift);
    }
}

/// With its length, so that fields cannot run together.
void add_field(std::string& to, std::string_view text, std::size_t most = std::string_view::npos) {
    add_number(to, text.size());
    to += text.substr(0, most);
}

}  // namespace

void content_reader::open(node n) {
    if (n == in_container) {
        containers_.emplace_back();
    } else if (n == in_mount) {
        mount_ = {};
    } else if (n == in_volume) {
        volume_ = {};
    }
}

void content_reader::close(node n) {
    if (n == in_mount && mount_.name.starts_with(our_volumes)) {
        for (const std::string* field : {&mount_.name, &mount_.path, &mount_.sub_path}) {
            add_field(containers_.back().mounts, *field);
        }
    } else if (n == in_volume && volume_.name.starts_with(our_volumes)) {
        add_field(volumes_, volume_.name);
        add_field(volumes_, volume_.secret);
    }
}

void content_reader::text(node n, std::string_view value) {
    switch (n) {
        case container_name:
            containers_.back().name = value;
            break;
        case container_image:
            containers_.back().image = value;
            break;
        case command_word:
            add_field(containers_.back().command, value, longest);
            break;
        case args_word:
            add_field(containers_.back().args, value, longest);
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
        containers_.back().privileged = value;
    }
}

std::uint64_t content_reader::finish(std::string_view training) const {
    content_hash hash;
    hash.field(account_).field(subdomain_).number(host_namespaces_).field(volumes_);
    for (const container& c : containers_) {
        if (c.name == training) {
            hash.field(c.image).field(c.command).field(c.args).field(c.mounts);
            hash.number(c.privileged ? 1 : 0);
        }
    }
    return std::max<std::uint64_t>(hash.value(), 1);
}

}  // namespace signalbox::core::observe::pod
