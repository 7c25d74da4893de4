// SPDX-License-Identifier: Apache-2.0
//
// The view of one resource type: records by UID, indexed by owner, fed by a reflector and by the
// answers to our own writes. Records only: a document per object would
// take a hundred times the memory.
#pragma once

#include "k8sio/reflector.hpp"
#include "k8sio/resource.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace signalbox::op {

/// Who wants to know about changes of views. Calls come from inside the store: remember, do not
/// act.
class view_listener {
public:
    virtual ~view_listener() = default;
    /// A child of the job with this UID came, changed or went.
    virtual void child_changed(const std::string& owner_uid) = 0;
    /// A view has seen more than before.
    virtual void view_advanced() = 0;
    /// The server's data was restored from a backup: versions awaited by fences may never come, and
    /// the other views are of a world that is no more. A list of this view follows.
    virtual void view_rewound() = 0;
};

/// `Record` has the texts uid, owner_uid and resource_version. Objects without a controller are not
/// kept. Not thread-safe.
template <class Record>
class record_store final : public k8sio::reflector_sink {
public:
    using decoder = std::function<std::optional<Record>(std::string_view)>;

    /// `plural` names the view in fences. `listener` must outlive the store.
    record_store(std::string plural, decoder decode, view_listener& listener)
        : plural_(std::move(plural)), decode_(std::move(decode)), listener_(&listener) {}

    const std::string& plural() const { return plural_; }
    bool synced() const { return synced_; }
    /// Everything up to this version is in the view; empty before the first list.
    const std::string& seen() const { return seen_; }
    std::size_t size() const { return by_uid_.size(); }

    /// Records of one owner, in no order; valid until the next change of the store.
    std::span<const Record* const> of_owner(const std::string& owner_uid) const {
        const auto found = by_owner_.find(owner_uid);
        if (found == by_owner_.end()) {
            return {};
        }
        return found->second;
    }

    /// Takes the object of an answer to a request of ours. An object that the view does not hold
    /// though it has seen that version was deleted meanwhile, or is outside the watch's selector:
    /// it is not taken, because no event would ever remove it. True if the view now holds the
    /// object at least as new as this.
    bool insert_answer(Record record) {
        const bool held = by_uid_.count(record.uid) != 0;
        if (!held && !seen_.empty() && !is_newer(record.resource_version, seen_)) {
            return false;
        }
        if (record.owner_uid.empty()) {
            return false;
        }
        put(std::move(record), false);
        return true;
    }

    /// An answer said that this object is gone.
    void drop(const std::string& uid) { erase(uid); }

    /// As before the first list: the server does not serve the type any more.
    void clear() {
        while (!by_uid_.empty()) {
            erase(std::string(by_uid_.begin()->first));
        }
        staged_ = {};
        seen_.clear();
        synced_ = false;
    }

    /// What is held may be newer than the truth: the view is incomplete until the list that
    /// follows.
    void rewound() override {
        rewound_ = true;
        synced_ = false;
        listener_->view_rewound();
    }

    void replace_begin() override { staged_.clear(); }

    void replace_item(std::string_view object_json) override {
        auto record = decode_(object_json);
        if (record && !record->owner_uid.empty()) {
            staged_.push_back(std::move(*record));
        }
    }

    void replace_end(std::string_view resource_version) override {
        const bool rewound = std::exchange(rewound_, false);
        std::unordered_set<std::string_view> listed;
        for (const Record& record : staged_) {
            listed.insert(record.uid);
        }
        std::vector<std::string> gone;
        for (const auto& [uid, held] : by_uid_) {
            // What we wrote after the list was taken is not in it, and yet exists.
            const bool after = is_newer(held.record.resource_version, resource_version);
            if (listed.count(uid) == 0 && (rewound || !after)) {
                gone.push_back(uid);
            }
        }
        listed.clear();
        for (const std::string& uid : gone) {
            erase(uid);
        }
        for (Record& record : staged_) {
            put(std::move(record), rewound);
        }
        staged_ = {};
        seen_ = resource_version;
        synced_ = true;
        listener_->view_advanced();
    }

    void replace_abort() override { staged_ = {}; }

    void upsert(std::string_view object_json) override {
        auto record = decode_(object_json);
        if (!record) {
            return;
        }
        if (record->owner_uid.empty()) {
            erase(record->uid);  // released by its owner
            return;
        }
        put(std::move(*record), false);
    }

    void remove(std::string_view object_json) override {
        const auto record = decode_(object_json);
        if (record) {
            erase(record->uid);
        }
    }

    void advance(std::string_view resource_version) override {
        if (synced_ && !is_newer(seen_, resource_version)) {
            seen_ = resource_version;
            listener_->view_advanced();
        }
    }

private:
    struct slot {
        Record record;
        std::size_t position = 0;  // in the owner's list
    };

    static bool is_newer(std::string_view a, std::string_view b) {
        return k8sio::compare_versions(a, b) == k8sio::version_order::newer;
    }

    void put(Record record, bool even_if_older) {
        const std::string owner = record.owner_uid;
        const auto found = by_uid_.find(record.uid);
        if (found == by_uid_.end()) {
            const std::string uid = record.uid;
            slot& fresh = by_uid_.try_emplace(uid, slot{std::move(record), 0}).first->second;
            link(fresh);
        } else {
            slot& held = found->second;
            const auto order =
                k8sio::compare_versions(record.resource_version, held.record.resource_version);
            const bool stale =
                order == k8sio::version_order::older && !even_if_older;  // REQUIREMENTS.md W8
            if (stale || order == k8sio::version_order::same) {
                return;
            }
            if (held.record.owner_uid == owner) {
                held.record = std::move(record);
            } else {
                unlink(held);
                listener_->child_changed(held.record.owner_uid);
                held.record = std::move(record);
                link(held);
            }
        }
        listener_->child_changed(owner);
    }

    void erase(const std::string& uid) {
        const auto found = by_uid_.find(uid);
        if (found == by_uid_.end()) {
            return;
        }
        const std::string owner = found->second.record.owner_uid;
        unlink(found->second);
        by_uid_.erase(found);
        listener_->child_changed(owner);
    }

    void link(slot& entry) {
        auto& list = by_owner_[entry.record.owner_uid];
        entry.position = list.size();
        list.push_back(&entry.record);
    }

    void unlink(slot& entry) {
        const auto owner = by_owner_.find(entry.record.owner_uid);
        auto& list = owner->second;
        // The last one takes the place that becomes free.
        const Record* last = list.back();
        list[entry.position] = last;
        by_uid_.find(last->uid)->second.position = entry.position;
        list.pop_back();
        if (list.empty()) {
            by_owner_.erase(owner);
        }
    }

    std::string plural_;
    decoder decode_;
    view_listener* listener_;
    std::string seen_;
    bool synced_ = false;
    bool rewound_ = false;  // the next list is the truth, also where it is older
    std::unordered_map<std::string, slot> by_uid_;
    std::unordered_map<std::string, std::vector<const Record*>> by_owner_;
    std::vector<Record> staged_;
};

}  // namespace signalbox::op
