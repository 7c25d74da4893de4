// SPDX-License-Identifier: Apache-2.0
//
// How soon what somebody works against is put right once more.
#include <jobcore/repair_pace.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace signalbox::core;

namespace {

action creation_of(std::string name) {
    action a;
    a.name = std::move(name);
    return a;
}

}  // namespace

TEST_CASE("[behaviour 2.6] what is put right again and again has to wait, twice as long each time"
) {
    const repair_pace::time start{std::chrono::hours{1}};
    action repair = creation_of("svc");
    if (GENERATE(true, false)) {
        repair.request = patch_object{};
    }
    repair.kind = object_kind::service;
    action other = repair;
    other.name = "svc-2";
    repair_pace pace;
    auto now = start;
    std::vector<long> waits;
    for (int i = 0; i < 15; ++i) {
        const auto next = pace.earliest(repair, now);
        waits.push_back(std::chrono::duration_cast<std::chrono::seconds>(next - now).count());
        now = next;
        pace.note(repair, now);
    }
    CHECK(waits == std::vector<long>{0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300});
    CHECK(pace.earliest(other, now) == now);
    const auto quiet = now + std::chrono::seconds{361};
    CHECK(
        pace.earliest(repair, now + std::chrono::seconds{100}) == now + std::chrono::seconds{300}
    );
    CHECK(pace.earliest(repair, quiet) == quiet);
    pace.note(repair, quiet);
    CHECK(pace.earliest(repair, quiet) == quiet);
}

TEST_CASE("[behaviour 2.6] deletions, pods and the job itself do not wait for repairs") {
    const repair_pace::time now{std::chrono::hours{1}};
    action pod = creation_of("w-0");
    action job = creation_of("mnist");
    job.request = patch_object{};
    job.kind = object_kind::job;
    action removal = creation_of("svc");
    removal.request = delete_object{};
    removal.kind = object_kind::service;
    repair_pace pace;
    for (const action& a : {pod, job, removal}) {
        for (int i = 0; i < 9; ++i) {
            pace.note(a, now);
        }
        CHECK(pace.earliest(a, now) == now);
    }
}
