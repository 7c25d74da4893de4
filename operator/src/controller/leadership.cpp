// SPDX-License-Identifier: Apache-2.0
#include "controller/leadership.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// Renewals are tried every two seconds: not each failure is worth a line.
constexpr std::chrono::seconds complaint_interval{10};

/// What every election meets: no Lease yet, or another process was faster.
bool is_usual(const k8sio::api_error& error) {
    return error.http_status == 409 || (error.http_status == 404 && error.method == "GET");
}

}  // namespace

leadership::leadership(
    asio::any_io_executor executor,
    asio::any_io_executor of_api,
    k8sio::client& api,
    k8sio::leader_election_options election,
    const k8sio::heartbeat& beat,
    std::shared_ptr<spdlog::logger> log
)
    : executor_(executor),
      of_api_(std::move(of_api)),
      api_(&api),
      log_(std::move(log)),
      identity_(k8sio::make_identity()),
      lease_(election.ns + "/" + election.name),
      changed_(std::move(executor)) {
    election.identity = identity_;
    election.seed = api.options().seed;
    election.acquired = [this] {
        asio::post(executor_, [this, epoch = election_->epoch()] { begin(epoch); });
    };
    election.observed = [this](const std::string& holder) {
        asio::post(executor_, [this, holder] { observe(holder); });
    };
    election.failed = [this](const k8sio::api_error& error) { complain(error); };
    election.fit = [this, &beat, limit = election.renew_deadline] {
        return beat.age(api_->time().steady_now()) <= limit;
    };
    election_.emplace(api, std::move(election));
}

asio::awaitable<void> leadership::run(controller& work, k8sio::client& work_api) {
    asio::awaitable<void> election = election_->run();
    work_ = &work;
    log_->info("seeking the lease: lease={} identity={}", lease_, identity_);
    asio::co_spawn(of_api_, std::move(election), [this, &work_api](std::exception_ptr broken) {
        if ((broken || lost()) && at_loss) {
            at_loss();
        }
        asio::post(executor_, [this, broken, &work_api] { end(broken, work_api); });
    });
    while (!known_ && !ended_ && !stopping_) {
        co_await changed_.wait();
    }
    if (!ended_ && !stopping_) {
        co_await work.run();
    }
    asio::post(of_api_, [this] { election_->stop(); });
    while (!ended_) {
        co_await changed_.wait();
    }
    if (broken_) {
        std::rethrow_exception(broken_);
    }
}

void leadership::stop() {
    stopping_ = true;
    changed_.notify();
}

void leadership::observe(const std::string& holder) {
    if (holder.empty() || holder == identity_) {
        return;
    }
    log_->info("another replica leads: lease={} holder={}", lease_, holder);
    known_ = true;
    changed_.notify();
}

void leadership::begin(std::int64_t epoch) {
    log_->info("leading: lease={} epoch={}", lease_, epoch);
    leading_ = true;
    known_ = true;
    changed_.notify();
    work_->take_over();
}

void leadership::complain(const k8sio::api_error& error) {
    const k8sio::steady_time now = api_->time().steady_now();
    if (is_usual(error) || (complained_at_ && now - *complained_at_ < complaint_interval)) {
        return;
    }
    complained_at_ = now;
    log_->warn("request for the lease failed: lease={} error=\"{}\"", lease_, error.text());
}

void leadership::end(std::exception_ptr broken, k8sio::client& work_api) {
    broken_ = broken;
    ended_ = true;
    changed_.notify();
    if (!broken && !lost()) {
        return;
    }
    log_->critical("the lease is lost, and this process ends: lease={}", lease_);
    work_->stop();
    // What is under way must not be finished first: another process may lead soon.
    work_api.finish_by(api_->time().steady_now());
}

}  // namespace signalbox::op
