// SPDX-License-Identifier: Apache-2.0
//
// Scenario files: which simulated pod does what. README.md describes the format.
#pragma once

#include "pods/behaviour.hpp"
#include "pods/pod_facts.hpp"

#include <jobcore/status.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::op::pods {

using settings = std::vector<std::pair<std::string, std::string>>;

/// A pod is matched if it satisfies everything that is set.
struct rule {
    std::string job;   ///< glob over the job's name
    std::string ns;    ///< glob over the namespace
    std::string type;  ///< glob over the replica type
    std::string pod;   ///< glob over the pod's name
    std::optional<core::index_set> index, attempt, round;
    std::optional<core::index_set> nth;  ///< which pod of its index, from 1
    settings does;

    bool matches(const pod_facts& of, std::int32_t nth_pod) const;
};

struct scenario {
    settings defaults;
    std::vector<rule> rules;
};

/// Reads a scenario. On failure `error` says what is wrong, as `file:line:column: message`.
std::optional<scenario> read_scenario(
    std::string_view text, const std::string& file, std::string& error
);

/// What a pod does: built-in defaults, then the scenario's, then every rule that matches it, in
/// order, then its annotations; later settings win. Settings that make no sense are reported in
/// `problem` and left out.
behaviour behaviour_of(
    const pod_facts& pod, std::int32_t nth, const scenario& from, std::string& problem
);

}  // namespace signalbox::op::pods
