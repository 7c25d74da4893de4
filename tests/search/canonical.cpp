// SPDX-License-Identifier: Apache-2.0
#include "canonical.hpp"

#include "configurations.hpp"
#include "gang/scheduler.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>

namespace signalbox::search {

using namespace core;

namespace {

/// What lies further back is long ago: no delay or window of the rules is longer.
constexpr milliseconds long_ago = seconds(700);
/// Refusals beyond this many wait the longest time there is.
constexpr std::int32_t many_refusals = 8;

class writer {
public:
    explicit writer(const world& w) : w_(w) { text_.reserve(2048); }

    std::uint64_t digest() {
        put_server();
        put_process();
        put(w_.past);
        std::uint64_t h = 0xcbf29ce484222325U;
        const char* at = text_.data();
        std::size_t left = text_.size();
        for (; left >= 8; left -= 8, at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, at, 8);
            h = mixed(h ^ word);
        }
        std::uint64_t last = left;
        std::memcpy(&last, at, left);
        return mixed(h ^ last ^ (static_cast<std::uint64_t>(text_.size()) << 32U));
    }

private:
    static std::uint64_t mixed(std::uint64_t h) {
        h *= 0x9e3779b97f4a7c15U;
        h ^= std::rotl(h, 29);
        h *= 0xbf58476d1ce4e5b9U;
        return h ^ (h >> 32U);
    }

    void put(std::int64_t n) {
        char bytes[sizeof n];
        std::memcpy(bytes, &n, sizeof n);
        text_.append(bytes, sizeof n);
    }
    void put(std::string_view s) {
        put(static_cast<std::int64_t>(s.size()));
        text_ += s;
    }
    void put(const history& h) {
        put(h.failures);
        put(h.disruptions);
        put(h.edits);
        put((h.pod_created ? 1 : 0) | (h.failed_peer ? 2 : 0) | (h.lost_quota ? 4 : 0));
        put(std::string_view(h.deciding));
        for (const auto& [type, size] : h.sizes) {
            put(std::string_view(type));
            put(size);
        }
        const auto& faults = w_.context->config().faults;
        if (std::ranges::find(faults, op::long_time) != faults.end()) {
            put_time(h.trouble);
            put_time(h.trouble_before);
            put_time(h.incident);
        }
        put(h.set_back.count());
        if (w_.context->config().reports) {
            put_time(h.progress);
            put(h.progress_attempt);
        }
    }
    void put_time(optional_instant t) {
        put(t ? std::max((*t - w_.now).count(), -long_ago.count()) : std::int64_t{1} << 60U);
    }
    void put_uid(std::string_view uid) {
        const auto it = std::ranges::find(w_.pods, uid, [](const pod_ptr& p) {
            return std::string_view(p->uid);
        });
        put(uid.empty() ? -2 : it == w_.pods.end() ? -1 : it - w_.pods.begin());
    }

    void put(const pod_record& p) {
        put(std::string_view(p.name));
        put(std::string_view(p.type));
        put(p.index);
        put(p.attempt);
        put(p.round);
        put(std::ranges::count(w_.harm.hidden, p.uid));
        put(p.gang == nullptr ? std::string_view() : p.gang->name);
        put((p.labels_complete ? 1 : 0) | (p.scheduled ? 2 : 0) | (p.ready ? 4 : 0) |
            (p.disruption_target ? 8 : 0) | (p.unschedulable ? 16 : 0) |
            (w_.on_dead_node(p) ? 32 : 0));
        put(static_cast<std::int64_t>(p.phase));
        put(std::string_view(p.reason));
        put_time(p.creation);
        put_time(p.deletion);
        for (const container_record& c : p.containers) {
            put(static_cast<std::int64_t>(c.state) | (c.init ? 16 : 0));
            put(c.exit_code);
            put(std::string_view(c.reason));
            put_time(c.started);
            put_time(c.finished);
        }
    }

    void put(const child_record& c) {
        put(to_string(c.kind));
        put((c.deleting ? 1 : 0) | (c.ready ? 2 : 0));
        put(std::string_view(c.name));
        put(c.attempt);
        put(static_cast<std::int64_t>(c.fingerprint));
        put(c.selected_attempt);
        put(static_cast<std::int64_t>(c.data_fingerprint));
        if (c.gang != nullptr) {
            put(*c.gang);
        }
        put(w_.job->status.admission && w_.job->status.admission->uid == c.uid ? 1 : 0);
    }

    void put(const gang_answer& g) {
        put(static_cast<std::int64_t>(g.is) | (g.fixed ? 8 : 0));
        put(std::string_view(g.words));
        if (g.quota == nullptr) {
            return;
        }
        const quota_answer& q = *g.quota;
        put((q.reserved ? 1 : 0) | (q.admitted ? 2 : 0) | (q.evicted ? 4 : 0) |
            (q.finished ? 8 : 0) | (q.ready ? 16 : 0));
        const auto& admission = w_.job->status.admission;
        put(admission && admission->since == q.since ? 1 : 0);
        put_without_times(q.conditions);
        for (const quota_answer::pod_set& set : q.sets) {
            put(std::string_view(set.type));
            put(set.asked);
            put(set.count);
            put(set.reclaimed);
        }
    }

    /// When a condition changed makes no difference.
    void put_without_times(std::string_view conditions) {
        constexpr std::string_view key = R"("lastTransitionTime":")";
        while (!conditions.empty()) {
            const std::size_t at = std::min(conditions.find(key), conditions.size());
            put(conditions.substr(0, at));
            conditions.remove_prefix(std::min(at + key.size(), conditions.size()));
            conditions.remove_prefix(std::min(conditions.find('"'), conditions.size()));
        }
    }

    template <class T>
    void put_all(const std::vector<std::shared_ptr<const T>>& list) {
        put(static_cast<std::int64_t>(list.size()));
        for (const auto& item : list) {
            put(*item);
        }
    }

    void put(const std::vector<typed_indexes>& list) {
        put(static_cast<std::int64_t>(list.size()));
        for (const typed_indexes& t : list) {
            put(std::string_view(t.type));
            put(std::string_view(t.indexes.text()));
        }
    }

    void put(const restart_ledger& r) {
        put(r.disruptions);
        put(r.seen);
        put(r.free_streak);
        put(r.given_up);
        put(r.streak);
        put(static_cast<std::int64_t>(r.last.has_value()));
        if (r.last) {
            put(*r.last);
        }
        put(static_cast<std::int64_t>(r.settling.has_value()));
        if (r.settling) {
            put(*r.settling);
        }
        for (const replaced_index& i : r.replaced) {
            put(std::string_view(i.type));
            put(i.index);
            put(i.round);
        }
        put(static_cast<std::int64_t>(r.renamed.size()));
        for (const renamed_index& i : r.renamed) {
            put(std::string_view(i.type));
            put(i.index);
            put(i.k);
        }
        put(r.renames);
        put(r.completed);
    }

    void put(const incident_record& i) {
        put_time(i.time);
        put(std::string_view(i.cause));
        put(std::string_view(i.reason));
        put((i.scope == restart_scope::job ? 1 : 0) | (i.counted ? 2 : 0));
        put(i.attempt);
        put_time(i.not_before);
        for (const incident_pod& p : i.pods) {
            put(std::string_view(p.name));
            put_uid(p.uid);
            put(p.exit_code.value_or(-1));
        }
    }

    void put(const job_status& s) {
        put(static_cast<std::int64_t>(s.phase));
        put(std::string_view(s.reason));
        for (const condition& c : s.conditions) {
            put(std::string_view(c.type));
            put(static_cast<std::int64_t>(c.status));
            put(std::string_view(c.reason));
            put(std::string_view(c.message));
            put_time(c.last_transition);
        }
        for (const std::string& reason : s.told) {
            put(std::string_view(reason));
        }
        put(static_cast<std::int64_t>(s.training) | (w_.harm.status ? 8 : 0) |
            (w_.harm.before_pods ? 16 : 0));
        for (const task_status& t : s.tasks) {
            put(std::string_view(t.type));
            put(t.restart_count);
            put(t.wanted);
            for (const replica_status& r : t.replicas) {
                put(std::string_view(r.name));
                put_uid(r.uid);
                put(std::string_view(r.phase));
                for (const container_status& c : r.containers) {
                    put(std::string_view(c.state));
                    put(c.exit_code.value_or(-1));
                }
            }
        }
        if (s.aggregate) {
            const aggregate_counts& a = *s.aggregate;
            for (const std::int32_t n :
                 {a.creating, a.pending, a.running, a.succeeded, a.failed, a.unknown, a.deleted}) {
                put(n);
            }
        }
        put(std::string_view(s.duration));
        put(s.backoff_count);
        put(w_.generation - s.observed_generation);
        put_time(s.start_time);
        put_time(s.completion_time);
        put(std::string_view(s.ready));
        put(s.replicas);
        put_time(s.next_transition ? optional_instant(s.next_transition->time) : std::nullopt);
        put(s.attempt);
        put(s.restarts);
        put(static_cast<std::int64_t>(s.time.in));
        put(std::max(s.backoff_count - s.restarts.forgiven, 0));
        put(std::string_view(s.queue));
        put(std::string_view(s.scheduler));
        put(static_cast<std::int64_t>(s.admission.has_value()));
        if (s.admission) {
            for (const admitted_type& type : s.admission->types) {
                put(std::string_view(type.type));
                put(type.count);
                put(type.asked);
            }
        }
        for (const avoided_node& n : s.avoided) {
            put(std::string_view(n.node));
            put_time(n.time);
        }
        if (w_.context->config().reports) {
            put(s.restarts.idle);
            put(w_.past.steps - s.restarts.furthest_step.value_or(-1));
            put_time(s.time.since);
            put(static_cast<std::int64_t>(s.time.recoverable > 0));
            put(static_cast<std::int64_t>(s.progress.has_value()));
        }
        if (s.progress) {
            put(s.progress->attempt);
            put(w_.past.steps - s.progress->current_step.value_or(-1));
            put_time(s.progress->advanced);
            put_time(s.progress->last_updated);
            put(w_.past.checkpoints - s.progress->checkpoint_step.value_or(-1));
            put_time(s.progress->checkpoint_time);
        }
        if (s.tensorboard) {
            put(static_cast<std::int64_t>(s.tensorboard->ready));
            put(std::string_view(s.tensorboard->reason));
            put(std::string_view(s.tensorboard->action));
            put(std::string_view(s.tensorboard->note));
            put(std::string_view(s.tensorboard->type));
            put(static_cast<std::int64_t>(s.tensorboard->dependent.has_value()));
        }
    }

    void put_server() {
        put((w_.spec.pause ? 1 : 0) | (w_.spec.broken ? 2 : 0) | (w_.deleted ? 4 : 0) |
            (w_.spec.no_board ? 8 : 0));
        put(static_cast<std::int64_t>(w_.server));
        put(w_.quota_left);
        put(w_.places_left);
        put(w_.spec.size);
        put(w_.spec.limit);
        put(w_.spec.deadline);
        put(w_.spec.spec + 64 * (w_.spec.noted + 1));
        put(w_.skew.count());
        put(w_.job->status);
        put_all(w_.pods);
        put_all(w_.children);
        for (const std::string& key : w_.foreign) {
            put(std::string_view(key));
        }
        for (const served_kind& row : w_.served.all()) {
            put(static_cast<std::int64_t>(row.is));
        }
    }

    void put_process() {
        put((w_.known_job != w_.job ? 1 : 0) | (w_.known_pods ? 2 : 0) |
            (w_.known_children ? 4 : 0) | (w_.job_held ? 8 : 0));
        if (w_.known_job != w_.job) {
            put(w_.known_job->meta.generation - w_.generation);
            put(static_cast<std::int64_t>(w_.known_job->compiled->plan.has_value()));
            put(w_.known_job->status);
        }
        if (w_.known_pods) {
            put_all(*w_.known_pods);
        }
        if (w_.known_children) {
            put_all(*w_.known_children);
        }
        put(static_cast<std::int64_t>(w_.refusals.size()));
        for (const refusal& r : w_.refusals) {
            put(to_string(r.kind));
            put((r.foreign_owner ? 1 : 0) | (r.namespace_terminating ? 2 : 0));
            put(std::string_view(r.name));
            put(r.attempt);
            put(r.round);
            put(r.http_code);
            put(std::string_view(r.message));
            put(std::min(r.count, many_refusals));
            put_time(r.first);
            put_time(r.last);
        }
        put_time(w_.heard_since);
        put(w_.reported.attempt);
        put(w_.past.steps - w_.reported.current_step.value_or(-1));
        put_time(w_.reported.attempt > 0 ? optional_instant(w_.reported.advanced) : std::nullopt);
        put(w_.past.checkpoints - w_.reported.checkpoint_step.value_or(-1));
        put_time(w_.reported.checkpoint_time);
        for (const object_reading& r : w_.readings) {
            put(to_string(r.kind));
            put(std::string_view(r.name));
        }
        for (const confirmed_absence& a : w_.absences) {
            put(to_string(a.kind));
            put(std::string_view(a.name));
        }
    }

    const world& w_;
    std::string text_;
};

}  // namespace

std::uint64_t digest(const world& w) {
    return writer(w).digest();
}

}  // namespace signalbox::search
