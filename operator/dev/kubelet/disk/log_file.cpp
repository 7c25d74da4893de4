// SPDX-License-Identifier: Apache-2.0
#include "kubelet/disk/log_file.hpp"

#include <fmt/format.h>
#include <kubernetes/times.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::kubelet {

std::string format_nanoseconds(std::chrono::system_clock::time_point t) {
    return kubernetes::format_time(t, 9);
}

log_file::log_file(std::filesystem::path path, log_limits limits)
    : path_(std::move(path)), limits_(limits) {
    open();
}

log_file::~log_file() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

void log_file::open() {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    error_ = file_ >= 0 ? error_ : errno;
    const off_t end = file_ >= 0 ? ::lseek(file_, 0, SEEK_END) : 0;
    size_ = static_cast<std::uint64_t>(std::max<off_t>(end, 0));
}

void log_file::write(
    std::string& begun, std::string_view stream, std::string_view bytes, time now
) {
    // What is drawn on one stream is no beginning of the other's lines.
    if (!drawing_.empty() && drawing_ != stream && !bytes.empty()) {
        entry(drawing_, 'F', "", now);
        drawing_ = "";
    }
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::size_t room = limits_.line - begun.size();
        const std::size_t take = std::min({end, room, bytes.size()});
        begun.append(bytes.substr(0, take));
        bytes.remove_prefix(take);
        if (take == end) {
            entry(stream, 'F', begun, now);
            begun.clear();
            drawing_ = "";
            bytes.remove_prefix(1);
        } else if (begun.size() == limits_.line) {
            entry(stream, 'P', begun, now);
            begun.clear();
        }
    }
    // A progress bar is shown as it is drawn, not when its line ends.
    if (begun.find('\r') != std::string::npos || (drawing_ == stream && !begun.empty())) {
        entry(stream, 'P', begun, now);
        begun.clear();
        drawing_ = stream;
    }
    flush();
}

void log_file::finish(time now) {
    if (!drawing_.empty()) {
        entry(drawing_, 'F', "", now);
        drawing_ = "";
    }
    for (std::string* begun : {&out_, &err_}) {
        if (!begun->empty()) {
            entry(begun == &out_ ? "stdout" : "stderr", 'F', *begun, now);
            begun->clear();
        }
    }
    flush();
}

void log_file::entry(std::string_view stream, char tag, std::string_view text, time now) {
    buffer_ += fmt::format("{} {} {} {}\n", format_nanoseconds(now), stream, tag, text);
    if (size_ + buffer_.size() >= limits_.file_size) {
        flush();
    }
}

void log_file::flush() {
    if (buffer_.empty()) {
        return;
    }
    if (file_ < 0) {
        open();
    }
    std::string_view left = buffer_;
    while (file_ >= 0 && !left.empty()) {
        const ssize_t n = ::write(file_, left.data(), left.size());
        if (n < 0 && errno != EINTR) {
            error_ = errno;
            break;
        }
        left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    size_ += buffer_.size() - left.size();
    lost_ += left.size();
    buffer_.clear();
    if (size_ >= limits_.file_size) {
        rotate();
    }
}

std::string log_file::loss_reason() const {
    return std::error_code(error_, std::generic_category()).message();
}

void log_file::rotate() {
    std::error_code ignored;
    const auto older = [&](int n) {
        return std::filesystem::path(path_.string() + "." + std::to_string(n));
    };
    std::filesystem::remove(older(limits_.files - 1), ignored);
    for (int n = limits_.files - 2; n > 0; --n) {
        std::filesystem::rename(older(n), older(n + 1), ignored);
    }
    if (limits_.files > 1) {
        std::filesystem::rename(path_, older(1), ignored);
    } else {
        std::filesystem::remove(path_, ignored);
    }
    ::close(file_);
    open();
}

}  // namespace signalbox::op::kubelet
