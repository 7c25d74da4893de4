// SPDX-License-Identifier: Apache-2.0
//
// The jobs of all kinds, by UID, each with what the controller remembers of it while it runs.
// Nothing here but the job object itself survives a restart, and nothing needs to.
#pragma once

#include "jobcore/carry_out.hpp"
#include "jobcore/repair_pace.hpp"
#include "jobcore/room.hpp"
#include "k8sio/byte_budget.hpp"
#include "k8sio/clock.hpp"
#include "k8sio/object.hpp"
#include "k8sio/store.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace signalbox::op {

/// A version of a job that an event brought.
struct unread_job {
    k8sio::object_meta meta;
    std::string text;  ///< empty: let go, to be read from the server
};

struct job_entry {
    /// The newest object read, own status writes included. Replaced as a whole, never changed, so
    /// that a pass can keep the one it decided on. Never null.
    std::shared_ptr<const core::job_object> object;
    /// A newer one: reading and compiling it is left to the next pass, as a job may change more
    /// often than it can be looked at (REQUIREMENTS.md Q11). See job_table::read_newest().
    std::optional<unread_job> unread;
    std::size_t bytes = 0;  ///< of the newest text
    k8sio::byte_share share;
    /// The specification was let go (see job_table::let_go): a pass reads the job first.
    bool parked = false;
    /// Decisions leave the job alone, until something of it changes.
    bool at_rest = false;
    /// The server's data went back in time behind this object; a pass reads the job first.
    bool doubtful = false;
    /// The job was deleted; a pass that still holds the entry ends.
    bool gone = false;
    bool no_room = false;  ///< for the decision under way (BEHAVIOUR.md 2.12)
    core::job_answers answers;
    core::repair_pace repairs;
    /// Pods found by a live read that the watch's selector hides, for the next pass only
    /// (BEHAVIOUR.md 1.9).
    std::vector<core::pod_record> hidden_pods;
    /// A status write on this version was refused as stale; no pass before there is a newer one.
    std::string conflicted_version;
    std::optional<k8sio::steady_time> last_status_write;
    /// When the view last learned of this job's Secret; nothing: before the first read, or after
    /// the server went back in time (BEHAVIOUR.md 2.10).
    std::optional<k8sio::steady_time> keys_looked_at;
    bool keys_forbidden = false;  ///< by the answer to that look
    /// Members of the status that this version does not know: see kept_members().
    std::string kept_status;
    /// Of the status last written, where the server has not kept it: core::hash_without_times().
    std::optional<std::size_t> unkept_status;
    /// It is not written again before, and so much later each time.
    std::optional<k8sio::steady_time> unkept_until;
    std::chrono::nanoseconds unkept_delay{};

    /// The newest resource version seen.
    const std::string& version() const {
        return unread ? unread->meta.resource_version : object->meta.resource_version;
    }
    /// True if the job has another specification than `decided` by now, or is being deleted.
    bool has_moved_on(const core::job_meta& decided) const;
};

/// What a pass over the job takes: its text, and what is made of it. 0 if that is little.
std::size_t bytes_of_pass(const job_entry& entry);

using job_entry_ptr = std::shared_ptr<job_entry>;

/// Is told of changes of jobs; the calls come from inside the table.
class job_listener {
public:
    virtual ~job_listener() = default;
    /// `initial`: part of a list, not a change (REQUIREMENTS.md Q5).
    virtual void job_changed(const std::string& uid, bool initial) = 0;
    virtual void job_gone(const std::string& uid) = 0;
    virtual void job_unreadable(std::string_view why) = 0;
    /// Passes look at jobs that have changed. If not, what events bring is read at once, as no
    /// pass comes to read it.
    virtual bool decides() const = 0;
};

class job_table {
public:
    explicit job_table(job_listener& listener) : listener_(&listener) {}

    /// Remembers what jobs of `kind` have at these JSON pointers below their status
    /// (BEHAVIOUR.md 12.12), of those that are read from now on.
    void keep_status(core::job_kind kind, std::vector<std::string> pointers) {
        kept_[kind] = std::move(pointers);
    }

    /// What is kept of jobs and can be read again takes so much at most (BEHAVIOUR.md 12.13), by
    /// estimate; by default there is no bound.
    void keep_at_most(std::function<std::size_t()> bytes) { limit_ = std::move(bytes); }
    std::size_t kept_bytes() const { return kept_bytes_.bytes(); }
    /// Which jobs may begin (BEHAVIOUR.md 2.12); by default all.
    void bound_room(std::int64_t bytes) { room_ = core::room_ledger(bytes); }
    core::room_ledger& room() { return room_; }
    const core::room_ledger& room() const { return room_; }

    /// Null if there is no such job.
    job_entry_ptr find(const std::string& uid) const;
    std::size_t size() const { return entries_.size(); }
    const std::unordered_map<std::string, job_entry_ptr>& entries() const { return entries_; }
    std::vector<std::string> uids() const;

    /// Takes the object of an answer or event; one older than what is held is dropped. What events
    /// bring is read by read_newest() only, all else at once. Gives the entry, or null if the text
    /// is no job.
    job_entry_ptr upsert(std::string_view object_json, bool initial, bool own_answer);
    /// Makes job_entry::object the newest one. A job of which nothing could ever be read is erased.
    void read_newest(job_entry& entry);
    void erase(const std::string& uid);
    /// The server went back in time: whatever is read next of a job of `kind` replaces what is
    /// held.
    void doubt_all(core::job_kind kind);
    /// Takes what a complete list of `kind` at `version` did not hold out of the table. `rewound`:
    /// the list may be older than what was seen before, and is the truth.
    void keep_only(
        core::job_kind kind,
        const std::vector<std::string>& listed,
        std::string_view version,
        bool rewound
    );
    /// Lets the compiled specification and the details of status go, and the text of a newer
    /// version.
    void let_go(job_entry& entry);
    /// While a pass is under way nothing of the job is let go.
    void pin(job_entry& entry, bool in_pass);

private:
    job_entry_ptr put_off(
        job_entry_ptr held, k8sio::object_meta identity, std::string_view object_json, bool initial
    );
    void count(job_entry& entry);
    void wake(const std::vector<std::string>& uids);
    bool read(job_entry& entry, std::string_view object_json);

    job_listener* listener_;
    std::unordered_map<std::string, job_entry_ptr> entries_;
    std::map<core::job_kind, std::vector<std::string>> kept_;
    k8sio::byte_budget<job_entry> kept_bytes_;
    std::function<std::size_t()> limit_;
    core::room_ledger room_;
};

/// Feeds the table from the reflector of one kind.
class job_sink final : public k8sio::view {
public:
    job_sink(core::job_kind kind, job_table& table) : kind_(kind), table_(&table) {}

    core::job_kind kind() const { return kind_; }
    /// All jobs of the kind are in the table.
    bool complete() const { return complete_; }
    /// False if the server went back in time, and its list has not come yet. Before the first list
    /// jobs may be decided on: they do not depend on each other, and a server need not serve all
    /// kinds.
    bool synced() const override { return complete_ || seen_.empty(); }
    /// Nothing waits for it: our own answers replace jobs at once.
    std::string_view seen() const override { return seen_; }
    void clear() override {}

    void rewound() override;
    void replace_begin() override { listed_.clear(); }
    void replace_item(std::string_view object_json) override;
    void replace_end(std::string_view resource_version) override {
        take_list(resource_version, false);
    }
    void replace_after_rewind(std::string_view resource_version) override {
        take_list(resource_version, true);
    }
    void replace_abort() override { listed_ = {}; }
    void upsert(std::string_view object_json) override;
    void remove(std::string_view object_json) override;
    void advance(std::string_view resource_version) override;

    /// True if a job that is held in `version` was read in the newer `live`, which this view had
    /// seen already when it was asked: an event was lost.
    bool is_contradicted(
        std::string_view version, std::string_view live, const k8sio::view_mark& asked
    ) const {
        return complete_ && has_missed(live, version, asked);
    }
    /// An answer said that this job is gone. As k8sio::store::drop().
    bool drop(const std::string& uid, k8sio::steady_time now);

private:
    void take_list(std::string_view resource_version, bool rewound);

    core::job_kind kind_;
    job_table* table_;
    bool complete_ = false;
    std::vector<std::string> listed_;
    std::string seen_;
    k8sio::unconfirmed_removals unconfirmed_;
};

}  // namespace signalbox::op
