// SPDX-License-Identifier: Apache-2.0
#include "manifests/tree.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::manifests {

std::size_t offset_of(std::string_view text, position where) {
    std::size_t at = 0;
    for (std::uint32_t line = 1; line < where.line && at < text.size(); ++line) {
        at = std::min(text.find('\n', at), text.size() - 1) + 1;
    }
    for (std::uint32_t column = 1; column < where.column && at < text.size(); ++column) {
        ++at;
        while (at < text.size() && core::continues_character(text[at])) {
            ++at;
        }
    }
    return std::min(at, text.size());
}

namespace {

/// The reference token of a JSON pointer with its escapes resolved.
std::string unescape(std::string_view token) {
    std::string out;
    for (std::size_t i = 0; i < token.size(); ++i) {
        if (token[i] == '~' && i + 1 < token.size()) {
            ++i;
            out += token[i] == '1' ? '/' : '~';
        } else {
            out += token[i];
        }
    }
    return out;
}

const child* step(const node& from, const std::string& token) {
    if (from.kind == node_kind::mapping) {
        const auto it = std::ranges::find(from.children, token, &child::key);
        return it == from.children.end() ? nullptr : &*it;
    }
    const auto index = core::read_whole_number<std::size_t>(token);
    const bool item = from.kind == node_kind::sequence && index && *index < from.children.size();
    return item ? &from.children[*index] : nullptr;
}

}  // namespace

node_id tree::add(node_kind kind, position where, std::string text) {
    node& made = nodes_.emplace_back();
    made.kind = kind;
    made.where = where;
    made.text = std::move(text);
    return static_cast<node_id>(nodes_.size() - 1);
}

const child* tree::find(node_id mapping, std::string_view key) const {
    const node& from = nodes_[mapping];
    if (from.kind != node_kind::mapping) {
        return nullptr;
    }
    const auto it = std::ranges::find(from.children, key, &child::key);
    return it == from.children.end() ? nullptr : &*it;
}

std::string_view tree::text_of(node_id mapping, std::string_view key) const {
    const child* member = find(mapping, key);
    if (member == nullptr || nodes_[member->node].kind != node_kind::string) {
        return {};
    }
    return nodes_[member->node].text;
}

position tree::locate(node_id from, std::string_view pointer) const {
    position found = nodes_[from].where;
    while (!pointer.empty()) {
        pointer.remove_prefix(1);  // the slash
        const std::size_t end = std::min(pointer.find('/'), pointer.size());
        const child* next = step(nodes_[from], unescape(pointer.substr(0, end)));
        if (next == nullptr) {
            break;
        }
        found = next->where;
        from = next->node;
        pointer.remove_prefix(end);
    }
    return found;
}

std::string tree::json(node_id from) const {
    std::string out;
    write(from, out);
    return out;
}

// Recursive: the readers bound the height of a tree.
void tree::write(node_id from, std::string& out) const {
    const node& n = nodes_[from];
    switch (n.kind) {
        case node_kind::scalar:
            out += n.text;
            return;
        case node_kind::string:
            core::append_json_string(out, n.text);
            return;
        case node_kind::sequence:
        case node_kind::mapping:
            break;
    }
    const bool mapping = n.kind == node_kind::mapping;
    out += mapping ? '{' : '[';
    bool first = true;
    for (const child& c : n.children) {
        if (!first) {
            out += ',';
        }
        first = false;
        if (mapping) {
            core::append_json_string(out, c.key);
            out += ':';
        }
        write(c.node, out);
    }
    out += mapping ? '}' : ']';
}

}  // namespace signalbox::op::manifests
