// SPDX-License-Identifier: Apache-2.0
//
// Layers of an image become a folder.
#pragma once

#include "containers/unix.hpp"
#include "images/byte_stream.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

struct archive_entry;

namespace signalbox::op::images {

/// Writes below one folder, which no one else may change meanwhile. No name and no link of a layer
/// leads out of it. Owners are kept where root does this; else all is the caller's, and no file has
/// rights of its own. Device files are left out: no one could use them.
class root_writer {
public:
    /// The folder must be there, and empty.
    root_writer(const std::string& folder, const image_bounds& bounds);

    /// One more layer, a tar archive that is not compressed. Errors: image_trouble, beginning with
    /// `name`.
    void apply(byte_stream& layer, const std::string& name);
    /// Modes and times of folders, which writing below them would have changed.
    void finish();

private:
    struct folder_facts {
        std::uint32_t mode = 0;
        std::int64_t modified = 0;
    };
    /// Where an entry goes: an open folder, its real path, and a name there.
    struct place {
        int folder = -1;
        std::string real;
        std::string name;
        std::string path() const { return real + "/" + name; }
    };

    std::vector<std::string> parts_of(const std::string& path) const;
    bool open_parent(const std::vector<std::string>& parts, bool make);
    void take(class archive_reader& reader, archive_entry* entry, const std::string& path);
    void white_out(const place& at, const std::string& name);
    bool remove_lower(int folder, const std::string& real, const std::string& name);
    void make_room(const place& at, bool for_folder);
    void touch(const std::string& path);
    void forget(const std::string& path);
    void make_file(class archive_reader& reader, archive_entry* entry, const place& at);
    void make_folder(archive_entry* entry, const place& at);
    void make_link(const std::string& target, const place& at);
    void set_owner(archive_entry* entry, const place& at) const;
    void set_time(archive_entry* entry, const place& at) const;

    image_bounds bounds_;
    bool as_root_;
    std::string base_;
    containers::unique_fd root_;
    std::string layer_;        ///< in messages
    std::string parent_said_;  ///< whose folder `parent_` is
    containers::unique_fd parent_;
    std::string parent_real_;
    std::set<std::string> touched_;  ///< by this layer, with the folders above
    std::map<std::string, folder_facts> folders_;
    std::uint64_t bytes_ = 0, entries_ = 0;
};

}  // namespace signalbox::op::images
