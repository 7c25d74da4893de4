// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/security_context.hpp"

#include <fmt/format.h>
#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace signalbox::op::kubelet {

namespace {

using pods::flag;
using pods::json_value;
using pods::member;
using pods::text;
using pods::whole_number;

constexpr std::string_view all = "ALL";

/// By their numbers, without `CAP_`.
constexpr std::array<std::string_view, CAP_LAST_CAP + 1> capability_names{
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE"};

constexpr std::uint64_t bit(int capability) {
    return std::uint64_t{1} << static_cast<unsigned>(capability);
}

/// What a container may have: what it has without asking, and what reaches no further than its own
/// processes, network and memory. With any other one root in a container could do to the machine
/// what root there can.
constexpr std::uint64_t given = usual_rights | bit(CAP_IPC_LOCK) | bit(CAP_IPC_OWNER) |
                                bit(CAP_LEASE) | bit(CAP_NET_BROADCAST) | bit(CAP_SYS_NICE) |
                                bit(CAP_SYS_PTRACE) | bit(CAP_SYS_RESOURCE);

/// 0 if there is none of that name.
std::uint64_t capability_named(std::string_view name) {
    if (name.starts_with("CAP_")) {
        name.remove_prefix(4);
    }
    const auto found = std::ranges::find(capability_names, name);
    return found == capability_names.end()
               ? 0
               : bit(static_cast<int>(found - capability_names.begin()));
}

/// As containerd reads them: ALL first, then single ones, and what is dropped last.
void read_capabilities(const json_value& from, security& out) {
    const std::vector<std::string> added = pods::texts(member(from, "add"));
    const std::vector<std::string> dropped = pods::texts(member(from, "drop"));
    const auto has_all = [](const auto& list) {
        return std::ranges::find(list, all) != list.end();
    };
    std::uint64_t result = has_all(dropped) ? 0 : has_all(added) ? given : usual_rights;
    for (const std::string& name : added) {
        const std::uint64_t one = capability_named(name);
        if (name == all || one == 0 || (one & given) == 0) {
            out.unmet.push_back("capabilities.add " + name);
        }
        result |= one & given;
    }
    for (const std::string& name : dropped) {
        result &= ~capability_named(name);
    }
    out.capabilities = result;
}

/// One of the node's own files is not known here.
void read_call_profile(const json_value& from, security& out) {
    const std::string_view type = text(member(from, "seccompProfile"), "type");
    if (!type.empty()) {
        out.bounded_calls = type == "RuntimeDefault";
    }
    if (type == "Localhost") {
        out.unmet.emplace_back("seccompProfile Localhost");
    }
}

void read_armor_profile(const json_value& from, security& out) {
    const std::string_view type = text(member(from, "appArmorProfile"), "type");
    if (!type.empty() && type != "Unconfined") {
        out.unmet.push_back(fmt::format("appArmorProfile {}", type));
    }
}

}  // namespace

security read_security(const json_value& from, const security& otherwise) {
    security out = otherwise;
    out.unmet.clear();
    out.capabilities = usual_rights;
    if (const auto user = whole_number(from, "runAsUser")) {
        out.user = user;
    }
    if (const auto group = whole_number(from, "runAsGroup")) {
        out.group = group;
    }
    out.non_root = flag(from, "runAsNonRoot", out.non_root);
    out.read_only_root = flag(from, "readOnlyRootFilesystem");
    out.may_gain = flag(from, "allowPrivilegeEscalation", true);
    read_capabilities(member(from, "capabilities"), out);
    if (flag(from, "privileged")) {
        out.unmet.emplace_back("privileged");
    }
    read_call_profile(from, out);
    read_armor_profile(from, out);
    if (member(from, "seLinuxOptions").IsObject()) {
        out.unmet.emplace_back("seLinuxOptions");
    }
    if (text(from, "procMount") == "Unmasked") {
        out.unmet.emplace_back("procMount Unmasked");
    }
    pods::for_each(member(from, "sysctls"), [&](const json_value& each) {
        out.unmet.push_back(fmt::format("sysctl {}", text(each, "name")));
    });
    return out;
}

std::vector<std::string> unmet_sharing(const json_value& spec) {
    std::vector<std::string> out;
    for (const char* key : {"hostPID", "hostIPC", "shareProcessNamespace"}) {
        if (flag(spec, key)) {
            out.emplace_back(key);
        }
    }
    return out;
}

std::string unmet_text(const pod_spec& pod) {
    std::string list;
    const auto add = [&list](const std::vector<std::string>& unmet, const std::string& of) {
        if (!unmet.empty()) {
            list += fmt::format("{}{} of {}", list.empty() ? "" : "; ", fmt::join(unmet, ", "), of);
        }
    };
    add(pod.rights.unmet, "the pod");
    for (const container_spec& c : pod.containers) {
        add(c.rights.unmet, "container " + c.name);
    }
    return list.empty() ? list : "pods that are processes of this machine do without: " + list;
}

}  // namespace signalbox::op::kubelet
