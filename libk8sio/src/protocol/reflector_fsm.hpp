// SPDX-License-Identifier: Apache-2.0
//
// List and watch as a state machine: it is told what happened and says what to do next. No I/O, no
// clock: times come in. It keeps REQUIREMENTS.md V3-V7, L1-L4 and W1-W9.
#pragma once

#include "k8sio/reflector_sink.hpp"
#include "k8sio/resource.hpp"
#include "k8sio/time.hpp"
#include "protocol/api_json.hpp"
#include "protocol/jitter.hpp"
#include "protocol/watch_frames.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace signalbox::k8sio::protocol {

/// What the shell has to do next.
class reflector_action {
public:
    enum class kind {
        list,    ///< fetch the page `list`: on_item() for each, then on_list()
        watch,   ///< open a watch from `version`; then the on_watch_...() calls
        probe,   ///< fetch the page `list`, of one object at most, then on_probe()
        sleep,   ///< wait for `wait`, then next()
        finish,  ///< return
    };
    reflector_action() = default;

    kind what = kind::finish;
    list_options list;
    std::string version;
    std::chrono::seconds timeout{0};   ///< `timeoutSeconds` of the watch
    std::chrono::nanoseconds idle{0};  ///< silence after which the watch is no good any more
    std::chrono::nanoseconds wait{0};
};
std::ostream& operator<<(std::ostream& out, const reflector_action& action);

/// What a reflector is at, with what belongs to it.
namespace reflector_states {

/// Pages of one list.
struct listing {
    std::string version;         ///< to ask for; empty: the most recent
    std::string continue_token;  ///< of the page that comes next; empty: the first
    bool unpaged = false;
    bool collecting = false;  ///< the sink has begun
    bool refreshing = false;  ///< it was asked for by refresh()
    /// The server went back in time, and the sink knows: what the list holds is the truth, also
    /// where it is older. Nothing else remembers this of a resource.
    bool after_rewind = false;
};
/// A watch from the resume point; before next() gave it, one without a stream.
struct watching {
    watch_frames frames;
    steady_time started{};  ///< before sending: proxies hold back headers (W9)
    std::optional<steady_time> opened_at;
    bool heard = false;      ///< a message came on this stream
    bool moved = false;      ///< and moved the resume point
    bool delivered = false;  ///< by an event
};
/// A question for the version alone.
struct probing {};

}  // namespace reflector_states

class reflector_fsm {
public:
    /// `sink` must outlive it.
    reflector_fsm(resource_type type, reflector_sink& sink, reflector_options options);

    reflector_action next(steady_time now);
    void stop() { stopped_ = true; }

    /// An item of the page under way. `version`: the list's if known already, else empty.
    void on_item(std::string_view item, std::string_view version);
    /// The end of the page; items that on_item() had are not in it.
    void on_list(steady_time now, const result<list_page>& page);
    /// The request was refused, or the stream broke.
    void on_watch_error(steady_time now, const api_error& error);
    void on_watch_open(steady_time now);
    /// False: close the stream, then next().
    bool on_bytes(steady_time now, std::string_view bytes);
    /// What has come of an event is not all of it: the rest is awaited for a short time only (W7).
    bool is_within_event() const;
    /// That time is over.
    void on_watch_stalled(steady_time now);
    /// The server ended the stream in order.
    void on_watch_end(steady_time now);
    /// True where the stream may be closed as if it had ended in order: it has brought an event,
    /// and nothing of a next one.
    bool may_end_watch() const;

    /// The answer to a probe: only its version counts.
    void on_probe(steady_time now, const result<list_page>& page);
    /// Probe before anything else: somebody has seen a sign that the server went back.
    void doubt();
    /// The server went back, says somebody who knows: list anew, and the sink shall know too.
    void start_over();
    /// List anew: what is held may be behind what the caller has to see.
    void refresh();

    bool synced() const { return synced_; }
    /// When the server last said something of this resource; what the sink shows is no older.
    steady_time heard_at() const { return heard_at_; }
    /// A probe, or the list of refresh(), is due or under way.
    bool doubtful() const;
    const reflector_counters& counters() const { return counters_; }
    const std::string& last_error() const { return last_error_; }

private:
    using listing = reflector_states::listing;
    using watching = reflector_states::watching;
    using probing = reflector_states::probing;

    reflector_action next_list(const listing& list);
    reflector_action next_watch(steady_time now);
    reflector_action next_probe();
    void begin_collecting(std::string_view version);
    void fail_list(steady_time now, const api_error& error);
    bool on_event(steady_time now, std::string_view line);
    bool on_object(steady_time now, const watch_event& event);
    bool on_bookmark(steady_time now, const watch_event& event);
    void on_error_event(steady_time now, const api_error& status);
    void broken_stream(steady_time now, errc code, std::string message);
    void expired(steady_time now);
    void mistrust(steady_time now);
    void no_progress(steady_time now, int limit);
    listing& list_again(std::string version);
    void went_back(std::string_view version);
    bool is_older(std::string_view version) const;
    void progress();
    bool has_served(steady_time now) const;
    void note_service(steady_time now);
    void note(const api_error& error);
    void keep_distance(steady_time now);
    void back_off(steady_time now);
    void wait_as_told(const api_error& error);

    resource_type type_;
    reflector_sink* sink_;
    reflector_options options_;
    jitter random_;

    std::variant<listing, watching, probing> state_;
    bool stopped_ = false;
    std::optional<std::chrono::nanoseconds> sleep_;

    std::string version_;    // the one resume point (V3, W1)
    bool was_well_ = false;  // a watch since the last list served (R6)
    int short_closes_ = 0;
    int stuck_ = 0;
    std::optional<steady_time> list_due_;  // a stream was garbled (W7)

    steady_time heard_at_{};
    std::optional<steady_time> last_failure_;
    int failures_ = 0;

    bool synced_ = false;
    reflector_counters counters_;
    std::string last_error_;
};

}  // namespace signalbox::k8sio::protocol
