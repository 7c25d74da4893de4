// SPDX-License-Identifier: Apache-2.0
#include "choices.hpp"

#include "configurations.hpp"
#include "damage.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/pod_facts.hpp"
#include "events.hpp"
#include "gang.hpp"
#include "process.hpp"
#include "property/rules.hpp"
#include "property/server_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::search {

using namespace core;

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(op::count)> names{
    "pass",          "pass, counts wait",
    "request lost",  "answer lost",
    "crash after",   "forbidden",
    "invalid",       "quota exceeded",
    "not found",     "namespace dies",
    "unavailable",   "hold pods",
    "hold children", "hold job",
    "deliver",       "all start",
    "start",         "exits",
    "kill",          "gone",
    "all gone",      "evict",
    "preempt",       "vanish",
    "node dies",     "no code",
    "init fails",    "cannot pull",
    "pull works",    "unschedulable",
    "lose labels",   "mislabel",
    "unwatch",       "unknown",
    "delete",        "edit",
    "replace data",  "take name",
    "free names",    "board ready",
    "report",        "checkpoint",
    "refuse pods",   "accept pods",
    "stop serving",  "serve",
    "queue answers", "admit in part",
    "reserve",       "take quota",
    "reserve anew",  "deactivate",
    "activate",      "finish Workload",
    "close queue",   "open queue",
    "pause",         "resume",
    "resize",        "limit",
    "deadline",      "spec",
    "break spec",    "mend spec",
    "drop board",    "delete job",
    "damage",        "wake",
    "half way",      "eleven minutes",
    "time back",     "clocks",
};

bool runs(const pod_record& p) {
    return p.phase == pod_phase::running;
}

bool is_seen(const world& w, const pod_record& p) {
    const index_set* seen = engine::find_indexes(w.job->status.restarts.seen, p.type);
    return seen != nullptr && seen->contains(p.index);
}

/// Whether this can befall the pod.
bool can_befall(const world& w, const pod_record& p, op what) {
    const bool dead = w.on_dead_node(p);
    const bool waits = p.phase == pod_phase::pending && !p.deletion;
    const bool damaged = !p.labels_complete;
    switch (what) {
        case op::start:
            return can_start(w, p);
        case op::exits:
            return runs(p) && !dead && !damaged;
        case op::kill:
            return !p.deletion;
        case op::gone:
            return p.deletion.has_value();
        case op::evict:
            return runs(p) && !p.deletion && !damaged;
        case op::preempt:
        case op::node_dies:
            return !p.deletion && !test::has_ended(p) && p.scheduled;
        case op::vanish:
            return true;
        case op::no_code:
            return !p.deletion && !test::has_ended(p);
        case op::init_fails:
            return waits && !p.scheduled;
        case op::cannot_pull:
            return waits && !p.scheduled && !p.containers.empty();
        case op::pull_works:
            return waits && engine::hopeless_container(p) != nullptr;
        case op::unschedulable:
            return waits && !p.scheduled && !p.unschedulable;
        case op::lose_labels:
            return p.labels_complete && p.attempt != gone_attempt;
        case op::unwatch:
            if (test::has_ended(p) || !is_seen(w, p)) {
                return false;  // a known gap of BEHAVIOUR.md 1.9
            }
            [[fallthrough]];
        case op::mislabel:
            return p.labels_complete && !p.deletion && p.attempt == w.job->status.attempt &&
                   w.harm.attempts.empty() && w.harm.hidden.empty();
        case op::master_unknown:
            return runs(p) && !p.deletion;
        default:
            return false;
    }
}

bool has_data(const child_record& c) {
    return c.kind == object_kind::secret || c.kind == object_kind::config_map;
}

bool is_pod_op(op what) {
    return what >= op::start && what <= op::master_unknown && what != op::all_gone;
}

class enumerator {
public:
    explicit enumerator(const world& w) : w_(w), config_(w.context->config()) {}

    std::vector<choice> all() {
        for (const op what : config_.faults) {
            if (what == op::exits) {
                add_exits();
            } else if (what == op::mislabel) {
                add_mislabels();
            } else if (what == op::damage_status) {
                add_damages();
            } else if (is_pod_op(what)) {
                add_for_pods(what);
            } else if (what >= op::lose_request && what <= op::refuse_unavailable) {
                add_for_writes(what);
            } else if (what >= op::delete_child && what <= op::take_name) {
                add_for_children(what);
            } else if (what >= op::pause && what <= op::delete_job) {
                add_edits(what);
            } else {
                add_others(what);
            }
        }
        return std::move(out_);
    }

private:
    void add(op what, std::size_t at = 0, int value = 0) {
        out_.push_back({what, static_cast<std::uint8_t>(at), static_cast<std::int16_t>(value)});
    }

    void add_exits() {
        for (std::size_t i = 0; i < w_.pods.size(); ++i) {
            for (const int code : config_.codes) {
                if (can_befall(w_, *w_.pods[i], op::exits)) {
                    add(op::exits, i, code);
                }
            }
        }
    }

    void add_mislabels() {
        for (std::size_t i = 0; i < w_.pods.size(); ++i) {
            for (int how = 0; how < static_cast<int>(mislabel::count); ++how) {
                if (can_befall(w_, *w_.pods[i], op::mislabel)) {
                    add(op::mislabel, i, how);
                }
            }
        }
    }

    void add_damages() {
        if (w_.deleted || w_.harm.status) {
            return;
        }
        const auto count = damages_of(w_).size();
        for (std::size_t i = 0; i < count; ++i) {
            add(op::damage_status, 0, static_cast<int>(i));
        }
    }

    void add_for_pods(op what) {
        for (std::size_t i = 0; i < w_.pods.size(); ++i) {
            if (can_befall(w_, *w_.pods[i], what)) {
                add(what, i);
            }
        }
    }

    void add_for_writes(op what) {
        const auto writes = writes_of(w_);
        for (std::size_t i = 0; i < writes.size(); ++i) {
            const bool of_status = writes[i] == nullptr;
            const bool refusal = what >= op::refuse_forbidden && what != op::refuse_unavailable;
            const bool makes = !of_status && is_refusal_kept(*writes[i]);
            // A refused status write is a lost one.
            if (!refusal || makes) {
                add(what, i);
            }
        }
    }

    void add_for_children(op what) {
        if (what == op::take_name) {
            const auto writes = writes_of(w_);
            for (std::size_t i = 0; i < writes.size(); ++i) {
                const action* a = writes[i];
                if (a != nullptr && a->what() == verb::create &&
                    !w_.is_foreign(foreign_key(a->kind, a->name))) {
                    add(what, i);
                }
            }
            return;
        }
        for (std::size_t i = 0; i < w_.children.size(); ++i) {
            if (what != op::replace_data || has_data(*w_.children[i])) {
                add(what, i);
            }
        }
    }

    template <class List>
    void add_values(op what, const List& list, int present) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (static_cast<int>(i) != present) {
                add(what, 0, static_cast<int>(i));
            }
        }
    }

    void add_edits(op what) {
        if (w_.deleted) {
            return;
        }
        switch (what) {
            case op::resize:
                return add_values(what, config_.sizes, w_.spec.size);
            case op::change_limit:
                return add_values(what, config_.limits, w_.spec.limit);
            case op::change_deadline:
                return add_values(what, config_.deadlines, w_.spec.deadline);
            case op::change_spec:
                return add_values(what, config_.specs, w_.spec.spec);
            case op::pause:
            case op::resume:
                return w_.spec.pause == (what == op::pause) ? void() : add(what);
            case op::drop_board:
                return w_.spec.no_board ? void() : add(what);
            case op::break_spec:
            case op::mend_spec:
                return w_.spec.broken == (what == op::break_spec) ? void() : add(what);
            default:
                return add(what);
        }
    }

    void add_others(op what) {
        switch (what) {
            case op::pass:
                return add_pass();
            case op::pass_defers:
                return decision_of(w_).deferrable() ? add(what) : void();
            case op::hold_pods:
                return w_.known_pods ? void() : add(what);
            case op::hold_children:
                return w_.known_children ? void() : add(what);
            case op::hold_job:
                return w_.job_held || w_.deleted ? void() : add(what);
            case op::report:
                return can_report() ? add(what) : void();
            case op::checkpoint:
                for (std::size_t i = 0; config_.reports && i < w_.pods.size(); ++i) {
                    if (runs(*w_.pods[i])) {
                        add(what, i);
                    }
                }
                return;
            case op::free_names:
                return w_.foreign.empty() ? void() : add(what);
            case op::refuse_pods:
                for (const mood m : {mood::quota, mood::invalid}) {
                    if (w_.server == mood::good) {
                        add(what, 0, static_cast<int>(m));
                    }
                }
                return;
            case op::accept_pods:
                return w_.server == mood::good ? void() : add(what);
            case op::stop_serving:
            case op::serve: {
                const served now = what == op::serve ? served::no : served::yes;
                if (w_.served.of(gang_kind(w_)) == now) {
                    add(what, 0, 0);
                }
                if (w_.served.of(object_kind::tensorboard) == now) {
                    add(what, 0, 1);
                }
                return;
            }
            case op::wake:
            case op::half_way: {
                const auto t = decision_of(w_).wake_up;
                return t && *t > w_.now + seconds(1) ? add(what) : void();
            }
            case op::queue_answers:
            case op::admit_in_part:
            case op::reserve:
            case op::take_quota:
            case op::reserve_anew:
            case op::deactivate:
            case op::activate:
            case op::finish_workload:
            case op::close_queue:
            case op::open_queue:
                return can_befall_quota(w_, what) ? add(what) : void();
            case op::set_clocks:
                for (const int skew : config_.skews) {
                    if (w_.skew != seconds(skew)) {
                        add(what, 0, skew);
                    }
                }
                return;
            default:
                return add(what);
        }
    }

    bool can_report() const {
        return config_.reports && std::ranges::any_of(w_.pods, [&](const pod_ptr& p) {
                   return runs(*p) && p->attempt == w_.job->status.attempt && !p->deletion;
               });
    }

    /// A pass where something else would come by itself.
    void add_pass() {
        const auto next = natural_choice(w_);
        if (next && next->what != op::pass && next->what != op::wake) {
            add(op::pass);
        }
    }

    const world& w_;
    const configuration& config_;
    std::vector<choice> out_;
};

bool any_pod_can_start(const world& w) {
    return std::ranges::any_of(w.pods, [&](const pod_ptr& p) { return can_start(w, *p); });
}

bool any_deletion_can_end(const world& w) {
    return std::ranges::any_of(
               w.pods, [&](const pod_ptr& p) { return p->deletion && !w.on_dead_node(*p); }
           ) ||
           std::ranges::any_of(w.children, [&](const child_ptr& c) { return can_go(w, *c); });
}

bool any_board_starts(const world& w) {
    return std::ranges::any_of(w.children, [](const child_ptr& c) {
        return is_board(*c) && !c->ready;
    });
}

std::string words_of_write(const world& w, std::size_t i) {
    const auto writes = writes_of(w);
    if (i >= writes.size()) {
        return "?";
    }
    if (writes[i] == nullptr) {
        return "status";
    }
    const action& a = *writes[i];
    return fmt::format("{} {} {}", to_string(a.what()), to_string(a.kind), short_name(w, a.name));
}

}  // namespace

bool can_start(const world& w, const pod_record& p) {
    const bool waits = p.phase == pod_phase::pending || p.phase == pod_phase::unknown;
    return waits && !p.deletion && !p.unschedulable && engine::hopeless_container(p) == nullptr &&
           !is_held(w, p);
}

bool is_board(const child_record& c) {
    return c.kind == object_kind::tensorboard || c.kind == object_kind::deployment;
}

std::string_view to_string(op o) {
    return names[static_cast<std::size_t>(o)];
}

std::string to_words(const world& w, const choice& c) {
    std::string text(to_string(c.what));
    if (is_pod_op(c.what) || c.what == op::checkpoint) {
        text += fmt::format(" {}", short_name(w, w.pods.at(c.at)->name));
    }
    if (c.what >= op::delete_child && c.what <= op::replace_data) {
        const child_record& child = *w.children.at(c.at);
        text += fmt::format(" {} {}", to_string(child.kind), short_name(w, child.name));
    }
    if ((c.what >= op::lose_request && c.what <= op::refuse_unavailable) ||
        c.what == op::take_name) {
        text += fmt::format(": {}", words_of_write(w, c.at));
    }
    const configuration& config = w.context->config();
    const auto value = static_cast<std::size_t>(c.value);
    switch (c.what) {
        case op::exits:
            return text + fmt::format(" {}", c.value);
        case op::mislabel:
            return text + fmt::format(": {}", to_string(static_cast<mislabel>(c.value)));
        case op::damage_status:
            return text + " " + damages_of(w).at(value).words();
        case op::resize:
            return text + fmt::format(" {}", config.sizes.at(value));
        case op::change_limit:
            return text + fmt::format(" {}", config.limits.at(value));
        case op::change_deadline:
            return text + fmt::format(" {}", config.deadlines.at(value));
        case op::change_spec:
            return text + fmt::format(" {}", config.specs.at(value).name);
        case op::set_clocks:
            return text + fmt::format(" {}", c.value);
        case op::refuse_pods:
            return text + (c.value == static_cast<int>(mood::quota) ? ": quota" : ": invalid");
        case op::stop_serving:
        case op::serve:
            return text + (c.value == 0 ? " PodGroup" : " TensorBoard");
        default:
            return text;
    }
}

std::vector<choice> all_choices(const world& w) {
    return enumerator(w).all();
}

std::optional<choice> natural_choice(const world& w) {
    if (w.is_stale()) {
        return choice{op::deliver};
    }
    if (w.deleted) {
        return std::nullopt;  // the collector of garbage takes the children along
    }
    const decision& d = decision_of(w);
    if (d.status || test::acts(d, w.now)) {
        return choice{op::pass};
    }
    if (any_deletion_can_end(w)) {
        return choice{op::all_gone};
    }
    if (can_befall_quota(w, op::queue_answers)) {
        return choice{op::queue_answers};
    }
    if (any_pod_can_start(w)) {
        return choice{op::all_start};
    }
    if (any_board_starts(w)) {
        return choice{op::board_ready};
    }
    if (d.wake_up) {
        return choice{op::wake};
    }
    return std::nullopt;
}

std::optional<choice> find_choice(const world& w, std::string_view words) {
    auto known = all_choices(w);
    if (const auto next = natural_choice(w)) {
        known.push_back(*next);
    }
    known.push_back({op::pass});
    for (const choice& c : known) {
        if (to_words(w, c) == words) {
            return c;
        }
    }
    return std::nullopt;
}

}  // namespace signalbox::search
