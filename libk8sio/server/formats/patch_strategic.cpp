// SPDX-License-Identifier: Apache-2.0
//
// The strategic merge patch. The real server reads merge keys from struct tags; here they are a
// table by the name of the list, which is unambiguous for the kinds served (`ports` tries both
// keys).
#include "server/formats/patch.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::value;

struct merge_key {
    std::string_view list;
    std::string_view key;  ///< empty: a set of scalars
};

constexpr std::array merge_keys{
    merge_key{"containers", "name"},
    merge_key{"initContainers", "name"},
    merge_key{"ephemeralContainers", "name"},
    merge_key{"env", "name"},
    merge_key{"volumes", "name"},
    merge_key{"volumeMounts", "mountPath"},
    merge_key{"volumeDevices", "devicePath"},
    merge_key{"ports", "containerPort"},
    merge_key{"ports", "port"},
    merge_key{"imagePullSecrets", "name"},
    merge_key{"secrets", "name"},
    merge_key{"hostAliases", "ip"},
    merge_key{"topologySpreadConstraints", "topologyKey"},
    merge_key{"resourceClaims", "name"},
    merge_key{"schedulingGates", "name"},
    merge_key{"conditions", "type"},
    merge_key{"addresses", "type"},
    merge_key{"podIPs", "ip"},
    merge_key{"taints", "key"},
    merge_key{"ownerReferences", "uid"},
    merge_key{"finalizers", ""},
};

/// The key by which `patch` (elements) is merged into the list `name`; nullptr: lists are replaced.
const merge_key* key_of(std::string_view name, const value& patch) {
    for (const merge_key& k : merge_keys) {
        if (k.list != name) {
            continue;
        }
        if (k.key.empty()) {
            return &k;
        }
        const bool fits = std::all_of(patch.Begin(), patch.End(), [&k](const value& e) {
            return json::find(e, k.key) != nullptr || json::find(e, "$patch") != nullptr;
        });
        if (fits) {
            return &k;
        }
    }
    return nullptr;
}

value* element_with(value& list, std::string_view key, const value& wanted) {
    for (value& e : list.GetArray()) {
        const value* have = json::find(e, key);
        if (have != nullptr && *have == wanted) {
            return &e;
        }
    }
    return nullptr;
}

bool contains(const value& list, const value& wanted) {
    return std::find(list.Begin(), list.End(), wanted) != list.End();
}

enum class nulls { remove, keep };

void merge_object(value& target, const value& patch, nulls mode, json::arena& a);

void merge_list(
    value& target, const value& patch, const merge_key& key, nulls mode, json::arena& a
) {
    if (key.key.empty()) {
        for (const value& e : patch.GetArray()) {
            if (!contains(target, e)) {
                target.PushBack(json::copy(e, a), a);
            }
        }
        return;
    }
    for (const value& e : patch.GetArray()) {
        if (json::string_at(e, {"$patch"}) == "replace") {
            target.Clear();
        }
    }
    for (const value& e : patch.GetArray()) {
        const value* id = json::find(e, key.key);
        const std::string_view directive = json::string_at(e, {"$patch"});
        if (id == nullptr) {
            continue;
        }
        value* have = element_with(target, key.key, *id);
        if (directive == "delete") {
            if (have != nullptr) {
                target.Erase(have);
            }
        } else if (have != nullptr) {
            merge_object(*have, e, mode, a);
        } else {
            value fresh = json::object();
            merge_object(fresh, e, mode, a);
            target.PushBack(fresh, a);
        }
    }
}

/// `$setElementOrder/<list>`: the listed elements come in that order, others after them.
void order_list(value& list, const value& order, std::string_view key, json::arena& a) {
    value sorted = json::array();
    for (const value& wanted : order.GetArray()) {
        const value* id = wanted.IsObject() ? json::find(wanted, key) : &wanted;
        for (const value& e : list.GetArray()) {
            const value* own = e.IsObject() ? json::find(e, key) : &e;
            if (id != nullptr && own != nullptr && *own == *id) {
                sorted.PushBack(json::copy(e, a), a);
                break;
            }
        }
    }
    for (const value& e : list.GetArray()) {
        if (!contains(sorted, e)) {
            sorted.PushBack(json::copy(e, a), a);
        }
    }
    list = sorted;
}

constexpr std::string_view order_prefix = "$setElementOrder/";
constexpr std::string_view delete_prefix = "$deleteFromPrimitiveList/";

void merge_object(value& target, const value& patch, nulls mode, json::arena& a) {
    if (!target.IsObject()) {
        target.SetObject();
    }
    if (json::string_at(patch, {"$patch"}) == "replace") {
        target.SetObject();
    }
    if (const value* keep = json::find(patch, "$retainKeys"); keep && keep->IsArray()) {
        for (auto it = target.MemberBegin(); it != target.MemberEnd();) {
            it = contains(*keep, it->name) ? it + 1 : target.EraseMember(it);
        }
    }
    for (const auto& m : patch.GetObject()) {
        const std::string_view key = json::view(m.name);
        if (key.substr(0, delete_prefix.size()) == delete_prefix) {
            value* list = json::find(target, key.substr(delete_prefix.size()));
            if (list != nullptr && list->IsArray() && m.value.IsArray()) {
                for (const value& gone : m.value.GetArray()) {
                    const auto it = std::find(list->Begin(), list->End(), gone);
                    if (it != list->End()) {
                        list->Erase(it);
                    }
                }
            }
            continue;
        }
        if (!key.empty() && key.front() == '$') {
            continue;
        }
        if (m.value.IsNull()) {
            if (mode == nulls::remove) {
                json::remove(target, key);
            }
            continue;
        }
        if (json::string_at(m.value, {"$patch"}) == "delete") {
            json::remove(target, key);
            continue;
        }
        value* at = json::member(target, key);
        if (at == nullptr) {
            json::set(target, key, value(), a);
            at = json::member(target, key);
        }
        const merge_key* by = m.value.IsArray() ? key_of(key, m.value) : nullptr;
        if (m.value.IsObject()) {
            merge_object(*at, m.value, mode, a);
        } else if (by != nullptr) {
            if (!at->IsArray()) {
                at->SetArray();
            }
            merge_list(*at, m.value, *by, mode, a);
        } else {
            at->CopyFrom(m.value, a);
        }
    }
    for (const auto& m : patch.GetObject()) {
        const std::string_view key = json::view(m.name);
        if (key.substr(0, order_prefix.size()) != order_prefix || !m.value.IsArray()) {
            continue;
        }
        const std::string_view list_name = key.substr(order_prefix.size());
        value* list = json::find(target, list_name);
        const merge_key* by = key_of(list_name, m.value);
        if (list != nullptr && list->IsArray() && by != nullptr) {
            order_list(*list, m.value, by->key, a);
        }
    }
}

}  // namespace

void strategic_merge_patch(value& target, const value& patch, json::arena& a) {
    merge_object(target, patch, nulls::remove, a);
}

void apply_merge(value& target, const value& wanted, json::arena& a) {
    merge_object(target, wanted, nulls::keep, a);
}

}  // namespace signalbox::k8sio::server
