// SPDX-License-Identifier: Apache-2.0
#include "progress/report_desk.hpp"

#include "progress/report_reader.hpp"

#include <k8sio/resource.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace signalbox::op::progress {

namespace asio = boost::asio;

namespace {

constexpr std::array<std::string_view, fates> fate_names{
    "taken",
    "unknown_path",
    "no_token",
    "not_leading",
    "queue_full",
    "too_often",
    "foreign_token",
    "not_reviewed",
    "no_pod",
    "not_asked",
    "other_job",
    "old_attempt",
    "malformed",
};

constexpr std::chrono::minutes between_complaints{1};

fate fate_of(report_outcome outcome) {
    switch (outcome) {
        case report_outcome::taken:
            return fate::taken;
        case report_outcome::no_pod:
            return fate::no_pod;
        case report_outcome::not_asked:
            return fate::not_asked;
        case report_outcome::other_job:
            return fate::other_job;
        case report_outcome::old_attempt:
            return fate::old_attempt;
    }
    return fate::malformed;
}

report_sender sender_of(const token_pod& pod, const raw_report& report) {
    return {pod.ns, pod.uid, report.plural, report.job_name};
}

const k8sio::resource_type& token_reviews() {
    static const k8sio::resource_type type(
        "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", /*namespaced=*/false
    );
    return type;
}

}  // namespace

std::string_view to_string(fate f) {
    return fate_names[static_cast<std::size_t>(f)];
}

report_desk::report_desk(
    asio::any_io_executor executor,
    k8sio::client& api,
    report_taker take,
    std::shared_ptr<spdlog::logger> log,
    desk_limits limits
)
    : executor_(std::move(executor)),
      api_(&api),
      take_(std::move(take)),
      log_(std::move(log)),
      limits_(limits) {
    shared_->desk = this;
    for (std::size_t i = 0; i < limits_.reviews; ++i) {
        shared_->reviewers.emplace_back();
        shared_->idle.push_back(i);
    }
}

report_desk::~report_desk() {
    stop();
}

void report_desk::stop() {
    const std::shared_ptr<shared_state> shared = shared_;
    if (shared->desk == nullptr) {
        return;
    }
    shared->desk = nullptr;
    shared->waiting.clear();
    order_.clear();
    // Only those at work: of one that has ended the slot still has what is gone.
    for (std::size_t i = 0; i < shared->reviewers.size(); ++i) {
        if (std::ranges::find(shared->idle, i) == shared->idle.end()) {
            shared->reviewers[i].emit(asio::cancellation_type::terminal);
        }
    }
    asio::post(executor_, [shared] {});  // the signals are behind what was emitted
}

void report_desk::look_at(std::vector<raw_report> reports) {
    served_.clear();
    for (raw_report& report : reports) {
        look_at(std::move(report));
    }
}

void report_desk::look_at(raw_report report) {
    std::string digest = digest_of(report.token);
    if (const known_token* known = find_known(digest)) {
        if (!known->pod) {
            return add(fate::foreign_token);
        }
        return hand_on(token_pod(*known->pod), report);
    }
    // Before the API server is asked: no one can have it asked about pods that are not there.
    const auto claimed = read_claims(report.token);
    if (!claimed || claimed->ns != report.ns) {
        return add(fate::foreign_token);
    }
    const report_outcome looked = take_(sender_of(*claimed, report), nullptr);
    if (looked != report_outcome::taken) {
        return add(fate_of(looked));
    }
    wait_for_review(std::move(digest), claimed->uid, std::move(report));
}

const report_desk::known_token* report_desk::find_known(const std::string& digest) {
    auto found = known_.find(digest);
    if (found == known_.end()) {
        const auto old = older_.find(digest);
        if (old == older_.end()) {
            return nullptr;
        }
        found = known_.emplace(digest, std::move(old->second)).first;
        older_.erase(old);
    }
    return api_->time().steady_now() < found->second.until ? &found->second : nullptr;
}

void report_desk::remember(const std::string& digest, std::optional<token_pod> pod) {
    if (known_.size() >= limits_.remembered / 2) {
        older_ = std::exchange(known_, {});
    }
    const auto until = api_->time().steady_now() + (pod ? limits_.good_for : limits_.bad_for);
    known_.insert_or_assign(digest, known_token{std::move(pod), until});
}

void report_desk::wait_for_review(std::string digest, std::string pod_uid, raw_report report) {
    auto& waiting = shared_->waiting;
    const std::size_t bytes = report.bytes();
    if (const auto known = waiting.find(digest); known != waiting.end()) {
        const std::size_t before = known->second.report.bytes();
        if (waiting_bytes_ - before + bytes > limits_.waiting_bytes) {
            return add(fate::queue_full);
        }
        waiting_bytes_ = waiting_bytes_ - before + bytes;
        known->second.report = std::move(report);
        return add(fate::too_often);
    }
    std::size_t& of_pod = waiting_of_pod_[pod_uid];
    if (waiting.size() >= limits_.waiting || of_pod >= limits_.waiting_of_pod ||
        waiting_bytes_ + bytes > limits_.waiting_bytes) {
        if (of_pod == 0) {
            waiting_of_pod_.erase(pod_uid);
        }
        return add(fate::queue_full);
    }
    ++of_pod;
    waiting_bytes_ += bytes;
    order_.push_back(digest);
    waiting.emplace(std::move(digest), waiting_report{std::move(report), std::move(pod_uid)});
    if (!shared_->idle.empty()) {
        const std::size_t reviewer = shared_->idle.back();
        shared_->idle.pop_back();
        asio::co_spawn(
            executor_,
            review_all(shared_, *api_, reviewer),
            asio::bind_cancellation_slot(shared_->reviewers[reviewer].slot(), asio::detached)
        );
    }
}

report_desk::waiting_report report_desk::take_waiting(const std::string& digest) {
    waiting_report out = std::move(shared_->waiting.extract(digest).mapped());
    waiting_bytes_ -= out.report.bytes();
    if (--waiting_of_pod_[out.pod_uid] == 0) {
        waiting_of_pod_.erase(out.pod_uid);
    }
    return out;
}

/// One of those that review side by side; ends when nothing waits.
asio::awaitable<void> report_desk::review_all(
    std::shared_ptr<shared_state> shared, k8sio::client& api, std::size_t reviewer
) {
    const std::shared_ptr<shared_state> state = shared;
    while (state->desk != nullptr && !state->desk->order_.empty()) {
        const std::string digest = state->desk->order_.front();
        state->desk->order_.pop_front();
        std::string body = review_of(state->waiting.at(digest).report.token);
        const auto answer = co_await api.create(token_reviews(), "", std::move(body));
        report_desk* const desk = state->desk;
        if (desk == nullptr) {
            co_return;
        }
        const waiting_report done = desk->take_waiting(digest);
        if (answer.has_error()) {
            desk->add(fate::not_reviewed);
            desk->complain(answer.error());
            continue;
        }
        auto pod = read_review(*answer);
        desk->remember(digest, pod);
        if (pod && pod->ns == done.report.ns) {
            desk->hand_on(*pod, done.report);
        } else {
            desk->add(fate::foreign_token);
        }
    }
    state->idle.push_back(reviewer);
}

void report_desk::hand_on(const token_pod& from, const raw_report& report) {
    if (from.ns != report.ns) {
        return add(fate::other_job);
    }
    if (!served_.insert(from.uid).second) {
        return add(fate::too_often);
    }
    const auto said = read_report(report.body);
    if (!said) {
        return add(fate::malformed);
    }
    add(fate_of(take_(sender_of(from, report), &*said)));
}

void report_desk::complain(const k8sio::api_error& error) {
    const auto now = api_->time().steady_now();
    if (log_ && (!complained_at_ || now >= *complained_at_ + between_complaints)) {
        log_->warn("tokens of reports of progress cannot be reviewed: {}", error.text());
        complained_at_ = now;
    }
}

}  // namespace signalbox::op::progress
