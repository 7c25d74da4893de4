// SPDX-License-Identifier: Apache-2.0
#include "protocol/reflector_fsm.hpp"

#include "protocol/request_retry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace signalbox::k8sio::protocol {

using std::chrono::nanoseconds;
using std::chrono::seconds;

namespace {

constexpr seconds quiet_period{120};  // R6: after so long without a failure the backoff starts anew
constexpr seconds served_long{5};     // R6: a watch that was open for so long served, if silently
constexpr std::chrono::milliseconds watch_distance{200};  // R6: of watches that all deliver
constexpr seconds list_after_garbage{20};                 // W7
constexpr seconds very_short{1};                          // W3
constexpr seconds short_close{2};
constexpr int silent_closes_until_expired = 3;
constexpr int too_large_until_list = 3;      // V5
constexpr int stream_errors_until_list = 5;  // W4

bool is_expired(const api_error& error) {
    return error.http_status == 410 || error.reason == "Expired" || error.reason == "Gone";
}

/// V5; old servers have only the text.
bool is_version_too_large(const api_error& error) {
    return error.has_cause("ResourceVersionTooLarge") ||
           error.message.find("Too large resource version") != std::string::npos;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const reflector_action& action) {
    switch (action.what) {
        case reflector_action::kind::list:
            return out << "list(limit=" << action.list.limit
                       << " continue=" << action.list.continue_token
                       << " version=" << action.list.resource_version << ")";
        case reflector_action::kind::watch:
            return out << "watch(" << action.version << ")";
        case reflector_action::kind::probe:
            return out << "probe(" << action.version << ")";
        case reflector_action::kind::sleep:
            return out << "sleep(" << action.wait.count() / 1000000 << " ms)";
        case reflector_action::kind::finish:
            return out << "finish";
    }
    return out;
}

reflector_fsm::reflector_fsm(resource_type type, reflector_sink& sink, reflector_options options)
    : type_(std::move(type)), sink_(&sink), options_(std::move(options)), random_(options_.seed) {}

reflector_action reflector_fsm::next(steady_time now) {
    auto* const list = std::get_if<listing>(&state_);
    if (stopped_) {
        if (list != nullptr && std::exchange(list->collecting, false)) {
            sink_->replace_abort();
        }
        return reflector_action();
    }
    if (sleep_) {
        reflector_action action;
        action.what = reflector_action::kind::sleep;
        action.wait = *std::exchange(sleep_, std::nullopt);
        return action;
    }
    if (list != nullptr) {
        return next_list(*list);
    }
    if (std::holds_alternative<probing>(state_)) {
        return next_probe();
    }
    if (list_due_ && now >= *list_due_) {
        return next_list(list_again({}));
    }
    return next_watch(now);
}

reflector_action reflector_fsm::next_list(const listing& list) {
    const bool first = list.continue_token.empty();
    reflector_action action;
    action.what = reflector_action::kind::list;
    action.list.label_selector = options_.label_selector;
    action.list.field_selector = options_.field_selector;
    action.list.limit = list.unpaged ? 0 : options_.page_size;
    action.list.continue_token = list.continue_token;
    action.list.resource_version = first ? list.version : std::string();  // L1
    counters_.lists += first ? 1u : 0u;
    return action;
}

reflector_action reflector_fsm::next_probe() {
    reflector_action action;
    action.what = reflector_action::kind::probe;
    action.version = version_;
    action.list.label_selector = options_.label_selector;
    action.list.field_selector = options_.field_selector;
    action.list.limit = 1;
    ++counters_.probes;
    return action;
}

reflector_action reflector_fsm::next_watch(steady_time now) {
    reflector_action action;
    action.what = reflector_action::kind::watch;
    action.version = version_;
    action.idle = options_.silence_limit;
    const nanoseconds spread = options_.watch_timeout_max - options_.watch_timeout_min;
    action.timeout = options_.watch_timeout_min +
                     std::chrono::duration_cast<seconds>(random_.below(spread));  // W2
    if (list_due_) {
        action.timeout = std::min(action.timeout, std::chrono::ceil<seconds>(*list_due_ - now));
    }
    watching& watch = state_.emplace<watching>();
    watch.started = now;
    ++counters_.watches;
    return action;
}

bool reflector_fsm::is_within_event() const {
    const auto* const watch = std::get_if<watching>(&state_);
    return watch != nullptr && !watch->frames.at_boundary();
}

bool reflector_fsm::may_end_watch() const {
    const auto* const watch = std::get_if<watching>(&state_);
    return watch != nullptr && watch->heard && watch->frames.at_boundary();
}

bool reflector_fsm::doubtful() const {
    const auto* const list = std::get_if<listing>(&state_);
    return list != nullptr ? list->refreshing : std::holds_alternative<probing>(state_);
}

void reflector_fsm::on_item(std::string_view item, std::string_view version) {
    begin_collecting(version);
    sink_->replace_item(item);
}

void reflector_fsm::begin_collecting(std::string_view version) {
    if (is_older(version)) {
        went_back(version);
    }
    if (!std::exchange(std::get<listing>(state_).collecting, true)) {
        sink_->replace_begin();
    }
}

void reflector_fsm::on_list(steady_time now, const result<list_page>& page) {
    if (page.has_error()) {
        fail_list(now, page.error());
        return;
    }
    heard_at_ = now;
    for (const std::string& item : page->items) {
        on_item(item, page->resource_version);
    }
    begin_collecting(page->resource_version);
    listing& list = std::get<listing>(state_);
    list.continue_token = page->continue_token;
    if (!list.continue_token.empty()) {
        return;
    }
    if (page->resource_version.empty()) {
        api_error error = make_error(errc::bad_response, "list without resourceVersion");
        fail_list(now, error);
        return;
    }
    if (list.after_rewind) {
        sink_->replace_after_rewind(page->resource_version);
    } else {
        sink_->replace_end(page->resource_version);
        last_error_.clear();  // that of a rewind is told until the next watch is open
    }
    version_ = page->resource_version;  // the list's, never an item's (V3)
    was_well_ = false;
    stuck_ = 0;
    list_due_.reset();
    synced_ = true;
    state_.emplace<watching>();
}

void reflector_fsm::fail_list(steady_time now, const api_error& error) {
    listing& list = std::get<listing>(state_);
    if (std::exchange(list.collecting, false)) {
        sink_->replace_abort();
    }
    const bool was_continuation = !list.continue_token.empty();
    list.continue_token.clear();
    if (error.code == errc::cancelled) {
        stopped_ = true;
        return;
    }
    note(error);
    if (is_expired(error) && was_continuation) {
        list.unpaged = true;  // L2: the token died of age; the safe path is one whole list
    } else if (is_expired(error) && !list.version.empty()) {
        list.version.clear();
    } else if (error.http_status == 429) {
        wait_as_told(error);
    } else {
        if (is_version_too_large(error)) {
            list.version.clear();
        }
        back_off(now);
    }
}

void reflector_fsm::on_probe(steady_time now, const result<list_page>& page) {
    if (page.has_error()) {
        if (page.error().code == errc::cancelled) {
            stopped_ = true;
            return;
        }
        note(page.error());
        if (page.error().http_status == 429) {
            wait_as_told(page.error());
        } else {
            back_off(now);
        }
        return;
    }
    heard_at_ = now;
    if (is_older(page->resource_version)) {
        went_back(page->resource_version);
        return;
    }
    state_.emplace<watching>();
    sink_->advance(version_);  // what it shows is current after all
}

void reflector_fsm::doubt() {
    if (std::holds_alternative<watching>(state_)) {
        state_ = probing();
    }
}

void reflector_fsm::start_over() {
    const auto* const list = std::get_if<listing>(&state_);
    if (!synced_ || (list != nullptr && list->after_rewind)) {
        return;
    }
    list_again({}).after_rewind = true;
    sink_->rewound();
}

void reflector_fsm::refresh() {
    list_again({}).refreshing = true;
}

bool reflector_fsm::is_older(std::string_view version) const {
    return compare_versions(version, version_) == version_order::older;
}

/// V6: etcd was restored from a backup. All that follows is older truth, and stays.
void reflector_fsm::went_back(std::string_view version) {
    auto* const list = std::get_if<listing>(&state_);
    listing& truth = list != nullptr ? *list : list_again({});
    if (std::exchange(truth.after_rewind, true)) {
        return;
    }
    ++counters_.rewinds;
    last_error_ = fmt::format(
        "version of {} went backwards from {} to {}", type_.plural(), version_, version
    );
    sink_->rewound();
}

bool reflector_fsm::on_bytes(steady_time now, std::string_view bytes) {
    heard_at_ = now;
    watch_frames& frames = std::get<watching>(state_).frames;
    frames.feed(bytes);
    for (;;) {
        std::string_view line;
        switch (frames.next(line)) {
            case watch_frames::outcome::more:
                return true;
            case watch_frames::outcome::document:
                if (!on_event(now, line)) {
                    return false;
                }
                break;
            case watch_frames::outcome::too_large:
                broken_stream(now, errc::too_large, "watch event exceeds the limit");
                return false;
            case watch_frames::outcome::malformed:
                broken_stream(now, errc::bad_response, "watch stream is no JSON");
                return false;
        }
    }
}

bool reflector_fsm::on_event(steady_time now, std::string_view line) {
    watch_event event;
    if (!read_watch_event(line, event)) {
        broken_stream(now, errc::bad_response, "watch event is no event");
        return false;
    }
    std::get<watching>(state_).heard = true;
    api_error status;
    switch (event.type) {
        case event_type::added:
        case event_type::modified:
        case event_type::deleted:
            return on_object(now, event);
        case event_type::bookmark:
            return on_bookmark(now, event);
        case event_type::error:
            if (!read_status(event.object, status)) {
                broken_stream(now, errc::bad_response, "ERROR event without a Status");
                return false;
            }
            on_error_event(now, status);
            return false;
        case event_type::unknown:
            ++counters_.skipped;  // W7
            break;
    }
    broken_stream(now, errc::bad_response, "watch event of an unknown type");
    return false;
}

bool reflector_fsm::on_object(steady_time now, const watch_event& event) {
    if (event.facts.kind != type_.kind() || event.facts.resource_version.empty()) {
        broken_stream(
            now,
            errc::bad_response,
            fmt::format("watch of {} sent a {}", type_.plural(), event.facts.kind)
        );
        return false;
    }
    ++counters_.events;
    if (event.type == event_type::deleted) {
        sink_->remove(event.object);
    } else {
        sink_->upsert(event.object);
    }
    // One that is older than the resume point is the sink's to drop (W8).
    const auto order = compare_versions(event.facts.resource_version, version_);
    if (order == version_order::older || order == version_order::same) {
        return true;
    }
    version_ = event.facts.resource_version;
    sink_->advance(version_);
    std::get<watching>(state_).delivered = true;
    progress();
    return true;
}

bool reflector_fsm::on_bookmark(steady_time now, const watch_event& event) {
    const std::string& version = event.facts.resource_version;
    if (version.empty()) {
        broken_stream(now, errc::bad_response, "bookmark without resourceVersion");
        return false;
    }
    if (is_older(version)) {
        ++counters_.errors;
        back_off(now);
        went_back(version);
        return false;
    }
    const bool known = version == version_;
    version_ = version;
    sink_->advance(version_);
    if (!known) {
        progress();
    }
    return true;
}

void reflector_fsm::on_error_event(steady_time now, const api_error& status) {
    note(status);
    note_service(now);
    if (is_expired(status)) {
        expired(now);
    } else if (status.http_status == 429) {
        wait_as_told(status);
    } else if (is_version_too_large(status)) {
        no_progress(now, too_large_until_list);
    } else if (status.http_status >= 500 || status.reason == "InternalError") {
        if (has_served(now)) {
            stuck_ = 0;
        }
        no_progress(now, stream_errors_until_list);
    } else {
        back_off(now);
        list_again({});
    }
}

void reflector_fsm::on_watch_open(steady_time now) {
    last_error_.clear();
    heard_at_ = now;
    std::get<watching>(state_).opened_at = now;
}

void reflector_fsm::on_watch_error(steady_time now, const api_error& error) {
    if (error.code == errc::cancelled) {
        stopped_ = true;
        return;
    }
    note(error);
    note_service(now);
    if (error.code == errc::timeout) {
        // Bookmarks come every minute. A peer that only acknowledges sends none, and neither does a
        // server whose data is older than our version (V6).
        state_ = probing();
    } else if (error.code == errc::bad_response || error.code == errc::too_large) {
        mistrust(now);
        no_progress(now, stream_errors_until_list);
    } else if (error.code != errc::http_status) {
        back_off(now);  // W6: no relist; the server will be back and knows our version
    } else if (is_expired(error)) {
        expired(now);  // W5
    } else if (error.http_status == 429) {
        wait_as_told(error);
    } else if (is_version_too_large(error)) {
        no_progress(now, too_large_until_list);
    } else {
        const bool may_pass = error.http_status >= 500 || error.http_status == 401 ||
                              error.http_status == 403 || error.http_status == 408;
        back_off(now);
        if (!may_pass) {
            list_again({});
        }
    }
}

void reflector_fsm::on_watch_end(steady_time now) {
    const watching& watch = std::get<watching>(state_);
    if (!watch.frames.at_boundary()) {
        api_error error = make_error(errc::connection_lost, "watch ended within an event");
        on_watch_error(now, error);
        return;
    }
    const auto lasted = now - watch.started;
    note_service(now);
    if (watch.moved || lasted >= short_close) {
        short_closes_ = 0;  // W2: normal; watch on at once
        if (lasted < very_short) {
            back_off(now);  // R6: not from a server that cuts each watch
        }
        return;
    }
    // W3: a broken proxy, or a server that closes instead of saying 410 (k/k#137089).
    if (++short_closes_ >= silent_closes_until_expired) {
        short_closes_ = 0;
        ++counters_.errors;
        last_error_ = "watch closed again and again without a word: version taken as expired";
        was_well_ = false;
        expired(now);
    } else if (lasted < very_short) {
        ++counters_.errors;
        last_error_ = "very short watch";
        back_off(now);
    }
}

void reflector_fsm::on_watch_stalled(steady_time now) {
    broken_stream(now, errc::bad_response, "the rest of a watch event does not come");
}

void reflector_fsm::broken_stream(steady_time now, errc code, std::string message) {
    api_error error = make_error(code, std::move(message));
    note(error);
    note_service(now);
    mistrust(now);
    no_progress(now, stream_errors_until_list);
}

/// W7: whatever garbled one event may have swallowed others, of which nothing tells. Later, so that
/// one list does for all that is garbled in one storm; until then the watch goes on.
void reflector_fsm::mistrust(steady_time now) {
    if (!list_due_) {
        list_due_ = now + list_after_garbage;
    }
}

/// Retry from the same version, but not without end.
void reflector_fsm::no_progress(steady_time now, int limit) {
    back_off(now);
    if (++stuck_ >= limit) {
        stuck_ = 0;
        list_again({});
    }
}

void reflector_fsm::expired(steady_time now) {
    if (was_well_) {
        keep_distance(now);
    } else {
        back_off(now);  // a storm of 410 must not become one of lists
    }
    list_again(version_);  // W4: the watch cache can answer this; unset comes next
}

/// The first page of a list comes next; one that is under way is aborted, and what was to come of
/// it comes of this one.
reflector_fsm::listing& reflector_fsm::list_again(std::string version) {
    if (auto* const before = std::get_if<listing>(&state_)) {
        if (std::exchange(before->collecting, false)) {
            sink_->replace_abort();
        }
        before->version = std::move(version);
        before->continue_token.clear();
        return *before;
    }
    listing& fresh = state_.emplace<listing>();
    fresh.version = std::move(version);
    return fresh;
}

void reflector_fsm::progress() {
    std::get<watching>(state_).moved = true;
    short_closes_ = 0;
    stuck_ = 0;
}

/// R6: by what came, or by being open. A bookmark alone proves little: a server can send a new one
/// each time, and close.
bool reflector_fsm::has_served(steady_time now) const {
    const auto* const watch = std::get_if<watching>(&state_);
    return watch != nullptr &&
           (watch->delivered || (watch->opened_at && now - *watch->opened_at >= served_long));
}

void reflector_fsm::note_service(steady_time now) {
    if (has_served(now)) {
        failures_ = 0;
        was_well_ = true;
    }
}

void reflector_fsm::note(const api_error& error) {
    ++counters_.errors;
    last_error_ = error.text();
}

void reflector_fsm::keep_distance(steady_time now) {
    const auto since = now - std::get<watching>(state_).started;
    if (since < watch_distance) {
        sleep_ = watch_distance - since;
    }
}

void reflector_fsm::back_off(steady_time now) {
    if (has_served(now)) {
        failures_ = 0;
        keep_distance(now);
        return;
    }
    if (!last_failure_ || now - *last_failure_ > quiet_period) {
        failures_ = 0;
    }
    last_failure_ = now;
    nanoseconds delay = std::min(options_.backoff_initial, options_.backoff_max);
    for (int i = 0; i < failures_ && delay < options_.backoff_max; ++i) {
        delay = std::min(delay * 2, options_.backoff_max);
    }
    ++failures_;
    sleep_ = delay + random_.below(delay);  // R6
}

void reflector_fsm::wait_as_told(const api_error& error) {
    const nanoseconds wait = clamp_retry_after(error.retry_after.value_or(seconds{1}));
    sleep_ = wait + random_.below(options_.backoff_initial);
}

}  // namespace signalbox::k8sio::protocol
