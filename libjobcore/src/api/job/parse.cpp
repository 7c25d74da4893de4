// SPDX-License-Identifier: Apache-2.0
//
// From the text of a job object to its typed specification and all findings.
#include "api/bind/bind.hpp"
#include "api/job/edits.hpp"
#include "api/job/kinds.hpp"
#include "api/job/object.hpp"
#include "api/rules/annotations.hpp"
#include "api/rules/queue.hpp"
#include "api/walk/text.hpp"
#include "jobcore/schema.hpp"
#include "json/job_meta.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace signalbox::core {
namespace {

using namespace schema;

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
        // generateName is checked once the server has completed the name (BEHAVIOUR.md api 6.3).
        findings.error(
            metadata.order,
            child_pointer(metadata.pointer, "name"),
            "`metadata.name` is missing, and so is `metadata.generateName`"
        );
    }
}

constexpr auto endless = std::numeric_limits<std::int32_t>::max();

using restarts = std::vector<spec_fragments::restart>;

void add_restarts(const node& replica, std::string type, restarts& out) {
    const node* policy = replica.find("restartPolicy");
    if (policy != nullptr && policy->present()) {
        out.push_back({std::move(type), *bind_choice<restart_policy>(*policy)});
    }
}

/// Of the kinds that restart.
restarts restarts_of(const node& spec) {
    restarts out;
    if (const node* worker = spec.find("worker")) {
        add_restarts(*worker, "worker", out);
    }
    if (const node* replicas = spec.find("replicaSpecs")) {
        for (const node& replica : replicas->items) {
            const node* type = replica.find("type");
            add_restarts(replica, type == nullptr ? std::string() : type->text(), out);
        }
    }
    return out;
}

bool is_sound(const node& n) {
    return !n.broken() && std::ranges::all_of(n.members, is_sound) &&
           std::ranges::all_of(n.items, is_sound);
}

/// What broken rules allow is not known.
void read_failure_rules(const node& policy, spec_fragments& out) {
    if (!is_sound(policy["failureRules"])) {
        out.run.backoff_limit = endless;
        out.restarts.clear();
        return;
    }
    out.run.rules = bind_failure_rules(policy);
}

/// Of a policy that is broken as a whole nothing is known, and nothing is deleted by it.
spec_fragments fragments_of(const kind_schema& kind, const node& spec) {
    spec_fragments out;
    out.run.clean_up = clean_up_policy::none;
    out.run.backoff_limit = endless;
    if (!spec.present()) {
        return out;
    }
    if (kind.has_restarts) {
        out.restarts = restarts_of(spec);
    }
    const node& mode = spec["runMode"];
    out.pause = mode.present() && mode["pause"].present() && mode["pause"]["enabled"].flag();
    const node* torchrun = spec.find("torchrunConfig");
    out.peers_join = torchrun != nullptr && torchrun->present() && (*torchrun)["enabled"].flag();
    const node& policy = spec["runPolicy"];
    if (policy.broken()) {
        return out;
    }
    out.run.clean_up = run_policy{}.clean_up;
    if (!policy.present()) {
        return out;
    }
    out.run.active_deadline_seconds = policy["activeDeadlineSeconds"].integer();
    if (const auto ttl = policy["ttlSecondsAfterFinished"].integer()) {
        out.run.ttl_seconds_after_finished = static_cast<std::int32_t>(*ttl);
    }
    if (const node* workers = policy.find("cleanUpWorkers")) {
        out.run.clean_up_workers = workers->flag();
    }
    if (const node* limit = policy.find("backoffLimit"); limit != nullptr && limit->present()) {
        out.run.backoff_limit = limit->int32();
    }
    if (const node* failure = policy.find("failurePolicy");
        failure != nullptr && failure->present()) {
        out.run.failure = *bind_choice<failure_policy>(*failure);
    }
    if (const node* scope = policy.find("restartScope"); scope != nullptr && scope->present()) {
        out.run.scope = bind_choice<restart_scope>(*scope);
    }
    if (const node* reset = policy.find("resetBackoffAfterSeconds")) {
        out.run.reset_backoff_after = reset->integer();
    }
    read_failure_rules(policy, out);
    if (const node* clean_up = policy.find("cleanUpPolicy")) {
        out.run.clean_up =
            clean_up->broken() ? clean_up_policy::none : *bind_choice<clean_up_policy>(*clean_up);
    }
    return out;
}

/// By what the object itself says of its past.
void read_past(const node& status, const json::asked_scheduler& asked, job_meta& meta) {
    const json::value* v = status.value;
    if (v == nullptr || !v->IsObject()) {
        return;
    }
    const json::value* attempt = json::find(*v, "attempt");
    const bool has_begun = attempt != nullptr && attempt->IsInt() && attempt->GetInt() > 0 &&
                           json::string_or_empty(*v, "phase") != "Paused";
    const std::string_view queue = json::recorded_queue(*v);
    const std::string_view chosen = json::recorded_scheduler(*v);
    meta.queue = json::queue_in_force(meta.queue_label, has_begun, queue, asked);
    meta.scheduler = json::scheduler_in_force(has_begun, chosen, asked);
}

}  // namespace

parsed_job parse_job(
    std::string_view object_json,
    std::optional<std::string_view> queue,
    std::optional<std::string_view> scheduler
) {
    parsed_job parsed;
    findings_collector findings;
    const job_document object(object_json, findings);
    if (!object.kind()) {
        parsed.findings = findings.take();
        return parsed;
    }
    const kind_schema& kind = schema_of(*object.kind());
    parsed.meta = json::read_job_meta(kind.kind, object["metadata"].value);
    const json::asked_scheduler asked = json::read_asked_scheduler(object["spec"].value);
    read_past(object["status"], asked, parsed.meta);
    parsed.meta.queue = queue.value_or(parsed.meta.queue);
    parsed.meta.scheduler = scheduler.value_or(parsed.meta.scheduler);
    const node& spec = object["spec"];
    parsed.fragments = fragments_of(kind, spec);
    parsed.fragments.scheduler = asked.name;
    parsed.fragments.queue = asked.queue;
    if (spec.present()) {
        kind.check(spec, findings);
    }
    check_meta(object["metadata"], kind.name_needs(spec), findings);
    check_annotations(object["metadata"], findings);
    check_queue(object["metadata"], spec, parsed.meta.queue, findings);
    parsed.findings = findings.take();
    if (!has_errors(parsed.findings)) {
        parsed.spec = kind.bind(spec);
        add_queue(parsed.meta.queue, *parsed.spec);
        add_chosen(parsed.meta.scheduler, spec["scheduler"], *parsed.spec);
        parsed.marks = edit_marks_of(spec);
    }
    findings_collector of_pods;
    if (spec.present()) {
        check_kubernetes(spec, of_pods);
        kind.check_pods(spec, of_pods);
    }
    parsed.template_findings = of_pods.take();
    return parsed;
}

}  // namespace signalbox::core
