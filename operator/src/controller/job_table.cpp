// SPDX-License-Identifier: Apache-2.0
#include "controller/job_table.hpp"

#include "controller/object_text.hpp"
#include "k8sio/object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace signalbox::op {

namespace {

bool is_newer(std::string_view a, std::string_view b) {
    return k8sio::compare_versions(a, b) == k8sio::version_order::newer;
}

/// A job of a list that is larger is read by its first pass.
constexpr std::size_t read_at_once = 64u << 10;

/// About what a job takes of which the specification is compiled.
std::size_t compiled_bytes(std::size_t text) {
    return 8192 + 3 * text;
}

bool is_past(std::string_view version, std::string_view seen) {
    const auto order = k8sio::compare_versions(version, seen);
    return order == k8sio::version_order::older || order == k8sio::version_order::same;
}

/// The job until it is read.
core::result<core::job_object> by_name(const k8sio::object_meta& identity) {
    const auto kind = core::parse_job_kind(identity.kind);
    if (!kind) {
        return core::unexpected{fmt::format("`{}` is no kind of a job", identity.kind)};
    }
    core::job_object out;
    out.meta.kind = *kind;
    out.meta.uid = identity.uid;
    out.meta.ns = identity.ns;
    out.meta.name = identity.name;
    return out;
}

}  // namespace

std::size_t bytes_of_pass(const job_entry& entry) {
    return entry.bytes <= read_at_once ? 0 : entry.bytes + compiled_bytes(entry.bytes);
}

bool job_entry::has_moved_on(const core::job_meta& decided) const {
    if (unread) {
        return unread->meta.generation != decided.generation ||
               unread->meta.deleting != decided.deletion_time.has_value();
    }
    return object->meta.generation != decided.generation ||
           object->meta.deletion_time != decided.deletion_time;
}

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

/// The event is for the next pass. `held`: null if the job is new.
job_entry_ptr job_table::put_off(
    job_entry_ptr held, k8sio::object_meta identity, std::string_view object_json, bool initial
) {
    if (!held) {
        auto known = initial ? core::read_job_head(object_json) : by_name(identity);
        if (!known) {
            listener_->job_unreadable(known.error());
            return nullptr;
        }
        known->meta.resource_version.clear();  // it was not read
        held = std::make_shared<job_entry>();
        entries_.emplace(identity.uid, held);
        held->object = std::make_shared<const core::job_object>(std::move(*known));
        wake(room_.note(*held->object));
        held->parked = true;
    }
    const std::string uid = identity.uid;
    held->unread = unread_job{std::move(identity), std::string(object_json)};
    held->bytes = object_json.size();
    held->at_rest = false;
    count(*held);
    listener_->job_changed(uid, initial);
    return held;
}

bool job_table::read(job_entry& entry, std::string_view object_json) {
    auto job = core::read_job(object_json, entry.object ? entry.object->compiled : nullptr);
    if (!job) {
        listener_->job_unreadable(job.error());
        return false;
    }
    wake(room_.note(*job));
    entry.object = std::make_shared<const core::job_object>(std::move(*job));
    entry.bytes = object_json.size();
    entry.unread.reset();
    const auto kept = kept_.find(entry.object->meta.kind);
    if (kept != kept_.end()) {
        entry.kept_status = kept_members(object_json, kept->second);
    }
    entry.parked = false;
    entry.at_rest = false;
    entry.doubtful = false;
    count(entry);
    return true;
}

void job_table::read_newest(job_entry& entry) {
    if (entry.gone || !entry.unread || entry.unread->text.empty()) {
        return;
    }
    const unread_job newest = *std::exchange(entry.unread, std::nullopt);
    const bool known = !entry.object->meta.resource_version.empty();
    if (!read(entry, newest.text) && !known) {
        erase(newest.meta.uid);
    }
}

job_entry_ptr job_table::upsert(std::string_view object_json, bool initial, bool own_answer) {
    auto identity = k8sio::read_object_meta(object_json);
    if (!identity) {
        listener_->job_unreadable("no UID");
        return nullptr;
    }
    job_entry_ptr held = find(identity->uid);
    if (held && own_answer) {
        read_newest(*held);
        held = find(identity->uid);
    }
    if (held && !held->doubtful) {
        const auto order = k8sio::compare_versions(identity->resource_version, held->version());
        const bool same = order == k8sio::version_order::same;
        const bool wanted_back = held->parked && own_answer;
        if (order == k8sio::version_order::older || (same && !wanted_back)) {
            return held;  // REQUIREMENTS.md W8; our own answer was first
        }
    }
    if (!held && own_answer) {
        return nullptr;  // deleted while the request was under way
    }
    const bool doubtful = held && held->doubtful;
    const bool at_once = initial && object_json.size() <= read_at_once;
    if (!at_once && !own_answer && !doubtful && listener_->decides()) {
        return put_off(std::move(held), std::move(*identity), object_json, initial);
    }
    const auto entry = held ? held : std::make_shared<job_entry>();
    if (!read(*entry, object_json)) {
        return nullptr;
    }
    entries_[identity->uid] = entry;
    if (!own_answer) {
        listener_->job_changed(identity->uid, initial);
    }
    return entry;
}

void job_table::erase(const std::string& uid) {
    const auto found = entries_.find(uid);
    if (found == entries_.end()) {
        return;
    }
    found->second->gone = true;
    kept_bytes_.drop(*found->second);
    entries_.erase(found);
    listener_->job_gone(uid);
    wake(room_.forget(uid));
}

/// There is room now for jobs that had to wait.
void job_table::wake(const std::vector<std::string>& uids) {
    for (const std::string& uid : uids) {
        listener_->job_changed(uid, false);
    }
}

void job_table::keep_only(
    core::job_kind kind,
    const std::vector<std::string>& listed,
    std::string_view version,
    bool rewound
) {
    const std::unordered_set<std::string_view> present(listed.begin(), listed.end());
    for (const std::string& uid : uids()) {
        const job_entry& entry = *find(uid);
        const bool after = !rewound && is_newer(entry.version(), version);
        const core::job_meta& meta = entry.object->meta;
        if (meta.kind == kind && present.count(uid) == 0 && !after) {
            erase(uid);
        }
    }
}

/// What the job takes has changed: others go, or the job itself if it is the largest.
void job_table::count(job_entry& entry) {
    if (entry.gone) {
        return;
    }
    const std::size_t text = entry.unread ? entry.unread->text.size() : 0;
    const std::size_t compiled = entry.object->compiled ? compiled_bytes(entry.bytes) : 0;
    kept_bytes_.use(entry, text + compiled);
    while (limit_ && kept_bytes_.bytes() > limit_()) {
        job_entry* const next = kept_bytes_.first_to_go();
        if (next == nullptr) {
            return;
        }
        let_go(*next);
    }
}

void job_table::pin(job_entry& entry, bool in_pass) {
    kept_bytes_.pin(entry, in_pass);
    if (!in_pass) {
        count(entry);
    }
}

void job_table::let_go(job_entry& entry) {
    core::job_object rest;
    rest.meta = entry.object->meta;
    rest.meta.annotations.clear();
    rest.status.phase = entry.object->status.phase;
    rest.status.start_time = entry.object->status.start_time;
    // Whose reports of progress count (BEHAVIOUR.md 13.11).
    rest.status.attempt = entry.object->status.attempt;
    rest.status.time = entry.object->status.time;
    entry.object = std::make_shared<const core::job_object>(std::move(rest));
    if (entry.unread) {
        std::string().swap(entry.unread->text);  // an assignment would keep its room
    }
    entry.parked = true;
    kept_bytes_.use(entry, 0);
}

void job_table::doubt_all(core::job_kind kind) {
    for (const auto& [uid, entry] : entries_) {
        if (entry->object->meta.kind == kind) {
            entry->doubtful = true;
            entry->unread.reset();
            entry->keys_looked_at.reset();
        }
    }
}

void job_sink::rewound() {
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

void job_sink::take_list(std::string_view resource_version, bool rewound) {
    table_->keep_only(kind_, listed_, resource_version, rewound);
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
