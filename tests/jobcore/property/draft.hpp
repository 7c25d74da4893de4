// SPDX-License-Identifier: Apache-2.0
//
// A job of any kind as generated tests draw and edit it, and its JSON.
#pragma once

#include "jobcore/spec.hpp"
#include "property/dice.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::test {

struct draft {
    struct replica_type {
        std::string name;
        int replicas = 1;
        std::string restart;  ///< empty: the kind has no policy, or its default
        int weight = 1;
    };
    struct elastic_range {
        int min = 1;
        int max = 1;
        std::optional<int> expected;
    };

    core::job_kind kind = core::job_kind::pytorch;
    std::string name = "mnist";
    std::int64_t generation = 1;
    std::map<std::string, std::string> annotations;
    std::map<std::string, std::string> labels{};
    std::map<std::string, std::string> run_policy;  ///< member to JSON value
    std::vector<replica_type> types;                ///< ColossalAIJob: the workers alone
    std::string rdzv_backend;                       ///< PyTorch: empty for plain mode
    int max_restarts = 0;
    std::optional<elastic_range> elastic;
    std::optional<int> noted;  ///< `expectedReplicas` of a job that is not elastic
    bool gang = false;
    std::string scheduler = R"({"t9kScheduler":{"queue":"q","priority":5}})";  ///< of the gang
    bool tensorboard = false;
    bool debug = false;
    bool pause = false;
    bool resume_specs = false;
    std::string config = R"({"run":{"python":["train.py"]}})";  ///< DeepSpeed
    bool broken = false;  ///< somebody got an invalid edit past the rules

    std::string json() const;
    /// Members of `runPolicy` that count failures; what the kind takes if it is absent.
    int backoff_limit() const;
};

/// A valid job with any combination of what decisions depend on.
draft draw_job(dice& d);

}  // namespace signalbox::test
