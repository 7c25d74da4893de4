// SPDX-License-Identifier: Apache-2.0
#include "controller/job_table.hpp"

#include "controller/object_text.hpp"
#include "k8sio/object.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace signalbox::op {

namespace {

bool is_newer(std::string_view a, std::string_view b) {
    return k8sio::compare_versions(a, b) == k8sio::version_order::newer;
}

bool is_past(std::string_view version, std::string_view seen) {
    const auto order = k8sio::compare_versions(version, seen);
    return order == k8sio::version_order::older || order == k8sio::version_order::same;
}

}  // namespace

job_entry_ptr job_table::find(const std::string& uid) const {
    const auto found = entries_.find(uid);
    return found == entries_.end() ? nullptr : found->second;
}

std::vector<std::string> job_table::uids() const {
    std::vector<std::string> all;
    all.reserve(entries_.size());
    for (const auto& [uid, entry] : entries_) {
        all.push_back(uid);
    }
    std::sort(all.begin(), all.end());  // the order of a hash table must not show
    return all;
}

job_entry_ptr job_table::upsert(std::string_view object_json, bool initial, bool own_answer) {
    const auto identity = k8sio::read_object_meta(object_json);
    if (!identity) {
        listener_->job_unreadable("no UID");
        return nullptr;
    }
    job_entry_ptr held = find(identity->uid);
    if (held && !held->doubtful) {
        const auto order = k8sio::compare_versions(
            identity->resource_version, held->object->meta.resource_version
        );
        const bool same = order == k8sio::version_order::same;
        const bool wanted_back = held->parked && own_answer;
        if (order == k8sio::version_order::older || (same && !wanted_back)) {
            return held;  // REQUIREMENTS.md W8; our own answer was first
        }
    }
    auto job = core::read_job(object_json, held ? held->object->compiled : nullptr);
    if (!job) {
        listener_->job_unreadable(job.error());
        return nullptr;
    }
    auto object = std::make_shared<const core::job_object>(std::move(*job));
    if (!held) {
        if (own_answer) {
            return nullptr;  // deleted while the request was under way
        }
        held = std::make_shared<job_entry>();
        entries_.emplace(identity->uid, held);
    }
    held->object = std::move(object);
    const auto kept = kept_.find(held->object->meta.kind);
    if (kept != kept_.end()) {
        held->kept_status = kept_members(object_json, kept->second);
    }
    held->parked = false;
    held->doubtful = false;
    if (!own_answer) {
        listener_->job_changed(identity->uid, initial);
    }
    return held;
}

void job_table::erase(const std::string& uid) {
    const auto found = entries_.find(uid);
    if (found == entries_.end()) {
        return;
    }
    found->second->gone = true;
    entries_.erase(found);
    listener_->job_gone(uid);
}

void job_table::keep_only(
    core::job_kind kind,
    const std::vector<std::string>& listed,
    std::string_view version,
    bool rewound
) {
    const std::unordered_set<std::string_view> present(listed.begin(), listed.end());
    for (const std::string& uid : uids()) {
        const core::job_meta& meta = find(uid)->object->meta;
        const bool after = !rewound && is_newer(meta.resource_version, version);
        if (meta.kind == kind && present.count(uid) == 0 && !after) {
            erase(uid);
        }
    }
}

void job_table::park(job_entry& entry) {
    core::job_object rest;
    rest.meta = entry.object->meta;
    rest.meta.annotations.clear();
    rest.status.phase = entry.object->status.phase;
    entry.object = std::make_shared<const core::job_object>(std::move(rest));
    entry.last_status.reset();
    entry.parked = true;
}

void job_table::doubt_all(core::job_kind kind) {
    for (const auto& [uid, entry] : entries_) {
        if (entry->object->meta.kind == kind) {
            entry->doubtful = true;
            entry->keys_looked_at.reset();
        }
    }
}

void job_sink::rewound() {
    rewound_ = true;
    complete_ = false;
    table_->doubt_all(kind_);
}

void job_sink::replace_item(std::string_view object_json) {
    // Visible at once: a job that is seen a moment early harms nothing, as no pass runs before
    // every view is complete.
    const auto entry = table_->upsert(object_json, true, false);
    if (entry) {
        listed_.push_back(entry->object->meta.uid);
    }
}

void job_sink::replace_end(std::string_view resource_version) {
    table_->keep_only(kind_, listed_, resource_version, std::exchange(rewound_, false));
    listed_ = {};
    unconfirmed_.clear();
    seen_ = resource_version;
    complete_ = true;
}

void job_sink::upsert(std::string_view object_json) {
    const auto identity = k8sio::read_object_meta(object_json);
    // An event that has come again must not bring back what is gone (REQUIREMENTS.md W8).
    if (!identity || !complete_ || table_->find(identity->uid) ||
        !is_past(identity->resource_version, seen_)) {
        table_->upsert(object_json, false, false);
    }
}

void job_sink::advance(std::string_view resource_version) {
    if (complete_ && !is_newer(seen_, resource_version)) {
        seen_ = resource_version;
    }
}

bool job_sink::drop(const std::string& uid, k8sio::steady_time now) {
    if (table_->find(uid)) {
        unconfirmed_.note(uid, now);
    }
    table_->erase(uid);
    return unconfirmed_.overdue(now) > 1;
}

void job_sink::remove(std::string_view object_json) {
    const auto identity = k8sio::read_object_meta(object_json);
    if (identity) {
        unconfirmed_.confirm(identity->uid);
        table_->erase(identity->uid);
    }
}

}  // namespace signalbox::op
