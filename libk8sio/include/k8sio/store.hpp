// SPDX-License-Identifier: Apache-2.0
//
// A view of the objects of one resource type: records by UID, with indexes, fed by a reflector and
// by the answers to one's own writes (REQUIREMENTS.md Q9, Q10, L4, W8).
#pragma once

#include "k8sio/reflector.hpp"
#include "k8sio/resource.hpp"
#include "k8sio/snapshot.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

/// Where a view stood when a request was sent: what its answer is held against
/// (REQUIREMENTS.md W13).
class view_mark {
public:
    view_mark() = default;
    view_mark(std::string version, std::uint64_t removals)
        : seen(std::move(version)), removed(removals) {}

    std::string seen;           ///< view::seen() then
    std::uint64_t removed = 0;  ///< records that had gone until then
};

/// What a reflector fills and a controller looks at.
///
/// Thread: the loop's only.
class view : public reflector_sink {
public:
    /// To be taken before a request is sent.
    view_mark mark() const { return {std::string(seen()), removed_}; }
    /// False: there may be objects that the view does not show. Decide nothing on it.
    virtual bool synced() const = 0;
    /// Everything up to this version is in the view; empty before the first list.
    ///
    /// Lifetimes: the text is valid until the next change.
    virtual std::string_view seen() const = 0;
    /// Makes the view what it was before the first list: its watch has ended.
    virtual void clear() = 0;

protected:
    /// The view had seen `version` when it was asked at `asked`, so that it must have shown an
    /// object that the server had then, and has not changed since. `held`: the version that it
    /// shows now, empty if none.
    bool has_missed(std::string_view version, std::string_view held, const view_mark& asked) const {
        const auto order = compare_versions(version, asked.seen);
        const bool due = order == version_order::older || order == version_order::same;
        const bool shown = held.empty() ? removed_ != asked.removed  // perhaps gone meanwhile
                                        : compare_versions(held, version) != version_order::older;
        return !asked.seen.empty() && due && !shown;
    }
    void note_removal() { ++removed_; }

private:
    std::uint64_t removed_ = 0;
};

/// Records that an answer said were gone before the watch did.
class unconfirmed_removals {
public:
    void note(const std::string& uid, steady_time now) { at_.emplace(uid, now); }
    /// The watch says so as well.
    void confirm(const std::string& uid) { at_.erase(uid); }
    void clear() { at_.clear(); }
    /// How many of them the watch should have confirmed long ago.
    std::size_t overdue(steady_time now) const {
        const auto late = std::count_if(at_.begin(), at_.end(), [now](const auto& one) {
            return now - one.second > std::chrono::seconds{10};
        });
        return static_cast<std::size_t>(late);
    }

private:
    std::unordered_map<std::string, steady_time> at_;
};

/// An index by a member of records, as `by<&pod::owner>`.
template <auto Member>
struct by {
    const std::string& operator()(const auto& record) const { return record.*Member; }
};

/// What a store holds: a class with the members `std::string uid` and `std::string
/// resource_version`, which are set where the record is read; it can be moved and has a default
/// constructor.
template <class Record>
concept store_record = std::default_initializable<Record> && std::movable<Record> &&
    requires(Record& record) {
    { record.uid } -> std::same_as<std::string&>;
    { record.resource_version } -> std::same_as<std::string&>;
};

/// What finds records of a store: a type whose objects give the key of a record when called with
/// it, as a `std::string` or a reference to one: `by`, or one of your own.
template <class Index, class Record>
concept store_index = std::default_initializable<Index> &&
    requires(const Index index, const Record& record) {
    { index(record) } -> std::convertible_to<const std::string&>;
    requires std::same_as<std::remove_cvref_t<decltype(index(record))>, std::string>;
};

template <class T, class... Types>
concept one_of = (std::same_as<T, Types> || ...);

/// A `Record` has besides what store_record asks for only what its user needs: whole objects would
/// take a hundred times the memory. A record whose key is empty is not in that index.
///
/// Thread: the loop's only.
template <store_record Record, store_index<Record>... Index>
class store final : public view {
public:
    /// Nothing, for a text that is no such object; that text is passed over.
    using decode_function = std::function<std::optional<Record>(std::string_view object_json)>;
    using filter_function = std::function<bool(const Record&)>;
    /// What was and what is now: null before an object came, and after it went.
    using change_function = std::function<void(const Record* before, const Record* now)>;

    /// `keep`: which records are held; none given: all. One that no longer passes goes.
    explicit store(decode_function decode, filter_function keep = nullptr)
        : decode_(std::move(decode)), keep_(std::move(keep)) {}
    store(const store&) = delete;
    store& operator=(const store&) = delete;

    /// Called after each change, from inside the store: remember, do not act. Replaces the function
    /// before.
    ///
    /// Lifetimes: the records are valid during the call.
    void on_change(change_function changed) { changed_ = std::move(changed); }

    bool synced() const override { return synced_; }
    std::string_view seen() const override { return seen_; }
    std::size_t size() const { return by_uid_.size(); }

    using record_snapshot = snapshot<Record, sizeof...(Index)>;

    /// Null if it is not held.
    record_snapshot get(const std::string& uid) const {
        const auto found = by_uid_.find(uid);
        return found == by_uid_.end() ? record_snapshot() : record_snapshot(found->get());
    }

    /// Records with this key of the index `I`, in no order.
    template <one_of<Index...> I>
    std::vector<record_snapshot> find(const std::string& key) const {
        const auto& index = by_index_[number_of<I>()];
        const auto found = index.find(key);
        if (found == index.end()) {
            return {};
        }
        return {found->second.begin(), found->second.end()};
    }

    /// Takes the object of an answer to a request of one's own. An object that the view does not
    /// hold though it has seen that version was deleted meanwhile, or is outside the watch's
    /// selector: it is not taken, because no event would ever remove it. True if the view now holds
    /// the object at least as new as this.
    bool insert_answer(Record record) {
        const bool held = by_uid_.contains(record.uid);
        if (!held && !seen_.empty() && !is_newer(record.resource_version, seen_)) {
            return false;
        }
        if (!is_wanted(record)) {
            return false;
        }
        put(std::move(record), false);
        return true;
    }
    /// The same for its text: gives the version of the object, empty if it is none.
    std::string insert_answer(std::string_view object_json) {
        auto record = decode_(object_json);
        if (!record) {
            return {};
        }
        std::string version = record->resource_version;
        insert_answer(std::move(*record));
        return version;
    }

    /// True if `answer` shows what the view cannot have missed: an event was lost. `asked`: the
    /// view when the request was sent.
    bool is_contradicted_by(const Record& answer, const view_mark& asked) const {
        const record_snapshot held = get(answer.uid);
        return synced_ && is_wanted(answer) &&
               has_missed(
                   answer.resource_version, held ? held->resource_version : std::string(), asked
               );
    }

    /// An answer said that this object is gone.
    void drop(const std::string& uid) { erase(uid); }
    /// The same. True if this makes the second one of which the watch says nothing for too long: a
    /// single one may be late.
    bool drop(const std::string& uid, steady_time now) {
        if (synced_ && by_uid_.contains(uid)) {
            unconfirmed_.note(uid, now);
        }
        erase(uid);
        return unconfirmed_.overdue(now) > 1;
    }

    void clear() override {
        unconfirmed_.clear();
        while (!by_uid_.empty()) {
            erase(std::string((*by_uid_.begin())->record.uid));
        }
        staged_ = entries();
        seen_.clear();
        synced_ = false;
    }

    // reflector_sink.

    /// What is held may be newer than the truth: the view is incomplete until the list that
    /// follows.
    void rewound() override { synced_ = false; }

    void replace_begin() override { staged_.clear(); }

    void replace_item(std::string_view object_json) override {
        auto record = decode_(object_json);
        if (record && is_wanted(*record)) {
            staged_.push_back(entry(new shared(std::move(*record))));
        }
    }

    void replace_end(std::string_view resource_version) override {
        take_staged(resource_version, false);
    }

    void replace_after_rewind(std::string_view resource_version) override {
        take_staged(resource_version, true);
    }

    void replace_abort() override { staged_ = entries(); }

    void upsert(std::string_view object_json) override {
        auto record = decode_(object_json);
        if (!record) {
            return;
        }
        if (!is_wanted(*record)) {
            erase(record->uid);  // as a child that its owner has released
            return;
        }
        // W8: the deletion of what is not held and was seen long ago has been seen too. This event
        // has come again, and no other would ever remove what it brings.
        if (!by_uid_.contains(record->uid) && is_past(record->resource_version)) {
            return;
        }
        put(std::move(*record), false);
    }

    void remove(std::string_view object_json) override {
        const auto record = decode_(object_json);
        if (!record) {
            return;
        }
        unconfirmed_.confirm(record->uid);
        const record_snapshot held = get(record->uid);
        // One that is older has come again: the object has been back in the selection since (W8).
        if (held != nullptr && !is_newer(held->resource_version, record->resource_version)) {
            erase(record->uid);
        }
    }

    void advance(std::string_view resource_version) override {
        if (synced_ && !is_newer(seen_, resource_version)) {
            seen_ = resource_version;
        }
    }

private:
    static constexpr std::size_t index_count = sizeof...(Index);

    using shared = detail::shared_record<Record, index_count>;
    using entry = std::unique_ptr<shared, detail::let_go>;
    using entries = std::vector<entry>;
    using index_map = std::unordered_map<std::string, std::vector<shared*>>;

    struct hash_of_uid {
        using is_transparent = void;
        std::size_t operator()(std::string_view uid) const {
            return std::hash<std::string_view>()(uid);
        }
        std::size_t operator()(const entry& e) const { return (*this)(e->record.uid); }
    };
    struct same_uid {
        using is_transparent = void;
        bool operator()(const entry& x, const entry& y) const {
            return x->record.uid == y->record.uid;
        }
        bool operator()(std::string_view uid, const entry& e) const { return uid == e->record.uid; }
        bool operator()(const entry& e, std::string_view uid) const { return uid == e->record.uid; }
    };
    using records = std::unordered_set<entry, hash_of_uid, same_uid>;

    template <class I>
    static constexpr std::size_t number_of() {
        constexpr std::array<bool, index_count> same{std::is_same_v<I, Index>...};
        std::size_t number = 0;
        while (!same[number]) {
            ++number;
        }
        return number;
    }

    static bool is_newer(std::string_view a, std::string_view b) {
        return compare_versions(a, b) == version_order::newer;
    }

    bool is_past(std::string_view version) const {
        const auto order = compare_versions(version, seen_);
        return order == version_order::older || order == version_order::same;
    }

    bool is_wanted(const Record& record) const { return !keep_ || keep_(record); }

    /// `rewound`: the list is the truth, also where it is older.
    void take_staged(std::string_view resource_version, bool rewound) {
        for (const std::string& uid : not_listed(resource_version, rewound)) {
            erase(uid);
        }
        for (entry& staged : staged_) {
            put(std::move(staged), rewound);
        }
        staged_ = entries();
        unconfirmed_.clear();
        seen_ = resource_version;
        synced_ = true;
    }

    /// Whose objects the list that has come at this version says are gone.
    std::vector<std::string> not_listed(std::string_view version, bool rewound) const {
        std::vector<std::string> gone;
        if (by_uid_.empty()) {
            return gone;
        }
        std::unordered_set<std::string_view> listed;
        for (const entry& staged : staged_) {
            listed.insert(staged->record.uid);
        }
        for (const entry& held : by_uid_) {
            // What we wrote after the list was taken is not in it, and yet exists.
            const bool after = is_newer(held->record.resource_version, version);
            if (!listed.contains(held->record.uid) && (rewound || !after)) {
                gone.push_back(held->record.uid);
            }
        }
        return gone;
    }

    void put(Record record, bool even_if_older) {
        const auto found = by_uid_.find(record.uid);
        if (found == by_uid_.end()) {
            put_new(entry(new shared(std::move(record))));
        } else {
            replace(found, std::move(record), even_if_older);
        }
    }
    /// The same without a copy: a list may be long.
    void put(entry one, bool even_if_older) {
        const auto found = by_uid_.find(one->record.uid);
        if (found == by_uid_.end()) {
            put_new(std::move(one));
        } else {
            replace(found, std::move(one->record), even_if_older);
        }
    }

    void put_new(entry one) {
        shared& fresh = **by_uid_.insert(std::move(one)).first;
        (link<Index>(fresh), ...);
        tell(nullptr, &fresh.record);
    }

    void replace(typename records::iterator at, Record record, bool even_if_older) {
        shared& held = **at;
        const auto order = compare_versions(record.resource_version, held.record.resource_version);
        const bool stale = order == version_order::older && !even_if_older;  // REQUIREMENTS.md W8
        if (stale || order == version_order::same) {
            return;
        }
        if (held.holders > 1) {
            exchange_held(at, std::move(record));
            return;
        }
        // Most changes leave the keys as they are, and the place in the lists with them.
        [[maybe_unused]] const std::array<bool, index_count> moved{
            (Index()(held.record) != Index()(record))...};
        ((moved[number_of<Index>()] ? unlink<Index>(held) : void()), ...);
        const Record before = std::exchange(held.record, std::move(record));
        ((moved[number_of<Index>()] ? link<Index>(held) : void()), ...);
        tell(&before, &held.record);
    }

    /// The record that is there stays as it is for those who hold it.
    void exchange_held(typename records::iterator at, Record record) {
        (unlink<Index>(**at), ...);
        auto place = by_uid_.extract(at);
        const entry before = std::exchange(place.value(), entry(new shared(std::move(record))));
        shared& fresh = **by_uid_.insert(std::move(place)).position;
        (link<Index>(fresh), ...);
        tell(&before->record, &fresh.record);
    }

    void erase(const std::string& uid) {
        const auto found = by_uid_.find(uid);
        if (found == by_uid_.end()) {
            return;
        }
        (unlink<Index>(**found), ...);
        const auto gone = by_uid_.extract(found);
        note_removal();
        tell(&gone.value()->record, nullptr);
    }

    void tell(const Record* before, const Record* now) const {
        if (changed_) {
            changed_(before, now);
        }
    }

    template <class I>
    void link(shared& one) {
        const std::string& key = I()(one.record);
        if (key.empty()) {
            return;
        }
        auto& list = by_index_[number_of<I>()][key];
        one.position[number_of<I>()] = static_cast<std::uint32_t>(list.size());
        list.push_back(&one);
    }

    template <class I>
    void unlink(shared& one) {
        constexpr std::size_t number = number_of<I>();
        const std::string& key = I()(one.record);
        if (key.empty()) {
            return;
        }
        const auto found = by_index_[number].find(key);
        auto& list = found->second;
        // The last one takes the place that becomes free.
        shared* const last = list.back();
        const std::uint32_t place = one.position[number];
        list[place] = last;
        last->position[number] = place;
        list.pop_back();
        if (list.empty()) {
            by_index_[number].erase(found);
        }
    }

    decode_function decode_;
    filter_function keep_;
    change_function changed_;
    std::string seen_;
    bool synced_ = false;
    records by_uid_;
    std::array<index_map, index_count> by_index_;
    entries staged_;
    unconfirmed_removals unconfirmed_;
};

}  // namespace signalbox::k8sio
