// SPDX-License-Identifier: Apache-2.0
#include "server/answers/watch_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::server {

watch_stream::watch_stream(
    model& world, std::shared_ptr<resource_table> table, watch_options options
)
    : world_(&world),
      table_(std::move(table)),
      options_(std::move(options)),
      self_(std::make_shared<watch_stream*>(this)) {
    initial_end_due_ = options_.mark_initial_end;
    expired_ = options_.after < table_->forgotten;
    const auto first = std::partition_point(
        table_->history.begin(),
        table_->history.end(),
        [this](const history_event& e) { return e.version <= options_.after; }
    );
    cursor_ = table_->first_sequence + static_cast<std::uint64_t>(first - table_->history.begin());
    // The smallest free id keeps the order of wake-ups the order of arrival.
    id_ = table_->wake_ups.empty() ? 1 : table_->wake_ups.rbegin()->first + 1;
    table_->wake_ups.emplace(id_, [this] { wake(); });
    const steady_time now = world_->time().steady_now();
    next_bookmark_ =
        now + std::chrono::duration_cast<steady_time::duration>(options_.bookmark_interval);
    if (options_.timeout) {
        end_ = now + *options_.timeout;
    }
    arm();
}

watch_stream::~watch_stream() {
    table_->wake_ups.erase(id_);
    if (timer_ != 0) {
        world_->time().cancel(timer_);
    }
}

void watch_stream::arm() {
    std::optional<steady_time> at = end_;
    if (options_.bookmarks && options_.bookmark_interval > std::chrono::nanoseconds::zero()) {
        at = at ? std::min(*at, next_bookmark_) : next_bookmark_;
    }
    if (!at) {
        timer_ = 0;
        return;
    }
    // A callback may already be posted when the stream is destroyed.
    std::weak_ptr<watch_stream*> weak = self_;
    timer_ = world_->time().schedule(*at, [weak] {
        if (const auto self = weak.lock()) {
            (*self)->on_timer();
        }
    });
}

void watch_stream::on_timer() {
    timer_ = 0;
    const steady_time now = world_->time().steady_now();
    bookmark_due_ = options_.bookmarks;
    if (end_ && now >= *end_) {
        finished_ = true;
    } else {
        next_bookmark_ =
            now + std::chrono::duration_cast<steady_time::duration>(options_.bookmark_interval);
        arm();
    }
    wake();
}

void watch_stream::finish() {
    finished_ = true;
    bookmark_due_ = false;
    initial_end_due_ = false;
    options_.initial.clear();
    initial_sent_ = 0;
    cursor_ = table_->end_sequence();
    wake();
}

std::string watch_stream::next(std::size_t limit) {
    std::string out;
    // History that was dropped before this watch read it is as lost as a version too old at the
    // start.
    expired_ = expired_ || cursor_ < table_->first_sequence;
    if (expired_) {
        if (!std::exchange(error_sent_, true)) {
            append_error(
                out,
                server::expired(fmt::format(
                    "too old resource version: {} ({})", options_.after, table_->forgotten
                ))
            );
        }
        finished_ = true;
        return out;
    }
    while (out.size() < limit && initial_sent_ < options_.initial.size()) {
        append(out, "ADDED", *options_.initial[initial_sent_]);
        options_.initial[initial_sent_++].reset();
    }
    if (initial_sent_ < options_.initial.size()) {
        return out;
    }
    if (std::exchange(initial_end_due_, false)) {
        append_bookmark(out, true);
    }
    while (out.size() < limit && cursor_ < table_->end_sequence()) {
        append_event(out, table_->history[cursor_ - table_->first_sequence]);
        ++cursor_;
    }
    if (cursor_ == table_->end_sequence() && std::exchange(bookmark_due_, false)) {
        append_bookmark(out, false);
    }
    if (table_->removed && cursor_ == table_->end_sequence()) {
        finished_ = true;
    }
    return out;
}

void watch_stream::append(std::string& out, std::string_view type, const record& r) const {
    out += "{\"type\":\"";
    out += type;
    out += "\",\"object\":";
    out += options_.render(r);
    out += "}\n";
}

void watch_stream::append_event(std::string& out, const history_event& event) const {
    const auto seen = [this](const record_ptr& r) {
        return r != nullptr && (options_.ns.empty() || r->ns == options_.ns) &&
               options_.filter.matches(*r);
    };
    const bool before = seen(event.before);
    const bool after = event.what != change::deleted && seen(event.after);
    if (after) {
        append(out, before ? "MODIFIED" : "ADDED", *event.after);
    } else if (before) {
        // Left the selection or was deleted: the last state that was seen, with the version of this
        // event (REQUIREMENTS.md W10).
        append(
            out,
            "DELETED",
            event.what == change::deleted ? *event.after
                                          : *with_version(*event.before, event.version)
        );
    }
}

void watch_stream::append_bookmark(std::string& out, bool initial_end) const {
    out += fmt::format(
        "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{{"
        "\"resourceVersion\":\"{}\",\"creationTimestamp\":null{}}}}}}}\n",
        options_.bookmark_kind,
        options_.bookmark_api_version,
        initial_end ? options_.after : world_->objects().version(),
        initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : ""
    );
}

void watch_stream::append_error(std::string& out, const refusal& r) const {
    out += "{\"type\":\"ERROR\",\"object\":" + status_text(r) + "}\n";
}

}  // namespace signalbox::k8sio::server
