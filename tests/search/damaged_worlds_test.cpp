// SPDX-License-Identifier: Apache-2.0
//
// Traces with damaged statuses, labels and specifications that broke a rule once, found by the
// search: now each is a test of that rule.
#include "checks.hpp"
#include "damage.hpp"
#include "explorer.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace signalbox::search;

namespace {

/// From the first pass to the pods that run, and on.
violations after(const char* configuration, trace then) {
    then.insert(then.begin(), "by itself");
    return replay(configuration, then);
}

}  // namespace

TEST_CASE("[behaviour 1.9] a live pod that is labelled gone goes before another is made") {
    CHECK(after("plain: labels", {"mislabel master-0: gone"}) == violations{});
    CHECK(after("plain: labels", {"mislabel worker-0: gone"}) == violations{});
    CHECK(after("colossalai: labels", {"mislabel worker-1: gone"}) == violations{});
}

TEST_CASE("[behaviour 1.9] a pod with the index of another is known by its name") {
    CHECK(
        after("plain: labels", {"mislabel worker-0: index 7", "exits worker-0 1"}) == violations{}
    );
    CHECK(
        after("plain: labels", {"mislabel worker-0: index 7", "exits worker-0 0", "pause"}) ==
        violations{}
    );
    CHECK(after("c10d: labels", {"mislabel node-1: the other index"}) == violations{});
    CHECK(
        after("c10d: labels", {"mislabel node-0: the other index", "exits node-0 1"}) ==
        violations{}
    );
}

TEST_CASE("[behaviour 1.9] a pod that no one watches does not live on through a pause or the end") {
    CHECK(after("plain: labels", {"unwatch master-0", "pause"}) == violations{});
    CHECK(after("plain: labels", {"unwatch worker-0", "pause", "pass", "resume"}) == violations{});
    CHECK(after("plain: labels", {"pause", "pass", "unwatch worker-0"}) == violations{});
    CHECK(after("plain: labels", {"unwatch worker-0", "exits master-0 0"}) == violations{});
}

TEST_CASE("[behaviour 4.2] [behaviour 6.4] a job that was created paused stays paused") {
    CHECK(replay("plain, created paused, TTL: spec", {"break spec", "resume"}) == violations{});
    CHECK(
        replay("plain, created paused, TTL: spec", {"pass", "break spec", "resume", "mend spec"}) ==
        violations{}
    );
}

TEST_CASE("[behaviour 5.14] a job that ended before it started is deleted in its time") {
    CHECK(replay("c10d, TTL: spec", {"break spec"}) == violations{});
}

TEST_CASE("[behaviour 5.1] [behaviour 4.2] the exit barrier stands under an invalid specification"
) {
    CHECK(
        after("c10d, TTL: spec", {"break spec", "exits node-0 0", "pass", "half way"}) ==
        violations{}
    );
}

TEST_CASE("[behaviour 12.11] [behaviour 1.3] names of replacements do not go by order") {
    CHECK(
        after(
            "plain, stuck soon: order",
            {"node dies worker-0",
             "node dies worker-1",
             "by itself",
             "wake",
             "by itself",
             "exits master-0 1"}
        ) == violations{}
    );
}

TEST_CASE("[behaviour 12.11] [behaviour 9.1] what a TensorBoard leaves goes in order") {
    CHECK(after("plain, TensorBoard: dropped", {"drop board"}) == violations{});
}

TEST_CASE("[api 5.7] what cannot be in a status is put right, and waits for nothing") {
    CHECK(after("plain, deadline and TTL: status", {"damage startTime removed"}) == violations{});
    CHECK(
        after(
            "plain, deadline and TTL: status",
            {"exits master-0 0", "by itself", "damage completionTime removed"}
        ) == violations{}
    );
    CHECK(after("plain: status", {"damage tasks.1.wanted = 7"}) == violations{});
    CHECK(after("plain: status", {"damage attempt = 1000000000"}) == violations{});
    CHECK(after("plain: status", {"damage phase = \"Succeeded\""}) == violations{});
    CHECK(
        after(
            "c10d: status", {"exits node-1 1", "pass", "damage restarts.settling.time removed"}
        ) == violations{}
    );
}

TEST_CASE("[api 5.7] [behaviour 10.4] a repair goes by what the attempt began with") {
    const char* types = "plain, types: status";
    CHECK(after(types, {"spec one more type", "damage tasks.1.wanted = 7"}) == violations{});
    CHECK(after(types, {"spec one more type", "damage tasks removed"}) == violations{});
    CHECK(after(types, {"spec turned round", "damage tasks.0 removed"}) == violations{});
    CHECK(
        after(
            types,
            {"spec without the first type",
             "damage tasks.0.type = \"nonsense\"",
             "pass",
             "exits master-0 0"}
        ) == violations{}
    );
}

namespace {

/// These choices, then a whole value for a field that the status has not, and these.
violations with_sample(
    const char* configuration, trace all, std::string_view path, const trace& then
) {
    search_context context(*find_configuration(configuration));
    world w = first_world(context);
    outcome done;
    for (const std::string& words : all) {
        take_words(w, words, done);
    }
    damage_list of_path = damages_of(w);
    std::erase_if(of_path, [&](const damage& d) { return d.path != path; });
    const auto size = [](const damage& d) { return d.value.size(); };
    all.push_back("damage " + std::ranges::max(of_path, {}, size).words());
    all.insert(all.end(), then.begin(), then.end());
    return replay(configuration, all);
}

}  // namespace

TEST_CASE("[api 5.7] [behaviour 10.4] an attempt that an incident alone tells has its first sizes"
) {
    CHECK(
        with_sample(
            "plain, types: status",
            {},
            "/restarts",
            {"pass", "pass", "pass", "pass", "all start", "spec first type 0"}
        ) == violations{}
    );
}

TEST_CASE("[api 5.7] [behaviour 5.2] who has a pod that has not ended is not completed") {
    CHECK(
        with_sample(
            "plain, types: status", {"pass", "pass", "pass", "spec turned round"}, "/restarts", {}
        ) == violations{}
    );
}

TEST_CASE("the search damages every field of a status") {
    const configuration* c = find_configuration("c10d: status");
    REQUIRE(c != nullptr);
    search_context context(*c);
    world w = first_world(context);
    outcome done;
    run_by_itself(w, done, [](const choice& next, int) { return next.what == op::wake; });
    std::set<std::string> fields;
    for (const damage& d : damages_of(w)) {
        fields.insert(d.path);
    }
    for (const char* path :
         {"/phase",
          "/attempt",
          "/startTime",
          "/completionTime",
          "/tasks/0/wanted",
          "/told",
          "/restarts/last",
          "/restarts/settling",
          "/restarts/seen/0/indexes",
          "/conditions/1/status",
          "/aggregate"}) {
        INFO(path);
        CHECK(fields.contains(path));
    }
}
