// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "observe/path_reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::observe::pod {

/// What of a pod's specification must be as we write it (pod_record::content). The members of an
/// object may come in any order: each is held until the object ends.
class content_reader {
public:
    void open(node n);
    void close(node n);
    void text(node n, std::string_view value);
    void boolean(node n, bool value);
    /// `training`: name of the training container. Never 0.
    std::uint64_t finish(std::string_view training) const;
    /// Valid until the next text.
    std::string_view found_subdomain() const { return subdomain_; }

private:
    struct container {
        std::string name, image;
        std::string command, args, mounts;  // their fields
        bool privileged = false;
    };
    struct {
        std::string name, path, sub_path;
    } mount_;
    struct {
        std::string name, secret;
    } volume_;
    std::vector<container> containers_;  // the last one is being read
    std::string volumes_;                // their fields
    std::string account_, subdomain_;
    std::uint64_t host_namespaces_ = 0;
};

}  // namespace signalbox::core::observe::pod
