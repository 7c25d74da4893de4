// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include "fault_sets.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace signalbox::search {

using core::job_kind;
using test::draft;

draft plain(int workers, int budget, const char* restart) {
    draft d;
    d.types = {{"master", 1, restart, 1}, {"worker", workers, restart, 1}};
    d.run_policy["backoffLimit"] = std::to_string(budget);
    return d;
}

draft torchrun(const char* backend, int nodes, int max_restarts, int budget) {
    draft d;
    d.types = {{"node", nodes, "OnFailure", 1}};
    d.rdzv_backend = backend;
    d.max_restarts = max_restarts;
    d.run_policy["backoffLimit"] = std::to_string(budget);
    return d;
}

draft deepspeed(int workers, int budget, const char* restart) {
    draft d;
    d.kind = job_kind::deepspeed;
    d.types = {{"worker", workers, restart, 1}};
    d.run_policy["backoffLimit"] = std::to_string(budget);
    return d;
}

draft colossalai(int workers) {
    draft d;
    d.kind = job_kind::colossalai;
    d.types = {{"worker", workers, "", 1}};
    return d;
}

draft policy(draft d, const char* member, const char* value) {
    d.run_policy[member] = value;
    return d;
}

draft elastic(draft d, int min, int max, int expected) {
    d.elastic = draft::elastic_range{min, max, {}};
    if (expected > 0) {
        d.elastic->expected = expected;
    }
    return d;
}

draft stuck_after(draft d, const char* seconds) {
    d.annotations["batch.tensorstack.dev/stuck-after"] = seconds;
    return d;
}

draft gang_of(const std::string& scheduler, draft d) {
    d.gang = true;
    d.scheduler = "{\"" + scheduler + "\":{}}";
    return d;
}

configuration named(const char* name, draft job) {
    configuration c;
    c.name = name;
    c.job = std::move(job);
    c.codes = {0, 1, 137};
    c.limits = {0, 2};
    c.deadlines = {20, 300};
    return c;
}

configuration sized(configuration c, std::vector<int> sizes) {
    c.sizes = std::move(sizes);
    return c;
}

configuration heard(configuration c) {
    c.reports = true;
    return c;
}

configuration unnoted(configuration c) {
    c.unnoted = true;
    return c;
}

configuration clocks(configuration c) {
    c.skews = {-4000, 0, 4000};
    return c;
}

draft two_types(draft d) {
    d.types.push_back({"extra", 1, "OnFailure", 1});
    return d;
}

void never_workers(draft& d) {
    d.types.back().restart = "Never";
}

void never_master(draft& d) {
    d.types.front().restart = "Never";
}

configuration coded(configuration c, std::vector<int> codes) {
    c.codes = std::move(codes);
    return c;
}

configuration edited(configuration c, std::vector<spec_edit> specs) {
    c.specs = std::move(specs);
    return c;
}

namespace {

/// What cannot happen to a job of this configuration is left out of the set.
bool can_happen(const configuration& c, op what) {
    const bool colossal = c.job.kind == job_kind::colossalai;
    switch (what) {
        case op::change_limit:
            return !colossal && !c.limits.empty();
        case op::admit_in_part:
            return c.job.elastic.has_value();
        case op::resize:
            return !c.sizes.empty();
        case op::change_spec:
            return !c.specs.empty();
        default:
            return true;
    }
}

}  // namespace

void add_rows(std::vector<configuration>& all, const std::vector<row>& rows) {
    for (const row& r : rows) {
        for (const std::string_view name : r.sets) {
            const auto set = std::ranges::find(fault_sets(), name, &fault_set::name);
            configuration c = r.base;
            c.name += ": " + std::string(name);
            c.depth = set->depth;
            c.grouping = name == "looks";
            std::ranges::copy_if(set->faults, std::back_inserter(c.faults), [&](op what) {
                return can_happen(c, what);
            });
            all.push_back(std::move(c));
        }
    }
}

}  // namespace signalbox::search
