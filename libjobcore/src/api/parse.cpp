// SPDX-License-Identifier: Apache-2.0
//
// From the text of a job object to its typed specification and all findings.
#include "api/annotations.hpp"
#include "api/kinds.hpp"
#include "api/object.hpp"
#include "api/text.hpp"
#include "jobcore/schema.hpp"

#include <fmt/format.h>

namespace signalbox::core {
namespace {

using namespace schema;

std::optional<instant> time_of(const json::value& metadata, std::string_view key) {
    return parse_time(json::string_or_empty(metadata, key));
}

void read_annotations(const json::value& metadata, job_meta& meta) {
    const json::value* annotations = json::find(metadata, "annotations");
    if (annotations == nullptr || !annotations->IsObject()) {
        return;
    }
    for (const auto& [name, value] : annotations->GetObject()) {
        if (is_ours(json::view(name)) && value.IsString()) {
            meta.annotations.insert_or_assign(
                std::string(json::view(name)), std::string(json::view(value))
            );
        }
    }
}

job_meta read_meta(job_kind kind, const node& metadata) {
    job_meta meta;
    meta.kind = kind;
    if (!metadata.present()) {
        return meta;
    }
    const json::value& m = *metadata.value;
    meta.name = json::string_or_empty(m, "name");
    meta.ns = json::string_or_empty(m, "namespace");
    meta.uid = json::string_or_empty(m, "uid");
    meta.resource_version = json::string_or_empty(m, "resourceVersion");
    const json::value* generation = json::find(m, "generation");
    meta.generation = generation != nullptr && generation->IsInt64() ? generation->GetInt64() : 0;
    meta.creation_time = time_of(m, "creationTimestamp");
    meta.deletion_time = time_of(m, "deletionTimestamp");
    read_annotations(m, meta);
    return meta;
}

void check_meta(
    const node& metadata, std::span<const name_need> needs, findings_collector& findings
) {
    if (!metadata.present()) {
        return;
    }
    for (const std::string_view key : {"name", "generateName", "namespace"}) {
        const json::value* value = json::find(*metadata.value, key);
        if (value != nullptr && !value->IsString()) {
            findings.error(
                metadata.order,
                child_pointer(metadata.pointer, key),
                fmt::format("`metadata.{}` must be a string, not {}", key, describe(*value))
            );
            return;
        }
    }
    const std::string_view name = json::string_or_empty(*metadata.value, "name");
    if (!name.empty()) {
        check_name(metadata, name, needs, findings);
    } else if (json::string_or_empty(*metadata.value, "generateName").empty()) {
        // generateName is checked once the server has completed the name (api.md 6.3).
        findings.error(
            metadata.order,
            child_pointer(metadata.pointer, "name"),
            "`metadata.name` is missing, and so is `metadata.generateName`"
        );
    }
}

}  // namespace

parsed_job parse_job(std::string_view object_json) {
    parsed_job parsed;
    findings_collector findings;
    const job_document object(object_json, findings);
    if (!object.kind()) {
        parsed.findings = findings.take();
        return parsed;
    }
    const kind_schema& kind = schema_of(*object.kind());
    parsed.meta = read_meta(kind.kind, object["metadata"]);
    const node& spec = object["spec"];
    if (spec.present()) {
        kind.check(spec, findings);
    }
    check_meta(object["metadata"], kind.name_needs(spec), findings);
    check_annotations(object["metadata"], findings);
    parsed.findings = findings.take();
    if (!has_errors(parsed.findings)) {
        parsed.spec = kind.bind(spec);
    }
    return parsed;
}

}  // namespace signalbox::core
