// SPDX-License-Identifier: Apache-2.0
#include "property/runner.hpp"

#include "property/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace signalbox::test {

using namespace core;

namespace {

/// Passes after which a job that still finds something to do is in a loop.
constexpr int pass_limit = 80;

class runner {
public:
    runner(const story& s, std::string* trace) : story_(s), trace_(trace), c_(s.job) {}

    story_result run() {
        for (step_ = 0; step_ < story_.steps.size() && !stopped(); ++step_) {
            take(story_.steps[step_]);
        }
        if (!stopped() && c_.server != mood::namespace_terminating) {
            come_to_an_end();
        }
        result_.step = step_;
        if (!found_.empty()) {
            result_.violation = found_.front();
        }
        return result_;
    }

private:
    bool stopped() const { return !found_.empty() || c_.job_deleted; }

    void take(const step& s) {
        happen(c_, s);
        const decision d = decide(c_);
        if (stopped()) {
            return;
        }
        if (c_.decide() != d) {
            found_.push_back("I0 the same input gives another output");
        }
        if (c_.decide_reversed() != d) {
            found_.push_back("I0 the order of what is observed matters: " + difference(d));
        }
        if (s.lost != 0 && step_ % 2 == 0) {
            compare_with_lost(d, s);
        }
        c_.carry_out(d, losing_gate(s.lost), s.defers);
        collect(c_);
        if (step_ % 4 == 3 && !stopped()) {
            cluster fork = c_;
            settle(fork);
            stay_quiet(fork);
        }
    }

    std::string difference(const decision& d) const {
        const decision other = c_.decide_reversed();
        if (other.status != d.status) {
            const job_status none;
            return "status\n" + format_status(d.status.value_or(none), c_.wish.kind) + "\n" +
                   format_status(other.status.value_or(none), c_.wish.kind);
        }
        return other.stages != d.stages ? "stages" : other.events != d.events ? "events" : "times";
    }

    decision decide(const cluster& c) {
        ++result_.decisions;
        decision d = c.decide();
        tell(c, d);
        with_situation(c, [&](const situation& s) {
            check_actions(s, d, found_);
            check_status(s, d, /*reachable=*/true, found_);
            check_status_text(s, d, found_);
        });
        return d;
    }

    template <class Check>
    static void with_situation(const cluster& c, Check check) {
        const sight shown = c.look();
        const observed seen = shown.observed();
        check(situation{
            c.job,
            seen,
            c.rules,
            c.now,
            c.wish.backoff_limit(),
            c.server == mood::namespace_terminating});
    }

    void tell(const cluster& c, const decision& d) {
        if (trace_ == nullptr) {
            return;
        }
        const job_status& s = d.status ? *d.status : c.job.status;
        *trace_ += fmt::format(
            "\n{} {} {}{} attempt {}",
            step_,
            format_time(c.now),
            to_string(s.phase),
            d.status ? "*" : "",
            s.attempt
        );
        for (const stage& one : d.stages) {
            *trace_ += " |";
            for (const action& a : one) {
                const bool held = a.not_before && *a.not_before > c.now;
                *trace_ += fmt::format(
                    " {}{} {} {},",
                    held ? "(held) " : "",
                    to_string(a.what()),
                    to_string(a.kind),
                    a.name
                );
            }
        }
        for (const event& e : d.events) {
            *trace_ += fmt::format(" ! {}: {}", e.reason, e.message);
        }
    }

    void collect(cluster& c) {
        std::ranges::move(c.faults, std::back_inserter(found_));
        c.faults.clear();
    }

    /// Passes at one instant until nothing is left to do.
    void settle(cluster& c) {
        for (int i = 0; i < pass_limit && found_.empty() && !c.job_deleted; ++i) {
            const decision d = decide(c);
            const bool busy = c.carry_out(d);
            collect(c);
            if (!busy) {
                with_situation(c, [&](const situation& s) { check_rest(s, d, found_); });
                return;
            }
        }
        if (found_.empty() && !c.job_deleted) {
            found_.push_back("I18 the job does not come to rest");
        }
    }

    /// What took effect of a decision is a subset: in the end that makes no difference.
    void compare_with_lost(const decision& d, const step& s) {
        if (c_.server != mood::good || !c_.foreign.empty()) {
            return;  // refusals are counted: a write more is one refusal more
        }
        cluster whole = c_;
        settle(whole);
        cluster part = c_;
        part.carry_out(d, losing_gate(s.lost), false);
        collect(part);
        settle(part);
        if (!found_.empty() || whole.job_deleted || part.job_deleted) {
            return;
        }
        if (is_delayed(whole) || is_delayed(part)) {
            return;  // what was made before the delay began stands, what was not waits (5.8)
        }
        if (in_type_order(whole.job.status) != in_type_order(part.job.status)) {
            found_.push_back(
                "I20 another status after lost writes\n" +
                format_status(whole.job.status, whole.job.meta.kind) + "\n" +
                format_status(part.job.status, part.job.meta.kind)
            );
        }
        if (objects(whole) != objects(part)) {
            found_.push_back("I20 other objects after lost writes");
        }
    }

    static bool is_delayed(const cluster& c) {
        const auto& last = c.job.status.restarts.last;
        return last && last->not_before && *last->not_before > c.now;
    }

    /// Lists of types are in the order in which types were first named: that is history, not state.
    static job_status in_type_order(job_status s) {
        restart_ledger& r = s.restarts;
        for (auto* list : {&r.seen, &r.given_up, &r.completed}) {
            std::ranges::sort(*list, {}, &typed_indexes::type);
        }
        return s;
    }

    /// Without pods of older attempts that are going: how many of them there were is history.
    static std::vector<std::string> objects(const cluster& c) {
        std::vector<std::string> out;
        for (const pod_record& p : c.pods) {
            if (!p.deletion || !c.is_older(p, c.job.status.attempt)) {
                out.push_back(p.name + " " + p.uid + (p.deletion ? " deleted" : ""));
            }
        }
        for (const child_record& r : c.children) {
            out.push_back(fmt::format("{} {} {}", r.name, r.fingerprint, r.selected_attempt));
        }
        std::ranges::sort(out);
        return out;
    }

    /// At rest nothing changes with time alone before the wake-up that was asked for.
    void stay_quiet(cluster& c) {
        if (stopped() || c.job_deleted || c.server == mood::namespace_terminating) {
            return;  // 2.5: creations are tried again when something is observed, not in time
        }
        const auto until = c.decide().wake_up;
        const instant now = c.now;
        const milliseconds room = until ? *until - now : milliseconds(40LL * 24 * 3600 * 1000);
        for (const milliseconds later : {milliseconds(1), room / 3, room - milliseconds(1)}) {
            c.now = now + std::clamp(later, milliseconds(0), room - milliseconds(1));
            const decision d = decide(c);
            if (d.status || !d.events.empty() || acts(d, c.now)) {
                found_.push_back(fmt::format(
                    "I19 changed without a wake-up, {} ms before it: {}",
                    until ? (*until - c.now).count() : -1,
                    d.status ? format_status(*d.status, c.job.meta.kind) : first_of(d)
                ));
                return;
            }
        }
    }

    static std::string first_of(const decision& d) {
        if (!d.events.empty()) {
            return d.events.front().reason + ": " + d.events.front().message;
        }
        const action& a = d.stages.front().front();
        return fmt::format("{} {}: {}", to_string(a.what()), a.name, a.why);
    }

    /// The faults stop: the job ends, or runs and stays so (I18, I19).
    void come_to_an_end() {
        for (int i = 0; i < pass_limit && !stopped(); ++i) {
            calm(c_);
            settle(c_);
            if (stopped()) {
                return;
            }
            const decision d = c_.decide();
            const job_status& s = c_.job.status;
            if (is_final(s.phase) && !d.wake_up) {
                return check_cleaned();
            }
            if (is_running_well() && ++calm_rounds_ > 2) {
                return;
            }
            if (d.wake_up && (is_final(s.phase) || !is_running_well())) {
                c_.now = std::max(c_.now, *d.wake_up);
            }
        }
        if (!stopped()) {
            found_.push_back(fmt::format(
                "I18 no end after all faults stopped: {} {}",
                to_string(c_.job.status.phase),
                c_.job.status.reason
            ));
        }
    }

    bool is_running_well() const {
        const job_status& s = c_.job.status;
        // Replicas that were given up leave a job below its minimum for good (5.10).
        return s.phase == job_phase::running || (c_.wish.elastic && !s.restarts.given_up.empty());
    }

    void check_cleaned() {
        const auto policy = c_.wish.run_policy.find("cleanUpPolicy");
        for (const pod_record& p : c_.pods) {
            const bool ours = p.owner_uid == c_.job.meta.uid && !p.deletion;
            const bool all = policy != c_.wish.run_policy.end() && policy->second == "\"All\"";
            const bool unfinished =
                policy != c_.wish.run_policy.end() && policy->second == "\"Unfinished\"";
            if (ours && (all || (unfinished && is_live(p)))) {
                found_.push_back("5.13 a pod was left: " + p.name);
            }
        }
        for (const child_record& r : c_.children) {
            const bool stays = r.name.ends_with("-tensorboard") ||
                               r.kind == object_kind::tensorboard ||
                               (r.kind == object_kind::secret && !c_.pods.empty());
            if (!stays) {
                found_.push_back("5.13 an object was left: " + r.name);
            }
        }
    }

    const story& story_;
    std::string* trace_;
    cluster c_;
    violations found_;
    story_result result_;
    std::size_t step_ = 0;
    int calm_rounds_ = 0;
};

/// The rule a violation names: what comes before its first blank.
std::string_view rule_of(const story_result& r) {
    const std::string_view text = r.violation ? std::string_view(*r.violation) : "";
    return text.substr(0, text.find(' '));
}

}  // namespace

story_result run_story(const story& s, std::string* trace) {
    return runner(s, trace).run();
}

story shrunk(story s, const story_result& broken) {
    if (broken.step + 1 < s.steps.size()) {
        s.steps.resize(broken.step + 1);
    }
    bool shorter = true;
    while (shorter) {
        shorter = false;
        for (std::size_t i = s.steps.size(); i-- > 0;) {
            story less = s;
            less.steps.erase(less.steps.begin() + static_cast<std::ptrdiff_t>(i));
            const story_result r = run_story(less);
            if (r.violation && rule_of(r) == rule_of(broken)) {
                s = std::move(less);
                shorter = true;
            }
        }
    }
    return s;
}

std::string to_string(const story& s) {
    std::string out = s.job.json();
    for (const step& one : s.steps) {
        out += "\n  " + to_string(one);
    }
    return out;
}

}  // namespace signalbox::test
