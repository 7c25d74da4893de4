// SPDX-License-Identifier: Apache-2.0
#include "transport/plugin_runner.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <openssl/crypto.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

using protocol::plugin_outcome;
using done_function = std::function<void(const plugin_outcome&)>;

constexpr std::size_t output_limit = 1u << 20;
constexpr std::size_t complaint_limit = 4u << 10;  // the end says what went wrong
constexpr std::chrono::milliseconds longest_poll{100};

/// Both ends of a pipe; closed at the end of the scope, but for what was taken.
class pipe_ends {
public:
    pipe_ends() { good_ = ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
    ~pipe_ends() {
        close(0);
        close(1);
    }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;

    bool good() const { return good_; }
    int writer() const { return ends_[1]; }
    int take_reader() { return std::exchange(ends_[0], -1); }

private:
    void close(std::size_t end) {
        if (ends_[end] >= 0) {
            ::close(ends_[end]);
        }
    }

    std::array<int, 2> ends_{-1, -1};
    bool good_ = false;
};

/// Our environment with the program's own variables and KUBERNETES_EXEC_INFO.
std::vector<std::string> environment_of(const exec_plugin& plugin) {
    std::vector<std::string> own;
    for (const auto& [name, value] : plugin.env) {
        own.push_back(name + "=" + value);
    }
    own.push_back("KUBERNETES_EXEC_INFO=" + plugin.info);
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const std::string name = text.substr(0, text.find('=') + 1);
        bool replaced = false;
        for (const std::string& each : own) {
            replaced = replaced || each.compare(0, name.size(), name) == 0;
        }
        if (!replaced) {
            all.push_back(text);
        }
    }
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) {
        out.push_back(text.data());
    }
    out.push_back(nullptr);
    return out;
}

/// The errno of a failure, or 0 and the process.
int spawn(const exec_plugin& plugin, int out, int err, pid_t& child) {
    std::vector<std::string> arguments{plugin.command};
    arguments.insert(arguments.end(), plugin.args.begin(), plugin.args.end());
    std::vector<std::string> environment = environment_of(plugin);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);  // sockets of Asio are inherited

    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    );

    const int failed = ::posix_spawnp(
        &child,
        plugin.command.c_str(),
        &actions,
        &attributes,
        pointers(arguments).data(),
        pointers(environment).data()
    );
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/// One run. Handlers keep it alive, and do nothing once it is closed.
class process : public std::enable_shared_from_this<process> {
public:
    process(asio::any_io_executor executor, clock& time, done_function done)
        : time_(&time), out_(executor), err_(executor), done_(std::move(done)) {}

    void start(const exec_plugin& plugin) {
        pipe_ends out;
        pipe_ends err;
        outcome_.start_error = errno;
        if (out.good() && err.good()) {
            outcome_.start_error = spawn(plugin, out.writer(), err.writer(), child_);
        }
        auto self = shared_from_this();
        if (outcome_.start_error != 0) {
            child_ = 0;
            asio::post(out_.get_executor(), [self] { self->finish(); });
            return;
        }
        out_.assign(out.take_reader());
        err_.assign(err.take_reader());
        const auto limit = std::chrono::duration_cast<steady_time::duration>(plugin.timeout);
        timer_ = time_->schedule(time_->steady_now() + limit, [self] { self->give_up(); });
        read(out_, out_buffer_, &process::take_output);
        read(err_, err_buffer_, &process::take_complaint);
    }

    /// Ends it without a word.
    void close() {
        if (closed_) {
            return;
        }
        closed_ = true;
        release();
        if (child_ > 0) {
            ::kill(-child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
    }

private:
    using buffer = std::array<char, 4096>;
    using taker = void (process::*)(std::string_view);

    void read(asio::posix::stream_descriptor& from, buffer& into, taker take) {
        ++open_;
        from.async_read_some(
            asio::buffer(into),
            [self = shared_from_this(), &from, &into, take](
                boost::system::error_code failed, std::size_t size
            ) {
                --self->open_;
                if (self->closed_) {
                    return;
                }
                (*self.*take)({into.data(), size});
                if (!failed) {
                    self->read(from, into, take);
                } else if (self->open_ == 0) {
                    self->reap(std::chrono::milliseconds{1});
                }
            }
        );
    }

    void take_output(std::string_view bytes) {
        output_.append(bytes.substr(0, output_limit - std::min(output_limit, output_.size())));
    }
    void take_complaint(std::string_view bytes) {
        outcome_.complaint.append(bytes);
        if (outcome_.complaint.size() > complaint_limit) {
            outcome_.complaint.erase(0, outcome_.complaint.size() - complaint_limit);
        }
    }

    /// The output has ended, so the process has as good as ended.
    void reap(std::chrono::milliseconds wait) {
        int status = 0;
        const pid_t ended = ::waitpid(child_, &status, WNOHANG);
        if (ended == 0) {
            poll_ = time_->schedule(time_->steady_now() + wait, [self = shared_from_this(), wait] {
                self->reap(std::min(wait * 2, longest_poll));
            });
            return;
        }
        child_ = 0;
        if (WIFSIGNALED(status)) {
            outcome_.signal = WTERMSIG(status);
        } else {
            outcome_.exit_code = WEXITSTATUS(status);
        }
        finish();
    }

    void give_up() {
        outcome_.timed_out = true;
        if (child_ > 0) {  // group 0 is our own
            ::kill(-child_, SIGKILL);
        }
        // Something that left the group may hold the pipes.
        boost::system::error_code ignored;
        out_.close(ignored);
        err_.close(ignored);
    }

    void finish() {
        if (closed_) {
            return;
        }
        closed_ = true;
        outcome_.output = secret_text(std::move(output_));
        release();
        done_(outcome_);
    }

    void release() {
        time_->cancel(timer_);
        time_->cancel(poll_);
        boost::system::error_code ignored;
        out_.close(ignored);
        err_.close(ignored);
        OPENSSL_cleanse(out_buffer_.data(), out_buffer_.size());
        OPENSSL_cleanse(output_.data(), output_.size());
    }

    clock* time_;
    asio::posix::stream_descriptor out_, err_;
    done_function done_;
    buffer out_buffer_{}, err_buffer_{};
    std::string output_;
    plugin_outcome outcome_;
    pid_t child_ = 0;
    int open_ = 0;
    clock::timer_id timer_ = 0, poll_ = 0;
    bool closed_ = false;
};

class process_runner final : public plugin_runner {
public:
    process_runner(asio::any_io_executor executor, clock& time)
        : executor_(std::move(executor)), time_(&time) {}
    ~process_runner() override {
        if (current_) {
            current_->close();
        }
    }
    process_runner(const process_runner&) = delete;
    process_runner& operator=(const process_runner&) = delete;

    void start(const exec_plugin& plugin, done_function done) override {
        current_ = std::make_shared<process>(executor_, *time_, std::move(done));
        current_->start(plugin);
    }

private:
    asio::any_io_executor executor_;
    clock* time_;
    std::shared_ptr<process> current_;
};

}  // namespace

std::unique_ptr<plugin_runner> make_process_runner(asio::any_io_executor executor, clock& time) {
    return std::make_unique<process_runner>(std::move(executor), time);
}

}  // namespace signalbox::k8sio
