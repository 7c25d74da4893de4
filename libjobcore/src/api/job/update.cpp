// SPDX-License-Identifier: Apache-2.0
//
// What an update may change (BEHAVIOUR.md api 7).
#include "api/job/edits.hpp"
#include "api/job/kinds.hpp"
#include "api/job/object.hpp"
#include "jobcore/schema.hpp"

#include <fmt/format.h>

namespace signalbox::core {

using namespace schema;

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
        findings.error(
            place.order,
            place.pointer,
            unit.when == change::never
                ? fmt::format("`{}` cannot be changed", dotted(unit.path))
                : fmt::format("`{}` can be changed only while the job is paused", dotted(unit.path))
        );
    }
    return findings.take();
}

}  // namespace signalbox::core
