// SPDX-License-Identifier: Apache-2.0
#include "extension/process_job.hpp"
#include "launch/type_pods.hpp"

namespace signalbox::core::launch {

void compile_process(compile_context& ctx) {
    plan_gang(ctx);
    plan_services(ctx, 0);
    const auto source = read_template(ctx, 0, {});
    if (!source) {
        return;
    }
    compile_variants(ctx, 0, [&](pod_variant v) {
        pod_editor pod(ctx, 0, v.deciding, source->document, source->training);
        pod.add_training_env(
            {{"PROCESS", {}, filling::rank}, {"PROCESSES", {}, filling::world_size}}
        );
        add_common_defaults(pod, ctx);
        return pod.build();
    });
}

}  // namespace signalbox::core::launch
