// SPDX-License-Identifier: Apache-2.0
#include "scenario/auditor.hpp"

#include "controller/resource_table.hpp"
#include "jobcore/decide.hpp"

#include <fmt/format.h>

#include <set>
#include <tuple>

namespace signalbox::test {

namespace {

bool has_ended(const core::pod_record& pod) {
    return pod.phase == core::pod_phase::succeeded || pod.phase == core::pod_phase::failed;
}

}  // namespace

class auditor::pod_sink final : public k8sio::reflector_sink {
public:
    explicit pod_sink(auditor& to) : to_(&to) {}

    void replace_begin() override { listed_.clear(); }
    void replace_item(std::string_view json) override { put(json); }
    void replace_end(std::string_view) override {
        std::erase_if(to_->held_, [&](const auto& entry) {
            return listed_.count(entry.first) == 0;
        });
        to_->check_pods();
    }
    void upsert(std::string_view json) override {
        put(json);
        to_->check_pods();
    }
    void remove(std::string_view json) override {
        if (const auto pod = core::decode_pod(json)) {
            to_->held_.erase(pod->uid);
        }
    }

private:
    void put(std::string_view json) {
        auto pod = core::decode_pod(json);
        if (!pod) {
            return;
        }
        listed_.insert(pod->uid);
        if (to_->held_.count(pod->uid) == 0) {
            to_->pods_created_.push_back(pod->name);
        }
        to_->held_[pod->uid] = std::move(*pod);
    }

    auditor* to_;
    std::set<std::string> listed_;
};

class auditor::job_sink final : public k8sio::reflector_sink {
public:
    explicit job_sink(auditor& to) : to_(&to) {}

    void upsert(std::string_view json) override { to_->check_job(json); }
    void remove(std::string_view) override {}

private:
    auditor* to_;
};

auditor::auditor(k8sio::client& api)
    : pod_sink_(std::make_unique<pod_sink>(*this)), job_sink_(std::make_unique<job_sink>(*this)) {
    pods_ = std::make_unique<k8sio::reflector>(api, k8sio::resources::pods(), *pod_sink_);
    for (const core::job_kind kind : core::all_job_kinds) {
        jobs_[kind] = std::make_unique<k8sio::reflector>(api, op::type_of(kind), *job_sink_);
    }
}

auditor::~auditor() = default;

boost::asio::awaitable<void> auditor::run_pods() {
    return pods_->run();
}

boost::asio::awaitable<void> auditor::run_jobs(core::job_kind kind) {
    return jobs_.at(kind)->run();
}

void auditor::stop() {
    pods_->stop();
    for (const auto& [kind, jobs] : jobs_) {
        jobs->stop();
    }
}

std::vector<std::string> auditor::phases(const std::string& job) const {
    const auto uid = uid_by_name_.find(job);
    return uid == uid_by_name_.end() ? std::vector<std::string>{}
                                     : jobs_by_uid_.at(uid->second).phases;
}

std::vector<core::pod_record> auditor::held() const {
    std::vector<core::pod_record> all;
    for (const auto& [uid, pod] : held_) {
        all.push_back(pod);
    }
    return all;
}

void auditor::check_pods() {
    std::map<std::tuple<std::string, std::string, int>, int> live, running;
    std::map<std::string, std::size_t> per_job;
    std::map<std::string, std::pair<int, int>> attempts;  // lowest and highest that may run
    for (const auto& [uid, pod] : held_) {
        const auto place = std::make_tuple(pod.owner_uid, pod.type, pod.index);
        if (has_ended(pod)) {
            continue;
        }
        if (!pod.deletion) {
            ++per_job[pod.owner_uid];
            if (++live[place] == 2) {
                violations_.push_back(
                    fmt::format("I1: two live pods for {} {}", pod.type, pod.index)
                );
            }
        }
        if (pod.phase == core::pod_phase::running && ++running[place] == 2) {
            violations_.push_back(fmt::format("I1: two running pods for {} {}", pod.type, pod.index)
            );
        }
        auto [range, fresh] =
            attempts.try_emplace(pod.owner_uid, std::make_pair(pod.attempt, pod.attempt));
        range->second.first = std::min(range->second.first, pod.attempt);
        range->second.second = std::max(range->second.second, pod.attempt);
    }
    for (const auto& [owner, count] : per_job) {
        most_live_ = std::max(most_live_, count);
    }
    for (const auto& [owner, range] : attempts) {
        if (range.first != range.second) {
            violations_.push_back(
                fmt::format("I8: pods of attempts {} and {} at once", range.first, range.second)
            );
        }
    }
}

void auditor::check_job(std::string_view json) {
    const auto job = core::read_job(json);
    if (!job) {
        violations_.push_back("a job cannot be read: " + job.error());
        return;
    }
    seen_job& seen = jobs_by_uid_[job->meta.uid];
    uid_by_name_[job->meta.name] = job->meta.uid;
    const core::job_status& status = job->status;
    const std::string phase(core::to_string(status.phase));
    if (status.phase == core::job_phase::none) {
        return;
    }
    if (seen.phases.empty() || seen.phases.back() != phase) {
        if (seen.final_phase) {
            violations_.push_back("I6: a final phase changed to " + phase);
        }
        seen.phases.push_back(phase);
    }
    seen.final_phase = core::is_final(status.phase);
    if (status.backoff_count < seen.backoff_count ||
        status.backoff_count > seen.backoff_count + 1) {
        violations_.push_back(fmt::format(
            "I7: backoffCount went from {} to {}", seen.backoff_count, status.backoff_count
        ));
    }
    if (status.attempt < seen.attempt || status.attempt > seen.attempt + 1) {
        violations_.push_back(
            fmt::format("I7: attempt went from {} to {}", seen.attempt, status.attempt)
        );
    }
    if (status.observed_generation > job->meta.generation) {
        violations_.push_back("I12: observedGeneration is ahead");
    }
    seen.backoff_count = status.backoff_count;
    seen.attempt = status.attempt;
}

}  // namespace signalbox::test
