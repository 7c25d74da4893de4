// SPDX-License-Identifier: Apache-2.0
//
// How fresh the views of a controller are, as a state machine (REQUIREMENTS.md E2, V6, W13): which
// of them are complete, what each key still waits for, which is to be asked or listed anew, and
// whether the server went back in time. No I/O, no clock: times come in.
#pragma once

#include "k8sio/time.hpp"
#include "k8sio/version_fence.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::protocol {

/// A view and the reflector that fills it, as they are now.
struct view_facts {
    bool complete = false;   ///< the view shows all that its last list held
    std::string_view seen;   ///< up to which version; valid until the view changes
    bool listed = false;     ///< the reflector had a complete list, now or before
    bool asking = false;     ///< the reflector waits for the answer to a doubt
    bool failing = false;    ///< its last step failed
    steady_time heard_at{};  ///< when the server last said something about it
};

/// Where the facts come from.
class view_source {
public:
    virtual ~view_source() = default;
    virtual view_facts facts() const = 0;
};

class freshness_fsm {
public:
    /// What the reflectors of `views` have to do.
    class order {
    public:
        enum class kind {
            probe,       ///< ask the server whether it went back in time
            list_anew,   ///< list, and go on from there
            start_over,  ///< list, and take the list for the truth even where it is older
        };
        order() = default;
        order(kind what_kind, std::vector<std::string> names)
            : what(what_kind), views(std::move(names)) {}
        bool operator==(const order&) const = default;

        kind what = kind::probe;
        std::vector<std::string> views;  ///< none: there is nothing to do
    };

    /// A view is watched from now on. Its name tells it from all others, also from earlier ones.
    /// `required`: nothing is decided before its first list; others count while they are complete.
    /// `max_age`: how long the server may say nothing about it; 0: for any time. `source` must
    /// live until remove().
    void add(
        std::string name, const view_source& source, bool required, std::chrono::nanoseconds max_age
    );
    /// Its watch is told to end: nothing is awaited of it.
    void end(const std::string& name);
    void remove(const std::string& name);

    /// No decision for `key` before the view has seen this version.
    void expect(const std::string& key, const std::string& view, std::string_view version);
    /// A pass over the key begins, or the key is gone: what was awaited is awaited no longer.
    void forget(const std::string& key) { fence_.forget(key); }

    /// Every view that counts is complete.
    bool is_complete() const;
    /// The views are complete and show all that is expected for the key.
    bool is_fresh(const std::string& key) const;
    /// The server has yet to say whether a view is still true, or has said nothing for too long.
    bool is_in_doubt(steady_time now) const;
    /// True if decisions may be made: all is complete and nothing is in doubt. A journey back in
    /// time has ended then.
    bool may_decide(steady_time now);

    /// An answer was older than what had been seen before.
    order on_older_answer(steady_time now) const;
    /// An answer showed what the view must have missed. No order within ten seconds of the last.
    order on_contradiction(const std::string& view, steady_time now);
    /// A view saw the server go back in time. The others are of a world that is no more, even if
    /// their versions do not say so: each is to start over, and every awaited version is forgotten.
    /// No order while such a journey is under way, as each view that starts over tells of it.
    order on_rewound();

private:
    struct watched {
        const view_source* source;
        bool required;
        std::chrono::nanoseconds max_age;
        bool ending;
        std::optional<steady_time> contradicted_at;
    };

    static bool counts(const watched& view, const view_facts& facts);
    static bool is_in_doubt(const watched& view, const view_facts& facts, steady_time now);

    std::map<std::string, watched> views_;
    version_fence fence_;
    bool rewinding_ = false;  ///< the server went back, and not all views have followed
};

}  // namespace signalbox::k8sio::protocol
