// SPDX-License-Identifier: Apache-2.0
//
// List and watch: keeps a sink equal to what the server holds of one resource type, with as few
// lists as possible (REQUIREMENTS.md V3-V7, L1-L6, W1-W9).
#pragma once

#include "k8sio/client.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace signalbox::k8sio {

/// Where a reflector puts what it sees. All calls come from inside run(): do not destroy or run the
/// reflector from them. Objects are complete, as JSON. A sink must not throw.
///
/// upsert() and remove() are enough for a sink that reports what it is told. One that keeps what is
/// there has to override the replace_...() functions too: of an object that went while there was no
/// watch nothing is heard but its absence from the next list. `store` does all of that.
///
/// Lifetimes: texts are valid during the call.
/// Thread: the loop's only.
class reflector_sink {
public:
    virtual ~reflector_sink() = default;

    /// ADDED or MODIFIED; may repeat or be older than what is held (W8).
    virtual void upsert(std::string_view object_json) = 0;
    /// DELETED, with the last state, or an object that left the selection (W10). May be unknown.
    virtual void remove(std::string_view object_json) = 0;
    /// The sink has seen everything up to this version (bookmarks and every event).
    virtual void advance(std::string_view resource_version);

    /// A full list begins; items follow. The visible content changes only at replace_end (L4).
    virtual void replace_begin();
    /// May be newer than the list's version, or older than what was held. By default: upsert().
    virtual void replace_item(std::string_view object_json);
    /// Objects that were not among the items are gone. By default: advance().
    virtual void replace_end(std::string_view resource_version);
    /// The list failed half way: drop what was collected.
    virtual void replace_abort();
    /// The server was restored from a backup (REQUIREMENTS.md V6): what is held may be newer than
    /// the truth. A list follows, and what it holds stays, also where it is older.
    virtual void rewound();
};

/// What to watch, and with which patience (REQUIREMENTS.md L3, R6, W2).
class reflector_options {
public:
    reflector_options() = default;
    std::string ns;                ///< empty: all namespaces
    std::string label_selector;    ///< empty: all
    std::string field_selector;    ///< empty: all
    std::int64_t page_size = 500;  ///< objects per page of a list; 0: one page
    /// Wait after the first failure, doubled up to the maximum, plus up to as much again.
    std::chrono::nanoseconds backoff_initial = std::chrono::milliseconds{800};
    std::chrono::nanoseconds backoff_max = std::chrono::seconds{30};
    /// The length that a watch asks for, random in [min, max).
    std::chrono::seconds watch_timeout_min{300};
    std::chrono::seconds watch_timeout_max{600};
    /// A watch that says nothing for so long, not even a bookmark, is given up, and the server is
    /// asked whether it went back (V6). Bookmarks come every minute.
    std::chrono::nanoseconds silence_limit = std::chrono::seconds{90};
    std::uint64_t seed = 1;  ///< of jitter: another one for each reflector spreads them
};

/// Since construction.
struct reflector_counters {
    std::uint64_t lists = 0;    ///< begun, however many pages
    std::uint64_t watches = 0;  ///< asked for
    std::uint64_t events = 0;   ///< ADDED, MODIFIED, DELETED
    std::uint64_t errors = 0;   ///< of lists, watches and events
    std::uint64_t skipped = 0;  ///< events of unknown type
    std::uint64_t probes = 0;   ///< questions for the version alone, after silence or doubt (V6)
    std::uint64_t rewinds = 0;  ///< times the version went backwards: a restored server (V6)
};

/// Keeps a sink equal to the server.
///
/// Lifetimes: `api` and `sink` must outlive run(). Do not destroy it before run() has returned.
/// Thread: the loop's only.
class reflector {
public:
    reflector(
        client& api,
        resource_type type,
        reflector_sink& sink,
        reflector_options options = reflector_options()
    );
    ~reflector();
    reflector(const reflector&) = delete;
    reflector& operator=(const reflector&) = delete;

    /// Lists, then watches; resumes after a lost connection without a new list; lists again only
    /// after 410, a version that went backwards, or errors that do not pass. No failure ends it: it
    /// returns after stop(). Run it once.
    ///
    /// Cancellation: terminal or all; it returns soon, as after stop().
    boost::asio::awaitable<void> run();
    /// Ends run() soon, closing the stream; half a list is aborted. May be called again, and before
    /// run(), which then returns at once.
    void stop();

    /// Asks the server soon whether it went back in time, and goes on as before if not. For whoever
    /// has seen a sign of it: an object in an answer that is older than one seen before.
    void doubt();
    /// Lists anew, and tells the sink that the server went back: another resource has shown it.
    void start_over();
    /// Lists anew, and goes on from there: for whoever must see at least what the server has now,
    /// as a watch may be behind it.
    void refresh();
    /// True from doubt(), refresh() or a silence until the server has answered.
    bool doubtful() const { return doubtful_; }
    /// When the server last said something about this resource: the sink is no older than that.
    steady_time heard_at() const { return heard_at_; }

    /// The sink has had a complete list. Stays true; whether it is up to date says last_error().
    bool synced() const { return synced_; }
    const reflector_counters& counters() const { return counters_; }
    /// The last error, for logs and readiness; empty when all is well.
    const std::string& last_error() const { return last_error_; }
    const resource_type& type() const { return type_; }

private:
    void ask(bool& what);

    struct impl_access;
    friend struct impl_access;

    client* api_;
    resource_type type_;
    reflector_sink* sink_;
    reflector_options options_;
    bool synced_ = false;
    bool stopping_ = false;
    bool doubtful_ = false;
    bool doubt_asked_ = false;
    bool start_over_asked_ = false;
    bool refresh_asked_ = false;
    steady_time heard_at_{};
    response_stream* open_ = nullptr;
    reflector_counters counters_;
    std::string last_error_;
    std::unique_ptr<boost::asio::cancellation_signal> stop_signal_;
};

}  // namespace signalbox::k8sio
