// SPDX-License-Identifier: Apache-2.0
//
// What can be said about pods that run as processes.
#pragma once

#include "images/image_config.hpp"
#include "pods/scenario.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

/// Images that `glob` matches are the folder `folder`.
struct image_folder {
    std::string glob, folder;
    /// Of a real image, which says what runs in it; the glob may be any spelling of its name.
    std::optional<images::image_config> config = std::nullopt;
    std::shared_ptr<void> held = nullptr;  ///< as long as this lives the folder stays
};

/// A variable that images which `glob` matches bring along.
struct image_variable {
    std::string glob, name, value;
};

/// A file or folder of the machine that every container has.
struct extra_bind {
    std::string source, target;
    bool read_only = false;
};

class process_options {
public:
    process_options() = default;
    std::string ns;              ///< only pods of this namespace; empty: all
    std::string label_selector;  ///< only pods that match
    std::string folder;          ///< where pods live; it must be there
    std::string claims;          ///< folder whose folders are the claims of all namespaces
    std::string made_claims;     ///< without it: where those of PersistentVolumeClaims are made
    std::vector<image_folder> images;  ///< the first that matches; else the machine's own files
    std::vector<image_variable> image_variables;
    std::vector<extra_bind> binds;
    std::string venv;             ///< of Python: read-only in every container, first in PATH
    std::string log_dir;          ///< where logs are that outlive pods; empty: nowhere
    std::uint64_t log_limit = 0;  ///< bytes of each file there; 0: no bound
    std::string outputs;  ///< where files that containers write are kept; empty: they are lost
    bool offline = false;
    bool user_namespaces = false;  ///< every pod has one, whether it asks for it or not
    int nodes = 1;
    std::string node_name;                           ///< empty: that of the machine
    std::map<std::string, std::uint64_t> resources;  ///< extended ones of the machine, by name
    pods::scenario script;                           ///< faults
    /// Told of what the user should know: what the machine lacks, writes that failed.
    std::function<void(const std::string&)> complain;
    /// Told of what a pod has written into the file system of an image, once it has ended; may be
    /// empty.
    std::function<void(const std::string&)> left;
};

}  // namespace signalbox::op::kubelet
