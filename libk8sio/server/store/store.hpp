// SPDX-License-Identifier: Apache-2.0
//
// Objects, versions and history. An object is its compact JSON text plus the few parsed facts that
// selectors, ownership and deletion need; both are immutable, so that lists, watches and history
// share them: a document would take ten times as much memory.
#pragma once

#include "server/kinds/kind_info.hpp"
#include "server/values/json.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {

struct owner_ref {
    std::string uid;
    bool blocks = false;  ///< blockOwnerDeletion
};

/// One version of one object.
struct record {
    std::string ns, name, uid;
    std::uint64_t version = 0;
    /// The object's JSON text without its `{"apiVersion":...,"kind":...,` and starting with
    /// `"metadata":{"resourceVersion":"<version>"`; ends with `}`.
    std::string tail;
    std::size_t metadata_end = 0;  ///< offset in `tail` after the metadata object
    std::vector<std::pair<std::string, std::string>> labels;
    std::vector<std::string> fields;  ///< values of kind_info::selectable, in its order
    std::vector<owner_ref> owners;
    std::vector<std::string> finalizers;
    bool deleting = false;  ///< metadata.deletionTimestamp is set

    std::string key() const { return ns + '/' + name; }
    bool has_finalizer(std::string_view which) const;
    /// What it takes of memory, about.
    std::size_t weight() const;
    /// The whole object as `kind` serves it.
    std::string text(const kind_info& kind) const { return kind.header() + tail_of(kind); }
    /// `tail` in the form of `kind`.
    std::string tail_of(const kind_info& kind) const;
    /// The text after the version: equal for two records that differ in nothing else.
    std::string_view text_after_version() const;
};
using record_ptr = std::shared_ptr<const record>;

/// Makes a record of `object`, which gets the version; what is in apiVersion and kind is ignored.
record_ptr make_record(
    const kind_info& kind, json::value& object, std::uint64_t version, json::arena& a
);
/// The same object with another version (deletions have one of their own).
record_ptr with_version(const record& r, std::uint64_t version);
/// The object's JSON, with apiVersion and kind.
json::value parse_record(const kind_info& kind, const record& r, json::arena& a);

enum class change { added, modified, deleted };

/// One write. `before` is empty for an added object; `after` of a deleted one is its last state
/// with the version of the deletion.
struct history_event {
    change what;
    std::uint64_t version;
    record_ptr before, after;

    /// What is held for it, about; of a state that two events share, twice.
    std::size_t weight() const { return after->weight() + (before ? before->weight() : 0); }
};

using records = std::map<std::string, record_ptr, std::less<>>;

/// All objects of one resource (group and plural).
class resource_table {
public:
    explicit resource_table(std::shared_ptr<const kind_info> info) : kind(std::move(info)) {}

    std::shared_ptr<const kind_info> kind;  ///< of the storage version
    records objects;                        ///< by record::key()
    std::deque<history_event> history;
    std::uint64_t first_sequence = 0;  ///< of history.front(); sequences are never reused
    std::uint64_t forgotten = 0;       ///< events up to this version are no longer in `history`
    std::map<std::uint64_t, std::function<void()>> wake_ups;  ///< called after each event
    bool removed = false;                                     ///< the kind is gone; watches end

    record_ptr find(std::string_view ns, std::string_view name) const;
    std::uint64_t end_sequence() const { return first_sequence + history.size(); }
    /// Objects of one namespace (all if empty), in the order of their keys.
    std::vector<record_ptr> list(std::string_view ns) const;
    /// What list() gave at `version`, which is not before `forgotten`: from behind the key `after`
    /// on (empty: from the first), until `take` says false.
    void walk(
        std::string_view ns,
        std::string_view after,
        std::uint64_t version,
        const std::function<bool(const record_ptr&)>& take
    ) const;
    bool any_in_namespace(std::string_view ns) const;

private:
    records changes_since(std::uint64_t version) const;
};

/// Hears of every write, before watches do.
using write_observer = std::function<void(resource_table& table, const history_event& event)>;

class store {
public:
    /// Of the history of each resource so many events are kept, and of all together so many bytes.
    store(std::size_t history_limit, std::size_t history_bytes)
        : history_limit_(history_limit), history_bytes_(history_bytes) {}

    std::uint64_t version() const { return version_; }
    std::uint64_t next_version() { return ++version_; }

    /// Tables are shared with watches, which may outlive the kind.
    std::shared_ptr<resource_table> add_table(std::shared_ptr<const kind_info> kind);
    void remove_table(resource_table& table);
    resource_table* find_table(std::string_view group, std::string_view plural);
    const std::vector<std::shared_ptr<resource_table>>& tables() const { return tables_; }

    /// Stores `r`, whose version is from next_version().
    void put(resource_table& table, record_ptr r);
    /// Removes an object; gives its last state with the deletion's version.
    record_ptr erase(resource_table& table, const record& r);

    struct place {
        resource_table* table = nullptr;
        record_ptr object;
    };
    /// Where the object of that UID is; an empty place if there is none.
    place find_uid(std::string_view uid) const;
    /// UIDs of the objects that name `owner` among their owners, in order.
    std::vector<std::string> dependents(const std::string& owner) const;

    void observe(write_observer observer) { observer_ = std::move(observer); }
    /// Forgets history, so that watches and lists at older versions get 410.
    void compact();

private:
    void log(resource_table& table, history_event event);
    void forget_first(resource_table& table);
    /// The resource with the oldest event.
    resource_table& oldest();
    void index(resource_table& table, const record& r);
    void unindex(const record& r);

    std::size_t history_limit_;
    std::size_t history_bytes_;
    std::size_t held_bytes_ = 0;  ///< by the histories of tables_
    std::uint64_t version_ = 0;
    std::vector<std::shared_ptr<resource_table>> tables_;
    std::unordered_map<std::string, std::pair<resource_table*, std::string>> by_uid_;
    std::unordered_map<std::string, std::set<std::string>> by_owner_;
    write_observer observer_;
};

}  // namespace signalbox::k8sio::server
