// SPDX-License-Identifier: Apache-2.0
//
// Reports between the thread that answers them and the one that looks at them. Of each sender the
// newest report is kept, so that who sends much takes no more room than who sends little.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace signalbox::op::progress {

/// As it came; nothing of it is believed yet.
struct raw_report {
    std::string token;
    std::string ns, plural, job_name;  ///< by the path
    std::string body;

    std::size_t bytes() const {
        return token.size() + ns.size() + plural.size() + job_name.size() + body.size();
    }
};

/// Bounds of a report_queue.
struct queue_limits {
    std::size_t senders = 16384;
    std::size_t bytes = 32u << 20;
};

/// Any thread.
class report_queue {
public:
    enum class put_result {
        first,     ///< the queue was empty: whoever takes is to be told
        queued,    ///< whoever takes knows
        replaced,  ///< an older one of the same sender is dropped
        full,      ///< this one is dropped
    };

    explicit report_queue(queue_limits limits = {}) : limits_(limits) {}

    put_result put(raw_report report) {
        const std::lock_guard lock(mutex_);
        const std::size_t bytes = report.bytes();
        const auto known = reports_.find(report.token);
        const std::size_t before = known == reports_.end() ? 0 : known->second.bytes();
        if (bytes_ - before + bytes > limits_.bytes ||
            (known == reports_.end() && reports_.size() >= limits_.senders)) {
            return put_result::full;
        }
        bytes_ = bytes_ - before + bytes;
        if (known != reports_.end()) {
            known->second = std::move(report);
            return put_result::replaced;
        }
        const bool first = reports_.empty();
        std::string token = report.token;
        reports_.emplace(std::move(token), std::move(report));
        return first ? put_result::first : put_result::queued;
    }

    /// All that there are, in no order; then it is empty.
    std::vector<raw_report> take_all() {
        std::unordered_map<std::string, raw_report> taken;
        {
            const std::lock_guard lock(mutex_);
            taken.swap(reports_);
            bytes_ = 0;
        }
        std::vector<raw_report> out;
        out.reserve(taken.size());
        for (auto& [token, report] : taken) {
            out.push_back(std::move(report));
        }
        return out;
    }

private:
    queue_limits limits_;
    std::mutex mutex_;
    std::unordered_map<std::string, raw_report> reports_;  ///< by token
    std::size_t bytes_ = 0;
};

}  // namespace signalbox::op::progress
