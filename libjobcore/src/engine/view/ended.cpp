// SPDX-License-Identifier: Apache-2.0
#include "engine/view/ended.hpp"

#include "engine/facts/pod_facts.hpp"
#include "engine/facts/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace signalbox::core::engine {
namespace {

/// Empty for a type that the plan does not know.
std::string_view training_container_of(const job_plan& plan, const pod_record& pod) {
    const auto type = std::ranges::find(plan.types, pod.type, &type_plan::name);
    return type == plan.types.end() ? std::string_view()
                                    : std::string_view(type->training_container);
}

struct left_workers {
    std::int32_t pods = 0;
    std::map<std::string, std::int64_t> held{};

    std::string resources() const {
        std::string text;
        for (const auto& [name, n] : held) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, name);
        }
        return text.empty() ? "CPUs and memory" : text;
    }
};

/// They end by nothing but a deletion.
left_workers find_left_workers(const context& c) {
    left_workers out;
    for_each_replica(c.view, [&](std::size_t type, std::int32_t index, const replica_view& s) {
        const type_plan& plan = c.in.plan.types[type];
        if (!plan.serves(index) || s.current == nullptr || s.current->deletion ||
            has_ended(c.in, *s.current)) {
            return;
        }
        ++out.pods;
        for (const auto& [name, n] : plan.holds) {
            out.held[name] += n;
        }
    });
    return out;
}

}  // namespace

bool has_ended(const inputs& in, const pod_record& pod) {
    return end_of(pod, training_container_of(in.plan, pod), in.now).has_value();
}

bool has_failed(const inputs& in, const pod_record& pod) {
    const auto end = end_of(pod, training_container_of(in.plan, pod), in.now);
    return end && !end->success();
}

bool has_started(const inputs& in, const pod_record& pod) {
    const container_record* c = training_container(pod, training_container_of(in.plan, pod));
    return c != nullptr && has_started(*c);
}

std::optional<std::string> describe_left_workers(const context& c) {
    const bool by_type = c.in.plan.scope == scope_rule::no_restart;
    const bool kept =
        by_type ? !c.in.plan.run.clean_up_workers : c.in.plan.run.clean_up == clean_up_policy::none;
    const left_workers left = kept && !says(c.status.reason, reason::deadline_exceeded)
                                  ? find_left_workers(c)
                                  : left_workers{};
    if (left.pods == 0) {
        return std::nullopt;
    }
    return fmt::format(
        "The pods that run sshd ({}) stay, because {}: they hold {} until that is changed or the "
        "job is deleted",
        left.pods,
        by_type ? "runPolicy.cleanUpWorkers is false" : "runPolicy.cleanUpPolicy is None",
        left.resources()
    );
}

}  // namespace signalbox::core::engine
