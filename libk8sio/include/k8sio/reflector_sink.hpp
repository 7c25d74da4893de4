// SPDX-License-Identifier: Apache-2.0
//
// What a reflector is told, and whom it tells (REQUIREMENTS.md L3, L4, R6, W2, W8, W10).
#pragma once

#include <chrono>
#include <cstdint>
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
    /// the truth. A list follows, which ends with replace_after_rewind().
    virtual void rewound();
    /// As replace_end(), of the list after rewound(): what it holds stays, also where it is older
    /// than what was held, and all else is gone. By default: replace_end().
    virtual void replace_after_rewind(std::string_view resource_version);
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

}  // namespace signalbox::k8sio
