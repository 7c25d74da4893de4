// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "observe/path_reader.hpp"
#include "strings/content_hash.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::observe::pod {

/// What of a pod's specification must be as we write it (pod_record::content). The members of an
/// object may come in any order: each has a hash of its own until the object ends.
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
    /// Arguments may be as long as a list of all pods; the beginning of such a text tells enough.
    static constexpr std::size_t longest = 4096;
    static void add(content_hash& to, std::string_view text) {
        to.number(text.size()).field(text.substr(0, longest));
    }

    struct container {
        std::string name, image;
        content_hash command, args, mounts;
        bool privileged = false;
    };
    struct found_container {
        std::string name;
        std::uint64_t content;
    };
    struct {
        std::string name, path, sub_path;
    } mount_;
    struct {
        std::string name, secret;
    } volume_;
    container container_;
    std::vector<found_container> containers_;
    content_hash volumes_;
    std::string account_, subdomain_;
    std::uint64_t host_namespaces_ = 0;
};

}  // namespace signalbox::core::observe::pod
