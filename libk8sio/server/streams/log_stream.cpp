// SPDX-License-Identifier: Apache-2.0
#include "server/streams/log_stream.hpp"

#include "k8sio/synchronization.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

/// Lives until its read has ended, which may be after the stream.
class source_reader {
public:
    source_reader(
        const boost::asio::any_io_executor& executor,
        std::unique_ptr<byte_source> source,
        std::optional<std::int64_t> limit_bytes
    )
        : source_(std::move(source)), left_(limit_bytes), taken_(executor) {}

    static boost::asio::awaitable<void> run(std::shared_ptr<source_reader> self) {
        result<std::string> piece{std::string()};
        while (!self->ended_) {
            boost::asio::awaitable<result<std::string>> reading = self->source_->read_some();
            piece = co_await std::move(reading);
            self->put(std::move(piece));
            while (!self->ended_ && !self->piece_.empty()) {
                boost::asio::awaitable<void> waiting = self->taken_.wait();
                co_await std::move(waiting);
            }
        }
        self->source_->close();
        self->source_.reset();
    }

    std::string take(std::size_t limit) {
        std::string out = std::move(piece_);
        piece_.clear();
        if (out.size() > limit) {
            piece_ = out.substr(limit);
            out.resize(limit);
        }
        taken_.notify();
        return out;
    }

    void stop() {
        ended_ = true;
        piece_.clear();
        on_change = nullptr;
        if (source_) {
            source_->close();
        }
        taken_.notify();
    }

    bool ended() const { return ended_ && piece_.empty(); }
    bool broken() const { return broken_; }

    std::function<void()> on_change;

private:
    void put(result<std::string> piece) {
        if (ended_) {
            return;  // stopped meanwhile
        }
        broken_ = piece.has_error();
        ended_ = broken_ || piece->empty();
        if (!ended_) {
            piece_ = std::move(*piece);
            const auto size = static_cast<std::int64_t>(piece_.size());
            if (left_ && *left_ <= size) {
                piece_.resize(static_cast<std::size_t>(*left_));
                ended_ = true;
            } else if (left_) {
                *left_ -= size;
            }
        }
        if (on_change) {
            on_change();
        }
    }

    std::unique_ptr<byte_source> source_;
    std::optional<std::int64_t> left_;
    notification taken_;
    std::string piece_;
    bool ended_ = false;
    bool broken_ = false;
};

class log_stream final : public body_stream {
public:
    explicit log_stream(std::shared_ptr<source_reader> reader) : reader_(std::move(reader)) {
        reader_->on_change = [this] { wake(); };
    }
    ~log_stream() override { reader_->stop(); }

    std::string next(std::size_t limit) override { return reader_->take(limit); }
    bool finished() const override { return reader_->ended(); }
    bool broken() const override { return reader_->broken(); }
    bool ends() const override { return true; }
    void finish() override {
        reader_->stop();
        wake();
    }

private:
    std::shared_ptr<source_reader> reader_;
};

}  // namespace

std::unique_ptr<body_stream> make_log_stream(
    const boost::asio::any_io_executor& executor,
    std::unique_ptr<byte_source> source,
    std::optional<std::int64_t> limit_bytes
) {
    auto reader = std::make_shared<source_reader>(executor, std::move(source), limit_bytes);
    auto stream = std::make_unique<log_stream>(reader);
    boost::asio::co_spawn(executor, source_reader::run(std::move(reader)), boost::asio::detached);
    return stream;
}

}  // namespace signalbox::k8sio::server
