// SPDX-License-Identifier: Apache-2.0
//
// Whether the operator lives, and whether it is ready. It does not live if only a new process could
// help; an API server that is away, or a permission that is missing, makes it unready.
#pragma once

#include "controller/run.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op {

/// One line of an answer.
struct health_check {
    std::string name;
    std::string problem;  ///< empty: all is well
};

class health {
public:
    /// Passes that are under way, or could be, without any sign of work for so long hang, and so
    /// does a watch without a step. Requests end after 30 s, and bookmarks come every minute.
    static constexpr std::chrono::nanoseconds patience = std::chrono::minutes{5};

    /// `last_sign`: when a pass began or ended, or a request was answered or given up.
    health(running_operator of, std::function<k8sio::steady_time()> last_sign);

    /// Looks at what moves. To be called now and then, also if no one asks.
    void look();
    std::vector<health_check> liveness() const;
    std::vector<health_check> readiness() const;
    void stopping() { stopping_ = true; }

private:
    struct progress {
        std::uint64_t steps = 0;
        k8sio::steady_time since;
    };

    running_operator of_;
    std::function<k8sio::steady_time()> last_sign_;
    std::map<std::string, progress> views_;
    k8sio::steady_time idle_at_;  ///< when there was last nothing to do
    bool stopping_ = false;
};

/// The answer to `/livez`, `/readyz` and what is below them, as kube-apiserver gives it: status and
/// text. `only`: the name of one check, or empty. `query` may have `verbose` and `exclude=NAME`.
struct health_answer {
    unsigned status = 200;
    std::string text;
};
health_answer answer_health(
    std::string_view endpoint,
    std::string_view only,
    std::string_view query,
    const std::vector<health_check>& checks
);

}  // namespace signalbox::op
