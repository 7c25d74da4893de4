// SPDX-License-Identifier: Apache-2.0
//
// One job and its children on a server, as generated stories need it: decisions are carried out in
// whole or in part, the server refuses, and children are what our own renderer and decoder make of
// each other. A value: a story can be forked. What a decision must never ask for on the server's
// truth is noted as a fault (BEHAVIOUR.md, Invariants).
#pragma once

#include "jobcore/decide.hpp"
#include "property/draft.hpp"
#include "property/rules.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::test {

/// How the server answers creations.
enum class mood { good, quota, forbidden, invalid, refuses_objects, namespace_terminating };

/// A cluster as the engine is shown it; must not outlive it.
struct sight {
    std::vector<const core::pod_record*> pods;
    std::vector<const core::child_record*> children;
    std::vector<core::refusal> refusals;
    std::vector<core::confirmed_absence> absences;
    core::capabilities served;

    core::observed observed() const { return {pods, children, refusals, absences, served}; }
};

class cluster {
public:
    explicit cluster(draft job);

    /// Takes over what was edited in `wish`, as a new generation.
    void reload();
    sight look() const;
    core::decision decide() const { return decide_on(look()); }
    /// The same with every list of the observation turned round.
    core::decision decide_reversed() const;

    /// False: an action that does not take effect, as if the request had been lost.
    using gate = std::function<bool()>;
    /// Writes the status and carries the stages out. `defers`: a deferrable status stays unwritten
    /// (BEHAVIOUR.md 4.16). True if anything was done, or should have been.
    bool carry_out(const core::decision& d, const gate& takes_effect, bool defers = false);
    /// Everything takes effect.
    bool carry_out(const core::decision& d) {
        return carry_out(d, [] { return true; });
    }

    bool compiled_well() const { return job.compiled && job.compiled->plan.has_value(); }
    const core::job_plan& plan() const { return *job.compiled->plan; }
    bool is_older(const core::pod_record& pod, std::int32_t attempt) const;
    bool is_stuck(const core::pod_record& pod) const;

    draft wish;
    core::job_object job;
    std::list<core::pod_record> pods;
    std::list<core::child_record> children;
    std::vector<core::refusal> refusals;
    std::vector<core::confirmed_absence> absences;
    core::capabilities served;
    core::policy rules;
    core::instant now;
    mood server = mood::good;
    /// Objects of other owners that hold our names.
    std::set<std::pair<core::object_kind, std::string>> foreign;
    bool slow_deletes = false;
    bool job_deleted = false;
    std::vector<std::string> faults;

private:
    core::decision decide_on(const sight& shown) const;
    bool carry_out(
        const core::action& a, const core::job_object& decided, const core::decision& made
    );
    bool create(const core::action& a, const core::job_object& decided, const core::decision& made);
    bool patch(const core::action& a, const core::job_object& decided, const core::decision& made);
    bool remove(const core::action& a);
    bool confirm(const core::action& a);
    bool refused(const core::action& a);
    void note_refusal(const core::action& a, int code, const std::string& message, bool is_foreign);
    void prune_refusals(const core::decision& d);
    void check_creation(const core::action& a);
    std::string new_uid(const core::action& a);
    template <class List>
    static bool holds(const List& list, const std::string& name);

    std::map<std::string, int> made_;
};

}  // namespace signalbox::test
