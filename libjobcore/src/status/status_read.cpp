// SPDX-License-Identifier: Apache-2.0
//
// `.status` read into the typed form. What does not fit is skipped: the status is ours, and one
// that somebody damaged must not stop the job.
#include "jobcore/strings.hpp"
#include "json/job_meta.hpp"
#include "json/json.hpp"
#include "status/bounds.hpp"
#include "status/status_json.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace signalbox::core {
namespace {

std::string text_of(const json::value& object, std::string_view key, std::size_t most = most_text) {
    return std::string(first_bytes(json::string_or_empty(object, key), most));
}

std::int32_t int_of(const json::value& object, std::string_view key) {
    const json::value* v = json::find(object, key);
    return v != nullptr && v->IsInt() ? v->GetInt() : 0;
}

/// A count of ours: negative and endless ones are damage.
std::int32_t count_of(const json::value& object, std::string_view key) {
    return std::clamp(int_of(object, key), 0, most_counted);
}

std::optional<instant> time_of(const json::value& object, std::string_view key) {
    return parse_time(json::string_or_empty(object, key));
}

bool bool_of(const json::value& object, std::string_view key) {
    const json::value* v = json::find(object, key);
    return v != nullptr && v->IsTrue();
}

/// Calls `take` for every object in the list member `key`.
template <class Take>
void for_each(const json::value& object, std::string_view key, Take take) {
    const json::value* list = json::find(object, key);
    if (list == nullptr || !list->IsArray()) {
        return;
    }
    for (const json::value& item : list->GetArray()) {
        if (item.IsObject()) {
            take(item);
        }
    }
}

/// Of several items of one name the first is meant.
template <class Item, class Key>
void add_once(std::vector<Item>& list, Item item, std::size_t most, Key key) {
    if (list.size() < most &&
        std::ranges::none_of(list, [&](const Item& known) { return key(known) == key(item); })) {
        list.push_back(std::move(item));
    }
}

std::vector<typed_indexes> read_indexes(const json::value& object, std::string_view key) {
    std::vector<typed_indexes> out;
    for_each(object, key, [&](const json::value& item) {
        typed_indexes of_type{
            text_of(item, "type"), index_set::parse(json::string_or_empty(item, "indexes"))};
        if (!of_type.indexes.empty()) {
            add_once(out, std::move(of_type), most_types, [](const auto& t) -> const std::string& {
                return t.type;
            });
        }
    });
    return out;
}

std::optional<std::int32_t> optional_int(const json::value& object, std::string_view key) {
    const json::value* v = json::find(object, key);
    return v != nullptr && v->IsInt() ? std::optional(v->GetInt()) : std::nullopt;
}

std::optional<std::int64_t> optional_count(const json::value& object, std::string_view key) {
    const json::value* v = json::find(object, key);
    return v != nullptr && v->IsInt64() && v->GetInt64() >= 0 ? std::optional(v->GetInt64())
                                                              : std::nullopt;
}

replica_status read_replica(const json::value& item) {
    replica_status replica{text_of(item, "name"), text_of(item, "uid"), text_of(item, "phase"), {}};
    for_each(item, "containers", [&](const json::value& c) {
        replica.containers.push_back(
            {text_of(c, "name"), text_of(c, "state"), optional_int(c, "exitCode")}
        );
    });
    return replica;
}

task_status read_task(const json::value& item) {
    task_status task{
        text_of(item, "type"),
        count_of(item, "restartCount"),
        std::min(count_of(item, "wanted"), most_replicas),
        {}};
    for_each(item, "replicas", [&](const json::value& r) {
        task.replicas.push_back(read_replica(r));
    });
    task.replicas.shrink_to_fit();  // it is held for as long as the job is there
    return task;
}

incident_record read_incident(const json::value& item) {
    incident_record last;
    last.time = time_of(item, "time");
    last.cause = text_of(item, "cause");
    last.reason = text_of(item, "reason");
    last.scope = json::string_or_empty(item, "scope") == "Replica" ? restart_scope::replica
                                                                   : restart_scope::job;
    last.counted = bool_of(item, "counted");
    last.attempt = count_of(item, "attempt");
    last.not_before = time_of(item, "notBefore");
    for_each(item, "pods", [&](const json::value& pod) {
        if (last.pods.size() < most_incident_pods) {
            last.pods.push_back(
                {text_of(pod, "name"),
                 text_of(pod, "uid"),
                 optional_int(pod, "exitCode"),
                 text_of(pod, "reason")}
            );
        }
    });
    last.more = count_of(item, "more");
    last.message = text_of(item, "message");
    last.consequence = bool_of(item, "consequence");
    last.rule = text_of(item, "rule");
    return last;
}

incident_record read_settling(const json::value& item) {
    incident_record settling = read_incident(item);
    settling.scope = restart_scope::replica;
    settling.counted = false;
    settling.attempt = 0;
    settling.not_before.reset();
    return settling;
}

/// As older versions wrote an exit that settles; else somebody else wrote `pending`.
bool may_settle(const incident_record& last) {
    return !last.counted && last.scope == restart_scope::replica && !last.pods.empty();
}

/// Older versions kept an exit that settles in `last`, over the incident before. Of that only its
/// delay is known.
void keep_delay_alone(restart_ledger& ledger) {
    incident_record before;
    before.scope = ledger.last->scope;
    before.attempt = ledger.last->attempt;
    before.not_before = ledger.last->not_before;
    ledger.last.reset();
    if (before.not_before) {
        ledger.last = std::move(before);
    }
}

restart_ledger read_ledger(const json::value& item) {
    restart_ledger ledger;
    ledger.disruptions = count_of(item, "disruptions");
    ledger.seen = read_indexes(item, "seen");
    ledger.free_streak = count_of(item, "freeStreak");
    ledger.given_up = read_indexes(item, "givenUp");
    ledger.streak = count_of(item, "streak");
    if (const json::value* last = json::find(item, "last"); last != nullptr && last->IsObject()) {
        ledger.last = read_incident(*last);
        if (bool_of(*last, "pending") && may_settle(*ledger.last)) {
            ledger.settling = read_settling(*last);
            keep_delay_alone(ledger);
        }
    }
    if (const json::value* s = json::find(item, "settling"); s != nullptr && s->IsObject()) {
        ledger.settling = read_settling(*s);
    }
    const auto place = [](const auto& r) { return std::pair(std::string_view(r.type), r.index); };
    for_each(item, "replaced", [&](const json::value& r) {
        add_once(
            ledger.replaced,
            replaced_index{text_of(r, "type"), count_of(r, "index"), count_of(r, "round")},
            most_indexes,
            place
        );
    });
    for_each(item, "renamed", [&](const json::value& r) {
        add_once(
            ledger.renamed,
            renamed_index{text_of(r, "type"), count_of(r, "index"), count_of(r, "k")},
            most_indexes,
            place
        );
    });
    ledger.renames = count_of(item, "renames");
    ledger.completed = read_indexes(item, "completed");
    ledger.forgiven = count_of(item, "forgiven");
    ledger.furthest_step = optional_count(item, "furthestStep");
    ledger.idle = count_of(item, "withoutProgress");
    return ledger;
}

aggregate_counts read_aggregate(const json::value& item) {
    return {
        count_of(item, "creating"),
        count_of(item, "pending"),
        count_of(item, "running"),
        count_of(item, "succeeded"),
        count_of(item, "failed"),
        count_of(item, "unknown"),
        count_of(item, "deleted")};
}

void read_lists(const json::value& v, job_status& status) {
    for_each(v, "conditions", [&](const json::value& c) {
        condition one{
            text_of(c, "type"),
            json::string_or_empty(c, "status") == "True",
            text_of(c, "reason"),
            text_of(c, "message", most_message),
            time_of(c, "lastTransitionTime")};
        if (!one.type.empty()) {
            add_once(
                status.conditions,
                std::move(one),
                most_conditions,
                [](const condition& known) -> const std::string& { return known.type; }
            );
        }
    });
    for_each(v, "tasks", [&](const json::value& t) {
        add_once(
            status.tasks,
            read_task(t),
            most_types,
            [](const task_status& task) -> const std::string& { return task.type; }
        );
    });
}

/// Reasons of facts that were told: few, and each once.
std::vector<std::string> read_told(const json::value& v) {
    constexpr std::size_t most = 16;
    std::vector<std::string> out;
    const json::value* list = json::find(v, "told");
    if (list == nullptr || !list->IsArray()) {
        return out;
    }
    for (const json::value& reason : list->GetArray()) {
        if (reason.IsString() && out.size() < most) {
            out.emplace_back(json::view(reason));
        }
    }
    return out;
}

time_spent read_time_spent(const json::value& v) {
    return {
        count_of(v, "queued"),
        count_of(v, "starting"),
        count_of(v, "running"),
        count_of(v, "restarting"),
        count_of(v, "stalled"),
        count_of(v, "paused"),
        count_of(v, "lost"),
        count_of(v, "unsaved"),
        parse_time_kind(json::string_or_empty(v, "state")),
        time_of(v, "since"),
        count_of(v, "recoverable")};
}

std::vector<avoided_node> read_avoided(const json::value& v) {
    std::vector<avoided_node> out;
    for_each(v, "avoidedNodes", [&](const json::value& n) {
        avoided_node one{
            text_of(n, "node"), text_of(n, "rule"), time_of(n, "time"), count_of(n, "count")};
        if (!one.node.empty()) {
            add_once(out, std::move(one), most_avoided, [](const auto& a) -> const std::string& {
                return a.node;
            });
        }
    });
    return out;
}

progress_status read_progress(const json::value& v) {
    progress_status out;
    out.attempt = count_of(v, "attempt");
    out.rank = count_of(v, "rank");
    out.current_step = optional_count(v, "currentStep");
    out.total_steps = optional_count(v, "totalSteps");
    if (const auto percentage = optional_count(v, "progressPercentage")) {
        out.percentage = static_cast<std::int32_t>(std::min<std::int64_t>(*percentage, 100));
    }
    out.remaining_seconds = optional_count(v, "estimatedRemainingSeconds");
    out.last_updated = time_of(v, "lastUpdatedTime");
    out.advanced = time_of(v, "lastProgressTime");
    out.checkpoint_step = optional_count(v, "checkpointStep");
    out.checkpoint_time = time_of(v, "checkpointTime");
    out.checkpoint_seconds = optional_count(v, "checkpointSeconds");
    for_each(v, "metrics", [&](const json::value& m) {
        if (out.metrics.size() < most_metrics) {
            out.metrics.push_back({text_of(m, "name"), text_of(m, "value")});
        }
    });
    if (const json::value* s = json::find(v, "slowest"); s != nullptr && s->IsObject()) {
        out.slowest = slowest_rank{
            count_of(*s, "rank"),
            optional_count(*s, "step").value_or(0),
            optional_count(*s, "behind").value_or(0),
            time_of(*s, "time")};
    }
    for_each(v, "course", [&](const json::value& p) {
        if (out.course.size() < most_points) {
            out.course.push_back(
                {time_of(p, "time"), optional_count(p, "step").value_or(0), text_of(p, "loss")}
            );
        }
    });
    return out;
}

std::vector<named_value> read_named_values(const json::value& item, std::string_view key) {
    std::vector<named_value> out;
    for_each(item, key, [&](const json::value& v) {
        named_value one{text_of(v, "name"), text_of(v, "value")};
        if (!one.name.empty()) {
            add_once(
                out, std::move(one), most_marks, [](const named_value& n) -> const auto& {
                    return n.name;
                }
            );
        }
    });
    return out;
}

admission_record read_admission(const json::value& v) {
    admission_record out{text_of(v, "uid"), text_of(v, "time"), {}};
    for_each(v, "types", [&](const json::value& t) {
        admitted_type one{
            text_of(t, "type"),
            std::min(count_of(t, "count"), most_replicas),
            std::min(count_of(t, "asked"), most_replicas),
            {read_named_values(t, "nodeSelector"),
             read_named_values(t, "labels"),
             read_named_values(t, "annotations")}};
        for_each(t, "tolerations", [&](const json::value& each) {
            if (one.marks.tolerations.size() < most_marks) {
                one.marks.tolerations.push_back(
                    {text_of(each, "key"),
                     text_of(each, "operator"),
                     text_of(each, "value"),
                     text_of(each, "effect"),
                     optional_count(each, "tolerationSeconds")}
                );
            }
        });
        add_once(
            out.types, std::move(one), most_types, [](const admitted_type& a) -> const auto& {
                return a.type;
            }
        );
    });
    return out;
}

void read_attempts(const json::value& v, std::vector<attempt_record>& out) {
    for_each(v, "attemptHistory", [&](const json::value& a) {
        if (out.size() < most_attempts) {
            out.push_back(
                {count_of(a, "attempt"),
                 time_of(a, "startTime"),
                 time_of(a, "endTime"),
                 text_of(a, "reason"),
                 text_of(a, "message"),
                 text_of(a, "pod"),
                 text_of(a, "node"),
                 optional_int(a, "rank"),
                 optional_count(a, "step")}
            );
        }
    });
}

tensorboard_status read_tensorboard(const json::value& v) {
    tensorboard_status out;
    out.name = text_of(v, "name");
    const json::value* d = json::find(v, "dependent");
    if (d != nullptr && d->IsObject()) {
        out.dependent = dependent_reference{
            text_of(*d, "apiVersion"),
            text_of(*d, "kind"),
            text_of(*d, "name"),
            text_of(*d, "namespace"),
            text_of(*d, "uid")};
    }
    out.ready = bool_of(v, "ready");
    out.reason = text_of(v, "reason");
    out.action = text_of(v, "action");
    out.note = text_of(v, "note");
    out.type = text_of(v, "type");
    return out;
}

}  // namespace

job_status read_status(const json::value& v) {
    job_status status;
    if (!v.IsObject()) {
        return status;
    }
    status.phase = parse_job_phase(json::string_or_empty(v, "phase"));
    status.reason = text_of(v, "reason");
    read_lists(v, status);
    if (const json::value* a = json::find(v, "aggregate"); a != nullptr && a->IsObject()) {
        status.aggregate = read_aggregate(*a);
    }
    status.backoff_count = count_of(v, "backoffCount");
    if (const json::value* t = json::find(v, "tensorboard"); t != nullptr && t->IsObject()) {
        status.tensorboard = read_tensorboard(*t);
    }
    const json::value* generation = json::find(v, "observedGeneration");
    status.observed_generation =
        generation != nullptr && generation->IsInt64() ? generation->GetInt64() : 0;
    status.start_time = time_of(v, "startTime");
    status.completion_time = time_of(v, "completionTime");
    status.duration = text_of(v, "duration");
    status.ready = text_of(v, "ready");
    status.replicas = count_of(v, "replicas");
    status.selector = text_of(v, "selector");
    if (const json::value* n = json::find(v, "nextTransition"); n != nullptr) {
        if (const auto time = time_of(*n, "time")) {
            status.next_transition = transition{*time, text_of(*n, "reason")};
        }
    }
    status.attempt = count_of(v, "attempt");
    status.training = parse_training_state(json::string_or_empty(v, "training"));
    if (const json::value* r = json::find(v, "restarts"); r != nullptr && r->IsObject()) {
        status.restarts = read_ledger(*r);
    }
    status.told = read_told(v);
    read_attempts(v, status.attempt_history);
    status.attempt_start = time_of(v, "attemptStartTime");
    status.avoided = read_avoided(v);
    if (const json::value* p = json::find(v, "progress"); p != nullptr && p->IsObject()) {
        status.progress = read_progress(*p);
    }
    if (const json::value* a = json::find(v, "admission"); a != nullptr && a->IsObject()) {
        status.admission = read_admission(*a);
    }
    status.queue = json::recorded_queue(v);
    status.scheduler = json::recorded_scheduler(v);
    if (const json::value* t = json::find(v, "timeSeconds"); t != nullptr && t->IsObject()) {
        status.time = read_time_spent(*t);
    }
    return status;
}

job_status parse_status(std::string_view object_json) {
    json::document document;
    json::parse(document, object_json);
    const json::value* status = document.HasParseError() ? nullptr : json::find(document, "status");
    return status == nullptr ? job_status{} : read_status(*status);
}

}  // namespace signalbox::core
