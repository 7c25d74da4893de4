// SPDX-License-Identifier: Apache-2.0
//
// The body of an answer that is made piece by piece, at the pace at which the client takes it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace signalbox::k8sio::server {

class body_stream {
public:
    body_stream() = default;
    virtual ~body_stream() = default;
    body_stream(const body_stream&) = delete;
    body_stream& operator=(const body_stream&) = delete;

    /// The next bytes, at most about `limit`; empty: nothing now.
    virtual std::string next(std::size_t limit) = 0;
    /// No more will come, once next() gives nothing.
    virtual bool finished() const = 0;
    /// Whether it finished early: the client must not take what it has for the whole.
    virtual bool broken() const { return false; }
    /// Whether its end comes by itself: a reader of whole answers waits for that, and of a watch
    /// takes what there is now.
    virtual bool ends() const = 0;
    /// Ends the stream, as a server that shuts down does.
    virtual void finish() = 0;
    /// Called whenever next() may give something or the stream finishes; from within a write, so it
    /// must only post.
    void on_ready(std::function<void()> callback) { ready_ = std::move(callback); }

    /// Of one piece; what the faces ask for.
    static constexpr std::size_t piece_size = 64 * 1024;

protected:
    void wake() {
        if (ready_) {
            ready_();
        }
    }

private:
    std::function<void()> ready_;
};

}  // namespace signalbox::k8sio::server
