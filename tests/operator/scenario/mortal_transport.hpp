// SPDX-License-Identifier: Apache-2.0
//
// The transport of one operator process, with faults on demand: the Nth write, or what
// matches, is lost before or after the server carried it out, and with it, if wanted, the whole
// process.
#pragma once

#include "k8sio/synchronization.hpp"
#include "k8sio/transport.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::test {

/// How a transport tells that it got no answer to this request.
k8sio::api_error error_of(k8sio::errc code, const k8sio::http_request& request);

/// What befalls one write.
enum class loss {
    request,  ///< the server never sees it
    answer,   ///< the server carries it out, no one hears of it
};

/// One write of the operator, in the order in which it was sent.
struct sent_write {
    std::string method;
    std::string target;
    std::string body;
};

class mortal_transport final : public k8sio::transport {
public:
    explicit mortal_transport(std::unique_ptr<k8sio::transport> inner);
    ~mortal_transport() override;

    /// The write with this number, counted from 1, is lost; `fatal`: the process dies with it.
    void lose(std::size_t number, loss how, bool fatal);
    /// Nothing is sent or heard from now on; streams end.
    void die();
    bool dead() const { return dead_; }
    const std::vector<sent_write>& writes() const { return writes_; }
    /// Most writes that were under way at one time.
    std::size_t most_in_flight() const { return most_in_flight_; }
    /// New watches fail as long as this is set.
    void refuse_streams(bool refuse) { streams_refused_ = refuse; }
    /// Watches whose target has this in it bring nothing until release_streams().
    void hold_streams(std::string part) { held_part_ = std::move(part); }
    void release_streams();
    /// Writes with this in method and target (`PUT /apis/...`) are sent, but their answers do not
    /// come until release_answers().
    void hold_answers(std::string part) { held_answers_ = std::move(part); }
    void release_answers();
    /// Called before each request that is sent; may change the server's state behind its back.
    std::function<void(const k8sio::http_request&)> before;
    /// May change what arrives at the server, as its admission would.
    std::function<void(k8sio::http_request&)> admit;
    /// May change an answer.
    std::function<void(k8sio::http_response&)> on_answer;

    boost::asio::awaitable<k8sio::result<k8sio::http_response>> exchange(
        const k8sio::http_request& request, k8sio::steady_time deadline
    ) override;
    boost::asio::awaitable<k8sio::result<std::unique_ptr<k8sio::response_stream>>> open_stream(
        const k8sio::http_request& request, std::chrono::nanoseconds idle
    ) override;

private:
    class stream;

    std::unique_ptr<k8sio::transport> inner_;
    bool dead_ = false;
    bool streams_refused_ = false;
    std::string held_part_;
    std::string held_answers_;
    std::vector<std::shared_ptr<k8sio::notification>> held_;
    std::size_t lose_number_ = 0;
    loss lose_how_ = loss::request;
    bool lose_is_fatal_ = false;
    std::vector<sent_write> writes_;
    std::size_t in_flight_ = 0;
    std::size_t most_in_flight_ = 0;
    std::vector<stream*> streams_;
};

}  // namespace signalbox::test
