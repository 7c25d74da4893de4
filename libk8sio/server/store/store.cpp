// SPDX-License-Identifier: Apache-2.0
#include "server/store/store.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <limits>

namespace signalbox::k8sio::server {
namespace {

constexpr std::string_view version_prefix = "\"metadata\":{\"resourceVersion\":\"";

std::string field_text(const json::value* v) {
    return v == nullptr ? std::string() : json::scalar_text(*v);
}

}  // namespace

bool record::has_finalizer(std::string_view which) const {
    return std::find(finalizers.begin(), finalizers.end(), which) != finalizers.end();
}

std::size_t record::weight() const {
    std::size_t out = sizeof(record) + ns.size() + name.size() + uid.size() + tail.size();
    for (const auto& [key, text] : labels) {
        out += sizeof(labels.front()) + key.size() + text.size();
    }
    for (const std::string& text : fields) {
        out += sizeof(text) + text.size();
    }
    for (const std::string& text : finalizers) {
        out += sizeof(text) + text.size();
    }
    return out + owners.size() * sizeof(owner_ref);
}

std::string record::tail_of(const kind_info& kind) const {
    if (kind.form == nullptr) {
        return tail;
    }
    json::arena a;
    json::value object;
    json::parse_stored(object, "{" + tail, a);
    kind.form->from_kept(object, a);
    json::remove(object, "apiVersion");
    return json::to_text(object).substr(1);
}

std::string_view record::text_after_version() const {
    const std::string_view all = tail;
    return all.substr(all.find('"', version_prefix.size()));
}

record_ptr make_record(
    const kind_info& kind, json::value& object, std::uint64_t version, json::arena& a
) {
    auto r = std::make_shared<record>();
    json::value& metadata = json::object_at(object, "metadata", a);
    r->version = version;
    r->ns = json::string_at(metadata, {"namespace"});
    r->name = json::string_at(metadata, {"name"});
    r->uid = json::string_at(metadata, {"uid"});
    r->deleting = json::find(metadata, "deletionTimestamp") != nullptr;
    if (const json::value* labels = json::find(metadata, "labels"); labels && labels->IsObject()) {
        for (const auto& m : labels->GetObject()) {
            r->labels.emplace_back(json::text_of(m.name), json::scalar_text(m.value));
        }
    }
    if (const json::value* list = json::find(metadata, "finalizers"); list && list->IsArray()) {
        for (const json::value& f : list->GetArray()) {
            r->finalizers.push_back(json::scalar_text(f));
        }
    }
    if (const json::value* list = json::find(metadata, "ownerReferences");
        list && list->IsArray()) {
        for (const json::value& o : list->GetArray()) {
            owner_ref owner;
            owner.uid = json::string_at(o, {"uid"});
            owner.blocks = json::bool_at(o, {"blockOwnerDeletion"});
            r->owners.push_back(std::move(owner));
        }
    }
    r->fields.reserve(kind.selectable.size());
    for (const std::string& path : kind.selectable) {
        r->fields.push_back(field_text(json::find_dotted(object, path)));
    }

    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    const auto put = [&writer](const json::value& name, const json::value& v) {
        writer.Key(name.GetString(), name.GetStringLength());
        v.Accept(writer);
    };
    writer.StartObject();
    writer.Key("metadata");
    writer.StartObject();
    writer.Key("resourceVersion");
    writer.String(std::to_string(version));
    for (const auto& m : metadata.GetObject()) {
        if (json::view(m.name) != "resourceVersion" && !m.value.IsNull()) {
            put(m.name, m.value);
        }
    }
    writer.EndObject();
    const std::size_t metadata_end = buffer.GetSize() - 1;
    for (const auto& m : object.GetObject()) {
        const std::string_view name = json::view(m.name);
        if (name != "metadata" && name != "apiVersion" && name != "kind") {
            put(m.name, m.value);
        }
    }
    writer.EndObject();
    r->tail.assign(buffer.GetString() + 1, buffer.GetSize() - 1);
    r->metadata_end = metadata_end;
    return r;
}

record_ptr with_version(const record& r, std::uint64_t version) {
    auto next = std::make_shared<record>(r);
    next->version = version;
    const std::string old = std::to_string(r.version);
    const std::string now = std::to_string(version);
    next->tail.replace(version_prefix.size(), old.size(), now);
    next->metadata_end = r.metadata_end + now.size() - old.size();
    return next;
}

json::value parse_record(const kind_info& kind, const record& r, json::arena& a) {
    json::value v;
    json::parse_stored(v, r.text(kind), a);
    return v;
}

record_ptr resource_table::find(std::string_view ns, std::string_view name) const {
    std::string key(ns);
    key += '/';
    key += name;
    const auto it = objects.find(key);
    return it == objects.end() ? nullptr : it->second;
}

namespace {

using span = std::pair<records::const_iterator, records::const_iterator>;

/// Those of the namespace behind `after`.
span behind(const records& all, std::string_view ns, std::string_view after) {
    const std::string prefix = ns.empty() ? std::string() : std::string(ns) + '/';
    // '0' follows '/'.
    const auto end = ns.empty() ? all.end() : all.lower_bound(std::string(ns) + '0');
    const bool inside = after > std::string_view(prefix);
    return {inside ? all.upper_bound(after) : all.lower_bound(prefix), end};
}

}  // namespace

std::vector<record_ptr> resource_table::list(std::string_view ns) const {
    std::vector<record_ptr> out;
    out.reserve(ns.empty() ? objects.size() : 0);
    const auto [begin, end] = behind(objects, ns, "");
    for (auto it = begin; it != end; ++it) {
        out.push_back(it->second);
    }
    return out;
}

/// What was at each key that was written after `version`; null: nothing.
records resource_table::changes_since(std::uint64_t version) const {
    records out;
    for (auto it = history.rbegin(); it != history.rend() && it->version > version; ++it) {
        out.insert_or_assign(it->after->key(), it->before);
    }
    return out;
}

void resource_table::walk(
    std::string_view ns,
    std::string_view after,
    std::uint64_t version,
    const std::function<bool(const record_ptr&)>& take
) const {
    const records changed = changes_since(version);
    auto [at, end] = behind(objects, ns, after);
    auto [old, last] = behind(changed, ns, after);
    while (at != end || old != last) {
        const bool was_changed = old != last && (at == end || old->first <= at->first);
        if (was_changed && at != end && at->first == old->first) {
            ++at;
        }
        const record_ptr& r = was_changed ? (old++)->second : (at++)->second;
        if (r != nullptr && !take(r)) {
            return;
        }
    }
}

bool resource_table::any_in_namespace(std::string_view ns) const {
    const auto [begin, end] = behind(objects, ns, "");
    return begin != end;
}

std::shared_ptr<resource_table> store::add_table(std::shared_ptr<const kind_info> kind) {
    tables_.push_back(std::make_shared<resource_table>(std::move(kind)));
    tables_.back()->forgotten = version_;
    return tables_.back();
}

void store::remove_table(resource_table& table) {
    for (const auto& [key, r] : table.objects) {
        unindex(*r);
    }
    for (const history_event& event : table.history) {
        held_bytes_ -= event.weight();
    }
    table.removed = true;
    for (const auto& [id, wake] : table.wake_ups) {
        wake();
    }
    std::erase_if(tables_, [&table](const auto& t) { return t.get() == &table; });
}

resource_table* store::find_table(std::string_view group, std::string_view plural) {
    for (const auto& t : tables_) {
        if (t->kind->plural == plural && t->kind->group == group) {
            return t.get();
        }
    }
    return nullptr;
}

void store::put(resource_table& table, record_ptr r) {
    record_ptr& slot = table.objects[r->key()];
    history_event event{change::added, r->version, slot, r};
    if (slot != nullptr) {
        event.what = change::modified;
        unindex(*slot);
    }
    slot = r;
    index(table, *r);
    log(table, std::move(event));
}

record_ptr store::erase(resource_table& table, const record& r) {
    const auto it = table.objects.find(r.key());
    const record_ptr before = it->second;
    record_ptr last = with_version(*before, next_version());
    unindex(*before);
    table.objects.erase(it);
    log(table, {change::deleted, last->version, before, last});
    return last;
}

store::place store::find_uid(std::string_view uid) const {
    const auto it = by_uid_.find(std::string(uid));
    if (it == by_uid_.end()) {
        return {};
    }
    const auto& [table, key] = it->second;
    return {table, table->objects.find(key)->second};
}

std::vector<std::string> store::dependents(const std::string& owner) const {
    const auto it = by_owner_.find(owner);
    if (it == by_owner_.end()) {
        return {};
    }
    return {it->second.begin(), it->second.end()};
}

void store::compact() {
    for (const auto& t : tables_) {
        t->first_sequence = t->end_sequence();
        t->history.clear();
        t->forgotten = version_;
    }
    held_bytes_ = 0;
}

void store::log(resource_table& table, history_event event) {
    if (observer_) {
        observer_(table, event);
    }
    held_bytes_ += event.weight();
    table.history.push_back(std::move(event));
    while (table.history.size() > history_limit_) {
        forget_first(table);
    }
    while (held_bytes_ > history_bytes_) {
        forget_first(oldest());
    }
    for (const auto& [id, wake] : table.wake_ups) {
        wake();
    }
}

void store::forget_first(resource_table& table) {
    held_bytes_ -= table.history.front().weight();
    table.forgotten = table.history.front().version;
    table.history.pop_front();
    ++table.first_sequence;
}

resource_table& store::oldest() {
    const auto first_version = [](const std::shared_ptr<resource_table>& t) {
        return t->history.empty() ? std::numeric_limits<std::uint64_t>::max()
                                  : t->history.front().version;
    };
    return **std::min_element(tables_.begin(), tables_.end(), [&](const auto& x, const auto& y) {
        return first_version(x) < first_version(y);
    });
}

void store::index(resource_table& table, const record& r) {
    by_uid_[r.uid] = {&table, r.key()};
    for (const owner_ref& o : r.owners) {
        by_owner_[o.uid].insert(r.uid);
    }
}

void store::unindex(const record& r) {
    by_uid_.erase(r.uid);
    for (const owner_ref& o : r.owners) {
        const auto it = by_owner_.find(o.uid);
        if (it != by_owner_.end()) {
            it->second.erase(r.uid);
            if (it->second.empty()) {
                by_owner_.erase(it);
            }
        }
    }
}

}  // namespace signalbox::k8sio::server
