// SPDX-License-Identifier: Apache-2.0
//
// Files that a kubelet writes for every pod: /etc/hosts, /etc/hostname, /etc/resolv.conf, and the
// line of /etc/passwd for a user whom the image does not know. Pure.
#pragma once

#include "kubelet/pod/pod_spec.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::kubelet {

/// Without a network of its own a pod has the names of its node, `of_node`, and the aliases.
std::string hosts_file(const pod_spec& pod, std::string_view address, std::string_view of_node);

/// What the UTS namespace gets: with `setHostnameAsFQDN` the full name.
std::string kernel_host_name(const pod_spec& pod);

/// By `dnsPolicy` and `dnsConfig`. `of_node`: the machine's own file, for `Default` and for
/// `ClusterFirst` on the node's network.
std::string resolver_file(
    const pod_spec& pod, std::string_view name_server, std::string_view of_node
);

/// Lines of a file such as `passwd` or `group`, each as its fields.
std::vector<std::vector<std::string>> account_lines(std::string_view file);

/// Home of a user by `passwd`; `/` if it has no entry.
std::string home_of(std::string_view passwd, std::int64_t user);

/// `passwd` with an entry for `user`; nothing if it has one.
std::optional<std::string> with_user(
    std::string_view passwd, std::int64_t user, std::optional<std::int64_t> group
);

}  // namespace signalbox::op::kubelet
