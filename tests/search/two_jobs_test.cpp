// SPDX-License-Identifier: Apache-2.0
//
// Two jobs that do not fit at once: whichever of them does what next, one runs whole and the other
// waits whole, and each comes to its turn. Both are worlds of their own; quota and nodes that one
// has are missing to the other.
#include "canonical.hpp"
#include "checks.hpp"
#include "events.hpp"
#include "gang.hpp"
#include "property/server_side.hpp"
#include "rows.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

using namespace signalbox;
using namespace signalbox::search;
using core::job_phase;

namespace {

struct pair {
    std::array<world, 2> jobs;
    int faults = 0;
    std::shared_ptr<const std::vector<std::string>> how = {};  ///< it came about
};

/// Pods of the job that no one else can have the quota of, or the places. What a deleted job has is
/// collected.
int held_quota(const world& w) {
    const core::quota_answer* says = w.deleted ? nullptr : quota_of(w);
    int sum = 0;
    if (says != nullptr && says->reserved && !says->finished) {
        for (const auto& set : says->sets) {
            sum += set.count - set.reclaimed;
        }
    }
    return sum;
}
int held_places(const world& w) {
    return static_cast<int>(std::ranges::count_if(w.pods, [&](const pod_ptr& p) {
        return p->scheduled && !test::has_ended(*p) && !w.deleted;
    }));
}

class pair_search {
public:
    pair_search(const configuration& c, int capacity)
        : contexts_{search_context(c), search_context(c)}, capacity_(capacity) {}

    void run(int faults) {
        add({{first_world(contexts_[0]), first_world(contexts_[1])}});
        while (!open_.empty()) {
            const pair now = std::move(open_.front());
            open_.pop_front();
            expand(now, faults);
        }
    }

    int at_rest = 0;
    int one_waits = 0;
    std::vector<std::string> violations;

private:
    void share(pair& p) const {
        for (std::size_t i = 0; i < 2; ++i) {
            p.jobs[i].quota_left = capacity_ - held_quota(p.jobs[1 - i]);
            p.jobs[i].places_left = capacity_ - held_places(p.jobs[0]) - held_places(p.jobs[1]);
        }
    }

    void add(pair p) {
        share(p);
        const std::uint64_t both =
            digest(p.jobs[0]) * 31 + digest(p.jobs[1]) * 17 + static_cast<std::uint64_t>(p.faults);
        if (violations.empty() && known_.insert(both).second) {
            check_capacity(p);
            open_.push_back(std::move(p));
        }
    }

    void expand(const pair& now, int faults) {
        std::array<std::optional<choice>, 2> next;
        for (std::size_t i = 0; i < 2; ++i) {
            next[i] = natural_choice(now.jobs[i]);
            if (next[i]) {
                add(after(now, i, *next[i], 0));
            }
            if (now.faults < faults) {
                for (const choice& c : all_choices(now.jobs[i])) {
                    add(after(now, i, c, 1));
                }
            }
        }
        if (!next[0] && !next[1]) {
            check_rest(now);
        }
    }

    pair after(const pair& now, std::size_t i, const choice& c, int fault) {
        pair out = now;
        auto how = now.how ? *now.how : std::vector<std::string>();
        how.push_back((i == 0 ? "first: " : "second: ") + to_words(now.jobs[i], c));
        out.how = std::make_shared<const std::vector<std::string>>(std::move(how));
        out.faults += fault;
        outcome done;
        apply(out.jobs[i], c, done);
        for (const std::string& violation : done.violations) {
            note(out, violation);
        }
        return out;
    }

    void check_capacity(const pair& p) {
        if (held_quota(p.jobs[0]) + held_quota(p.jobs[1]) > capacity_ ||
            held_places(p.jobs[0]) + held_places(p.jobs[1]) > capacity_) {
            note(p, "8.11 more pods run than there is room for");
        }
    }

    void check_rest(const pair& p) {
        ++at_rest;
        for (std::size_t i = 0; i < 2; ++i) {
            const world& waiting = p.jobs[i];
            const world& other = p.jobs[1 - i];
            const bool stands = waiting.job->status.phase == job_phase::pending ||
                                waiting.job->status.phase == job_phase::resuming;
            if (!stands || waiting.deleted) {
                continue;
            }
            ++one_waits;
            if (other.deleted || other.job->status.phase != job_phase::running) {
                note(p, "8 a job waits, and no other runs");
            }
            if (held_places(waiting) > 0 || held_quota(waiting) > 0) {
                note(p, "8 a job waits and holds what another one needs");
            }
        }
    }

    void note(const pair& p, const std::string& violation) {
        std::string text = violation;
        for (const std::string& step : *p.how) {
            text += "\n    " + step;
        }
        violations.push_back(std::move(text));
    }

    std::array<search_context, 2> contexts_;
    int capacity_;
    std::deque<pair> open_;
    std::unordered_set<std::uint64_t> known_;
};

configuration of_two(test::draft job, std::vector<op> faults) {
    configuration c = named("two jobs", std::move(job));
    c.codes = {0};
    c.faults = std::move(faults);
    return c;
}

}  // namespace

TEST_CASE("[behaviour 8.11] [behaviour 8.13] two jobs of one queue never wait for each other") {
    test::draft job = plain(1, 1);
    job.gang = true;
    job.scheduler = R"({"kueue":{"queueName":"q"}})";
    const configuration c =
        of_two(job, {op::exits, op::take_quota, op::pause, op::resume, op::crash, op::delete_job});
    pair_search both(c, 3);
    both.run(2);
    CHECK(both.violations == std::vector<std::string>{});
    CHECK(both.at_rest > 10);
    CHECK(both.one_waits > 1);
}

TEST_CASE("[behaviour 8.2] [behaviour 8.7] two gangs of one cluster never wait for each other") {
    const configuration c = of_two(
        gang_of("kubernetes", plain(1, 1)),
        {op::exits, op::kill, op::pause, op::resume, op::crash, op::delete_job}
    );
    pair_search both(c, 3);
    both.run(2);
    CHECK(both.violations == std::vector<std::string>{});
    CHECK(both.at_rest > 10);
    CHECK(both.one_waits > 1);
}
