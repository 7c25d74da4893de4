// SPDX-License-Identifier: Apache-2.0
#include "json/job_meta.hpp"

#include "jobcore/time.hpp"

namespace signalbox::core::json {
namespace {

void read_annotations(const value& metadata, job_meta& meta) {
    const value* annotations = find(metadata, "annotations");
    if (annotations == nullptr || !annotations->IsObject()) {
        return;
    }
    for (const auto& [name, text] : annotations->GetObject()) {
        if (view(name).starts_with(our_prefix) && text.IsString()) {
            meta.annotations.insert_or_assign(std::string(view(name)), std::string(view(text)));
        }
    }
}

void read_finalizers(const value& metadata, job_meta& meta) {
    const value* finalizers = find(metadata, "finalizers");
    if (finalizers == nullptr || !finalizers->IsArray()) {
        return;
    }
    for (const value& name : finalizers->GetArray()) {
        if (name.IsString()) {
            meta.finalizers.emplace_back(view(name));
        }
    }
}

}  // namespace

job_meta read_job_meta(job_kind kind, const value* metadata) {
    job_meta meta;
    meta.kind = kind;
    if (metadata == nullptr) {
        return meta;
    }
    meta.name = string_or_empty(*metadata, "name");
    meta.ns = string_or_empty(*metadata, "namespace");
    meta.uid = string_or_empty(*metadata, "uid");
    meta.resource_version = string_or_empty(*metadata, "resourceVersion");
    const value* generation = find(*metadata, "generation");
    meta.generation = generation != nullptr && generation->IsInt64() ? generation->GetInt64() : 0;
    meta.creation_time = parse_time(string_or_empty(*metadata, "creationTimestamp"));
    meta.deletion_time = parse_time(string_or_empty(*metadata, "deletionTimestamp"));
    read_annotations(*metadata, meta);
    read_finalizers(*metadata, meta);
    if (const value* labels = find(*metadata, "labels")) {
        meta.queue = meta.queue_label = string_or_empty(*labels, queue_label);
    }
    return meta;
}

}  // namespace signalbox::core::json
