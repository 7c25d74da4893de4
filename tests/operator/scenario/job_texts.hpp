// SPDX-License-Identifier: Apache-2.0
//
// Jobs of the kinds that run an ssh launcher, as their users write them.
#pragma once

#include <string>

namespace signalbox::test {

namespace detail {

inline std::string job_text(
    const std::string& kind, const std::string& name, const std::string& spec
) {
    return R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":")" + kind +
           R"(","metadata":{"name":")" + name + R"(","namespace":"default"},"spec":{)" + spec +
           "}}";
}

inline constexpr const char* worker_template =
    R"("template":{"spec":{"containers":[{"name":"worker","image":"train:1"}]}})";

}  // namespace detail

/// A DeepSpeedJob that runs `train.py`; `more`: further members of the spec, e.g. `"elastic":{}`.
inline std::string deepspeed(const std::string& name, int workers, const std::string& more = {}) {
    return detail::job_text(
        "DeepSpeedJob",
        name,
        R"("config":{"run":{"python":["train.py"]}},"worker":{"replicas":)" +
            std::to_string(workers) + "," + detail::worker_template + "}" +
            (more.empty() ? "" : "," + more)
    );
}

/// A ColossalAIJob of the first shape that runs `train.py`.
inline std::string colossalai(const std::string& name, int workers, const std::string& more = {}) {
    return detail::job_text(
        "ColossalAIJob",
        name,
        R"("worker":{"command":["train.py"],"replicas":)" + std::to_string(workers) + "," +
            detail::worker_template + "}" + (more.empty() ? "" : "," + more)
    );
}

}  // namespace signalbox::test
