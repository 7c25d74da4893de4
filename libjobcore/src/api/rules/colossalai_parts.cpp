// SPDX-License-Identifier: Apache-2.0
#include "api/rules/colossalai_parts.hpp"

#include "api/tables/specs.hpp"

#include <fmt/format.h>

namespace signalbox::core::schema {
namespace {

/// The first entry of a type; nothing if there is none.
const node* entry_of(const node& entries, std::string_view type) {
    for (const node& entry : entries.items) {
        if (entry["type"].text() == type) {
            return &entry;
        }
    }
    return nullptr;
}

}  // namespace

colossalai_parts parts_of(const node& spec) {
    const node& worker = spec["worker"];
    const node& launcher = spec["launcher"];
    const node& config = spec["torchConfig"];
    const node& entries = spec["replicaSpecs"];
    colossalai_parts parts;
    parts.second =
        (is_written(config) || is_written(entries)) && !is_written(worker) && !is_written(launcher);
    if (parts.second) {
        parts.processes = &config["procPerWorker"];
        parts.command = &config["script"];
        parts.options = &config["extraArgs"];
        parts.worker = entry_of(entries, worker_type);
        parts.launcher = entry_of(entries, launcher_type);
    } else {
        parts.processes = &worker["procPerWorker"];
        parts.command = &worker["command"];
        parts.options = &worker["torchArgs"];
        parts.worker = &worker;
        parts.launcher = &launcher;
    }
    return parts;
}

node walk_launcher_template(const node& entry, findings_collector& findings) {
    const node& whole = entry["template"];
    if (!whole.present()) {
        node nothing;
        nothing.row = &launcher_template_field;
        return nothing;
    }
    std::size_t next_order = 0;
    findings_collector inner;
    node walked = walk(launcher_template_field, *whole.value, whole.pointer, next_order, inner);
    for (diagnostic& d : inner.take()) {
        if (d.level == severity::error) {
            findings.error(whole.order, std::move(d.pointer), std::move(d.message), d.reason);
        } else if (d.reason == unknown_field) {
            findings.warning(
                whole.order,
                std::move(d.pointer),
                "of the launcher's template only `image`, `workingDir`, `env` and `resources` of "
                "its container are used; this has no effect",
                field_ignored
            );
        } else {
            findings.warning(whole.order, std::move(d.pointer), std::move(d.message), d.reason);
        }
    }
    return walked;
}

const node* launcher_container(const node& walked_template) {
    if (!walked_template.present()) {
        return nullptr;
    }
    const node& containers = walked_template["spec"]["containers"];
    for (const node& container : containers.items) {
        if (container["name"].text() == launcher_type) {
            return &container;
        }
    }
    return containers.items.empty() ? nullptr : &containers.items.front();
}

}  // namespace signalbox::core::schema
