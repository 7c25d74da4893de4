// SPDX-License-Identifier: Apache-2.0
//
// Whose note is written next, which one is tried again when, and which one goes where there is no
// room (REQUIREMENTS.md N2, N5, N6). No I/O, no clock.
#pragma once

#include "protocol/event_series.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace signalbox::k8sio::protocol {

/// A note on its way.
class queued_event {
public:
    queued_event() = default;
    event_note note;
    wall_time recorded;  ///< of the server: the time that the Event tells
    steady_time since;   ///< the same moment, for its age
    int tries = 0;       ///< that failed
    /// What was sent and may have arrived: it is sent again as it is.
    std::optional<event_write> write;
};

class event_queue {
public:
    /// `room`: notes that wait, but for those of rank `end`; of these ten times as many may.
    explicit event_queue(std::size_t room);

    /// How many notes it pushed out.
    std::size_t push(queued_event added);
    /// The next to be written; it has its turn until written() or failed().
    std::optional<queued_event> take(steady_time now);
    /// It is on the server, or the server has said that it will not be.
    void written(const queued_event& taken);
    /// The server was not reached, or could not. False: given up; else it waits, the first time
    /// for `first_delay`.
    bool failed(queued_event taken, steady_time now, std::chrono::nanoseconds first_delay);
    /// When take() has one though nothing was pushed or came back meanwhile.
    std::optional<steady_time> next_due() const;
    /// From now on nothing waits, and nothing is tried again.
    void flush();
    /// Forgets what waits, and says how many that were.
    std::size_t clear();

    bool idle() const { return waiting() == 0 && taken_ == 0; }
    std::size_t waiting() const { return counts_[0] + counts_[1] + counts_[2]; }

private:
    using notes = std::list<queued_event>;
    struct lane;
    struct line;
    using held_lines = std::multimap<steady_time, line*>;
    using held_lanes = std::multimap<steady_time, lane*>;
    /// The notes of one object: one at a time is written.
    struct line {
        std::string object;
        lane* of = nullptr;
        std::deque<notes::iterator> waiting;
        enum { ready, held, taken } state = ready;
        std::list<line*>::iterator place;  ///< where it is ready
        held_lines::iterator hold;         ///< where it is held
    };
    /// A namespace.
    struct lane {
        std::string ns;
        std::array<notes, 3> by_rank;
        std::unordered_map<std::string, line> lines;
        std::list<line*> ready;
        std::size_t taken = 0;
        int failures = 0;  ///< one after the other
        bool probing = false;
        steady_time held_until;
        std::uint64_t turn = 0;  ///< in turns_, if it is there
        std::optional<held_lanes::iterator> hold;

        bool troubled() const;
    };

    void release_due(steady_time now);
    lane* choose(steady_time now);
    void ready_line(line& l);
    void drop_line(line& l);
    void place(lane& l);
    line& give_back(const queued_event& taken);
    void remove(notes::iterator note, lane& l);
    void push_out(event_rank rank);

    std::size_t room_;
    std::array<std::size_t, 3> counts_{};
    std::size_t taken_ = 0;
    std::size_t probes_ = 0;
    std::uint64_t last_turn_ = 0;
    bool flushing_ = false;
    std::map<std::string, lane> lanes_;
    std::map<std::uint64_t, lane*> turns_;  ///< who may be served now, in turn
    held_lanes held_lanes_;                 ///< whose next write is a probe
    held_lines held_lines_;
};

}  // namespace signalbox::k8sio::protocol
