// SPDX-License-Identifier: Apache-2.0
#include "engine/view/view.hpp"

#include "engine/facts/ledger.hpp"
#include "engine/facts/pod_facts.hpp"
#include "jobcore/strings.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace signalbox::core::engine {
namespace {

/// `-r<k>` at the end of a name is cut off and gives k.
std::int32_t cut_rename(std::string_view& name) {
    const std::size_t dash = name.rfind("-r");
    if (dash == name.npos) {
        return 0;
    }
    const auto k = read_whole_number(name.substr(dash + 2));
    if (!k) {
        return 0;
    }
    name = name.substr(0, dash);
    return *k;
}

std::size_t type_number(const job_plan& plan, std::string_view type) {
    const auto it = std::ranges::find(plan.types, type, &type_plan::name);
    return it == plan.types.end() ? no_type : static_cast<std::size_t>(it - plan.types.begin());
}

/// Of two pods on one index the greater stays: higher round, then the renamed one, then the older
/// (1.4); names and UIDs only make the order total.
auto rank(const pod_record& pod) {
    std::string_view name = pod.name;
    const bool renamed = cut_rename(name) > 0;
    const auto age = -pod.creation.value_or(instant::max()).time_since_epoch();
    return std::tuple(
        pod.attempt, pod.round, renamed, age, std::string_view(pod.name), std::string_view(pod.uid)
    );
}

class view_maker {
public:
    view_maker(
        const job_plan& plan, const job_status& status, milliseconds stuck_after, instant now
    )
        : plan_(plan), status_(status), stuck_after_(stuck_after), now_(now) {}

    pod_view make(const observed& seen) {
        admitted_ = seen.admitted;
        make_replicas();
        for (const pod_record* pod : seen.pods) {
            place(*pod);
        }
        std::ranges::sort(view_.left_overs, {}, [](const left_over& l) {
            return std::tuple(std::string_view(l.pod->name), std::string_view(l.pod->uid));
        });
        for (const left_over& l : view_.left_overs) {
            block(l);
        }
        for (type_view& type : view_.types) {
            for (replica_view& s : type.replicas) {
                s.training = s.current == nullptr
                                 ? nullptr
                                 : training_container(*s.current, type.plan->training_container);
            }
        }
        return std::move(view_);
    }

private:
    void make_replicas() {
        view_.types.resize(plan_.types.size());
        for (std::size_t r = 0; r < plan_.types.size(); ++r) {
            type_view& type = view_.types[r];
            type.plan = &plan_.types[r];
            type.replicas.resize(
                static_cast<std::size_t>(std::max(wanted_in_force(status_, *type.plan), 0))
            );
            mark(type, status_.restarts.seen, &replica_view::seen);
            mark(type, status_.restarts.completed, &replica_view::completed);
            mark(type, status_.restarts.given_up, &replica_view::given_up);
        }
        for (const replaced_index& i : status_.restarts.replaced) {
            if (replica_view* s = find_replica(type_number(plan_, i.type), i.index)) {
                s->round = i.round;
            }
        }
        for (const renamed_index& i : status_.restarts.renamed) {
            if (replica_view* s = find_replica(type_number(plan_, i.type), i.index)) {
                s->rename = i.k;
            }
        }
    }

    static void mark(
        type_view& type, const std::vector<typed_indexes>& list, bool replica_view::*field
    ) {
        const index_set* set = find_indexes(list, type.plan->name);
        if (set == nullptr) {
            return;
        }
        for (std::int32_t i = 0; i < type.wanted(); ++i) {
            type.replicas[static_cast<std::size_t>(i)].*field = set->contains(i);
        }
    }

    replica_view* find_replica(std::size_t type, std::int32_t index) {
        if (type == no_type || index < 0 || index >= view_.types[type].wanted()) {
            return nullptr;
        }
        return &view_.types[type].replicas[static_cast<std::size_t>(index)];
    }

    /// Pods come by their names: mostly it is that of the one before.
    std::size_t type_of(const pod_record& pod) {
        if (last_type_ == no_type || plan_.types[last_type_].name != pod.type) {
            last_type_ = type_number(plan_, pod.type);
        }
        return last_type_;
    }

    void place(const pod_record& pod) {
        if (pod.owner_uid != plan_.job_uid) {
            return;  // a child of an earlier job of the same name (1.7)
        }
        if (pod.attempt == gone_attempt && is_stuck(pod)) {
            view_.gone.push_back(&pod);
            return;
        }
        const std::size_t type = type_of(pod);
        if (!pod.labels_complete || pod.attempt == gone_attempt || !is_named_so(plan_, pod, type)) {
            place_damaged(pod);
            return;
        }
        replica_view* s = find_replica(type, pod.index);
        const bool this_attempt = pod.attempt == status_.attempt && status_.attempt > 0;
        if (s != nullptr && this_attempt && pod.round == s->round && is_forged(pod, type, *s)) {
            place_damaged(pod);
            view_.left_overs.back().forged = true;
            return;
        }
        if (s != nullptr && this_attempt) {
            if (s->newest == nullptr || rank(*s->newest) < rank(pod)) {
                s->newest = &pod;
            }
        }
        if (s == nullptr || !this_attempt || pod.round != s->round) {
            leave(pod, s == nullptr ? no_type : type, pod.index, !this_attempt);
        } else if (s->current == nullptr) {
            s->current = &pod;
        } else if (rank(*s->current) < rank(pod)) {
            leave(*s->current, no_type, pod.index, false);
            s->current = &pod;
        } else {
            leave(pod, no_type, pod.index, false);
        }
    }

    /// It is looked at for the first time, nothing has started, and it is not what is made for this
    /// index (2.14). Later it is what the attempt runs with, whatever the specification says by
    /// then.
    bool is_forged(const pod_record& pod, std::size_t type, const replica_view& s) const {
        if (s.seen || pod.content == 0 || has_begun(pod) ||
            std::ranges::find(admitted_, pod.content) != admitted_.end()) {
            return false;
        }
        const pod_identity id{type, pod.index, pod.attempt, pod.round, s.rename};
        render_options options = render_options_of(status_, plan_);
        options.reports.url =
            pod.reports ? "by whatever URL" : "";  // it may be of an older process
        const std::uint64_t planned = content_of_pod(render_pod(plan_, id, options));
        return planned != 0 && planned != pod.content;
    }

    static bool has_begun(const pod_record& pod) {
        return pod.phase != pod_phase::pending ||
               std::ranges::any_of(pod.containers, [](const container_record& c) {
                   return c.state != container_state::waiting;
               });
    }

    bool is_stuck(const pod_record& pod) const {
        return stuck_after_.count() > 0 && pod.deletion.has_value() &&
               now_ > *pod.deletion + stuck_after_;
    }

    void place_damaged(const pod_record& pod) {
        const pod_identity id = identity_from_name(plan_, pod.name);
        replica_view* s = find_replica(id.type, id.index);
        if (s != nullptr) {
            s->damaged = true;
        }
        leave(pod, s == nullptr ? no_type : id.type, id.index, true);
    }

    void leave(const pod_record& pod, std::size_t type, std::int32_t index, bool older_attempt) {
        view_.left_overs.push_back({&pod, type, index, older_attempt, is_stuck(pod)});
    }

    void block(const left_over& l) {
        if (l.older_attempt && !l.stuck) {
            view_.older_attempt_left = true;
        }
        if (replica_view* s = find_replica(l.type, l.index)) {
            s->blocked = true;
        }
    }

    const job_plan& plan_;
    const job_status& status_;
    milliseconds stuck_after_;
    instant now_;
    std::span<const std::uint64_t> admitted_;
    std::size_t last_type_ = no_type;
    pod_view view_;
};

}  // namespace

namespace {

/// What a name of a pod of the job says: `<base>-<type>-<index>[-r<k>]`.
struct name_parts {
    std::string_view type;
    std::int32_t index = 0;
    std::int32_t rename = 0;
};

std::optional<name_parts> split_name(const job_plan& plan, std::string_view name) {
    if (!name.starts_with(plan.base_name)) {
        return std::nullopt;
    }
    name.remove_prefix(plan.base_name.size());
    const std::int32_t rename = cut_rename(name);
    const std::size_t dash = name.rfind('-');
    if (!name.starts_with('-') || dash == 0 || dash == name.npos) {
        return std::nullopt;
    }
    const auto index = read_whole_number(name.substr(dash + 1));
    return index ? std::optional(name_parts{name.substr(1, dash - 1), *index, rename})
                 : std::nullopt;
}

/// The name without `-r<k>`, which nearly all have. Each decision asks it of each pod.
bool is_plain_name(std::string_view prefix, const pod_record& pod) {
    constexpr std::size_t most_digits = 10;
    const std::size_t size = pod.name.size();
    if (prefix.empty() || size <= prefix.size() || size > prefix.size() + most_digits ||
        (pod.name[prefix.size()] == '0' && size > prefix.size() + 1)) {
        return false;
    }
    std::int64_t index = 0;
    for (std::size_t at = prefix.size(); at < size; ++at) {
        const char digit = pod.name[at];
        if (digit < '0' || digit > '9') {
            return false;
        }
        index = index * 10 + (digit - '0');
    }
    return index == pod.index && std::memcmp(pod.name.data(), prefix.data(), prefix.size()) == 0;
}

}  // namespace

bool is_named_so(const job_plan& plan, const pod_record& pod, std::size_t type) {
    if (type != no_type && is_plain_name(plan.types[type].pod_prefix, pod)) {
        return true;
    }
    const auto parts = split_name(plan, pod.name);
    return parts && parts->type == std::string_view(pod.type) && parts->index == pod.index;
}

bool is_sound(const inputs& in, const pod_record& pod) {
    return in.owns(pod) && pod.labels_complete && is_named_so(in.plan, pod);
}

const pod_record* find_pod_of(const inputs& in, std::int32_t attempt) {
    const auto it = std::ranges::find_if(in.seen.pods, [&](const pod_record* p) {
        return p->attempt == attempt && is_sound(in, *p);
    });
    return it == in.seen.pods.end() ? nullptr : *it;
}

std::string_view type_from_name(const job_plan& plan, std::string_view name) {
    const auto parts = split_name(plan, name);
    return parts ? parts->type : std::string_view();
}

pod_identity identity_from_name(const job_plan& plan, std::string_view name) {
    pod_identity id;
    id.type = no_type;
    if (const auto parts = split_name(plan, name)) {
        id.type = type_number(plan, parts->type);
        id.index = parts->index;
        id.rename = parts->rename;
    }
    return id;
}

const replica_view* context::find_replica(std::size_t type, std::int32_t index) const {
    if (type >= view.types.size() || index < 0 || index >= view.types[type].wanted()) {
        return nullptr;
    }
    return &view.types[type].replicas[static_cast<std::size_t>(index)];
}

const replica_view* context::deciding() const {
    return find_replica(in.plan.deciding_type, 0);
}

std::string context::name_of(std::size_t type, std::int32_t index) const {
    const replica_view& s = *find_replica(type, index);
    return pod_name(in.plan, {type, index, status.attempt, s.round, s.rename});
}

std::int32_t replicas_up(const pod_view& view) {
    std::int32_t up = 0;
    for (const type_view& type : view.types) {
        up += static_cast<std::int32_t>(std::ranges::count_if(
            type.replicas, [](const replica_view& s) { return s.completed || s.is_up(); }
        ));
    }
    return up;
}

pod_view make_view(const inputs& in, const job_status& status) {
    return make_view(in.plan, status, in.seen, stuck_after(in.job.meta, in.policy), in.now);
}

pod_view make_view(
    const job_plan& plan,
    const job_status& status,
    const observed& seen,
    milliseconds stuck_after,
    instant now
) {
    return view_maker(plan, status, stuck_after, now).make(seen);
}

}  // namespace signalbox::core::engine
