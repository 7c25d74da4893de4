// SPDX-License-Identifier: Apache-2.0
//
// Manifests checked by the library's rules, with every finding at its line: what `validate` prints
// and what `plan` and `dev` refuse to go on with. With the objects that a cluster has, they are
// checked as updates of these too (BEHAVIOUR.md api 7).
#pragma once

#include "manifests/manifest.hpp"

#include <jobcore/diagnostic.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::cli {

struct finding {
    std::string file;
    manifests::position where;
    core::severity level = core::severity::error;
    std::string pointer;
    std::string message;
    std::string reason;
    std::string object;  ///< `PyTorchTrainingJob mnist`; empty if it concerns a file
};

struct checked_object {
    manifests::manifest source;
    bool is_job = false;     ///< else it is none of our kinds and was not looked at
    bool is_update = false;  ///< checked as a change of a live object
    bool valid = true;
};

struct check_result {
    std::vector<checked_object> objects;
    std::vector<finding> findings;  ///< by file and line
    std::size_t errors = 0;
    std::size_t warnings = 0;

    std::size_t jobs() const;
    std::size_t updates() const;
    /// Behind its own.
    void append(check_result more);
};

/// Reads and checks everything at these paths (manifests::read_paths). `live` are paths of what a
/// cluster has (`kubectl get -o yaml`): a job of the same kind, namespace and name there is what
/// the manifest changes. A manifest without namespace may mean a job of any.
check_result check(std::span<const std::string> paths, std::span<const std::string> live = {});
/// The same for one text; `name` stands for the file.
check_result check_text(std::string_view text, const std::string& name);

/// `file:12:7: /spec/replicaSpecs/0/type: message`; warnings with `warning: ` after the position.
std::string to_text(const finding& f);

/// `PyTorchTrainingJob mnist`
std::string title(const manifests::manifest& object);

}  // namespace signalbox::op::cli
