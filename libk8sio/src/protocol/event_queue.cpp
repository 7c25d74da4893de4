// SPDX-License-Identifier: Apache-2.0
#include "protocol/event_queue.hpp"

#include <algorithm>

namespace signalbox::k8sio::protocol {

namespace {

// N6
constexpr std::size_t writers = 8;
constexpr std::size_t writers_of_one = 6;  ///< of one namespace
constexpr std::size_t probes = 2;          ///< of all namespaces that are in trouble
constexpr int trouble = 8;                 ///< failures one after the other

// N2
constexpr int max_tries = 12;
constexpr std::chrono::seconds try_interval{10};
constexpr std::chrono::hours max_age{1};

constexpr std::size_t rooms_of_ends = 10;  // N5

std::size_t index(event_rank rank) {
    return static_cast<std::size_t>(rank);
}

std::string object_of(const event_note& note) {
    const object_reference& about = note.regarding;
    return about.kind + '\0' + about.name + '\0' + about.uid;
}

bool is_given_up(const queued_event& event, steady_time now) {
    const bool tried = event.tries >= max_tries && event.note.rank != event_rank::end;
    return tried || now - event.since >= max_age;
}

}  // namespace

bool event_queue::lane::troubled() const {
    return failures >= trouble;
}

event_queue::event_queue(std::size_t room) : room_(room) {}

std::size_t event_queue::push(queued_event added) {
    const event_rank rank = added.note.rank;
    lane& in = lanes_[namespace_of(added.note)];
    if (in.ns.empty()) {
        in.ns = namespace_of(added.note);
        in.turn = ++last_turn_;
    }
    const auto [found, fresh] = in.lines.try_emplace(object_of(added.note));
    line& of = found->second;
    notes& list = in.by_rank[index(rank)];
    of.waiting.push_back(list.insert(list.end(), std::move(added)));
    ++counts_[index(rank)];
    if (fresh) {
        of.object = found->first;
        of.of = &in;
        ready_line(of);
        place(in);
    }
    if (counts_[index(event_rank::end)] > rooms_of_ends * room_) {
        push_out(event_rank::end);
        return 1;
    }
    if (counts_[0] + counts_[1] > room_) {
        push_out(counts_[0] > 0 ? event_rank::detail : event_rank::state);
        return 1;
    }
    return 0;
}

/// The oldest of the namespace that has the most.
void event_queue::push_out(event_rank rank) {
    const auto most = std::ranges::max_element(lanes_, {}, [&](const auto& each) {
        return each.second.by_rank[index(rank)].size();
    });
    lane& in = most->second;
    const notes::iterator victim = in.by_rank[index(rank)].begin();
    line& of = in.lines.at(object_of(victim->note));
    of.waiting.erase(std::ranges::find(of.waiting, victim));
    remove(victim, in);
    if (of.waiting.empty() && of.state != line::taken) {
        drop_line(of);
        place(in);
    }
}

void event_queue::remove(notes::iterator note, lane& l) {
    const std::size_t rank = index(note->note.rank);
    --counts_[rank];
    l.by_rank[rank].erase(note);
}

void event_queue::ready_line(line& l) {
    l.state = line::ready;
    l.place = l.of->ready.insert(l.of->ready.end(), &l);
}

void event_queue::drop_line(line& l) {
    if (l.state == line::ready) {
        l.of->ready.erase(l.place);
    } else if (l.state == line::held) {
        held_lines_.erase(l.hold);
    }
    lane& in = *l.of;
    const std::string object = std::move(l.object);
    in.lines.erase(object);
}

/// Brings the lane to where it belongs after any change of it; one without notes goes.
void event_queue::place(lane& l) {
    turns_.erase(l.turn);
    if (l.hold) {
        held_lanes_.erase(*l.hold);
        l.hold.reset();
    }
    if (l.lines.empty()) {
        const std::string ns = std::move(l.ns);
        lanes_.erase(ns);
        return;
    }
    if (l.ready.empty()) {
        return;
    }
    if (l.troubled() && l.taken == 0) {
        l.hold = held_lanes_.emplace(flushing_ ? steady_time::min() : l.held_until, &l);
    } else if (!l.troubled() && l.taken < writers_of_one) {
        turns_[l.turn] = &l;
    }
}

void event_queue::release_due(steady_time now) {
    while (!held_lines_.empty() && (flushing_ || held_lines_.begin()->first <= now)) {
        line& l = *held_lines_.begin()->second;
        held_lines_.erase(held_lines_.begin());
        ready_line(l);
        place(*l.of);
    }
}

event_queue::lane* event_queue::choose(steady_time now) {
    if (taken_ >= writers) {
        return nullptr;
    }
    if (probes_ < probes && !held_lanes_.empty() && held_lanes_.begin()->first <= now) {
        lane* probed = held_lanes_.begin()->second;
        probed->probing = true;
        ++probes_;
        return probed;
    }
    return turns_.empty() ? nullptr : turns_.begin()->second;
}

std::optional<queued_event> event_queue::take(steady_time now) {
    release_due(now);
    lane* chosen = choose(now);
    if (chosen == nullptr) {
        return std::nullopt;
    }
    line& of = *chosen->ready.front();
    chosen->ready.pop_front();
    of.state = line::taken;
    const notes::iterator first = of.waiting.front();
    of.waiting.pop_front();
    queued_event out = std::move(*first);
    remove(first, *chosen);
    ++chosen->taken;
    ++taken_;
    turns_.erase(chosen->turn);
    chosen->turn = ++last_turn_;
    place(*chosen);
    return out;
}

event_queue::line& event_queue::give_back(const queued_event& taken) {
    lane& in = lanes_.at(namespace_of(taken.note));
    --in.taken;
    --taken_;
    if (in.probing) {
        in.probing = false;
        --probes_;
    }
    return in.lines.at(object_of(taken.note));
}

void event_queue::written(const queued_event& taken) {
    line& of = give_back(taken);
    lane& in = *of.of;
    in.failures = 0;
    if (of.waiting.empty()) {
        drop_line(of);
    } else {
        ready_line(of);
    }
    place(in);
}

bool event_queue::failed(
    queued_event taken, steady_time now, std::chrono::nanoseconds first_delay
) {
    line& of = give_back(taken);
    lane& in = *of.of;
    ++in.failures;
    in.held_until = now + try_interval;
    ++taken.tries;
    const bool again = !flushing_ && !is_given_up(taken, now);
    if (again) {
        const std::size_t rank = index(taken.note.rank);
        const std::chrono::nanoseconds delay = taken.tries == 1 ? first_delay : try_interval;
        in.by_rank[rank].push_front(std::move(taken));
        of.waiting.push_front(in.by_rank[rank].begin());
        ++counts_[rank];
        of.state = line::held;
        of.hold = held_lines_.emplace(
            now + std::chrono::duration_cast<steady_time::duration>(delay), &of
        );
    } else if (of.waiting.empty()) {
        drop_line(of);
    } else {
        ready_line(of);
    }
    place(in);
    return again;
}

std::optional<steady_time> event_queue::next_due() const {
    std::optional<steady_time> out;
    if (taken_ >= writers) {
        return out;
    }
    if (!held_lines_.empty()) {
        out = held_lines_.begin()->first;
    }
    if (!held_lanes_.empty() && probes_ < probes) {
        const steady_time lane_due = held_lanes_.begin()->first;
        out = out ? std::min(*out, lane_due) : lane_due;
    }
    return out;
}

void event_queue::flush() {
    flushing_ = true;
    for (auto& [ns, each] : lanes_) {
        each.failures = 0;
        place(each);
    }
}

std::size_t event_queue::clear() {
    const std::size_t left = waiting();
    lanes_.clear();
    turns_.clear();
    held_lanes_.clear();
    held_lines_.clear();
    counts_ = {};
    taken_ = 0;
    probes_ = 0;
    return left;
}

}  // namespace signalbox::k8sio::protocol
