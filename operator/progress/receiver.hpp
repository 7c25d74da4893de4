// SPDX-License-Identifier: Apache-2.0
//
// The receiver of reports of progress (BEHAVIOUR.md 13.11): answers at once, on a thread that does
// nothing else, whatever the API server does; looks at what came afterwards.
#pragma once

#include "controller/run.hpp"
#include "http/http_server.hpp"
#include "progress/endpoints.hpp"
#include "progress/report_desk.hpp"
#include "progress/report_queue.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace signalbox::op::progress {

struct receiver_options {
    http_server_options listen;  ///< its limits are set by the receiver
    /// A socket that listens already, in place of the address; the receiver's from begin() on.
    std::optional<int> socket;
    /// Between two rounds in which reports are looked at.
    std::chrono::nanoseconds round = std::chrono::milliseconds{100};
    queue_limits queue;
    desk_limits desk;
    /// Of this process, where several are behind one Service; the port is the receiver's.
    std::optional<endpoint> endpoints;
};

class receiver final : public attachment {
public:
    explicit receiver(receiver_options options);
    ~receiver() override;

    std::string begin(const running_operator& of) override;
    void stopping() override {}
    void end() override;

    /// Where it listens, after begin(): `127.0.0.1:8444`.
    std::string address() const;
    /// Reports since the start.
    std::uint64_t count(fate f) const;
    /// That count for each fate, in the text format of Prometheus.
    std::string metrics_text() const;

private:
    http_answer answer(const http_question& question);
    fate take_in(const http_question& question);
    void look_at_leader();
    void plan_round();
    void look_at_reports();
    template <class Do>
    void on_answers(Do what);

    receiver_options options_;
    running_operator of_;
    report_queue queue_;
    std::unique_ptr<report_desk> desk_;
    std::unique_ptr<endpoint_writer> endpoints_;  ///< null: somebody else leads the Service here
    std::unique_ptr<k8sio::clock> time_;          ///< of the thread that answers
    std::unique_ptr<http_server> server_;         ///< likewise
    std::string address_;
    k8sio::steady_time next_round_;
    k8sio::clock::timer_id round_ = 0, leader_ = 0;
    /// Written by the thread that decides, read by the one that answers.
    std::atomic<bool> leads_{false};
    std::array<std::atomic<std::uint64_t>, fates> counts_{};
};

}  // namespace signalbox::op::progress
