// SPDX-License-Identifier: Apache-2.0
#include "server/formats/patch.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {
namespace {

using json::value;

refusal patch_failed() {
    refusal r;
    r.code = 422;
    r.reason = "Invalid";
    r.message = "the server rejected our request due to an error in our request";
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

/// The value `count` segments down the path, or nullptr.
value* walk(value& root, const std::vector<std::string>& path, std::size_t count) {
    value* at = &root;
    for (std::size_t i = 0; i < count; ++i) {
        if (at->IsArray()) {
            const int index = list_index(path[i], at->Size(), false);
            if (index < 0) {
                return nullptr;
            }
            at = &(*at)[static_cast<rapidjson::SizeType>(index)];
        } else {
            at = json::member(*at, path[i]);
            if (at == nullptr) {
                return nullptr;
            }
        }
    }
    return at;
}

bool add(value& root, const std::vector<std::string>& path, value v, json::arena& a) {
    if (path.empty()) {
        root = v;
        return true;
    }
    value* parent = walk(root, path, path.size() - 1);
    if (parent == nullptr) {
        return false;
    }
    if (parent->IsObject()) {
        json::set(*parent, path.back(), std::move(v), a);
        return true;
    }
    if (!parent->IsArray()) {
        return false;
    }
    const int index = list_index(path.back(), parent->Size(), true);
    if (index < 0) {
        return false;
    }
    parent->PushBack(v, a);
    for (auto i = parent->Size() - 1; i > static_cast<rapidjson::SizeType>(index); --i) {
        (*parent)[i].Swap((*parent)[i - 1]);
    }
    return true;
}

bool remove(value& root, const std::vector<std::string>& path) {
    if (path.empty()) {
        return false;
    }
    value* parent = walk(root, path, path.size() - 1);
    if (parent == nullptr || walk(root, path, path.size()) == nullptr) {
        return false;
    }
    if (parent->IsArray()) {
        parent->Erase(parent->Begin() + list_index(path.back(), parent->Size(), false));
    } else {
        json::remove(*parent, path.back());
    }
    return true;
}

bool apply_operation(value& target, const value& operation, json::arena& a) {
    const std::string_view op = json::string_at(operation, {"op"});
    const std::vector<std::string> path = split_pointer(json::string_at(operation, {"path"}));
    const std::vector<std::string> from = split_pointer(json::string_at(operation, {"from"}));
    const value* v = json::member(operation, "value");
    if (op == "add") {
        return v != nullptr && add(target, path, json::copy(*v, a), a);
    }
    if (op == "remove") {
        return remove(target, path);
    }
    if (op == "replace") {
        value* at = walk(target, path, path.size());
        if (at == nullptr || v == nullptr) {
            return false;
        }
        at->CopyFrom(*v, a);
        return true;
    }
    if (op == "test") {
        const value* at = walk(target, path, path.size());
        // A test against null passes for an absent member, as in the library of the real server.
        const bool wants_null = v == nullptr || v->IsNull();
        return at == nullptr ? wants_null : v != nullptr && json::equal(*at, *v);
    }
    if (op == "move" || op == "copy") {
        const value* at = walk(target, from, from.size());
        if (at == nullptr) {
            return false;
        }
        value taken = json::copy(*at, a);
        if (op == "move" && !remove(target, from)) {
            return false;
        }
        return add(target, path, std::move(taken), a);
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
    for (const auto& m : patch.GetObject()) {
        const std::string_view key = json::view(m.name);
        if (m.value.IsNull()) {
            json::remove(target, key);
            continue;
        }
        value* at = json::member(target, key);
        if (at == nullptr) {
            json::set(target, key, value(), a);
            at = json::member(target, key);
        }
        merge_patch(*at, m.value, a);
    }
}

outcome<void> json_patch(value& target, const value& patch, json::arena& a) {
    if (!patch.IsArray()) {
        return bad_request("a JSON patch must be a list of operations");
    }
    for (const value& operation : patch.GetArray()) {
        if (!apply_operation(target, operation, a)) {
            return patch_failed();
        }
    }
    return {};
}

}  // namespace signalbox::k8sio::server
