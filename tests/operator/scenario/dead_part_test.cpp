// SPDX-License-Identifier: Apache-2.0
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <stdexcept>

using namespace signalbox;
using namespace signalbox::test;

TEST_CASE("[requirement H1] a part that dies ends the operator, and says which and why") {
    struct row {
        const char* request;
        const char* part;
    };
    const row r = GENERATE(
        row{"/pods?watch=1", "the reflector of pods"},
        row{"/apis/scheduler.tensorstack.dev/v1beta1", "the look at discovery"},
        row{"/events", "the event recorder"}
    );
    INFO(r.request);
    world w;
    bool broken = false;
    std::size_t requests = 0;
    w.on_request = [&](const k8sio::http_request& request) {
        ++requests;
        if (broken && request.target.find(r.request) != std::string::npos) {
            throw std::runtime_error("no more");
        }
    };
    w.stop_operator();
    w.start_operator();
    w.run_for(seconds{1});
    CHECK(w.operator_().failure().empty());
    broken = true;
    w.create_job(job_builder("mnist").replicas("worker", 2));
    w.run_for(std::chrono::minutes{12});
    CHECK(w.operator_().failure() == std::string(r.part) + " ended by an exception: no more");
    // All other parts have ended with it.
    const std::size_t so_far = requests;
    w.create_job(job_builder("later").replicas("worker", 1));
    w.run_for(std::chrono::minutes{30});
    CHECK(requests == so_far);
}
