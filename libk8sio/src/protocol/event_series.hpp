// SPDX-License-Identifier: Apache-2.0
//
// Turns notes into writes: the first of its kind creates an Event, a repeated one counts on it
// (REQUIREMENTS.md N1). No I/O, no clock.
#pragma once

#include "k8sio/event_note.hpp"
#include "k8sio/time.hpp"

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace signalbox::k8sio::protocol {

/// One write of an Event.
class event_write {
public:
    event_write() = default;
    bool create = true;  ///< else: a merge patch
    std::string ns;
    std::string name;
    std::string body;
};

/// Where its Event is: those of cluster objects are in `default` (REQUIREMENTS.md N3).
std::string namespace_of(const event_note& note);

class event_series {
public:
    explicit event_series(std::string component, std::size_t capacity = 4096);

    /// The write for this note of the time `now` (of the server).
    event_write next(const event_note& note, wall_time now);
    /// The Event of this note is gone from the server (it keeps Events for an hour).
    void forget(const event_note& note);

    /// Events that a note may still be counted on, at most.
    std::size_t remembered() const { return entries_.size(); }

private:
    struct entry {
        std::string key;
        std::int64_t stamp = 0;  ///< of its name
        std::int64_t count = 0;
        wall_time last;
    };
    using entries = std::list<entry>;

    std::string create_body(const event_note& note, const entry& fresh) const;
    std::int64_t next_stamp(wall_time now);
    void drop(entries::iterator known);

    std::string component_;
    std::size_t capacity_;
    std::int64_t last_stamp_ = 0;
    entries entries_;                                                 // the last used one first
    std::unordered_map<std::string_view, entries::iterator> by_key_;  // of their keys
};

}  // namespace signalbox::k8sio::protocol
