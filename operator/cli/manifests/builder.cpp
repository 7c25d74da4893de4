// SPDX-License-Identifier: Apache-2.0
#include "manifests/reader.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace signalbox::op::manifests {

void tree_builder::begin_document() {
    document_ = tree();
    has_root_ = false;
    open_.clear();
}

void tree_builder::end_document() {
    if (has_root_) {
        if (out_->documents.size() >= limits_->max_documents) {
            stop(
                document_.at(document_.root()).where,
                fmt::format("more than {} documents in one file", limits_->max_documents)
            );
        }
        nodes_before_ += document_.size();
        out_->documents.push_back(std::move(document_));
    }
}

std::string tree_builder::pointer() const {
    std::string out;
    for (const frame& f : open_) {
        if (!f.mapping) {
            out = core::child_pointer(out, document_.at(f.id).children.size());
        } else if (f.has_key) {
            out = core::child_pointer(out, f.pending.key);
        }
    }
    return out;
}

void tree_builder::stop(position where, std::string message) const {
    // The path to something far too deep is of no use.
    std::string path = open_.size() < limits_->max_depth ? pointer() : std::string();
    throw reading_stopped{{where, std::move(path), std::move(message)}};
}

void tree_builder::report(position where, std::string message) {
    out_->problems.push_back({where, pointer(), std::move(message)});
    if (out_->problems.size() >= limits_->max_problems) {
        stop(where, "too many problems: the rest of the file was not read");
    }
}

void tree_builder::key(std::string text, position where, bool merge) {
    frame& top = open_.back();
    top.pending = child{std::move(text), where, 0, merge};
    top.has_key = true;
}

node_id tree_builder::scalar(node_kind kind, std::string text, position where) {
    const node_id id = document_.add(kind, where, std::move(text));
    attach(id, where);
    return id;
}

node_id tree_builder::open(node_kind kind, position where) {
    if (open_.size() >= limits_->max_depth) {
        stop(where, fmt::format("nested deeper than {} levels", limits_->max_depth));
    }
    const node_id id = document_.add(kind, where);
    if (!open_.empty() && !open_.back().mapping) {
        open_.back().pending.where = where;
    }
    open_.push_back({id, kind == node_kind::mapping, false, {}});
    return id;
}

void tree_builder::close() {
    const node_id id = open_.back().id;
    const position where = document_.at(id).where;
    if (open_.back().mapping) {
        merge(id);
        find_duplicates(id);
    }
    open_.pop_back();
    attach(id, where);
}

bool tree_builder::is_open(node_id id) const {
    return std::ranges::find(open_, id, &frame::id) != open_.end();
}

void tree_builder::alias(node_id target, position where) {
    attach(target, where);
}

void tree_builder::attach(node_id id, position where) {
    if (nodes_before_ + document_.size() > limits_->max_nodes) {
        stop(where, fmt::format("more than {} values in one file", limits_->max_nodes));
    }
    if (open_.empty()) {
        document_.set_root(id);
        has_root_ = true;
        return;
    }
    frame& top = open_.back();
    node& parent = document_.at(top.id);
    const node& made = document_.at(id);
    parent.expanded += made.expanded;
    parent.height = std::max(parent.height, made.height + 1);
    if (parent.expanded > limits_->max_nodes) {
        stop(where, fmt::format("aliases expand to more than {} values", limits_->max_nodes));
    }
    if (parent.height > limits_->max_depth) {
        stop(where, fmt::format("nested deeper than {} levels", limits_->max_depth));
    }
    child made_child = top.mapping ? std::move(top.pending) : child{{}, where, 0, false};
    made_child.node = id;
    parent.children.push_back(std::move(made_child));
    top.has_key = false;
}

// As every parser of JSON does, the last one counts; but it is an error, as it is to kubectl.
void tree_builder::find_duplicates(node_id mapping) {
    std::vector<child>& members = document_.at(mapping).children;
    std::vector<std::size_t> sorted(members.size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::ranges::stable_sort(sorted, {}, [&](std::size_t i) {
        return std::string_view(members[i].key);
    });
    std::vector<bool> drop(members.size());
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        const child& first = members[sorted[i - 1]];
        const child& second = members[sorted[i]];
        if (first.key != second.key) {
            continue;
        }
        drop[sorted[i - 1]] = true;
        open_.back().pending.key = second.key;
        open_.back().has_key = true;
        report(second.where, fmt::format("duplicate key, first seen in line {}", first.where.line));
        open_.back().has_key = false;
    }
    std::size_t index = 0;
    std::erase_if(members, [&](const child&) { return drop[index++]; });
}

// YAML's merge key: members of the named mappings that are not there already.
void tree_builder::merge(node_id mapping) {
    std::vector<child> sources;
    std::vector<child>& members = document_.at(mapping).children;
    for (const child& c : members) {
        if (c.merge_key) {
            sources.push_back(c);
        }
    }
    if (sources.empty()) {
        return;
    }
    std::erase_if(members, [](const child& c) { return c.merge_key; });
    for (const child& c : sources) {
        if (document_.at(c.node).kind != node_kind::sequence) {
            merge_from(mapping, c.node, c.where);
            continue;
        }
        for (std::size_t i = 0; i < document_.at(c.node).children.size(); ++i) {
            merge_from(mapping, document_.at(c.node).children[i].node, c.where);
        }
    }
}

void tree_builder::merge_from(node_id mapping, node_id source, position where) {
    if (document_.at(source).kind != node_kind::mapping) {
        stop(where, "`<<` takes a mapping or a list of mappings");
    }
    node& into = document_.at(mapping);
    for (const child& c : document_.at(source).children) {
        if (document_.find(mapping, c.key) == nullptr) {
            into.expanded += document_.at(c.node).expanded;
            into.children.push_back(c);
        }
    }
    if (into.expanded > limits_->max_nodes) {
        stop(where, fmt::format("aliases expand to more than {} values", limits_->max_nodes));
    }
}

}  // namespace signalbox::op::manifests
