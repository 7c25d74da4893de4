// SPDX-License-Identifier: Apache-2.0
//
// From text to trees: the checks that come before parsing, and one reader each for YAML and JSON.
// Private to manifests/; the interface is manifest.hpp.
#pragma once

#include "manifests/tree.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::manifests {

/// Bounds on what is read, so that hostile input costs little. All are far above what the API
/// server itself accepts in one object.
struct limits {
    std::size_t max_bytes = 4u << 20;
    /// Of one line of YAML: its parser holds all tokens of a line in flow style in memory.
    std::size_t max_line = 1u << 20;
    /// Nodes of one file, with every alias expanded.
    std::size_t max_nodes = 100'000;
    std::size_t max_documents = 5'000;
    std::uint32_t max_depth = 128;
    /// Problems reported of one file; the rest are left out.
    std::size_t max_problems = 20;
};

struct problem {
    position where;
    std::string pointer;  ///< the place in the object, where that is known
    std::string message;
};

struct parsed_text {
    std::vector<tree> documents;  ///< empty documents are left out
    std::vector<problem> problems;
};

/// Why `text` is no text of ours, before any parsing: too large, empty, UTF-16, binary, no UTF-8.
std::optional<problem> check_text(std::string_view text, const limits& bounds);

/// The same for what only YAML minds.
std::optional<problem> check_lines(std::string_view text, const limits& bounds);

parsed_text read_yaml(std::string_view text, const limits& bounds);
/// One JSON value after the other; a line `---` may stand between two. `rest` is where a value
/// begins, the first or one behind such a line, that is no JSON by its syntax; else the size.
parsed_text read_json(std::string_view text, const limits& bounds, std::size_t& rest);

/// Thrown by the builder inside a reader to leave the parser; never leaves the reader.
struct reading_stopped {
    problem why;
};

/// Puts a stream of events together into a tree.
class tree_builder {
public:
    tree_builder(const limits& bounds, parsed_text& out) : limits_(&bounds), out_(&out) {}

    void begin_document();
    void end_document();

    bool expects_key() const {
        return !open_.empty() && open_.back().mapping && !open_.back().has_key;
    }
    void key(std::string text, position where, bool merge = false);
    node_id scalar(node_kind kind, std::string text, position where);
    node_id open(node_kind kind, position where);
    void close();
    /// A second use of a node that is complete.
    void alias(node_id target, position where);
    bool is_open(node_id id) const;

    void report(position where, std::string message);
    /// JSON pointer of the place being read.
    std::string pointer() const;
    [[noreturn]] void stop(position where, std::string message) const;

private:
    struct frame {
        node_id id = 0;
        bool mapping = false;
        bool has_key = false;
        child pending;
    };

    void attach(node_id id, position where);
    void find_duplicates(node_id mapping);
    void merge(node_id mapping);
    void merge_from(node_id mapping, node_id source, position where);

    const limits* limits_;
    parsed_text* out_;
    tree document_;
    bool has_root_ = false;
    std::size_t nodes_before_ = 0;
    std::vector<frame> open_;
};

}  // namespace signalbox::op::manifests
