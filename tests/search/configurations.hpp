// SPDX-License-Identifier: Apache-2.0
//
// What is searched: a job, and the faults that may befall it.
#pragma once

#include "choices.hpp"
#include "property/draft.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::search {

/// A specification that the user may change the job to. The first of a configuration is the one
/// that the job is created with.
struct spec_edit {
    std::string_view name;
    void (*change)(test::draft& job);
};

struct configuration {
    std::string name;  ///< `<job>: <faults>`
    test::draft job;
    /// What the adversary may do. Each of them has to happen at least once, or the suite fails.
    std::vector<op> faults = {};
    /// Choices of the adversary in one run, at most. What happens by itself costs nothing.
    int depth = 2;
    std::vector<int> codes = {};      ///< of exits
    std::vector<int> sizes = {};      ///< of an elastic job
    std::vector<int> limits = {};     ///< of `backoffLimit`
    std::vector<int> deadlines = {};  ///< of `activeDeadlineSeconds`
    std::vector<spec_edit> specs = {};
    std::vector<int> skews = {};  ///< of the nodes' clocks, in seconds
    /// Failures of running pods are tried in one look and in several.
    bool grouping = false;
    bool serves_pod_group = true;
    bool serves_tensorboard = true;
    /// The process hears what training reports (BEHAVIOUR.md 13.7).
    bool reports = false;
    /// A job that is not elastic is created without its size (BEHAVIOUR.md 7.1).
    bool unnoted = false;
};

/// All of them; names are unique.
const std::vector<configuration>& all_configurations();
/// Those in which somebody damages something by hand: a part of all (configurations_damage.cpp).
std::vector<configuration> damage_configurations();
/// Those of schedulers that answer: a part of all (configurations_gang.cpp).
std::vector<configuration> gang_configurations();
/// Null if there is none of that name.
const configuration* find_configuration(std::string_view name);

}  // namespace signalbox::search
