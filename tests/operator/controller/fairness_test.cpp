// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is among the jobs that wait for a pass.
#include "controller/resource_table.hpp"
#include "controller/scripted.hpp"
#include "k8sio/resource.hpp"
#include "scenario/virtual_time.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;
using std::chrono::seconds;

struct controller_bounds {
    std::size_t passes = 1;
    std::size_t requests = 32;
    std::vector<std::string> namespaces{};
};

/// The first look at the job that `held` names makes a pod, which takes a pass until release();
/// with "", that at each job.
struct two_tenants {
    two_tenants(const job_builder& first, const std::string& held, controller_bounds bounds) {
        world_options options;
        options.controller.max_passes = bounds.passes;
        options.controller.max_in_flight = bounds.requests;
        options.controller.namespaces = bounds.namespaces;
        s = std::make_unique<scripted>(first.json(), options);
        s->w->create(
            k8sio::resources::namespaces(),
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"quiet"}})"
        );
        for (const char* name : {"loud-1", "loud-2", "loud-3"}) {
            s->w->create_job(job_builder(name));
        }
        for (const char* name : {"quiet-1", "quiet-2", "quiet-3"}) {
            job_builder job(name);
            job.ns("quiet");
            const auto made =
                s->w->finish(s->w->user().create(type, "quiet", as_written(job.json())));
            REQUIRE(made.has_value());
        }
        s->w->run_for(seconds{1});
        s->looks.clear();
        s->decide = [this, held](const core::job_object& job, core::instant) {
            core::decision d;
            const std::string& name = job.meta.name;
            if ((held.empty() || name == held) && s->looks_at(name) == 1) {
                d.stages.emplace_back(1, create_pod(job));
            }
            return d;
        };
        s->w->operator_transport().hold_answers("POST ");
    }
    void change(const std::string& ns, const std::string& name) {
        const auto changed = s->w->finish(
            s->w->user().merge_patch(type, ns, name, R"({"metadata":{"annotations":{"n":"1"}}})")
        );
        REQUIRE(changed.has_value());
    }
    /// The jobs that are looked at from now on, each once.
    std::vector<std::string> release() {
        s->looks.clear();
        s->w->operator_transport().release_answers();
        s->w->run_for(seconds{1});
        std::vector<std::string> order;
        for (const look& each : s->looks) {
            if (std::find(order.begin(), order.end(), each.job) == order.end()) {
                order.push_back(each.job);
            }
        }
        return order;
    }

    const k8sio::resource_type& type = op::type_of(core::job_kind::pytorch);
    std::unique_ptr<scripted> s;
};

struct one_at_a_time : two_tenants {
    one_at_a_time(const job_builder& first, const std::string& held)
        : two_tenants(first, held, controller_bounds()) {}
};

}  // namespace

TEST_CASE("[requirement Q11] jobs of one namespace do not hold up those of another") {
    one_at_a_time w(job_builder("job"), "job");
    w.change("default", "job");
    REQUIRE(w.s->looks_at("job") == 1);
    for (const char* name : {"loud-1", "loud-2", "loud-3"}) {
        w.change("default", name);
    }
    w.change("quiet", "quiet-1");
    const auto order = w.release();
    // It came last, and waits for one of the others at most.
    CHECK(std::find(order.begin(), order.end(), "quiet-1") - order.begin() <= 1);
    CHECK(order.size() >= 4);
}

TEST_CASE("[requirement Q11] a pass over a large job counts as many") {
    job_builder large("job");
    large.annotation("of-the-user", std::string(20000, 'x'));
    one_at_a_time w(large, "quiet-1");
    w.change("default", "job");
    w.change("quiet", "quiet-1");
    REQUIRE(w.s->looks_at("quiet-1") == 1);
    w.change("default", "loud-1");
    w.change("quiet", "quiet-2");
    w.change("quiet", "quiet-3");
    const auto order = w.release();
    REQUIRE(order.size() >= 3);
    CHECK(order[0] == "quiet-2");
    CHECK(order[1] == "quiet-3");
}

TEST_CASE("[requirement Q11] of twenty namespaces two loud ones come no sooner than the others") {
    job_builder large("job");
    large.annotation("of-the-user", std::string(250000, 'x'));
    one_at_a_time w(large, "job");
    const auto make = [&](const std::string& ns, const std::string& name) {
        job_builder job(name);
        job.ns(ns);
        const auto made = w.s->w->finish(w.s->w->user().create(w.type, ns, as_written(job.json())));
        REQUIRE(made.has_value());
    };
    std::vector<std::string> namespaces{"many"};
    for (int i = 0; i < 18; ++i) {
        namespaces.push_back("tenant-" + std::to_string(i));
    }
    for (const std::string& ns : namespaces) {
        w.s->w->create(
            k8sio::resources::namespaces(),
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + ns + R"("}})"
        );
    }
    w.change("default", "job");
    REQUIRE(w.s->looks_at("job") == 1);
    for (int i = 0; i < 200; ++i) {
        make("many", "many-" + std::to_string(i));
    }
    for (int i = 0; i < 24; ++i) {
        w.change("default", "job");
    }
    for (int i = 0; i < 18; ++i) {
        make("tenant-" + std::to_string(i), "tenant-" + std::to_string(i));
    }
    const auto order = w.release();
    REQUIRE(order.size() == 200 + 18 + 1);
    const auto first_of_many = [&](const std::string& name) { return name.rfind("many-", 0) == 0; };
    // Each quiet tenant has been served before any loud one is for the second time.
    const auto served = order.begin() + 20;
    CHECK(std::count_if(order.begin(), served, first_of_many) <= 2);
    CHECK(std::count_if(order.begin(), served, [](const std::string& name) {
              return name.rfind("tenant-", 0) == 0;
          }) == 18);
    // The job that is edited all the time has had its turn, and pays for its size.
    CHECK(std::find(order.begin(), order.end(), "job") - order.begin() > 40);
}

TEST_CASE("[requirement Q11] long passes over jobs of one namespace leave a place to another") {
    two_tenants w(job_builder("job"), "", controller_bounds{4});
    for (const char* name : {"job", "loud-1", "loud-2", "loud-3"}) {
        w.change("default", name);
    }
    CHECK(w.s->looks.size() == 2);
    w.change("quiet", "quiet-1");
    CHECK(w.s->looks_at("quiet-1") == 1);
    // None is forgotten.
    CHECK(w.release().size() == 5);
}

TEST_CASE("[requirement Q11] statuses that one namespace has to write hold up no other one") {
    two_tenants w(job_builder("job"), "", controller_bounds{16, 4});
    w.s->w->operator_transport().hold_answers("PUT ");
    std::set<std::string> decided;
    w.s->decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (decided.insert(job.meta.name).second) {
            d.status = job.status;
            d.status->phase = core::job_phase::pending;
        }
        return d;
    };
    const std::size_t before = w.s->w->operator_transport().writes().size();
    for (const char* name : {"job", "loud-1", "loud-2", "loud-3"}) {
        w.change("default", name);
    }
    w.change("quiet", "quiet-1");
    REQUIRE(w.s->looks.size() == 5);
    const auto sent = [&] {
        std::vector<std::string> jobs;
        const auto& writes = w.s->w->operator_transport().writes();
        for (std::size_t i = before; i < writes.size(); ++i) {
            if (writes[i].method == "PUT") {
                const auto path = std::string_view(writes[i].target);
                const auto name = path.substr(path.find("jobs/") + 5);
                jobs.emplace_back(name.substr(0, name.find('/')));
            }
        }
        return jobs;
    };
    CHECK(sent() == std::vector<std::string>{"job", "loud-1", "quiet-1"});
    w.release();
    CHECK(sent().size() == 5);
}

TEST_CASE("[requirement Q11] namespaces with watches of their own share the requests") {
    two_tenants w(job_builder("job"), "", controller_bounds{16, 4, {"default", "quiet"}});
    for (const char* name : {"job", "loud-1", "loud-2"}) {
        w.change("default", name);
    }
    for (const char* name : {"quiet-1", "quiet-2"}) {
        w.change("quiet", name);
    }
    CHECK(w.s->looks.size() == 5);
    CHECK(w.s->writes("POST pods").size() == 3);  // two of one, and one that leaves a slot
    w.release();
    CHECK(w.s->writes("POST pods").size() >= 5);
}

TEST_CASE("[requirement R10] no more than three requests are under way before the first answer") {
    two_tenants w(job_builder("job"), "", controller_bounds{16, 32});
    for (const char* name : {"job", "loud-1", "loud-2", "loud-3"}) {
        w.change("default", name);
    }
    REQUIRE(w.s->looks.size() == 4);
    CHECK(w.s->writes("POST pods").size() == 2);  // one is left for others
    w.s->decide = nullptr;
    w.release();
    CHECK(w.s->writes("POST pods").size() == 4);
}

TEST_CASE("[requirement R10] a server that has become slow gets fewer requests") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    scripted s(job_builder("job").replicas("worker", 300).json(), options);
    s.w->create_job(job_builder("slow").replicas("worker", 300));
    job_builder large("large");
    large.annotation("of-the-user", std::string(100000, 'x'));
    s.w->create_job(large.replicas("worker", 300));
    s.w->run_for(seconds{1});
    s.decide = [&](const core::job_object& job, core::instant) {
        core::decision d;
        if (s.looks_at(job.meta.name) == 1) {
            d.stages.emplace_back();
            for (int i = 0; i < 300; ++i) {
                d.stages.back().push_back(create_pod(job, i));
            }
        }
        return d;
    };
    s.looks.clear();
    mortal_transport& way = s.w->operator_transport();
    // Numbers of requests that were under way together, each answered after `took`.
    const auto rounds = [&](const std::string& job, std::chrono::milliseconds took) {
        std::vector<std::size_t> out;
        way.hold_answers("POST ");
        s.w->patch_job(job, R"({"metadata":{"annotations":{"n":"1"}}})");
        std::size_t before = 0;
        do {
            before = s.writes("POST pods").size();
            way.release_answers();
            way.hold_answers("POST ");
            s.w->run_for(took);
            out.push_back(s.writes("POST pods").size() - before);
        } while (out.back() > 0);
        way.release_answers();
        return out;
    };
    const auto even = rounds("job", std::chrono::milliseconds{10});
    CHECK(*std::max_element(even.begin(), even.begin() + 5) == 2);
    CHECK(*std::max_element(even.begin(), even.end()) == 16);
    // What is large takes longer, and says nothing of the server.
    const auto of_large = rounds("large", std::chrono::milliseconds{100});
    CHECK(*std::min_element(of_large.end() - 8, of_large.end() - 3) == 16);
    const auto slow = rounds("slow", std::chrono::milliseconds{100});
    REQUIRE(slow.size() > 4);
    CHECK(slow[slow.size() - 3] == 2);  // before the last, and none
}

TEST_CASE("[requirement Q11] a request does not wait for all that another namespace has to send") {
    two_tenants w(job_builder("job"), "", controller_bounds{16, 1});
    for (const char* name : {"job", "loud-1", "loud-2", "loud-3"}) {
        w.change("default", name);
    }
    w.change("quiet", "quiet-1");
    REQUIRE(w.s->looks.size() == 5);
    w.s->decide = nullptr;
    w.release();
    std::vector<std::string> owners;
    for (const sent_write& write : w.s->w->operator_transport().writes()) {
        if (write.method == "POST" && write.target.find("/pods") != std::string::npos) {
            owners.push_back(write.target.find("/quiet/") == std::string::npos ? "loud" : "quiet");
        }
    }
    CHECK(owners == std::vector<std::string>{"loud", "loud", "quiet", "loud", "loud"});
}
