// SPDX-License-Identifier: Apache-2.0
#include "kubelet/node/log_source.hpp"

#include "kubelet/disk/log_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using k8sio::result;

constexpr std::size_t piece = 64 * 1024;

/// One entry of a log without its line end.
struct log_entry {
    std::string_view time, text;
    bool whole = false;  ///< the line ends here
};

log_entry read_entry(std::string_view line) {
    log_entry out;
    const std::size_t first = std::min(line.find(' '), line.size());
    out.time = line.substr(0, first);
    const std::size_t second = std::min(line.find(' ', first + 1), line.size());
    const std::string_view rest = line.substr(std::min(second + 1, line.size()));
    out.whole = rest.starts_with('F');
    out.text = rest.substr(std::min<std::size_t>(2, rest.size()));
    return out;
}

/// An open file that closes itself.
class open_file {
public:
    open_file() = default;
    explicit open_file(const fs::path& path)
        : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    open_file(open_file&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    open_file& operator=(open_file&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~open_file() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    explicit operator bool() const { return number_ >= 0; }

    /// Appends at most `most` bytes to `to`; false at the end.
    bool read(std::string& to, std::size_t most) const {
        const std::size_t before = to.size();
        to.resize(before + most);
        ssize_t n = -1;
        do {
            n = number_ < 0 ? 0 : ::read(number_, to.data() + before, most);
        } while (n < 0 && errno == EINTR);
        to.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        return n > 0;
    }
    bool is_same_as(const fs::path& path) const {
        struct stat mine {
        }, theirs{};
        return ::fstat(number_, &mine) == 0 && ::stat(path.c_str(), &theirs) == 0 &&
               mine.st_ino == theirs.st_ino;
    }

private:
    int number_ = -1;
};

/// Wakes the reader that follows the log.
class follower final : public output_listener {
public:
    explicit follower(asio::any_io_executor executor) : news(executor) {}
    void hear(containers::output_stream, std::string_view) override { news.notify(); }
    void end() override {
        ended = true;
        news.notify();
    }
    k8sio::notification news;
    bool ended = false;
};

class log_source final : public k8sio::server::byte_source {
public:
    log_source(
        asio::any_io_executor executor,
        fs::path path,
        k8sio::server::log_options options,
        std::shared_ptr<container_run> run
    )
        : path_(std::move(path)),
          options_(std::move(options)),
          since_(options_.since ? format_nanoseconds(*options_.since) : std::string()) {
        if (run && !run->ended) {
            follower_ = std::make_shared<follower>(executor);
            run->listeners.emplace_back(follower_);
        }
        constexpr int most_files = 64;
        for (int n = 1; n < most_files; ++n) {
            const fs::path older = path_.string() + "." + std::to_string(n);
            std::error_code failed;
            if (!fs::exists(older, failed)) {
                break;
            }
            older_.push_back(older);
        }
        skip_to_tail();
        next_file();
    }

    asio::awaitable<result<std::string>> read_some() override {
        std::string out;
        while (out.empty() && !closed_) {
            if (file_.read(raw_, piece)) {
                take_entries(out);
                continue;
            }
            if (next_file()) {
                continue;
            }
            if (!follower_ || (last_look_ && raw_.empty())) {
                break;
            }
            if (follower_->ended) {
                // What was written between the end of the file and the end of the container.
                if (last_look_) {
                    break;
                }
                last_look_ = true;
                continue;
            }
            co_await follower_->news.wait();
        }
        co_return result<std::string>(std::move(out));
    }

    void close() override {
        closed_ = true;
        if (follower_) {
            follower_->news.notify();
        }
    }

private:
    /// The file that follows the present one; false if there is none.
    bool next_file() {
        if (!older_.empty()) {
            file_ = open_file(older_.back());
            older_.pop_back();
        } else if (!current_) {
            file_ = open_file(path_);
            current_ = true;
        } else if (follower_ && !file_.is_same_as(path_)) {
            open_file newer(path_);
            if (!newer) {
                return false;  // it went with its pod, or its disk is full
            }
            file_ = std::move(newer);
        } else {
            return false;
        }
        if (skip_ > 0 && file_) {
            std::string skipped;
            while (skip_ > 0 && file_.read(skipped, std::min(skip_, piece))) {
                skip_ -= std::min(skip_, skipped.size());
                skipped.clear();
            }
        }
        skip_ = 0;
        return true;
    }

    /// Leaves out the files and the beginning of one that are not of the last lines.
    void skip_to_tail() {
        if (!options_.tail_lines) {
            return;
        }
        std::int64_t wanted = *options_.tail_lines;
        std::vector<fs::path> newest_first{path_};
        newest_first.insert(newest_first.end(), older_.begin(), older_.end());
        std::size_t kept = 0;
        for (const fs::path& path : newest_first) {
            std::string text;
            const open_file file(path);
            while (file.read(text, piece)) {
            }
            const std::vector<std::size_t> starts = line_starts(text);
            const auto lines = static_cast<std::int64_t>(starts.size());
            if (lines >= wanted) {
                skip_ =
                    wanted == 0 ? text.size() : starts[static_cast<std::size_t>(lines - wanted)];
                break;
            }
            wanted -= lines;
            ++kept;
        }
        // `kept` files are wanted whole, and of the one before them the end.
        older_.resize(std::min(older_.size(), kept));
    }

    /// Where the lines of the container begin; a line of several entries is one.
    static std::vector<std::size_t> line_starts(std::string_view text) {
        std::vector<std::size_t> out;
        bool begins = true;
        std::size_t at = 0;
        while (at < text.size()) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            if (begins) {
                out.push_back(at);
            }
            begins = read_entry(text.substr(at, end - at)).whole;
            at = end + 1;
        }
        return out;
    }

    void take_entries(std::string& to) {
        std::size_t at = 0;
        while (true) {
            const std::size_t end = raw_.find('\n', at);
            if (end == std::string::npos) {
                break;
            }
            const log_entry entry = read_entry(std::string_view(raw_).substr(at, end - at));
            at = end + 1;
            // Times have a fixed form: their order is that of the texts.
            if (!since_.empty() && entry.time < since_) {
                continue;
            }
            if (options_.timestamps && begins_) {
                to.append(entry.time).append(" ");
            }
            to.append(entry.text);
            if (entry.whole) {
                to += '\n';
            }
            begins_ = entry.whole;
        }
        raw_.erase(0, at);
    }

    fs::path path_;
    k8sio::server::log_options options_;
    std::string since_;
    std::shared_ptr<follower> follower_;
    std::vector<fs::path> older_;  ///< still to be read; the newest first
    open_file file_;
    bool current_ = false;  ///< the newest file has been opened
    bool last_look_ = false;
    bool begins_ = true;  ///< the next entry begins a line
    bool closed_ = false;
    std::size_t skip_ = 0;  ///< bytes of the first file
    std::string raw_;
};

}  // namespace

std::unique_ptr<k8sio::server::byte_source> make_log_source(
    asio::any_io_executor executor,
    fs::path path,
    k8sio::server::log_options options,
    std::shared_ptr<container_run> run
) {
    return std::make_unique<log_source>(
        executor, std::move(path), std::move(options), std::move(run)
    );
}

}  // namespace signalbox::op::kubelet
