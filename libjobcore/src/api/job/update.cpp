// SPDX-License-Identifier: Apache-2.0
//
// What an update may change (BEHAVIOUR.md api 7).
#include "api/job/edits.hpp"
#include "api/job/kinds.hpp"
#include "api/job/object.hpp"
#include "jobcore/schema.hpp"

#include <cstdint>
#include <optional>

namespace signalbox::core {

using namespace schema;

namespace {

/// The size of a job that is not elastic is changed by `replicas` alone (BEHAVIOUR.md api 7.1).
void check_size(
    const kind_schema& kind,
    const node& old_spec,
    const node& new_spec,
    findings_collector& findings
) {
    const std::optional<std::int64_t> size = kind.size(new_spec);
    const node* elastic = new_spec.find("elastic");
    if (!size || elastic == nullptr) {
        return;
    }
    const node& noted = (*elastic)["expectedReplicas"];
    const auto before = old_spec["elastic"]["expectedReplicas"].integer();
    if (!noted.present() || noted.integer() == before || noted.integer() == size) {
        return;
    }
    findings.error(noted.order, noted.pointer, size_message(kind.size_words));
}

}  // namespace

std::vector<diagnostic> validate_update(std::string_view before, std::string_view after) {
    findings_collector ignored;
    findings_collector findings;
    const job_document old_object(before, ignored);
    const job_document new_object(after, ignored);
    const auto kind = old_object.kind();
    if (!kind || new_object.kind() != kind) {
        return {};
    }
    const node& old_spec = old_object["spec"];
    const node& new_spec = new_object["spec"];
    const bool paused = old_spec["runMode"]["pause"]["enabled"].flag();
    for (const change_unit& unit : change_units(*schema_of(*kind).spec)) {
        const bool allowed = unit.when != change::never && paused;
        if (allowed || effective_text(old_spec, unit) == effective_text(new_spec, unit)) {
            continue;
        }
        const node& place = deciding(new_spec, unit);
        findings.error(place.order, place.pointer, change_message(unit));
    }
    check_size(schema_of(*kind), old_spec, new_spec, findings);
    return findings.take();
}

}  // namespace signalbox::core
