// SPDX-License-Identifier: Apache-2.0
//
// A paused job keeps nothing that runs (BEHAVIOUR.md 6.1).
#include "engine/work/parts.hpp"

#include <algorithm>

namespace signalbox::core::engine {

void remove_for_pause(const context& c, work& out) {
    const std::vector<const pod_record*> surplus = surplus_pods(c);
    stage first;
    stage others;
    for (const pod_record* pod : c.in.seen.pods) {
        if (c.in.owns(*pod) && !pod->deletion) {
            stage& pods = std::ranges::binary_search(surplus, pod) ? first : others;
            pods.push_back(remove_pod(*pod, "the job is paused", "behaviour 6.1"));
        }
    }
    for (stage* pods : {&first, &others}) {
        std::ranges::sort(*pods, {}, &action::name);
        out.add(std::move(*pods));
    }

    // What lives only as long as pods do.
    stage objects;
    for (const child_record* child : c.in.seen.children) {
        const bool goes = (child->kind->use == kind_use::gang && !keeps_quota(c, *child, out)) ||
                          (child->kind == object_kind::config_map && c.in.seen.pods.empty());
        if (goes && c.in.owns(*child) && !child->deleting) {
            objects.push_back(remove_child(*child, "the job is paused", "behaviour 6.1"));
        }
    }
    std::ranges::sort(objects, {}, [](const action& a) { return std::pair(a.name, a.kind); });
    out.add(std::move(objects));
}

}  // namespace signalbox::core::engine
