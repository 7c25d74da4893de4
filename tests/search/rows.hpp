// SPDX-License-Identifier: Apache-2.0
//
// What configurations are made of: jobs, and rows of a job with the sets of faults that it is
// searched with.
#pragma once

#include "configurations.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::search {

// Jobs of each kind; `budget` is `backoffLimit`.

test::draft plain(int workers, int budget, const char* restart = "OnFailure");
test::draft torchrun(const char* backend, int nodes, int max_restarts, int budget);
test::draft deepspeed(int workers, int budget, const char* restart = "OnFailure");
test::draft colossalai(int workers);

// Changes of a job.

template <class Change>
test::draft with(test::draft d, Change change) {
    change(d);
    return d;
}

/// A member of `runPolicy`, JSON.
test::draft policy(test::draft d, const char* member, const char* value);
/// `expected` 0: the size is left to the default.
test::draft elastic(test::draft d, int min, int max, int expected);
test::draft stuck_after(test::draft d, const char* seconds);
/// By a scheduler of which nothing more is asked.
test::draft gang_of(const std::string& scheduler, test::draft d);
/// Beside another type `extra`.
test::draft two_types(test::draft d);
/// The last type is never restarted, or the first.
void never_workers(test::draft& d);
void never_master(test::draft& d);

/// A job and the sets of faults it is searched with.
struct row {
    configuration base;
    std::vector<std::string_view> sets;
};

// Configurations without faults.

configuration named(const char* name, test::draft job);
configuration sized(configuration c, std::vector<int> sizes);
configuration heard(configuration c);
configuration unnoted(configuration c);
/// Clocks of nodes that are behind and ahead by more than an hour.
configuration clocks(configuration c);
configuration coded(configuration c, std::vector<int> codes);
configuration edited(configuration c, std::vector<spec_edit> specs);

/// A configuration for each set of each row.
void add_rows(std::vector<configuration>& all, const std::vector<row>& rows);

}  // namespace signalbox::search
