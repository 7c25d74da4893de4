// SPDX-License-Identifier: Apache-2.0
#include "cli/election.hpp"

#include "manifests/duration.hpp"

#include <fmt/format.h>

#include <chrono>

namespace signalbox::op::cli {

namespace {

struct duration_flag {
    const char* name;
    const std::string election_options::*text;
    std::chrono::seconds k8sio::leader_election_options::*value;
};

constexpr duration_flag duration_flags[] = {
    {"--leader-elect-lease-duration",
     &election_options::lease_duration,
     &k8sio::leader_election_options::lease_duration},
    {"--leader-elect-renew-deadline",
     &election_options::renew_deadline,
     &k8sio::leader_election_options::renew_deadline},
    {"--leader-elect-retry-period",
     &election_options::retry_period,
     &k8sio::leader_election_options::retry_period},
};

/// The Lease has its duration in whole seconds.
std::optional<std::chrono::seconds> whole_seconds(const std::string& text) {
    const auto parsed = parse_duration(text);
    if (!parsed || *parsed == never || *parsed % std::chrono::seconds{1} != duration::zero()) {
        return std::nullopt;
    }
    return std::chrono::duration_cast<std::chrono::seconds>(*parsed);
}

}  // namespace

std::optional<std::string> read_election(
    const election_options& flags, const std::string& own_ns, k8sio::leader_election_options& out
) {
    for (const duration_flag& flag : duration_flags) {
        const std::string& text = flags.*flag.text;
        const auto value = whole_seconds(text);
        if (!value) {
            return fmt::format(
                "{}: `{}` is no duration of whole seconds such as 15s", flag.name, text
            );
        }
        out.*flag.value = *value;
    }
    out.name = flags.name;
    out.ns = flags.ns.empty() ? own_ns : flags.ns;
    if (out.ns.empty()) {
        // Replicas that guess different ones would all lead.
        return "--leader-elect-resource-namespace is needed outside of a pod";
    }
    return std::nullopt;
}

}  // namespace signalbox::op::cli
