// SPDX-License-Identifier: Apache-2.0
//
// Small things around system calls that the node process and its children share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::op::containers {

/// Owns a file descriptor.
class unique_fd {
public:
    unique_fd() = default;
    explicit unique_fd(int fd) : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    ~unique_fd() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset(int fd = -1);

private:
    int fd_ = -1;
};

/// What errno says, in the words of Go's programs, which users of Kubernetes know: lower case.
std::string error_words(int number);

/// 0 or an errno.
int write_text(const std::string& path, std::string_view text);
std::optional<std::string> read_text(const std::string& path);

/// Not the machine's first: some users are not there, and some file systems are made otherwise.
bool in_user_namespace();

/// Makes the folder and those above it. 0 or an errno.
int make_folders(const std::string& path, std::uint32_t mode = 0755);

/// Takes the answer of a call whose failure does no harm, or shows in the next one: compilers warn
/// about some answers that are not looked at.
inline void may_fail(int) {}

/// Removes a file, or a folder with all that is in it, also folders without permissions, as
/// overlays and programs leave them. Does not follow symbolic links and stays on one file system.
/// 0 or the errno of the first thing that stays.
int remove_tree(const std::string& path);

}  // namespace signalbox::op::containers
