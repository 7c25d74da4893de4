// SPDX-License-Identifier: Apache-2.0
//
// Jobs times sets of faults. A set is small, so that several faults of it in a row are searched.
#include "configurations.hpp"

#include "rows.hpp"
#include "spec_edits.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace signalbox::search {

namespace {

using test::draft;

std::vector<row> plain_rows() {
    const auto mixed = [](draft& d) {
        d.types = {
            {"ps", 1, "Always", 1}, {"worker", 1, "Never", 1}, {"master", 0, "OnFailure", 1}};
    };
    return {
        {edited(named("plain", plain(1, 1)), edits_of_types()),
         {"ends", "losses", "starts", "nodes", "writes", "views", "objects", "user", "specs"}},
        {edited(named("plain, policies", plain(1, 1)), edits_of_policies()), {"specs"}},
        {named("plain of 3", plain(2, 2)), {"ends", "nodes"}},
        {named("plain without budget", plain(1, 0)), {"ends", "losses", "views"}},
        {unnoted(edited(named("plain, size not noted", plain(1, 1)), edits_of_types())),
         {"writes", "specs"}},
        {named("plain, Never", plain(1, 2, "Never")), {"ends", "losses"}},
        {coded(named("plain, ExitCode", plain(1, 2, "ExitCode")), {1, 137, 143}), {"ends"}},
        {clocks(named("plain, Always", plain(1, 2, "Always"))), {"ends", "writes", "clocks"}},
        {named("plain, mixed types", with(plain(1, 2), mixed)), {"ends", "user", "looks"}},
        {named("plain, Never beside OnFailure", with(plain(2, 1), never_workers)), {"looks"}},
        {named("plain, OnFailure beside Never", with(plain(2, 1), never_master)), {"looks"}},
        {coded(named("plain of 3, ExitCode", plain(2, 1, "ExitCode")), {1, 137}), {"looks"}},
        {named(
             "plain, failurePolicy Master, workers Never",
             with(
                 plain(2, 1),
                 [](draft& d) {
                     never_workers(d);
                     d.run_policy["failurePolicy"] = "\"Master\"";
                 }
             )
         ),
         {"ends", "looks"}},
        {named(
             "plain, failurePolicy Master, master Never",
             with(
                 plain(2, 1),
                 [](draft& d) {
                     never_master(d);
                     d.run_policy["failurePolicy"] = "\"Master\"";
                 }
             )
         ),
         {"looks"}},
        {named(
             "plain, scope Replica, failurePolicy Master",
             with(
                 plain(2, 1),
                 [](draft& d) {
                     d.run_policy["restartScope"] = "\"Replica\"";
                     d.run_policy["failurePolicy"] = "\"Master\"";
                 }
             )
         ),
         {"ends", "looks"}},
        {named(
             "plain, scope Replica, failurePolicy Master, workers Never",
             with(
                 plain(2, 1),
                 [](draft& d) {
                     never_workers(d);
                     d.run_policy["restartScope"] = "\"Replica\"";
                     d.run_policy["failurePolicy"] = "\"Master\"";
                 }
             )
         ),
         {"looks"}},
        {named("plain, failurePolicy Master", policy(plain(2, 1), "failurePolicy", "\"Master\"")),
         {"ends", "losses", "looks"}},
        {named("plain, scope Replica", policy(plain(2, 3), "restartScope", "\"Replica\"")),
         {"ends", "losses", "nodes", "writes", "looks"}},
        {edited(
             named("plain, scope Replica of 2", policy(plain(1, 1), "restartScope", "\"Replica\"")),
             edits_of_types()
         ),
         {"specs", "looks"}},
        {named(
             "plain, scope Replica, workers Never",
             with(policy(plain(1, 3), "restartScope", "\"Replica\""), never_workers)
         ),
         {"refused"}},
        {named("plain, clean-up All", policy(plain(1, 1), "cleanUpPolicy", "\"All\"")),
         {"ends", "user"}},
        {named("plain, clean-up None", policy(plain(1, 1), "cleanUpPolicy", "\"None\"")), {"ends"}},
        {named("plain, TTL", policy(plain(1, 0), "ttlSecondsAfterFinished", "60")),
         {"ends", "writes", "time"}},
        {named("plain, deadline", policy(plain(1, 1), "activeDeadlineSeconds", "40")),
         {"ends", "writes", "user", "time"}},
        {coded(
             named("plain, deadline, exits", policy(plain(1, 1), "activeDeadlineSeconds", "20")),
             {1}
         ),
         {"late"}},
        {named("plain, never stuck", stuck_after(plain(1, 1), "0")), {"nodes"}},
        {named("plain, stuck soon", stuck_after(plain(1, 3), "5")), {"nodes", "writes"}},
        {named("plain, created paused", with(plain(1, 1), [](draft& d) { d.pause = true; })),
         {"user", "views"}},
        {named(
             "plain, resume commands", with(plain(1, 1), [](draft& d) { d.resume_specs = true; })
         ),
         {"user"}},
        {named("plain, debug", with(plain(1, 1), [](draft& d) { d.debug = true; })), {"ends"}},
        {edited(
             named("plain, gang", with(plain(1, 1), [](draft& d) { d.gang = true; })),
             edits_of_types()
         ),
         {"kinds", "writes", "objects", "specs"}},
        {heard(named(
             "plain, stall",
             policy(plain(1, 1), "progress", R"({"stallAfterSeconds":40,"stallAction":"Restart"})")
         )),
         {"progress"}},
        {heard(named(
             "plain, stall told", policy(plain(1, 1), "progress", R"({"stallAfterSeconds":40})")
         )),
         {"progress"}},
        {heard(named(
             "plain, no first report",
             policy(
                 plain(1, 1),
                 "progress",
                 R"({"stallAfterSeconds":40,"firstReportAfterSeconds":60,"stallAction":"Restart"})"
             )
         )),
         {"progress"}},
        {heard(named(
             "plain, checkpoints", policy(plain(1, 1), "progress", R"({"stallAfterSeconds":40})")
         )),
         {"checkpoints"}},
        {heard(coded(
             named(
                 "plain, restarts by progress",
                 policy(plain(1, 9), "maxRestartsWithoutProgress", "1")
             ),
             {1}
         )),
         {"steps"}},
        {coded(
             named(
                 "plain, budget comes back", policy(plain(1, 1), "resetBackoffAfterSeconds", "600")
             ),
             {1}
         ),
         {"streak"}},
        {coded(
             named(
                 "plain, failure rules",
                 policy(
                     plain(1, 1),
                     "failureRules",
                     R"([{"action":"RestartElsewhere","onExitCodes":{"operator":"In","values":[137]}},)"
                     R"({"action":"Fail","onExitCodes":{"operator":"In","values":[3]}}])"
                 )
             ),
             {1, 3, 137}
         ),
         {"ends"}},
        {named("plain, TensorBoard", with(plain(1, 1), [](draft& d) { d.tensorboard = true; })),
         {"board", "writes"}},
    };
}

std::vector<row> torchrun_rows() {
    const auto master_fails = [](draft& d) { d.run_policy["failurePolicy"] = "\"Master\""; };
    return {
        {named("static", torchrun("static", 2, 1, 1)), {"ends", "losses", "looks"}},
        {named("c10d", torchrun("c10d", 3, 3, 2)),
         {"ends", "losses", "starts", "nodes", "writes", "views", "barrier", "looks", "refused"}},
        {heard(named(
             "c10d, stall",
             policy(
                 torchrun("c10d", 2, 3, 1),
                 "progress",
                 R"({"stallAfterSeconds":40,"stallAction":"Restart"})"
             )
         )),
         {"progress", "checkpoints"}},
        {edited(named("c10d, policies", torchrun("c10d", 2, 3, 1)), edits_of_restarts()),
         {"specs"}},
        {edited(
             sized(
                 named("c10d elastic, policies", elastic(torchrun("c10d", 2, 3, 1), 1, 3, 2)), {2}
             ),
             edits_of_restarts()
         ),
         {"specs"}},
        {coded(named("c10d of 2", torchrun("c10d", 2, 3, 5)), {1}), {"streak"}},
        {clocks(named("c10d of 3, budget 1", torchrun("c10d", 3, 3, 1))),
         {"clocks", "time", "looks"}},
        {edited(named("c10d, two types", two_types(torchrun("c10d", 1, 3, 1))), edits_of_types()),
         {"specs"}},
        {edited(
             sized(
                 named(
                     "c10d elastic, two types",
                     elastic(two_types(torchrun("c10d", 1, 3, 1)), 1, 3, 2)
                 ),
                 {2, 3}
             ),
             edits_of_weights()
         ),
         {"specs"}},
        {named("c10d without budget", torchrun("c10d", 2, 3, 0)),
         {"ends", "losses", "writes", "objects"}},
        {named("c10d, maxRestarts 0", torchrun("c10d", 2, 0, 1)), {"ends"}},
        {named("c10d, failurePolicy Master", with(torchrun("c10d", 3, 3, 1), master_fails)),
         {"ends", "barrier", "looks"}},
        {coded(
             named(
                 "c10d, failurePolicy Master, clean-up All",
                 policy(with(torchrun("c10d", 3, 3, 0), master_fails), "cleanUpPolicy", "\"All\"")
             ),
             {0, 1}
         ),
         {"cut off"}},
        {named("etcd", torchrun("etcd", 2, 3, 2)), {"ends", "losses", "nodes", "objects", "looks"}},
        {named("etcd, budget 1", torchrun("etcd", 3, 3, 1)), {"looks"}},
        {sized(named("c10d elastic", elastic(torchrun("c10d", 2, 3, 1), 1, 3, 3)), {1, 2, 3}),
         {"ends", "sizes", "views", "looks"}},
        {sized(
             named("c10d elastic, at least 2", elastic(torchrun("c10d", 3, 3, 0), 2, 3, 3)), {2, 3}
         ),
         {"fewer", "looks"}},
        {sized(
             named("c10d elastic without budget", elastic(torchrun("c10d", 2, 3, 0), 1, 3, 3)),
             {1, 2, 3}
         ),
         {"ends", "sizes", "fewer"}},
        {sized(
             named("c10d elastic, maxRestarts 0", elastic(torchrun("c10d", 2, 0, 1), 1, 3, 3)),
             {1, 2, 3}
         ),
         {"ends", "sizes"}},
        {sized(
             named("c10d elastic, default size", elastic(torchrun("c10d", 2, 3, 1), 1, 3, 0)),
             {1, 2, 3}
         ),
         {"sizes", "writes"}},
        {sized(named("etcd elastic", elastic(torchrun("etcd", 2, 3, 1), 2, 3, 2)), {2, 3}),
         {"sizes", "losses"}},
        {sized(
             named(
                 "c10d elastic gang",
                 with(elastic(torchrun("c10d", 2, 3, 1), 1, 3, 2), [](draft& d) { d.gang = true; })
             ),
             {1, 2, 3}
         ),
         {"sizes", "kinds"}},
    };
}

std::vector<row> deepspeed_rows() {
    const auto no_ssh = [](draft& d) {
        d.config = R"({"run":{"module":["m"]},"otherArgs":["--no_ssh"],"slotsPerWorker":2})";
    };
    return {
        {named("deepspeed", deepspeed(2, 2)),
         {"ends", "losses", "starts", "nodes", "writes", "views", "keys"}},
        {edited(named("deepspeed, policies", deepspeed(2, 1)), edits_of_policies()), {"specs"}},
        {named("deepspeed, scope Replica", policy(deepspeed(3, 1), "restartScope", "\"Replica\"")),
         {"looks"}},
        {coded(named("deepspeed, workers not reached", deepspeed(2, 1)), {75, 1}), {"ends"}},
        {coded(named("deepspeed, ExitCode", deepspeed(2, 2, "ExitCode")), {1, 137, 254}), {"ends"}},
        {named("deepspeed of 1", deepspeed(1, 1)), {"ends", "keys"}},
        {named("deepspeed without ssh", with(deepspeed(2, 1), no_ssh)), {"ends", "writes"}},
        {named("deepspeed, clean-up None", policy(deepspeed(2, 0), "cleanUpPolicy", "\"None\"")),
         {"ends"}},
        {named("deepspeed, debug", with(deepspeed(2, 1), [](draft& d) { d.debug = true; })),
         {"ends", "keys"}},
        {named(
             "deepspeed, failurePolicy Master",
             policy(deepspeed(3, 1), "failurePolicy", "\"Master\"")
         ),
         {"looks"}},
        {named("deepspeed, gang", with(deepspeed(2, 1), [](draft& d) { d.gang = true; })),
         {"kinds", "user"}},
        {sized(named("deepspeed elastic", elastic(deepspeed(2, 1), 1, 3, 2)), {1, 2, 3}),
         {"sizes", "writes", "nodes"}},
    };
}

std::vector<row> colossalai_rows() {
    const auto cleans = [](draft& d) { d.run_policy["cleanUpWorkers"] = "true"; };
    return {
        {named("colossalai", colossalai(2)),
         {"ends", "losses", "starts", "nodes", "writes", "views", "keys", "objects", "refused"}},
        {unnoted(named("colossalai, size not noted", colossalai(1))), {"writes", "user"}},
        {named("colossalai, cleanUpWorkers", with(colossalai(1), cleans)), {"ends"}},
        {named("colossalai, gang", with(colossalai(2), [](draft& d) { d.gang = true; })),
         {"kinds"}},
        {named("colossalai, debug", with(colossalai(1), [](draft& d) { d.debug = true; })),
         {"ends"}},
    };
}

}  // namespace

const std::vector<configuration>& all_configurations() {
    static const std::vector<configuration> all = [] {
        std::vector<configuration> out;
        add_rows(out, plain_rows());
        add_rows(out, torchrun_rows());
        add_rows(out, deepspeed_rows());
        add_rows(out, colossalai_rows());
        configuration without = named(
            "plain, gang, kind not served", with(plain(1, 1), [](draft& d) { d.gang = true; })
        );
        without.serves_pod_group = false;
        configuration deployment =
            named("plain, TensorBoard as Deployment", with(plain(1, 1), [](draft& d) {
                      d.tensorboard = true;
                  }));
        deployment.serves_tensorboard = false;
        add_rows(out, {{without, {"kinds"}}, {deployment, {"board"}}});
        std::ranges::move(gang_configurations(), std::back_inserter(out));
        std::ranges::move(damage_configurations(), std::back_inserter(out));
        return out;
    }();
    return all;
}

const configuration* find_configuration(std::string_view name) {
    const auto it = std::ranges::find(all_configurations(), name, &configuration::name);
    return it == all_configurations().end() ? nullptr : &*it;
}

}  // namespace signalbox::search
