// SPDX-License-Identifier: Apache-2.0
#include "json/job_meta.hpp"

#include "jobcore/time.hpp"
#include "kubernetes/forms.hpp"

#include <algorithm>

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

constexpr std::size_t most_scheduler_name = 63;

/// Names of fields.
constexpr bool is_of_field(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

asked_scheduler read_asked_scheduler(const value* spec) {
    asked_scheduler out;
    const value* scheduler = spec == nullptr ? nullptr : find(*spec, "scheduler");
    if (scheduler == nullptr || !scheduler->IsObject()) {
        return out;
    }
    for (const auto& [name, asked] : scheduler->GetObject()) {
        if (asked.IsObject()) {
            out.name = view(name);
            out.queue = out.is_kueue() ? string_or_empty(asked, "queueName") : "";
            break;
        }
    }
    return out;
}

std::string_view recorded_queue(const value& status) {
    const std::string_view text = string_or_empty(status, "queue");
    return is_queue_name(text) ? text : std::string_view();
}

bool is_queue_name(std::string_view text) {
    return !text.empty() && kubernetes::dns_subdomain(text).empty();
}

std::string_view recorded_scheduler(const value& status) {
    const std::string_view text = string_or_empty(status, "scheduler");
    const bool is_name =
        text.size() <= most_scheduler_name && std::ranges::all_of(text, is_of_field);
    return is_name ? text : std::string_view();
}

std::string_view queue_in_force(
    std::string_view label, bool has_begun, std::string_view recorded, const asked_scheduler& asked
) {
    if (!has_begun) {
        return label;
    }
    return asked.leaves_queue_open() || recorded == asked.queue ? recorded : std::string_view();
}

std::string_view scheduler_in_force(
    bool has_begun, std::string_view recorded, const asked_scheduler& asked
) {
    return has_begun && asked.is_open() ? recorded : std::string_view();
}

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
