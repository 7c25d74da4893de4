// SPDX-License-Identifier: Apache-2.0
//
// Actions in words and as objects.
#include "engine/facts/inputs.hpp"
#include "engine/facts/ledger.hpp"

namespace signalbox::core {

std::string_view to_string(verb v) {
    switch (v) {
        case verb::create:
            return "create";
        case verb::patch:
            return "patch";
        case verb::remove:
            return "delete";
        case verb::confirm:
            return "confirm";
    }
    return "";
}

std::string render_action(const job_object& job, const action& a) {
    if (!job.compiled || !job.compiled->plan) {
        return {};
    }
    const job_plan& plan = *job.compiled->plan;
    const auto wanted = engine::wanted_in_force(job.status, plan);
    const render_options options{engine::is_resumed(job.status), wanted};
    if (a.kind == object_kind::pod) {
        return render_pod(plan, a.pod, options);
    }
    const planned_object* object = find_object(plan, a.object);
    return object == nullptr ? std::string{} : render_object(plan, *object, a.pod.attempt, options);
}

}  // namespace signalbox::core
