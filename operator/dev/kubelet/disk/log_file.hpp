// SPDX-License-Identifier: Apache-2.0
//
// Logs of containers as files in the format of the Container Runtime Interface: a line is
// `<time> stdout|stderr F|P <text>`; P: the line goes on in the next entry.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace signalbox::op::kubelet {

struct log_limits {
    std::uint64_t file_size = 10U << 20U;  ///< bytes after which a new file is begun
    int files = 5;                         ///< kept, the current one included
    std::size_t line = 16U << 10U;         ///< bytes after which a line is written in parts
};

/// Writes what one container says. The current file is `path`; older ones are `path.1`, `path.2`,
/// the higher the older.
///
/// Errors: a full disk loses lines, which are counted; the next write tries again.
class log_file {
public:
    explicit log_file(std::filesystem::path path, log_limits limits = log_limits());
    /// Ends lines that are not complete.
    ~log_file();
    log_file(const log_file&) = delete;
    log_file& operator=(const log_file&) = delete;

    using time = std::chrono::system_clock::time_point;
    void write_out(std::string_view bytes, time now) { write(out_, "stdout", bytes, now); }
    void write_err(std::string_view bytes, time now) { write(err_, "stderr", bytes, now); }
    /// Writes what stands at the end without a line end.
    void finish(time now);

    const std::filesystem::path& path() const { return path_; }
    std::uint64_t lost_bytes() const { return lost_; }
    /// Of the last loss, in the system's words.
    std::string loss_reason() const;

private:
    void write(std::string& begun, std::string_view stream, std::string_view bytes, time now);
    void entry(std::string_view stream, char tag, std::string_view text, time now);
    void flush();
    void rotate();
    void open();

    std::filesystem::path path_;
    log_limits limits_;
    std::string out_, err_;     ///< lines that have begun
    std::string_view drawing_;  ///< the stream whose line was written in part, as it is drawn
    std::string buffer_;
    int file_ = -1;
    std::uint64_t size_ = 0;
    std::uint64_t lost_ = 0;
    int error_ = 0;  ///< of the last loss
};

/// RFC 3339 in UTC with nanoseconds.
std::string format_nanoseconds(std::chrono::system_clock::time_point t);

}  // namespace signalbox::op::kubelet
