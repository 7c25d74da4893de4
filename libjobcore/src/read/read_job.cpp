// SPDX-License-Identifier: Apache-2.0
//
// A job object of the API server read into what decide() takes, compiled once per generation.
#include "jobcore/decide.hpp"
#include "jobcore/schema.hpp"
#include "json/job_meta.hpp"
#include "status/status_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::core {
namespace {

result<job_meta> read_meta(const json::value& object) {
    const std::string_view kind_text = json::string_or_empty(object, "kind");
    const auto kind = parse_job_kind(kind_text);
    const json::value* metadata = json::find(object, "metadata");
    if (!kind || json::string_or_empty(object, "apiVersion") != api_version) {
        return unexpected{fmt::format("`{}` is no kind of {}", kind_text, api_version)};
    }
    if (metadata == nullptr || !metadata->IsObject()) {
        return unexpected{"the object has no metadata"};
    }
    job_meta meta = json::read_job_meta(*kind, metadata);
    if (meta.name.empty() || meta.uid.empty()) {
        return unexpected{"the object has no metadata.name or metadata.uid"};
    }
    return meta;
}

/// Without `bare`.
std::shared_ptr<compiled_job> compile_spec(
    const job_meta& meta, const json::value& object, std::string_view text
) {
    auto compiled = std::make_shared<compiled_job>();
    compiled->uid = meta.uid;
    compiled->generation = meta.generation;
    compiled->annotations = meta.annotations;
    compiled->queue = meta.queue;
    compiled->scheduler = meta.scheduler;
    if (const json::value* spec = json::find(object, "spec"); spec != nullptr) {
        compiled->managed_by = json::string_or_empty(*spec, "managedBy");
    }
    parsed_job parsed = parse_job(text, meta.queue, meta.scheduler);
    compiled->fragments = parsed.fragments;
    compiled->findings = std::move(parsed.findings);
    const auto own = static_cast<std::ptrdiff_t>(compiled->findings.size());
    add_findings(compiled->findings, std::move(parsed.template_findings));
    // The server decides (BEHAVIOUR.md api 6.6). Not before: what is an error already is told.
    std::for_each(compiled->findings.begin() + own, compiled->findings.end(), [](diagnostic& d) {
        d.level = severity::warning;
    });
    if (!parsed.spec) {
        return compiled;
    }
    job_plan plan = compile_plan(meta, *parsed.spec, compiled->findings);
    if (has_errors(compiled->findings)) {
        return compiled;
    }
    compiled->findings.insert(compiled->findings.end(), plan.warnings.begin(), plan.warnings.end());
    compiled->spec = std::move(parsed.spec);
    for (replica_spec& replica : compiled->spec->replicas) {
        // The plan has it prepared. An assignment would keep its room.
        std::string().swap(replica.pod_template);
    }
    compiled->marks = parsed.marks;
    compiled->plan = std::move(plan);
    return compiled;
}

std::shared_ptr<compiled_job> compile_job(
    const job_meta& meta, const json::value& object, std::string_view text
) {
    auto compiled = compile_spec(meta, object, text);
    if (!compiled->plan) {
        compiled->bare = std::make_shared<const job_plan>(bare_plan(meta));
    }
    return compiled;
}

/// The operator corrects that number by itself (BEHAVIOUR.md 7.1): after an edit of `replicas` it
/// is its own.
bool is_of_size(const diagnostic& d) {
    return d.pointer == "/spec/elastic/expectedReplicas" && d.reason == "FieldIgnored";
}

/// When each warning came, given what the specification before had.
void date_warnings(compiled_job& compiled, const compiled_job* previous) {
    if (!compiled.plan) {
        compiled.warnings =
            previous == nullptr ? decltype(compiled.warnings)() : previous->warnings;
        return;
    }
    for (const diagnostic& d : compiled.findings) {
        if (d.level != severity::warning || is_of_size(d)) {
            continue;
        }
        dated_warning dated{d, previous == nullptr ? 0 : compiled.generation};
        if (previous != nullptr) {
            const auto before = std::ranges::find(previous->warnings, d, &dated_warning::what);
            dated.since = before == previous->warnings.end() ? dated.since : before->since;
        }
        compiled.warnings.push_back(std::move(dated));
    }
}

/// Annotations of ours change what is built without a new generation; a server that was restored
/// from a backup gives the same generation to another specification.
bool is_same_spec(const compiled_job& compiled, const job_meta& meta, std::uint64_t spec_hash) {
    return compiled.uid == meta.uid && compiled.generation == meta.generation &&
           compiled.spec_hash == spec_hash && compiled.annotations == meta.annotations &&
           compiled.queue == meta.queue && compiled.scheduler == meta.scheduler;
}

/// All but the specification. `held`: the status that the job has, whatever the text says; null:
/// that of the text.
result<job_object> read_head(
    json::document& document,
    std::string_view object_json,
    const job_status* held,
    std::uint64_t& spec_hash
) {
    json::parse(document, object_json);
    if (document.HasParseError() || !document.IsObject()) {
        return unexpected{"the object is no JSON object"};
    }
    auto meta = read_meta(document);
    if (!meta) {
        return unexpected{meta.error()};
    }
    job_object job;
    if (held != nullptr) {
        job.status = *held;
    } else if (const json::value* status = json::find(document, "status")) {
        job.status = read_status(*status);
    }
    meta->begun = job.status.attempt > 0;
    const bool has_begun = meta->begun && job.status.phase != job_phase::paused;
    const json::value* const spec = json::find(document, "spec");
    const json::asked_scheduler asked = json::read_asked_scheduler(spec);
    meta->queue = json::queue_in_force(meta->queue_label, has_begun, job.status.queue, asked);
    meta->scheduler = json::scheduler_in_force(has_begun, job.status.scheduler, asked);
    if (spec != nullptr) {
        const json::measured size = json::measure(*spec);
        job.spec_bytes = size.bytes;
        spec_hash = size.hash;
    }
    job.meta = std::move(*meta);
    return job;
}

result<job_object> read(
    std::string_view object_json,
    const std::shared_ptr<const compiled_job>& previous,
    const job_status* held
) {
    json::document document;
    std::uint64_t spec_hash = 0;
    auto head = read_head(document, object_json, held, spec_hash);
    if (!head) {
        return head;
    }
    job_object& job = *head;
    if (previous && is_same_spec(*previous, job.meta, spec_hash)) {
        job.compiled = previous;
    } else {
        const auto compiled = compile_job(job.meta, document, object_json);
        compiled->spec_hash = spec_hash;
        const bool known = previous && previous->uid == job.meta.uid;
        compiled->forbidden_edit = known && previous->spec && compiled->spec &&
                                   is_forbidden_edit(previous->marks, compiled->marks);
        date_warnings(*compiled, known ? previous.get() : nullptr);
        job.compiled = compiled;
    }
    return head;
}

}  // namespace

result<job_object> read_job_head(std::string_view object_json) {
    json::document document;
    std::uint64_t spec_hash = 0;
    return read_head(document, object_json, nullptr, spec_hash);
}

result<job_object> read_job(
    std::string_view object_json, const std::shared_ptr<const compiled_job>& previous
) {
    return read(object_json, previous, nullptr);
}

result<job_object> read_again(std::string_view object_json, const job_object& held) {
    auto job = read(object_json, held.compiled, &held.status);
    if (job && job->meta.uid != held.meta.uid) {
        return unexpected{"the text is of another job: it has another UID"};
    }
    return job;
}

}  // namespace signalbox::core
