// SPDX-License-Identifier: Apache-2.0
#include "jobcore/room.hpp"

#include <utility>

namespace signalbox::core {

namespace {

bool asks_for_pause(const job_object& job) {
    const bool known = job.compiled && job.compiled->plan;
    return known ? job.compiled->plan->paused : job.status.phase == job_phase::paused;
}

bool is_ours(const job_object& job) {
    const bool other = job.compiled && !job.compiled->managed_by.empty() &&
                       job.compiled->managed_by != managed_by_signalbox;
    return !other && !job.meta.deletion_time;
}

}  // namespace

/// One that is alone fits always: nothing would ever make more room for it.
bool room_ledger::fits(const space& in, std::int64_t before, std::int64_t bytes) const {
    return in.begun + before + bytes <= limit_ || in.begun + before == 0;
}

void room_ledger::remove(const std::string& uid, const entry& e) {
    if (e.is == place::none) {
        return;
    }
    space& in = spaces_[e.ns];
    if (e.is == place::begun) {
        in.begun -= e.bytes;
    } else if (e.is == place::waits) {
        const order at{e.created, uid};
        in.waiting -= e.bytes;
        in.waits.erase(at);
        in.refused.erase(at);
    }
}

std::vector<std::string> room_ledger::note(const job_object& job) {
    const std::string& uid = job.meta.uid;
    entry now;
    now.ns = job.meta.ns;
    now.bytes = static_cast<std::int64_t>(job.spec_bytes);
    now.created = job.meta.creation_time ? job.meta.creation_time->time_since_epoch().count() : 0;
    if (is_ours(job) && !is_final(job.status.phase)) {
        if (job.status.start_time) {
            now.is = place::begun;
        } else if (!asks_for_pause(job)) {
            now.is = place::waits;
        }
    }
    entry& held = jobs_[uid];
    const order at{now.created, uid};
    const bool refused = spaces_[now.ns].refused.count(at) != 0;
    remove(uid, held);
    held = std::move(now);
    space& in = spaces_[held.ns];
    if (held.is == place::begun) {
        in.begun += held.bytes;
    } else if (held.is == place::waits) {
        in.waiting += held.bytes;
        in.waits.emplace(at, held.bytes);
        if (refused) {
            in.refused.insert(at);
        }
    }
    return freed(held.ns);
}

std::vector<std::string> room_ledger::forget(const std::string& uid) {
    const auto found = jobs_.find(uid);
    if (found == jobs_.end()) {
        return {};
    }
    const entry gone = std::move(found->second);
    jobs_.erase(found);
    remove(uid, gone);
    std::vector<std::string> out = freed(gone.ns);
    const space& in = spaces_[gone.ns];
    if (in.begun == 0 && in.waits.empty()) {
        spaces_.erase(gone.ns);
    }
    return out;
}

/// In most namespaces nothing was refused, and there is nothing to look through.
std::vector<std::string> room_ledger::freed(const std::string& ns) {
    std::vector<std::string> out;
    space& in = spaces_[ns];
    std::int64_t before = 0;
    for (auto job = in.waits.begin(); job != in.waits.end() && !in.refused.empty(); ++job) {
        if (!fits(in, before, job->second)) {
            break;
        }
        before += job->second;
        if (in.refused.erase(job->first) != 0) {
            out.push_back(std::get<1>(job->first));
        }
    }
    return out;
}

bool room_ledger::may_begin(const std::string& uid) {
    const auto found = jobs_.find(uid);
    if (found == jobs_.end() || found->second.is != place::waits) {
        return true;
    }
    space& in = spaces_[found->second.ns];
    if (in.begun + in.waiting <= limit_) {
        return true;
    }
    const order at{found->second.created, uid};
    std::int64_t before = 0;
    for (auto job = in.waits.begin(); job->first != at; ++job) {
        before += job->second;
    }
    // Where one of those before has no room, what they take together leaves none for this.
    if (fits(in, before, found->second.bytes)) {
        return true;
    }
    in.refused.insert(at);
    return false;
}

std::size_t room_ledger::refused() const {
    std::size_t out = 0;
    for (const auto& [ns, in] : spaces_) {
        out += in.refused.size();
    }
    return out;
}

}  // namespace signalbox::core
