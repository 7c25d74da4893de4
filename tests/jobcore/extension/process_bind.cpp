// SPDX-License-Identifier: Apache-2.0
#include "api/bind/bind.hpp"
#include "extension/process_job.hpp"

namespace signalbox::core::schema {

void check_process(const node& spec, findings_collector& findings) {
    check_template(spec["process"]["template"], {}, findings);
}

std::vector<name_need> process_name_needs(const node& spec) {
    const node& process = spec["process"];
    return {{"process", process.broken() ? 1 : process["replicas"].integer().value_or(1)}};
}

std::optional<std::int64_t> process_size(const node& spec) {
    const node& process = spec["process"];
    const bool known = !spec["elastic"]["enabled"].flag() && process.present();
    return known ? process["replicas"].integer() : std::nullopt;
}

job_spec bind_process(const node& spec) {
    job_spec bound = bind_shared(spec);
    bind_restarts(spec, bound);
    const node& process = spec["process"];
    bound.replicas.push_back({
        .type = "process",
        .replicas = process["replicas"].int32(),
        .restart = *bind_choice<restart_policy>(process["restartPolicy"]),
        .pod_template = bind_json(process["template"]),
        .pointer = process.pointer,
    });
    return bound;
}

}  // namespace signalbox::core::schema
