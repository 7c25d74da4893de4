// SPDX-License-Identifier: Apache-2.0
//
// The loop of a controller: watches keep views, what changes queues keys, and one function brings
// the object behind a key to what it should be (REQUIREMENTS.md Q1-Q7, Q11, Q13, E2,
// H1).
#pragma once

#include "k8sio/client.hpp"
#include "k8sio/reflector.hpp"
#include "k8sio/store.hpp"
#include "k8sio/work_queue.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

/// What happens with the key after one pass. By default nothing, until something changes.
class reconcile_result {
public:
    reconcile_result() = default;

    /// Something failed or was refused: again after the key's delay, which doubles each time.
    bool failed = false;
    /// What failed may be over at any time, as a server in trouble: the delay stays below
    /// backoff_policy::transient_max.
    bool transient = false;
    /// Something was written: again as soon as the views show it.
    bool requeue = false;
    /// The views are behind what the function itself has learned: nothing was done; again when they
    /// have followed.
    bool behind = false;
    /// Again then, though nothing changes.
    std::optional<steady_time> requeue_at;
    /// What the pass took of the thread, as a multiple of a usual one: the other groups get so many
    /// turns for it (REQUIREMENTS.md Q11).
    std::uint64_t cost = 1;
};

/// One pass: it reconciles one key, and is never run twice at a time for it. It looks at views and
/// acts, and never relies on what has changed: one pass may stand for many changes, and comes also
/// for none.
///
/// Errors: an exception counts as failed.
/// Lifetimes: what it refers to must outlive controller::run().
/// Cancellation: none; controller::run() waits for its end.
using reconcile_function = std::function<boost::asio::awaitable<reconcile_result>(std::string key)>;

/// How bad it is, of a line for the log.
enum class severity { warning, error };

/// Hears of the passes, for metrics.
///
/// Lifetimes: it must outlive the controller.
/// Thread: the controller's. It must neither throw nor call the controller.
class reconcile_observer {
public:
    virtual ~reconcile_observer() = default;
    /// A pass begins. Its key was ready so long, not counting time when no pass may start.
    virtual void began(std::chrono::nanoseconds waited) = 0;
    /// A pass ended, after so long.
    virtual void ended(std::chrono::nanoseconds worked, const reconcile_result& result) = 0;
};

class controller_options {
public:
    controller_options() = default;
    /// Keys worked on at a time.
    std::size_t max_concurrent_reconciles = 64;
    /// Passes over one key that changes of views ask for are at least this far apart, so that a
    /// burst of events is one pass. The first event after a quiet time is acted on at once.
    std::chrono::nanoseconds gather = std::chrono::milliseconds{25};
    /// Delay of a key's next pass after a failed one.
    backoff_policy backoff;
    /// Groups that get equal shares of the passes, e.g. the namespaces, none of which has so many
    /// under way that another finds no place (REQUIREMENTS.md Q11). Empty: the keys come in the
    /// order in which they became ready.
    group_function group_of;
    /// The passes under way take so many bytes at most, those of one group half of it
    /// (REQUIREMENTS.md Q13); a key for which there is no room waits, and others pass it. Empty:
    /// no bound.
    load_function load_of;
    std::size_t max_load = 32u << 20;
    /// Asked before passes are started, once all required views are complete; call wake() when its
    /// answer may have changed. Empty: true.
    std::function<bool()> ready;
    /// What is worth a place in a log: one line each. Empty: no one is told.
    std::function<void(severity how, const std::string& line)> log;
    /// Null: no one is told.
    reconcile_observer* observer = nullptr;
};

/// What is watched for a view, and what a controller asks of it.
class watch_options {
public:
    watch_options() = default;
    watch_options(std::string ns, std::string label_selector) {
        reflect.ns = std::move(ns);
        reflect.label_selector = std::move(label_selector);
    }

    /// The controller derives another `seed` from this one for each watch.
    reflector_options reflect;
    /// No pass is started before the first list. False: the server need not serve the type; the
    /// view is awaited only while it is complete.
    bool required = true;
    /// No pass is started on a view of which the server has said nothing for so long; 0: on any. By
    /// default twice what a reflector waits for a word.
    std::chrono::nanoseconds max_age = std::chrono::seconds{180};
};

/// Another coroutine of a controller.
using part_function = std::function<boost::asio::awaitable<void>()>;

/// When it is told to stop.
enum class stop_order {
    with_watches,      ///< as soon as stop() is called
    after_reconciles,  ///< when the last pass has ended: what passes use, e.g. an event recorder
};

/// Since construction.
struct reconcile_counters {
    std::uint64_t reconciles = 0;    ///< passes begun
    std::uint64_t behind = 0;        ///< put off, because a view was behind our own writes
    std::uint64_t failed = 0;        ///< with reconcile_result::failed, or by an exception
    std::uint64_t contradicted = 0;  ///< views that were listed anew because an event was lost
};

/// How one watch of a controller is doing.
struct view_state {
    std::string resource;  ///< plural
    bool synced = false;   ///< there was a complete list
    steady_time heard_at;  ///< when the server last said something about it
    /// Grows with each step of the watch, failed ones too: one whose number stands still hangs.
    std::uint64_t steps = 0;
    std::string error;  ///< the last one; empty when all is well
};

/// Runs the watches and the passes over keys.
///
/// Lifetimes: `api` and the views must outlive run(). Destroy it only before run() has started or
/// after it has returned.
/// Thread: one, that of `executor`.
class controller {
public:
    controller(
        boost::asio::any_io_executor executor,
        client& api,
        reconcile_function reconcile,
        controller_options options = controller_options()
    );
    ~controller();
    controller(const controller&) = delete;
    controller& operator=(const controller&) = delete;

    /// Keeps `to` equal to what the server holds of `type`, from run() on, or from now on if it
    /// runs. A view has one watch at a time. The code behind `to` queues the keys that its changes
    /// concern.
    void watch(resource_type type, view& to, watch_options options = watch_options());
    /// The same for a store, whose changes queue the keys that `key_of` gives of a record before
    /// and after; an empty key: none.
    template <class Record, class... Index, std::invocable<const Record&> KeyOf>
    void watch(
        resource_type type,
        store<Record, Index...>& to,
        KeyOf key_of,
        watch_options options = watch_options()
    );
    /// Ends the watch of `to`, which is cleared as soon as its reflector has ended.
    void unwatch(const view& to);
    /// The reflector that fills `to`, for its state; null if there is none.
    ///
    /// Lifetimes: until the loop goes on, or `to` is not watched any more.
    const reflector* reflector_of(const view& to) const;

    /// Another coroutine that lives as long as the controller: run() starts it, has `stop` called
    /// at its time, and waits for its end. Only before run(). Its name is for failure().
    void add_part(
        std::string name, part_function run, std::function<void()> stop, stop_order order
    );

    /// Runs until stop(), or until a watch or another part of it ends by itself, which says
    /// failure(): a part that is dead leaves a view frozen, or no one to act, and the process
    /// should end. An API server that is away ends nothing. After stop() no pass is begun; those
    /// under way are waited for, and their requests end after 10 s at most. Once per object.
    ///
    /// Cancellation: none, use stop().
    boost::asio::awaitable<void> run();
    /// May be called again, and before run().
    void stop();
    bool stopping() const;
    /// Which part died, and how; empty if none did.
    const std::string& failure() const;

    /// Queues the key. `low_priority`: behind all others (REQUIREMENTS.md Q5).
    void enqueue(const std::string& key, bool low_priority = false);
    /// The same for a change of what belongs to the key: see controller_options::gather.
    void enqueue_gathered(const std::string& key);
    /// What the key named is gone: it leaves the queue, and nothing of it is remembered. What is
    /// queued later counts.
    void forget(const std::string& key);
    /// Looks at the queue soon: see controller_options::ready.
    void wake();

    /// No pass over `key` before `v` has seen `version`, that of an acknowledged write for it.
    /// Texts that are no versions are ignored.
    void expect(const std::string& key, const view& v, std::string_view version);
    /// Takes the answer to a write for `key` into the store at once, and expects the watch to show
    /// it.
    template <class Record, class... Index>
    void note_answer(
        const std::string& key, store<Record, Index...>& in, std::string_view object_json
    );
    /// True if the views are complete and show all that is expected for `key`: else no pass begins.
    /// One that has expected more while it runs may ask again.
    bool is_fresh(const std::string& key) const;

    /// An answer was older than what had been seen: the server is asked whether it went back in
    /// time (REQUIREMENTS.md V6).
    void doubt_views();
    /// An answer has shown that `v` missed an event: it is listed anew, and nothing is decided
    /// before it has been. Not again within ten seconds, whatever else contradicts it
    /// (REQUIREMENTS.md W13).
    void contradicted(const view& v);
    /// Lists all views anew before the next pass: they may be behind what has to be seen. Before
    /// run() there is nothing to list.
    void refresh();
    /// Every required view is complete.
    bool views_synced() const;
    /// What keeps views from being up to date now, one line per watch; empty when all is well.
    std::vector<std::string> problems() const;

    /// Keys waiting for their turn now; passes under way.
    std::size_t queue_depth() const;
    std::size_t active_reconciles() const;
    const reconcile_counters& counters() const;
    /// How often a key was ready for a pass, since construction.
    std::uint64_t keys_queued() const;
    /// One for each watch.
    std::vector<view_state> views() const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

template <class Record, class... Index, std::invocable<const Record&> KeyOf>
void controller::watch(
    resource_type type, store<Record, Index...>& to, KeyOf key_of, watch_options options
) {
    to.on_change([this, key_of](const Record* before, const Record* now) {
        const std::string was = before != nullptr ? std::string(std::invoke(key_of, *before)) : "";
        const std::string is = now != nullptr ? std::string(std::invoke(key_of, *now)) : "";
        if (!was.empty()) {
            enqueue_gathered(was);
        }
        if (!is.empty() && is != was) {
            enqueue_gathered(is);
        }
    });
    view& as_view = to;
    watch(std::move(type), as_view, std::move(options));
}

template <class Record, class... Index>
void controller::note_answer(
    const std::string& key, store<Record, Index...>& in, std::string_view object_json
) {
    const std::string version = in.insert_answer(object_json);
    expect(key, in, version);
}

}  // namespace signalbox::k8sio
