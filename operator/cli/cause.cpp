// SPDX-License-Identifier: Apache-2.0
#include "cli/cause.hpp"

#include "cli/print_line.hpp"

#include <jobcore/cause.hpp>

#include <boost/asio/awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::op::cli {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds patience{10};
constexpr std::int64_t most_lines = 2000, most_bytes = 1 << 20;

class cause_reader {
public:
    cause_reader(k8sio::client& api, std::string ns, std::vector<core::log_of_failure> wanted)
        : api_(&api), ns_(std::move(ns)), wanted_(std::move(wanted)) {}

    asio::awaitable<void> run() {
        k8sio::log_query query;
        query.timestamps = true;
        query.tail_lines = most_lines;
        query.limit_bytes = most_bytes;
        for (const core::log_of_failure& log : wanted_) {
            query.container = log.container;
            const auto until = api_->time().steady_now() + patience;
            const auto text = co_await api_->read_log(ns_, log.pod, query, until);
            if (text.has_error()) {
                problems.push_back(fmt::format("{}: {}", log.pod, text.error().text()));
                continue;
            }
            evidence.push_back(core::judge_log(log.pod_uid, log.pod, *text));
            blocks[log.pod_uid] = core::find_error_block(*text);
        }
    }

    std::vector<core::log_evidence> evidence;
    std::map<std::string, std::vector<std::string>> blocks;  ///< by UID of the pod
    std::vector<std::string> problems;

private:
    k8sio::client* api_;
    std::string ns_;
    std::vector<core::log_of_failure> wanted_;
};

/// What the status says of the last failure.
std::string message_on_record(const core::job_status& status) {
    const auto& ledger = status.restarts;
    if (ledger.settling && !ledger.settling->message.empty()) {
        return ledger.settling->message;
    }
    const core::condition* failed = core::find_condition(status, "Failed");
    if (failed != nullptr && failed->status) {
        return failed->message;
    }
    return ledger.last ? ledger.last->message : std::string();
}

}  // namespace

void print_lines(const shown_cause& cause, std::ostream& out) {
    for (const std::string& line : cause.lines) {
        print_line(out, "    {}", line);
    }
}

shown_cause read_cause(cluster_session& session, const recorded_job& job, core::instant now) {
    const core::policy rules;
    core::observed seen = job.seen();
    cause_reader reader(
        session.api(), job.job.meta.ns, core::logs_of_failures(job.job, seen, rules, now)
    );
    session.run(reader.run());
    seen.logs = reader.evidence;
    shown_cause out;
    out.problems = std::move(reader.problems);
    const auto cause = core::find_cause(job.job, seen, rules, now);
    if (!cause) {
        out.message = message_on_record(job.job.status);
        out.of_record = true;
        return out;
    }
    out.message = cause->message;
    out.lines = std::move(reader.blocks[cause->pod_uid]);
    const auto pod = std::ranges::find(job.pods, cause->pod_uid, &core::pod_record::uid);
    out.pod = pod == job.pods.end() ? std::string() : pod->name;
    return out;
}

}  // namespace signalbox::op::cli
