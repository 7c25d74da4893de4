// SPDX-License-Identifier: Apache-2.0
//
// One watch: a cursor into a table's history with a filter. It holds no events of its own, so that
// a slow watcher costs no memory; one that falls behind the history gets 410 (REQUIREMENTS.md W4).
#pragma once

#include "server/answers/body_stream.hpp"
#include "server/model/model.hpp"
#include "server/store/selectors.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace signalbox::k8sio::server {

/// The text of one object as this watch shows it (plain, table, metadata only).
using object_renderer = std::function<std::string(const record&)>;

struct watch_options {
    std::string ns;  ///< empty: all namespaces
    selector filter;
    object_renderer render;
    std::string bookmark_api_version, bookmark_kind;
    bool bookmarks = false;
    /// Objects sent as ADDED before anything else.
    std::vector<record_ptr> initial;
    /// Sends the bookmark that ends the initial events (REQUIREMENTS.md S2).
    bool mark_initial_end = false;
    /// Events after this version are sent.
    std::uint64_t after = 0;
    std::optional<std::chrono::seconds> timeout;
    std::chrono::nanoseconds bookmark_interval{};
};

class watch_stream final : public body_stream {
public:
    watch_stream(model& world, std::shared_ptr<resource_table> table, watch_options options);
    ~watch_stream() override;

    /// The next events as text.
    std::string next(std::size_t limit) override;
    bool finished() const override { return finished_; }
    bool ends() const override { return false; }
    void finish() override;

private:
    void append(std::string& out, std::string_view type, const record& r) const;
    void append_event(std::string& out, const history_event& event) const;
    void append_bookmark(std::string& out, bool initial_end) const;
    void append_error(std::string& out, const refusal& r) const;
    void arm();
    void on_timer();

    model* world_;
    std::shared_ptr<resource_table> table_;
    watch_options options_;
    std::size_t initial_sent_ = 0;
    bool initial_end_due_ = false;
    std::uint64_t cursor_ = 0;  ///< sequence of the next history event
    bool finished_ = false;
    bool bookmark_due_ = false;
    bool expired_ = false;
    bool error_sent_ = false;
    clock::timer_id timer_ = 0;
    std::uint64_t id_ = 0;
    steady_time next_bookmark_{};
    std::optional<steady_time> end_;
    std::shared_ptr<watch_stream*> self_;
};

}  // namespace signalbox::k8sio::server
