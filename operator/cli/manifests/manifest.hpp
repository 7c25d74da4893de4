// SPDX-License-Identifier: Apache-2.0
//
// Manifests as users write them: YAML or JSON, several documents in a file, several files, folders,
// standard input, `kind: List`. Gives each object as JSON text that still knows in which line each
// field was written. All input is taken as hostile: size, nesting and expansion are bounded.
#pragma once

#include "manifests/tree.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::manifests {

/// Why a file, or a part of it, could not be read.
struct read_error {
    std::string file;
    position where;
    std::string pointer;  ///< RFC 6901; empty if it concerns no field
    std::string message;
};

/// One object of a file. Cheap to copy: the parsed document is shared.
class manifest {
public:
    manifest(std::string file, std::shared_ptr<const tree> document, node_id root);

    const std::string& file() const { return file_; }
    /// The object as compact JSON, members in the order in which they were written.
    const std::string& json() const { return json_; }
    /// Where the field at this pointer was written; if it is missing, where its nearest parent was.
    position locate(std::string_view pointer) const;

    std::string_view api_version() const { return document_->text_of(root_, "apiVersion"); }
    std::string_view kind() const { return document_->text_of(root_, "kind"); }
    /// A string in the metadata; empty if there is none.
    std::string_view metadata(std::string_view key) const;
    /// `metadata.name`, else `metadata.generateName`; empty if there is neither.
    std::string_view name() const;

private:
    std::string file_;
    std::shared_ptr<const tree> document_;
    node_id root_;
    std::string json_;
};

struct read_result {
    std::vector<manifest> objects;
    std::vector<read_error> errors;
};

/// What a file may be: a user's manifests, or what a cluster has printed of itself, which may be
/// a thousand pods at once.
enum class input { manifests, recording };

/// Reads one text; `file` is its name in messages.
read_result read_text(
    std::string_view text, const std::string& file, input kind = input::manifests
);

/// Reads files, `-` for standard input, and the *.yaml, *.yml and *.json of a folder (not of
/// folders below it). What can be read is read though another file fails.
read_result read_paths(std::span<const std::string> paths, input kind = input::manifests);

/// `file:line:column`, as far as the position is known.
std::string to_text(const std::string& file, position where);

/// `file:12:7: /spec/replicaSpecs: message`.
std::string to_text(const read_error& error);

}  // namespace signalbox::op::manifests
