// SPDX-License-Identifier: Apache-2.0
#include "controller/job_requests.hpp"

#include "controller/log_line.hpp"
#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "k8sio/object.hpp"

#include <memory>
#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;

/// The job as the server has it, after `why`. Tells of a failure.
asio::awaitable<k8sio::result<std::string>> job_requests::read_live(
    const core::job_meta& meta, std::string_view why
) {
    auto live = co_await api_->get(type_of(meta.kind), meta.ns, meta.name);
    if (live.has_error() && live.error().http_status == 404 && live.error().reason == "NotFound") {
        updates_->note_job_gone(meta);  // the watch says so too, unless that event is lost
    }
    const bool telling = live.has_error() && live.error().http_status != 404 &&
                         k8sio::classify(live.error()) != k8sio::retry_class::cancelled;
    if (telling) {
        ++counters_->errors;
        log_line line("job not read");
        line.job(meta).field("why", why).field("error", live.error().text());
        line.write(*config_->log, spdlog::level::warn);
    }
    co_return live;
}

/// The object that a status write of unknown outcome, or one refused as stale, left on the server.
asio::awaitable<write_result> job_requests::read_back(
    job_entry& entry, const core::job_object& decided, std::string wanted
) {
    const core::job_meta& meta = decided.meta;
    const k8sio::view_mark asked = updates_->mark(core::object_kind::job, meta.kind);
    const auto live = co_await read_live(meta, "is the status written");
    if (live.has_error()) {
        co_return write_result::failed;
    }
    // One that was made again in its place leaves `entry` as it was.
    updates_->note_job(*live, asked);
    const core::job_object& now = *entry.object;
    const bool newer = now.meta.resource_version != meta.resource_version;
    const bool as_wanted = core::format_status(now.status, meta.kind) == wanted;
    if (newer && as_wanted) {
        co_return write_result::written;
    }
    co_return newer ? write_result::superseded : write_result::failed;
}

asio::awaitable<write_result> job_requests::write_status(
    job_entry& entry, const core::job_object& decided, const core::job_status& status
) {
    const core::job_meta& meta = decided.meta;
    const k8sio::resource_type& type = type_of(meta.kind);
    auto slot = co_await slots_->take(entry, "status", to_string(meta.kind));
    if (runtime_->stopping()) {
        co_return write_result::failed;
    }
    std::string body = status_body(decided, status, entry.kept_status);
    ++counters_->status_writes;
    entry.last_status_write = server_clock(*api_).steady_now();
    const k8sio::view_mark asked = updates_->mark(core::object_kind::job, meta.kind);
    const auto answer = co_await api_->update_status(type, meta.ns, meta.name, std::move(body));
    if (answer.has_value()) {
        slot.note_success();
    }
    if (answer.has_value() && updates_->note_job(*answer, asked)) {
        co_return write_result::written;
    }
    if (answer.has_value()) {
        co_return write_result::superseded;  // deleted while the answer was under way
    }
    const k8sio::api_error& error = answer.error();
    const k8sio::retry_class kind = k8sio::classify(error);
    if (kind == k8sio::retry_class::recompute) {
        ++counters_->status_conflicts;
        entry.conflicted_version = meta.resource_version;
        co_return write_result::superseded;
    }
    if (kind != k8sio::retry_class::cancelled) {
        ++counters_->errors;
        log_line line("status write failed");
        line.job(meta).field("error", error.text());
        line.write(*config_->log, spdlog::level::warn);
    }
    if (kind == k8sio::retry_class::unknown_outcome && !runtime_->stopping()) {
        co_return co_await read_back(entry, decided, core::format_status(status, meta.kind));
    }
    co_return kind == k8sio::retry_class::give_up ? write_result::refused : write_result::failed;
}

asio::awaitable<bool> job_requests::read_again(job_entry& entry) {
    const std::shared_ptr<const core::job_object> held = entry.object;
    const core::job_meta& meta = held->meta;
    auto slot = co_await slots_->take(entry, "get", to_string(meta.kind));
    const k8sio::view_mark asked = updates_->mark(core::object_kind::job, meta.kind);
    const auto live = co_await read_live(meta, "there may be a newer one");
    if (live.has_error()) {
        co_return false;
    }
    slot.note_success();
    const auto identity = k8sio::read_object_meta(*live);
    const bool went_back =
        identity && identity->uid == meta.uid && !entry.doubtful &&
        k8sio::compare_versions(identity->resource_version, meta.resource_version) ==
            k8sio::version_order::older;
    if (went_back) {
        runtime_->doubt_views();
        co_return false;
    }
    const job_entry_ptr read = updates_->note_job(*live, asked);
    // If the newest is what we hold after all, the conflict was no conflict.
    entry.conflicted_version.clear();
    co_return read.get() == &entry;
}

}  // namespace signalbox::op
