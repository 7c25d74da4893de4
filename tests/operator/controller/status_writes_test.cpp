// SPDX-License-Identifier: Apache-2.0
//
// Writing the status: outcomes that are unknown, conflicts, deferral, and the end of the process.
#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "controller/scripted.hpp"
#include "k8sio/resource.hpp"

#include <catch2/catch.hpp>
#include <fmt/chrono.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;

/// Records Pending with an event, and creates a pod.
core::decision record_and_act(const scripted& s, const core::job_object& job) {
    core::decision d;
    if (job.status.phase == core::job_phase::none) {
        d.status = job.status;
        d.status->phase = core::job_phase::pending;
        d.events.push_back({false, "Told", "once"});
    }
    if (s.looks.back().pods == 0) {
        d.stages = {{create_pod(job)}};
    }
    return d;
}

bool is_status(const k8sio::http_request& request) {
    return request.method == "PUT" && request.target.find("/status") != std::string::npos;
}

/// A read of the job itself.
bool is_read(const k8sio::http_request& request) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    return request.method == "GET" && path.ends_with("/pytorchtrainingjobs/job");
}

bool creates_pod(const k8sio::http_request& request) {
    return request.method == "POST" && request.target.find("/pods") != std::string::npos;
}

/// The order of what concerns the status: `status`, `read`, `pod`.
struct sequence {
    explicit sequence(scripted& s) {
        s.w->operator_transport().before = [this](const k8sio::http_request& request) {
            if (is_status(request)) {
                steps.emplace_back("status");
            } else if (is_read(request)) {
                steps.emplace_back("read");
            } else if (creates_pod(request)) {
                steps.emplace_back("pod");
            }
            if (then) {
                then(steps.size());
            }
        };
    }
    std::vector<std::string> steps;
    std::function<void(std::size_t)> then;
};

using steps = std::vector<std::string>;

}  // namespace

TEST_CASE("[behaviour 12.3] a status write that was lost is written again before anything is done"
) {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return record_and_act(s, job); };
    sequence seen(s);
    s.w->operator_transport().lose(1, loss::request, false);
    s.nudge();
    s.w->run_for(seconds{5});
    CHECK(seen.steps == steps{"status", "read", "status", "pod"});
    CHECK(s.w->is_phase("job", "Pending"));
    CHECK(s.w->event_count("job", "Told") == 1);
}

TEST_CASE("[behaviour 12.3] a status write that was carried out though its answer was lost counts"
) {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return record_and_act(s, job); };
    sequence seen(s);
    s.w->operator_transport().lose(1, loss::answer, false);
    s.nudge();
    s.w->run_for(seconds{5});
    CHECK(seen.steps == steps{"status", "read", "pod"});
    CHECK(s.w->event_count("job", "Told") == 1);
}

TEST_CASE("[behaviour 12.3] somebody else's newer object is no proof that a lost status was written"
) {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return record_and_act(s, job); };
    sequence seen(s);
    seen.then = [&](std::size_t step) {
        if (step == 1) {
            s.w->patch_soon(
                s.w->type_of_job("job"), "job", R"({"metadata":{"annotations":{"by":"others"}}})"
            );
        }
    };
    s.w->operator_transport().lose(1, loss::request, false);
    s.nudge();
    s.w->run_for(seconds{5});
    CHECK(seen.steps == steps{"status", "read", "status", "pod"});
    CHECK(s.w->is_phase("job", "Pending"));
    CHECK(s.w->event_count("job", "Told") == 1);
}

TEST_CASE("[behaviour 12.3] a job that was made again meanwhile is not the one that was written") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) {
        return job.meta.uid == s.uid ? record_and_act(s, job) : core::decision();
    };
    sequence seen(s);
    s.w->operator_transport().lose(1, loss::answer, false);
    s.w->operator_transport().hold_answers("PUT ");
    s.nudge();
    s.w->run_for(milliseconds{100});
    REQUIRE(seen.steps == steps{"status"});
    s.w->remove(s.w->type_of_job("job"), "job");
    s.w->create_job(job_builder("job").replicas("worker", 4));
    s.w->operator_transport().release_answers();
    s.w->run_for(seconds{5});
    CHECK(s.writes("POST pods").empty());
    CHECK(s.w->event_count("job", "Told") == 0);
    CHECK(s.w->operator_().job_count() == 1);
}

TEST_CASE("[requirement X4] after a conflict the job is read before it is decided again") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return record_and_act(s, job); };
    sequence seen(s);
    bool refused = false;
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view) {
        k8sio::server::fault fault;
        if (method == "PUT" && !refused) {
            refused = true;
            fault.status = 409;
            fault.reason = "Conflict";
        }
        return fault;
    });
    s.nudge();
    s.w->run_for(seconds{5});
    CHECK(seen.steps == steps{"status", "read", "status", "pod"});
    CHECK(s.w->operator_().counters().status_conflicts == 1);
    CHECK(s.w->event_count("job", "Told") == 1);
}

TEST_CASE("[requirement X4] after a conflict nothing is done while the job cannot be read") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return record_and_act(s, job); };
    sequence seen(s);
    bool broken = true;
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        const bool read = method == "GET" && target.ends_with("/pytorchtrainingjobs/job");
        if (broken && (method == "PUT" || read)) {
            fault.status = method == "PUT" ? 409 : 500;
            fault.reason = method == "PUT" ? "Conflict" : "";
        }
        return fault;
    });
    s.nudge();
    s.w->run_for(seconds{5});
    CHECK(std::count(seen.steps.begin(), seen.steps.end(), "status") == 1);
    CHECK(std::count(seen.steps.begin(), seen.steps.end(), "read") > 3);
    CHECK(std::count(seen.steps.begin(), seen.steps.end(), "read") < 15);
    CHECK(s.writes("POST pods").empty());
    broken = false;
    s.w->run_for(seconds{20});
    CHECK(s.writes("POST pods").size() == 1);
}

TEST_CASE("[requirement V6] [behaviour 12.1] views that go back while the job is read stop its pass"
) {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return record_and_act(s, job); };
    sequence seen(s);
    bool refused = false;
    bool restored = false;
    s.w->server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault fault;
        if (method == "PUT" && !refused) {
            refused = true;
            fault.status = 409;
            fault.reason = "Conflict";
        }
        // The list of pods shows that the server went back; that of Services does not come.
        const bool watch = target.find("watch=") != target.npos;
        if (restored && watch && target.find("/pods?") != target.npos) {
            fault.status = 410;
            fault.reason = "Expired";
        }
        fault.drop = restored && !watch && target.find("/services?") != target.npos;
        return fault;
    });
    mortal_transport& connection = s.w->operator_transport();
    connection.hold_answers(
        "GET " + op::type_of(core::job_kind::pytorch).object_path("default", "job")
    );
    connection.on_answer = [&](k8sio::http_response& answer) {
        const std::string version = R"("resourceVersion":")";
        const std::size_t at = answer.body.find(version);
        if (restored && answer.body.find(R"("kind":"PodList")") != std::string::npos) {
            const std::size_t begin = at + version.size();
            answer.body.replace(begin, answer.body.find('"', begin) - begin, "1");
        }
    };
    s.nudge();
    s.w->run_for(seconds{1});
    REQUIRE(seen.steps == steps{"status", "read"});
    const std::size_t looks = s.looks.size();
    restored = true;
    s.w->server().break_watches();
    s.w->run_for(seconds{10});
    connection.release_answers();
    s.w->run_for(seconds{10});
    CHECK(s.looks.size() == looks);
    CHECK(s.writes("POST pods").empty());
    restored = false;
    s.w->run_for(seconds{60});
    CHECK(s.looks.size() > looks);
    CHECK(s.writes("POST pods").size() == 1);
}

TEST_CASE("[behaviour 12.10] a deferrable status that comes with an event is written at once") {
    const bool tells = GENERATE(true, false);
    CAPTURE(tells);
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        d.status = job.status;
        d.status->phase = core::job_phase::running;
        d.status->replicas = s.nudges;
        d.defer = core::seconds{1};
        if (*d.status == job.status) {
            d.status.reset();
        } else if (tells && s.nudges == 2) {
            d.events.push_back({false, "Told", "at once"});
        }
        return d;
    };
    s.nudge();
    s.w->run_for(milliseconds{100});
    REQUIRE(s.w->status("job").replicas == 1);
    s.nudge();
    s.w->run_for(milliseconds{100});
    CHECK(s.w->status("job").replicas == (tells ? 2 : 1));
    CHECK(s.w->event_count("job", "Told") == (tells ? 1 : 0));
    CHECK(s.w->operator_().counters().status_deferred == (tells ? 0 : 1));
    s.w->run_for(seconds{1});
    CHECK(s.w->status("job").replicas == 2);
}

TEST_CASE("[behaviour 12.10] what a deferred status comes with is done at once") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        d.status = job.status;
        d.status->phase = core::job_phase::running;
        d.status->replicas = s.nudges;
        d.defer = core::seconds{1};
        if (s.nudges == 2 && s.looks.back().pods == 0) {
            d.stages = {{create_pod(job)}};
        }
        if (*d.status == job.status) {
            d.status.reset();
        }
        return d;
    };
    s.nudge();
    s.w->run_for(milliseconds{100});
    s.nudge();
    s.w->run_for(milliseconds{100});
    CHECK(s.writes("POST pods").size() == 1);
    CHECK(s.w->status("job").replicas == 1);
}

TEST_CASE("[requirement H1] shutdown waits for what is under way, and tells its events") {
    scripted s;
    s.w->create_job(job_builder("other"));
    s.w->run_for(seconds{1});
    s.decide = [&](const core::job_object& job, core::instant now) {
        if (job.meta.name == "job") {
            return record_and_act(s, job);
        }
        core::decision d;
        d.wake_up = now + seconds{2};
        return d;
    };
    mortal_transport& transport = s.w->operator_transport();
    s.w->patch_job("other", R"({"metadata":{"annotations":{"n":"0"}}})");
    s.w->run_for(seconds{5});
    REQUIRE(s.looks_at("other") >= 3);
    transport.hold_answers("PUT ");
    s.nudge();
    s.w->run_for(milliseconds{100});
    REQUIRE(s.w->operator_().active_passes() == 1);
    s.w->operator_().stop();
    const std::size_t looked = s.looks.size();
    s.w->run_for(seconds{3});
    CHECK(s.looks.size() == looked);
    CHECK(s.w->operator_().active_passes() == 1);
    CHECK(s.w->event_count("job", "Told") == 0);
    const std::size_t sent = transport.writes().size();
    transport.release_answers();
    s.w->run_for(milliseconds{10});
    CHECK(s.w->operator_().active_passes() == 0);
    CHECK(s.w->event_count("job", "Told") == 1);
    CHECK(s.w->pods().empty());                    // nothing new is started
    CHECK(transport.writes().size() == sent + 1);  // the event
    s.w->stop_operator();                          // ends
}

TEST_CASE("[requirement H1] shutdown ends when the last event is written, not before") {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return record_and_act(s, job); };
    mortal_transport& transport = s.w->operator_transport();
    transport.hold_answers("/events");
    s.nudge();
    s.w->run_for(seconds{1});
    s.w->stop_soon();
    s.w->run_for(seconds{1});
    CHECK_FALSE(s.w->operator_ended());
    transport.release_answers();
    s.w->run_for(milliseconds{10});
    CHECK(s.w->operator_ended());
}

TEST_CASE("[requirement X11] an answer that comes after the job's deletion does not bring it back"
) {
    scripted s;
    s.decide = [&](const core::job_object& job, core::instant) { return record_and_act(s, job); };
    s.w->operator_transport().hold_answers("PUT ");
    s.nudge();
    s.w->run_for(milliseconds{100});
    s.w->remove(s.w->type_of_job("job"), "job");
    s.w->run_for(seconds{1});
    REQUIRE(s.w->operator_().job_count() == 0);
    s.w->operator_transport().release_answers();
    s.w->run_for(seconds{10});
    CHECK(s.w->operator_().job_count() == 0);
    CHECK(s.writes("POST pods").empty());
    CHECK(s.w->operator_().queue_depth() == 0);
}

TEST_CASE("[behaviour 12.8] decisions and wake-ups go by the server's time, not by the machine's") {
    const seconds ahead{GENERATE(30, -30)};
    CAPTURE(ahead.count());
    scripted s;
    const auto machine_now = [&] {
        return story_start + std::chrono::floor<milliseconds>(s.w->elapsed());
    };
    s.w->operator_transport().on_answer = [&](k8sio::http_response& answer) {
        const std::time_t at = core::instant::clock::to_time_t(machine_now() + ahead);
        for (auto& [name, value] : answer.headers) {
            if (name == "Date") {
                value = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(at));
            }
        }
    };
    s.w->patch_job("job", R"({"metadata":{"annotations":{"n":"0"}}})");
    s.w->run_for(seconds{1});
    core::instant due{};
    std::vector<core::instant> looked;  // by the machine's clock
    std::vector<core::instant> told;    // what decisions were told
    s.decide = [&](const core::job_object& job, core::instant now) {
        looked.push_back(machine_now());
        told.push_back(now);
        core::decision d = record_and_act(s, job);
        if (!d.status && due == core::instant{}) {
            due = now + seconds{20};
        }
        if (due != core::instant{} && now < due) {
            d.wake_up = due;
        }
        return d;
    };
    s.nudge();
    s.w->run_for(seconds{60});
    REQUIRE(told.size() >= 3);
    const auto set = told[1] - looked[1];
    CHECK(set >= ahead - seconds{1});
    CHECK(set <= ahead + seconds{1});
    CHECK(told.back() >= due);
    CHECK(told.back() <= due + seconds{1});
    CHECK(looked.back() - looked[1] >= seconds{19});
    CHECK(looked.back() - looked[1] <= seconds{21});
}
