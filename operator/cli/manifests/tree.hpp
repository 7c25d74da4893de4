// SPDX-License-Identifier: Apache-2.0
//
// A parsed manifest that still knows where each part of it was written. Nodes live in one arena and
// YAML aliases are shared, not copied: a document that would expand to billions of nodes is known
// by its computed size before anything is expanded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::manifests {

/// A place in a text; both count from 1, columns in characters. Line 0: unknown.
struct position {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    friend bool operator==(const position&, const position&) = default;
};

/// The byte at a position; the size of the text if it lies beyond.
std::size_t offset_of(std::string_view text, position where);

using node_id = std::uint32_t;

enum class node_kind : std::uint8_t {
    scalar,    ///< null, boolean or number: `text` is the JSON token
    string,    ///< `text` is the value
    sequence,  ///< the children's keys are empty
    mapping,
};

struct child {
    std::string key;
    position where;  ///< of the key, or of a sequence's item
    node_id node = 0;
    bool merge_key = false;  ///< YAML's `<<`, not yet applied
};

struct node {
    node_kind kind = node_kind::scalar;
    position where;
    std::string text;
    std::vector<child> children;
    /// Nodes below and including this one, aliases counted as often as they are used.
    std::uint64_t expanded = 1;
    std::uint32_t height = 1;
};

/// One document of a file.
class tree {
public:
    node_id add(node_kind kind, position where, std::string text = {});
    node& at(node_id id) { return nodes_[id]; }
    const node& at(node_id id) const { return nodes_[id]; }
    std::size_t size() const { return nodes_.size(); }

    node_id root() const { return root_; }
    void set_root(node_id id) { root_ = id; }

    /// The member of a mapping, or nullptr.
    const child* find(node_id mapping, std::string_view key) const;
    /// The string member of a mapping; empty for anything else.
    std::string_view text_of(node_id mapping, std::string_view key) const;

    /// Where the node at an RFC 6901 pointer below `from` was written: its key, or the item itself.
    /// A pointer to nothing gives the nearest parent that is there, so that `a required field is
    /// missing` points at the object that lacks it.
    position locate(node_id from, std::string_view pointer) const;

    /// Compact JSON of a node and all below it.
    std::string json(node_id from) const;

private:
    void write(node_id from, std::string& out) const;

    std::vector<node> nodes_;
    node_id root_ = 0;
};

}  // namespace signalbox::op::manifests
