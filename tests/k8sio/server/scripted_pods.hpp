// SPDX-License-Identifier: Apache-2.0
//
// A runtime of pods whose every move is the test's: what comes, when, and how it ends.
#pragma once

#include "k8sio/server/pod_streams.hpp"
#include "k8sio/synchronization.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server::test {

inline api_error of_code(errc code) {
    api_error e;
    e.code = code;
    return e;
}

/// What a test puts in and one reader takes out; it waits for what is not there yet.
class script {
public:
    explicit script(const boost::asio::any_io_executor& executor) : news_(executor) {}

    void put(std::string piece) {
        pieces_.emplace_back(std::move(piece));
        news_.notify();
    }
    void end() { put({}); }
    void fail(const api_error& e) {
        pieces_.emplace_back(e);
        news_.notify();
    }
    void close() {
        closed = true;
        news_.notify();
    }

    static boost::asio::awaitable<result<std::string>> read(std::shared_ptr<script> self) {
        result<std::string> piece = of_code(errc::cancelled);
        ++self->reads;
        while (self->pieces_.empty() && !self->closed) {
            boost::asio::awaitable<void> news = self->news_.wait();
            co_await std::move(news);
        }
        if (!self->closed) {
            piece = std::move(self->pieces_.front());
            self->pieces_.pop_front();
        }
        co_return piece;
    }

    int reads = 0;  ///< begun
    bool closed = false;

private:
    std::deque<result<std::string>> pieces_;
    notification news_;
};

/// A log, a process or a connection, as the test sees it.
struct scripted {
    explicit scripted(const boost::asio::any_io_executor& executor)
        : out(std::make_shared<script>(executor)),
          err(std::make_shared<script>(executor)),
          taking(std::make_shared<script>(executor)),
          exit(std::make_shared<script>(executor)) {}

    std::shared_ptr<script> out, err;
    /// If `slow`, each write waits for a piece of it.
    std::shared_ptr<script> taking;
    bool slow = false;
    std::shared_ptr<script> exit;  ///< its piece is the exit code
    std::string written;
    bool finished = false;  ///< the writing
    std::vector<std::pair<int, int>> sizes;
    bool closed = false;
    bool destroyed = false;

    void close() {
        closed = true;
        for (const auto& each : {out, err, taking, exit}) {
            each->close();
        }
    }

    static boost::asio::awaitable<result<void>> write(
        std::shared_ptr<scripted> self, std::string_view bytes
    ) {
        result<void> done = result<void>();
        if (self->slow) {
            boost::asio::awaitable<result<std::string>> turn = script::read(self->taking);
            const result<std::string> token = co_await std::move(turn);
            if (token.has_error()) {
                done = token.error();
            }
        }
        if (done.has_value()) {
            self->written += bytes;
        }
        co_return done;
    }
};

class scripted_channel final : public byte_channel {
public:
    explicit scripted_channel(std::shared_ptr<scripted> s) : s_(std::move(s)) {}
    ~scripted_channel() override { s_->destroyed = true; }

    boost::asio::awaitable<result<std::string>> read_some() override {
        return script::read(s_->out);
    }
    boost::asio::awaitable<result<void>> write(std::string_view bytes) override {
        return scripted::write(s_, bytes);
    }
    void finish_writing() override { s_->finished = true; }
    void close() override { s_->close(); }

private:
    std::shared_ptr<scripted> s_;
};

class scripted_process final : public container_process {
public:
    explicit scripted_process(std::shared_ptr<scripted> s) : s_(std::move(s)) {}
    ~scripted_process() override { s_->destroyed = true; }

    boost::asio::awaitable<result<std::string>> read_some(process_output of) override {
        return script::read(of == process_output::out ? s_->out : s_->err);
    }
    boost::asio::awaitable<result<void>> write(std::string_view bytes) override {
        return scripted::write(s_, bytes);
    }
    void finish_writing() override { s_->finished = true; }
    void resize(std::uint16_t columns, std::uint16_t rows) override {
        s_->sizes.emplace_back(columns, rows);
    }
    boost::asio::awaitable<result<int>> wait() override { return wait_for(s_->exit); }
    void close() override { s_->close(); }

private:
    static boost::asio::awaitable<result<int>> wait_for(std::shared_ptr<script> exit) {
        result<int> code = 0;
        boost::asio::awaitable<result<std::string>> end = script::read(std::move(exit));
        const result<std::string> text = co_await std::move(end);
        if (text.has_error()) {
            code = text.error();
        } else {
            code = std::stoi(*text);
        }
        co_return code;
    }

    std::shared_ptr<scripted> s_;
};

/// Gives what the test has made before, in that order, and keeps what was asked.
class scripted_pods final : public pod_streams {
public:
    explicit scripted_pods(boost::asio::any_io_executor executor)
        : executor_(std::move(executor)) {}

    std::shared_ptr<scripted> prepare() {
        next_.emplace_back(std::make_shared<scripted>(executor_));
        return *next_.back();
    }
    void prepare(const api_error& refusal) { next_.emplace_back(refusal); }

    result<std::unique_ptr<byte_source>> open_log(const pod_ref& pod, const log_options& options)
        override {
        const auto next = take();
        pods.push_back(pod);
        logs.push_back(options);
        if (next.has_error()) {
            return next.error();
        }
        std::unique_ptr<byte_source> source = std::make_unique<scripted_channel>(*next);
        return source;
    }
    boost::asio::awaitable<result<std::unique_ptr<container_process>>> exec(
        const pod_ref& pod, const process_options& options
    ) override {
        return start("exec", pod, options);
    }
    boost::asio::awaitable<result<std::unique_ptr<container_process>>> attach(
        const pod_ref& pod, const process_options& options
    ) override {
        return start("attach", pod, options);
    }
    boost::asio::awaitable<result<std::unique_ptr<byte_channel>>> connect(
        const pod_ref& pod, std::uint16_t port
    ) override {
        const auto next = take();
        pods.push_back(pod);
        ports.push_back(port);
        if (next.has_error()) {
            co_return next.error();
        }
        std::unique_ptr<byte_channel> channel = std::make_unique<scripted_channel>(*next);
        co_return channel;
    }

    std::vector<pod_ref> pods;
    std::vector<log_options> logs;
    std::vector<process_options> processes;
    std::vector<std::string> verbs;
    std::vector<int> ports;

private:
    result<std::shared_ptr<scripted>> take() {
        if (next_.empty()) {
            return pod_failure("the test has nothing more");
        }
        result<std::shared_ptr<scripted>> next = std::move(next_.front());
        next_.pop_front();
        return next;
    }

    boost::asio::awaitable<result<std::unique_ptr<container_process>>> start(
        std::string verb, const pod_ref& pod, const process_options& options
    ) {
        const auto next = take();
        verbs.push_back(std::move(verb));
        pods.push_back(pod);
        processes.push_back(options);
        if (next.has_error()) {
            co_return next.error();
        }
        std::unique_ptr<container_process> process = std::make_unique<scripted_process>(*next);
        co_return process;
    }

    boost::asio::any_io_executor executor_;
    std::deque<result<std::shared_ptr<scripted>>> next_;
};

}  // namespace signalbox::k8sio::server::test
