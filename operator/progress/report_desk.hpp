// SPDX-License-Identifier: Apache-2.0
//
// Looks at reports: whose token it is, by the API server, and whose pod; then hands them on
// (BEHAVIOUR.md 13.11). What it remembers and what waits has a bound.
#pragma once

#include "controller/job_reports.hpp"
#include "progress/report_queue.hpp"
#include "progress/sender_token.hpp"

#include <k8sio/client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <spdlog/logger.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace signalbox::op::progress {

/// What became of a report, as it is counted.
enum class fate {
    taken,
    unknown_path,  ///< it was sent to a place where nothing is
    no_token,
    not_leading,  ///< another process decides
    queue_full,
    too_often,      ///< a newer one of the same sender came before it was looked at
    foreign_token,  ///< no token of a pod, for us, that the API server knows
    not_reviewed,   ///< the API server gave no answer
    no_pod,
    not_asked,
    other_job,
    old_attempt,
    malformed,
};
inline constexpr std::size_t fates = 13;
/// The label of the metric, e.g. `foreign_token`. Has static storage.
std::string_view to_string(fate f);

struct desk_limits {
    std::size_t reviews = 8;               ///< at a time
    std::size_t waiting = 1024;            ///< tokens that wait for a review
    std::size_t waiting_of_pod = 4;        ///< of them, that name one pod
    std::size_t waiting_bytes = 8u << 20;  ///< of the reports that came with them
    std::size_t remembered = 65536;        ///< tokens whose review is known
    std::chrono::seconds good_for{300};
    std::chrono::seconds bad_for{60};
};

/// Takes a report of a known sender, or without one says whether it would be taken.
using report_taker =
    std::function<report_outcome(const report_sender& from, const core::progress_message* said)>;

/// Thread: that of `executor`.
class report_desk {
public:
    /// All must outlive the last report under way; `take` must not throw. A null `log` logs
    /// nothing.
    report_desk(
        boost::asio::any_io_executor executor,
        k8sio::client& api,
        report_taker take,
        std::shared_ptr<spdlog::logger> log,
        desk_limits limits = {}
    );
    ~report_desk();
    report_desk(const report_desk&) = delete;
    report_desk& operator=(const report_desk&) = delete;

    /// A round: of one pod one report is taken in it.
    void look_at(std::vector<raw_report> reports);
    /// What waits is dropped; reviews under way are cut off.
    void stop();

    std::uint64_t count(fate f) const { return counts_[static_cast<std::size_t>(f)]; }
    std::size_t waiting() const { return shared_->waiting.size(); }
    std::size_t remembered() const { return known_.size() + older_.size(); }

private:
    struct known_token {
        std::optional<token_pod> pod;  ///< nothing: it is not good
        k8sio::steady_time until;
    };
    struct waiting_report {
        raw_report report;
        std::string pod_uid;  ///< as the token claims
    };
    /// Outlives the desk until the last review has ended.
    struct shared_state {
        report_desk* desk = nullptr;                              ///< null: it is over
        std::unordered_map<std::string, waiting_report> waiting;  ///< by digest
        std::deque<boost::asio::cancellation_signal> reviewers;
        std::vector<std::size_t> idle;  ///< numbers of reviewers that do nothing
    };

    void look_at(raw_report report);
    const known_token* find_known(const std::string& digest);
    void remember(const std::string& digest, std::optional<token_pod> pod);
    void wait_for_review(std::string digest, std::string pod_uid, raw_report report);
    waiting_report take_waiting(const std::string& digest);
    void hand_on(const token_pod& from, const raw_report& report);
    void add(fate f) { ++counts_[static_cast<std::size_t>(f)]; }
    void complain(const k8sio::api_error& error);
    static boost::asio::awaitable<void> review_all(
        std::shared_ptr<shared_state> shared, k8sio::client& api, std::size_t reviewer
    );

    boost::asio::any_io_executor executor_;
    k8sio::client* api_;
    report_taker take_;
    std::shared_ptr<spdlog::logger> log_;
    desk_limits limits_;
    std::shared_ptr<shared_state> shared_ = std::make_shared<shared_state>();
    std::deque<std::string> order_;  ///< digests that wait, and no review has begun
    std::unordered_map<std::string, std::size_t> waiting_of_pod_;
    std::size_t waiting_bytes_ = 0;
    /// The newer half of what is remembered, and the older one.
    std::unordered_map<std::string, known_token> known_, older_;
    std::unordered_set<std::string> served_;  ///< UIDs of pods, of this round
    std::array<std::uint64_t, fates> counts_{};
    std::optional<k8sio::steady_time> complained_at_;
};

}  // namespace signalbox::op::progress
