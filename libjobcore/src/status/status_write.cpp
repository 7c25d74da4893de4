// SPDX-License-Identifier: Apache-2.0
//
// The typed status written as JSON (BEHAVIOUR.md api 5).
#include "json/json.hpp"
#include "status/status_json.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace signalbox::core {
namespace {

using json_writer = rapidjson::Writer<rapidjson::StringBuffer>;

/// A writer of object members that leaves out what may be absent (BEHAVIOUR.md api 5).
class members {
public:
    explicit members(json_writer& w) : w_(w) { w_.StartObject(); }
    ~members() { w_.EndObject(); }
    members(const members&) = delete;
    members& operator=(const members&) = delete;

    json_writer& key(std::string_view name) {
        w_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
        return w_;
    }
    void text(std::string_view name, std::string_view value) {
        key(name).String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    }
    void text_if(std::string_view name, std::string_view value) {
        if (!value.empty()) {
            text(name, value);
        }
    }
    void number(std::string_view name, std::int64_t value) { key(name).Int64(value); }
    void number_if(std::string_view name, std::int64_t value) {
        if (value != 0) {
            number(name, value);
        }
    }
    void number_if(std::string_view name, const std::optional<std::int64_t>& value) {
        if (value) {
            number(name, *value);
        }
    }
    void flag(std::string_view name, bool value) { key(name).Bool(value); }
    void time_if(std::string_view name, const std::optional<instant>& value) {
        if (value) {
            text(name, format_time(*value));
        }
    }
    /// A list, left out when empty; `write` writes one item.
    template <class List, class Write>
    void list_if(std::string_view name, const List& items, Write write) {
        if (items.empty()) {
            return;
        }
        key(name).StartArray();
        for (const auto& item : items) {
            write(w_, item);
        }
        w_.EndArray();
    }

private:
    json_writer& w_;
};

void write_condition(json_writer& w, const condition& c) {
    members m(w);
    m.text("type", c.type);
    m.text("status", c.status ? "True" : "False");
    m.text("reason", c.reason);
    m.text("message", c.message);
    m.time_if("lastTransitionTime", c.last_transition);
}

void write_container(json_writer& w, const container_status& c) {
    members m(w);
    m.text("name", c.name);
    m.text("state", c.state);
    if (c.exit_code) {
        m.number("exitCode", *c.exit_code);
    }
}

void write_replica(json_writer& w, const replica_status& r) {
    members m(w);
    m.text("name", r.name);
    m.text_if("uid", r.uid);
    m.text("phase", r.phase);
    m.list_if("containers", r.containers, write_container);
}

void write_task(json_writer& w, const task_status& t) {
    members m(w);
    m.text("type", t.type);
    m.number_if("restartCount", t.restart_count);
    m.number("wanted", t.wanted);
    m.list_if("replicas", t.replicas, write_replica);
}

void write_indexes(json_writer& w, const typed_indexes& t) {
    members m(w);
    m.text("type", t.type);
    m.text("indexes", t.indexes.text());
}

void write_aggregate(json_writer& w, const aggregate_counts& a) {
    members m(w);
    m.number("creating", a.creating);
    m.number("pending", a.pending);
    m.number("running", a.running);
    m.number("succeeded", a.succeeded);
    m.number("failed", a.failed);
    m.number("unknown", a.unknown);
    m.number("deleted", a.deleted);
}

void write_incident_pod(json_writer& w, const incident_pod& p) {
    members m(w);
    m.text("name", p.name);
    m.text_if("uid", p.uid);
    if (p.exit_code) {
        m.number("exitCode", *p.exit_code);
    }
    m.text_if("reason", p.reason);
}

void write_message(members& m, const incident_record& entry) {
    m.text_if("message", entry.message);
    if (entry.consequence) {
        m.flag("consequence", true);
    }
    m.text_if("rule", entry.rule);
}

void write_incident(json_writer& w, const incident_record& last) {
    members m(w);
    m.time_if("time", last.time);
    m.text("cause", last.cause);
    m.text_if("reason", last.reason);
    m.text("scope", last.scope == restart_scope::job ? "Job" : "Replica");
    m.flag("counted", last.counted);
    m.number("attempt", last.attempt);
    m.time_if("notBefore", last.not_before);
    m.list_if("pods", last.pods, write_incident_pod);
    m.number_if("more", last.more);
    write_message(m, last);
}

void write_settling(json_writer& w, const incident_record& settling) {
    members m(w);
    m.time_if("time", settling.time);
    m.text("cause", settling.cause);
    m.text_if("reason", settling.reason);
    m.list_if("pods", settling.pods, write_incident_pod);
    m.number_if("more", settling.more);
    write_message(m, settling);
}

void write_ledger(json_writer& w, const restart_ledger& r) {
    members m(w);
    m.number_if("disruptions", r.disruptions);
    m.list_if("seen", r.seen, write_indexes);
    m.number_if("freeStreak", r.free_streak);
    m.list_if("givenUp", r.given_up, write_indexes);
    m.number_if("streak", r.streak);
    if (r.last) {
        m.key("last");
        write_incident(w, *r.last);
    }
    if (r.settling) {
        m.key("settling");
        write_settling(w, *r.settling);
    }
    m.list_if("replaced", r.replaced, [](json_writer& to, const replaced_index& i) {
        members item(to);
        item.text("type", i.type);
        item.number("index", i.index);
        item.number("round", i.round);
    });
    m.list_if("renamed", r.renamed, [](json_writer& to, const renamed_index& i) {
        members item(to);
        item.text("type", i.type);
        item.number("index", i.index);
        item.number("k", i.k);
    });
    m.number_if("renames", r.renames);
    m.list_if("completed", r.completed, write_indexes);
    m.number_if("forgiven", r.forgiven);
    m.number_if("furthestStep", r.furthest_step);
    m.number_if("withoutProgress", r.idle);
}

void write_tensorboard(json_writer& w, const tensorboard_status& t) {
    members m(w);
    m.text_if("name", t.name);
    if (t.dependent) {
        m.key("dependent");
        members d(w);
        d.text("apiVersion", t.dependent->api_version);
        d.text("kind", t.dependent->kind);
        d.text("name", t.dependent->name);
        d.text("namespace", t.dependent->ns);
        d.text("uid", t.dependent->uid);
    }
    m.flag("ready", t.ready);
    m.text_if("reason", t.reason);
    m.text_if("action", t.action);
    m.text_if("note", t.note);
    m.text_if("type", t.type);
}

void write_attempt(json_writer& w, const attempt_record& a) {
    members m(w);
    m.number("attempt", a.attempt);
    m.time_if("startTime", a.start);
    m.time_if("endTime", a.end);
    m.text_if("reason", a.reason);
    m.text_if("message", a.message);
    m.text_if("pod", a.pod);
    m.text_if("node", a.node);
    if (a.rank) {
        m.number("rank", *a.rank);
    }
    m.number_if("step", a.step);
}

void write_progress(json_writer& w, const progress_status& p) {
    members m(w);
    m.number_if("currentStep", p.current_step);
    m.number_if("totalSteps", p.total_steps);
    if (p.percentage) {
        m.number("progressPercentage", *p.percentage);
    }
    m.number_if("estimatedRemainingSeconds", p.remaining_seconds);
    m.time_if("lastUpdatedTime", p.last_updated);
    m.time_if("lastProgressTime", p.advanced);
    m.number("rank", p.rank);
    m.number("attempt", p.attempt);
    m.list_if("metrics", p.metrics, [](json_writer& to, const progress_metric& metric) {
        members item(to);
        item.text("name", metric.name);
        item.text("value", metric.value);
    });
    m.number_if("checkpointStep", p.checkpoint_step);
    m.time_if("checkpointTime", p.checkpoint_time);
    m.number_if("checkpointSeconds", p.checkpoint_seconds);
    if (p.slowest) {
        m.key("slowest");
        members slowest(w);
        slowest.number("rank", p.slowest->rank);
        slowest.number("step", p.slowest->step);
        slowest.number("behind", p.slowest->behind);
        slowest.time_if("time", p.slowest->time);
    }
    m.list_if("course", p.course, [](json_writer& to, const progress_point& point) {
        members item(to);
        item.time_if("time", point.time);
        item.number("step", point.step);
        item.text_if("loss", point.loss);
    });
}

void write_named_value(json_writer& w, const named_value& v) {
    members m(w);
    m.text("name", v.name);
    m.text("value", v.value);
}

void write_toleration(json_writer& w, const toleration& t) {
    members m(w);
    m.text_if("key", t.key);
    m.text_if("operator", t.op);
    m.text_if("value", t.value);
    m.text_if("effect", t.effect);
    m.number_if("tolerationSeconds", t.seconds);
}

void write_admission(json_writer& w, const admission_record& a) {
    members m(w);
    m.text("uid", a.uid);
    m.text_if("time", a.since);
    m.list_if("types", a.types, [](json_writer& to, const admitted_type& t) {
        members item(to);
        item.text("type", t.type);
        item.number("count", t.count);
        item.number("asked", t.asked);
        item.list_if("nodeSelector", t.marks.node_selector, write_named_value);
        item.list_if("labels", t.marks.labels, write_named_value);
        item.list_if("annotations", t.marks.annotations, write_named_value);
        item.list_if("tolerations", t.marks.tolerations, write_toleration);
    });
}

void write_time_spent(json_writer& w, const time_spent& t) {
    members m(w);
    m.number("queued", t.queued);
    m.number("starting", t.starting);
    m.number("running", t.running);
    m.number("restarting", t.restarting);
    m.number("stalled", t.stalled);
    m.number("paused", t.paused);
    m.number("lost", t.lost);
    m.number_if("unsaved", t.unsaved);
    m.number_if("recoverable", t.recoverable);
    m.text_if("state", to_string(t.in));
    m.time_if("since", t.since);
}

void write_status(json_writer& w, const job_status& s, job_kind kind) {
    members m(w);
    if (s.phase != job_phase::none) {
        m.text("phase", to_string(s.phase));
    }
    m.text_if("reason", s.reason);
    m.list_if("conditions", s.conditions, write_condition);
    m.list_if("tasks", s.tasks, write_task);
    if (s.aggregate) {
        m.key("aggregate");
        write_aggregate(w, *s.aggregate);
    }
    if (restarts(kind)) {
        m.number("backoffCount", s.backoff_count);
    }
    if (s.tensorboard) {
        m.key("tensorboard");
        write_tensorboard(w, *s.tensorboard);
    }
    m.number_if("observedGeneration", s.observed_generation);
    m.time_if("startTime", s.start_time);
    m.time_if("completionTime", s.completion_time);
    m.text_if("duration", s.duration);
    m.text_if("ready", s.ready);
    m.number("replicas", s.replicas);
    m.text_if("selector", s.selector);
    if (s.next_transition) {
        m.key("nextTransition");
        members next(w);
        next.text("time", format_time(s.next_transition->time));
        next.text("reason", s.next_transition->reason);
    }
    m.number_if("attempt", s.attempt);
    m.text_if("training", to_string(s.training));
    if (s.restarts != restart_ledger{}) {
        m.key("restarts");
        write_ledger(w, s.restarts);
    }
    m.list_if("told", s.told, [](json_writer& to, const std::string& reason) {
        to.String(reason.data(), static_cast<rapidjson::SizeType>(reason.size()));
    });
    m.list_if("attemptHistory", s.attempt_history, write_attempt);
    m.time_if("attemptStartTime", s.attempt_start);
    if (s.time != time_spent{}) {
        m.key("timeSeconds");
        write_time_spent(w, s.time);
    }
    m.list_if("avoidedNodes", s.avoided, [](json_writer& to, const avoided_node& n) {
        members item(to);
        item.text("node", n.node);
        item.text_if("rule", n.rule);
        item.time_if("time", n.time);
        item.number("count", n.count);
    });
    if (s.progress) {
        m.key("progress");
        write_progress(w, *s.progress);
    }
    if (s.admission) {
        m.key("admission");
        write_admission(w, *s.admission);
    }
    m.text_if("queue", s.queue);
    m.text_if("scheduler", s.scheduler);
}

}  // namespace

std::string format_status(const job_status& status, job_kind kind) {
    rapidjson::StringBuffer buffer;
    json_writer writer(buffer);
    write_status(writer, status, kind);
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace signalbox::core
