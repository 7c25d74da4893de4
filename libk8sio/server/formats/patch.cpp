// SPDX-License-Identifier: Apache-2.0
#include "server/formats/patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {
namespace {

using json::value;

// The bounds of a JSON patch: the first two are those of the real server.
constexpr rapidjson::SizeType max_operations = 10'000;
constexpr std::size_t max_copied = 3 * 1024 * 1024;  // bytes of JSON, of all `copy` together
// Members and items that are passed over. A list of a million items is one of 3 MB.
constexpr std::size_t max_steps = 50'000'000;

refusal patch_failed() {
    refusal r;
    r.code = 422;
    r.reason = "Invalid";
    r.message = "the server rejected our request due to an error in our request";
    return r;
}

refusal too_many_operations(rapidjson::SizeType count) {
    refusal r;
    r.code = 413;
    r.reason = "RequestEntityTooLarge";
    r.message = fmt::format(
        "Request entity too large: The allowed maximum operations in a JSON patch is {}, got {}",
        max_operations,
        count
    );
    return r;
}

/// The segments of a JSON pointer (RFC 6901).
std::vector<std::string> split_pointer(std::string_view pointer) {
    std::vector<std::string> out;
    std::size_t at = pointer.empty() ? pointer.size() : 1;
    while (at <= pointer.size() && !pointer.empty()) {
        const std::size_t slash = std::min(pointer.find('/', at), pointer.size());
        std::string segment;
        for (std::size_t i = at; i < slash; ++i) {
            if (pointer[i] == '~' && i + 1 < slash) {
                segment += pointer[++i] == '1' ? '/' : '~';
            } else {
                segment += pointer[i];
            }
        }
        out.push_back(std::move(segment));
        at = slash + 1;
    }
    return out;
}

/// The index `text` of a list of `size` elements; -1 if it is none. `-` is the end.
int list_index(std::string_view text, rapidjson::SizeType size, bool may_be_end) {
    if (text == "-") {
        return may_be_end ? static_cast<int>(size) : -1;
    }
    int index = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc{} || end != text.data() + text.size() || index < 0) {
        return -1;
    }
    return index < static_cast<int>(size) + (may_be_end ? 1 : 0) ? index : -1;
}

/// A JSON patch while it is applied (REQUIREMENTS.md H7).
class patch_run {
public:
    patch_run(value& target, json::arena& a) : target_(&target), arena_(&a) {}

    /// Whether it could be done, and no bound was met.
    bool apply(const value& operation) { return carry_out(operation) && pass(0); }

private:
    bool carry_out(const value& operation);
    /// What an operation passes over on its way; false once that is too much.
    bool pass(std::size_t steps) {
        steps_ += steps;
        return steps_ <= max_steps;
    }
    /// The levels of objects and lists in `v`.
    std::size_t levels_of(const value& v);
    /// Whether `v` may stand at `path`: what comes after the patch is recursive, too.
    bool fits(const std::vector<std::string>& path, const value& v) {
        return path.size() + levels_of(v) <= json::max_depth;
    }
    /// The value `count` segments down the path, or nullptr.
    value* walk(const std::vector<std::string>& path, std::size_t count);
    bool add(const std::vector<std::string>& path, value v);
    bool remove(const std::vector<std::string>& path);
    bool copy(const value& from, const std::vector<std::string>& to);
    bool move(value& from, const std::vector<std::string>& way, const std::vector<std::string>& to);

    value* target_;
    json::arena* arena_;
    std::size_t copied_ = 0;
    std::size_t steps_ = 0;
};

std::size_t patch_run::levels_of(const value& v) {
    std::size_t deepest = 0;
    if (v.IsObject()) {
        steps_ += v.MemberCount();
        for (const auto& m : v.GetObject()) {
            deepest = std::max(deepest, levels_of(m.value));
        }
    } else if (v.IsArray()) {
        steps_ += v.Size();
        for (const value& element : v.GetArray()) {
            deepest = std::max(deepest, levels_of(element));
        }
    } else {
        return 0;
    }
    return deepest + 1;
}

value* patch_run::walk(const std::vector<std::string>& path, std::size_t count) {
    value* at = target_;
    for (std::size_t i = 0; i < count; ++i) {
        if (at->IsArray()) {
            const int index = list_index(path[i], at->Size(), false);
            if (index < 0) {
                return nullptr;
            }
            at = &(*at)[static_cast<rapidjson::SizeType>(index)];
        } else {
            if (!pass(at->IsObject() ? at->MemberCount() : 0)) {
                return nullptr;
            }
            at = json::member(*at, path[i]);
            if (at == nullptr) {
                return nullptr;
            }
        }
    }
    return at;
}

bool patch_run::add(const std::vector<std::string>& path, value v) {
    if (!fits(path, v)) {
        return false;
    }
    if (path.empty()) {
        *target_ = v;
        return true;
    }
    value* parent = walk(path, path.size() - 1);
    if (parent == nullptr) {
        return false;
    }
    if (parent->IsObject()) {
        if (!pass(parent->MemberCount())) {
            return false;
        }
        json::set(*parent, path.back(), std::move(v), *arena_);
        return true;
    }
    if (!parent->IsArray()) {
        return false;
    }
    const int index = list_index(path.back(), parent->Size(), true);
    if (index < 0 || !pass(parent->Size() - static_cast<std::size_t>(index))) {
        return false;
    }
    parent->PushBack(v, *arena_);
    for (auto i = parent->Size() - 1; i > static_cast<rapidjson::SizeType>(index); --i) {
        (*parent)[i].Swap((*parent)[i - 1]);
    }
    return true;
}

bool patch_run::remove(const std::vector<std::string>& path) {
    if (path.empty()) {
        return false;
    }
    value* parent = walk(path, path.size() - 1);
    if (parent == nullptr || walk(path, path.size()) == nullptr) {
        return false;
    }
    if (parent->IsArray()) {
        const int index = list_index(path.back(), parent->Size(), false);
        if (!pass(parent->Size() - static_cast<std::size_t>(index))) {
            return false;
        }
        parent->Erase(parent->Begin() + index);
    } else {
        json::remove(*parent, path.back());
    }
    return true;
}

bool patch_run::copy(const value& from, const std::vector<std::string>& to) {
    copied_ += json::to_text(from).size();
    return copied_ <= max_copied && add(to, json::copy(from, *arena_));
}

/// Nothing is copied: what an arena holds is given back with the arena alone.
bool patch_run::move(
    value& from, const std::vector<std::string>& way, const std::vector<std::string>& to
) {
    value taken;
    taken.Swap(from);
    return remove(way) && add(to, std::move(taken));
}

bool patch_run::carry_out(const value& operation) {
    const std::string_view op = json::string_at(operation, {"op"});
    const std::vector<std::string> path = split_pointer(json::string_at(operation, {"path"}));
    const std::vector<std::string> from = split_pointer(json::string_at(operation, {"from"}));
    const value* v = json::member(operation, "value");
    if (op == "add") {
        return v != nullptr && add(path, json::copy(*v, *arena_));
    }
    if (op == "remove") {
        return remove(path);
    }
    if (op == "replace") {
        value* at = walk(path, path.size());
        if (at == nullptr || v == nullptr || !fits(path, *v)) {
            return false;
        }
        at->CopyFrom(*v, *arena_);
        return true;
    }
    if (op == "test") {
        const value* at = walk(path, path.size());
        // A test against null passes for an absent member, as in the library of the real server.
        const bool wants_null = v == nullptr || v->IsNull();
        return at == nullptr ? wants_null : v != nullptr && json::equal(*at, *v);
    }
    if (op == "move" || op == "copy") {
        value* at = walk(from, from.size());
        return at != nullptr && (op == "copy" ? copy(*at, path) : move(*at, from, path));
    }
    return false;
}

}  // namespace

void merge_patch(value& target, const value& patch, json::arena& a) {
    if (!patch.IsObject()) {
        target.CopyFrom(patch, a);
        return;
    }
    if (!target.IsObject()) {
        target.SetObject();
    }
    // Each member of the two is looked at once: to find every one from the beginning would take a
    // time that grows with the square of their number.
    std::unordered_map<std::string_view, const value*> changes;
    for (const auto& m : patch.GetObject()) {
        changes[json::view(m.name)] = &m.value;
    }
    json::erase_members(target, [&](value::Member& m) {
        const auto change = changes.find(json::view(m.name));
        const bool goes = change != changes.end() && change->second->IsNull();
        if (change != changes.end() && !goes) {
            merge_patch(m.value, *change->second, a);
        }
        if (change != changes.end()) {
            changes.erase(change);
        }
        return goes;
    });
    for (const auto& m : patch.GetObject()) {
        const auto change = changes.find(json::view(m.name));
        if (change == changes.end() || change->second->IsNull()) {
            continue;
        }
        value fresh;
        merge_patch(fresh, *change->second, a);
        target.AddMember(json::copy(m.name, a), fresh, a);
        changes.erase(change);
    }
}

outcome<void> json_patch(value& target, const value& patch, json::arena& a) {
    if (!patch.IsArray()) {
        return bad_request("a JSON patch must be a list of operations");
    }
    if (patch.Size() > max_operations) {
        return too_many_operations(patch.Size());
    }
    patch_run run(target, a);
    for (const value& operation : patch.GetArray()) {
        if (!run.apply(operation)) {
            return patch_failed();
        }
    }
    return {};
}

}  // namespace signalbox::k8sio::server
