// SPDX-License-Identifier: Apache-2.0
//
// Jobs whose scheduler answers: Kueue gives quota and takes it away, others place a gang as a
// whole, Volcano says when there may be pods.
#include "rows.hpp"

#include <utility>

namespace signalbox::search {

namespace {

using test::draft;

draft queued(draft d) {
    d.gang = true;
    d.scheduler = R"({"kueue":{"queueName":"q"}})";
    return d;
}

std::vector<row> kueue_rows() {
    const auto debug = [](draft& d) { d.debug = true; };
    const auto paused = [](draft& d) { d.pause = true; };
    return {
        {named("plain, queue", queued(plain(1, 1))),
         {"queue", "queue life", "queue writes", "queue views", "queue nodes", "kinds"}},
        {named(
             "plain, queue, scope Replica",
             queued(policy(plain(2, 1), "restartScope", "\"Replica\""))
         ),
         {"queue", "queue life", "queue writes"}},
        {named(
             "plain, queue, clean-up None", queued(policy(plain(1, 0), "cleanUpPolicy", "\"None\""))
         ),
         {"queue life"}},
        {named(
             "plain, queue, deadline", queued(policy(plain(1, 1), "activeDeadlineSeconds", "40"))
         ),
         {"queue", "late"}},
        {named("plain, queue, stuck soon", queued(stuck_after(plain(1, 2), "5"))), {"queue nodes"}},
        {named("plain, queue, never stuck", queued(stuck_after(plain(1, 1), "0"))),
         {"queue nodes"}},
        {named("plain, queue, debug", with(queued(plain(1, 1)), debug)), {"queue life"}},
        {named("plain, queue, created paused", with(queued(plain(1, 1)), paused)), {"queue life"}},
        {sized(
             named("c10d elastic, queue", queued(elastic(torchrun("c10d", 2, 3, 1), 1, 3, 2))),
             {1, 2, 3}
         ),
         {"queue sizes", "queue life", "queue writes"}},
        {sized(
             named("deepspeed elastic, queue", queued(elastic(deepspeed(2, 1), 1, 3, 2))), {1, 2, 3}
         ),
         {"queue sizes", "queue life"}},
        {named("colossalai, queue", queued(colossalai(1))),
         {"queue", "queue life", "queue writes", "queue nodes"}},
    };
}

std::vector<row> kubernetes_rows() {
    const auto by_kubernetes = [](draft d) { return gang_of("kubernetes", std::move(d)); };
    return {
        {named(
             "plain, gang of Kubernetes",
             by_kubernetes(policy(plain(2, 1), "restartScope", "\"Replica\""))
         ),
         {"ends", "writes", "objects", "user", "kinds"}},
        {sized(
             named(
                 "c10d elastic, gang of Kubernetes",
                 by_kubernetes(elastic(torchrun("c10d", 2, 3, 1), 1, 3, 2))
             ),
             {1, 2, 3}
         ),
         {"sizes", "fewer"}},
        {named("deepspeed, gang of Kubernetes", by_kubernetes(deepspeed(2, 1))), {"ends", "keys"}},
        {named("colossalai, gang of Kubernetes", by_kubernetes(colossalai(2))), {"ends", "user"}},
    };
}

std::vector<row> plugin_rows() {
    const auto by = [](const char* scheduler) {
        return gang_of(scheduler, policy(plain(2, 1), "restartScope", "\"Replica\""));
    };
    return {
        {named("plain, gang of coscheduling", by("coscheduling")),
         {"ends", "writes", "objects", "user"}},
        {named("plain, gang of Koordinator", by("koordinator")), {"ends", "writes", "user"}},
        {named("plain, gang of Volcano", by("volcano")),
         {"ends", "writes", "objects", "user", "phase"}},
        {named("colossalai, gang of Volcano", gang_of("volcano", colossalai(2))),
         {"ends", "phase"}},
    };
}

}  // namespace

std::vector<configuration> gang_configurations() {
    std::vector<configuration> out;
    add_rows(out, kueue_rows());
    add_rows(out, kubernetes_rows());
    add_rows(out, plugin_rows());
    return out;
}

}  // namespace signalbox::search
