// SPDX-License-Identifier: Apache-2.0
//
// The simulated runtime against the embedded API server, in virtual time.
#include "pods/simulated.hpp"

#include "manifests/json_edit.hpp"
#include "pods/binding.hpp"
#include "signalbox_test/sanitized.hpp"

#include <k8sio/server/api_server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <chrono>
#include <optional>

using namespace signalbox;
using namespace signalbox::op::pods;
using signalbox::test::sanitized;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

const k8sio::wall_time start{std::chrono::seconds{1'700'000'000}};

enum class scheduler { simulated, another };

class cluster {
public:
    explicit cluster(
        const char* scenario = "", std::size_t in_flight = 16, scheduler by = scheduler::simulated
    ) {
        simulated_options options;
        std::string error;
        if (*scenario != '\0') {
            options.script = read_scenario(scenario, "s", error).value();
        }
        options.max_in_flight = in_flight;
        options.bound_only = by == scheduler::another;
        options.complain = [this](const std::string& what) { complaints_.push_back(what); };
        runtime_ = make_simulated_runtime(loop_.get_executor(), pods_api_, std::move(options));
        asio::co_spawn(loop_, runtime_->run(), [this](std::exception_ptr) { ended_ = true; });
        settle();
    }

    ~cluster() {
        stop();
        CHECK(ended_);
    }

    void stop() {
        runtime_->stop();
        settle();
    }

    void settle() {
        loop_.restart();
        while (loop_.poll() > 0) {
            loop_.restart();
        }
    }

    void run_for(std::chrono::nanoseconds duration) {
        const k8sio::steady_time end = time_.steady_now() + duration;
        settle();
        while (time_.has_pending() && time_.next_at() <= end) {
            time_.advance_to_next();
            settle();
        }
        time_.advance(end - time_.steady_now());
        settle();
    }

    template <class T>
    T wait(asio::awaitable<T> task) {
        std::optional<T> out;
        asio::co_spawn(loop_, std::move(task), [&](std::exception_ptr, T value) {
            out.emplace(std::move(value));
        });
        settle();
        REQUIRE(out.has_value());
        return std::move(*out);
    }

    void create(
        const std::string& name,
        const std::string& spec_more = "",
        const std::string& metadata_more = "",
        const std::string& containers = R"({"name":"pytorch","image":"i"})"
    ) {
        std::string body = fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"{}}},)"
            R"("spec":{{"restartPolicy":"Never","containers":[{}]{}}}}})",
            name,
            metadata_more,
            containers,
            spec_more
        );
        const auto made = wait(user_.create(k8sio::resources::pods(), "default", std::move(body)));
        INFO((made.has_error() ? made.error().text() : ""));
        REQUIRE(made.has_value());
    }

    /// Empty if it is gone.
    std::string pod(const std::string& name) {
        const auto got = wait(user_.get(k8sio::resources::pods(), "default", name));
        return got.has_value() ? *got : std::string();
    }
    std::string field(const std::string& name, const char* pointer) {
        return op::manifests::string_at(pod(name), pointer);
    }
    void patch(const std::string& name, const std::string& merge_patch) {
        std::string text = merge_patch;
        const auto done =
            wait(user_.merge_patch(k8sio::resources::pods(), "default", name, std::move(text)));
        REQUIRE(done.has_value());
    }
    void bind(const std::string& name, const std::string& node) {
        std::string body = binding_json(name, "default", field(name, "/metadata/uid"), node);
        const std::string target = k8sio::resources::pods().object_path("default", name, "binding");
        const auto bound = wait(user_.raw("POST", target, "application/json", std::move(body)));
        REQUIRE(bound.has_value());
    }
    void remove(const std::string& name) {
        const k8sio::delete_options options;
        const auto gone = wait(user_.remove(k8sio::resources::pods(), "default", name, options));
        REQUIRE(gone.has_value());
    }

    k8sio::server::api_server& server() { return server_; }
    const runtime_counters& counters() const { return runtime_->counters(); }
    const std::vector<std::string>& complaints() const { return complaints_; }

private:
    asio::io_context loop_;
    k8sio::virtual_clock time_{loop_.get_executor(), start};
    k8sio::server::api_server server_{loop_.get_executor(), time_};
    std::unique_ptr<k8sio::transport> pods_transport_ = server_.connect(),
                                      user_transport_ = server_.connect();
    k8sio::client pods_api_{*pods_transport_, time_}, user_{*user_transport_, time_};
    std::vector<std::string> complaints_;
    std::unique_ptr<pod_runtime> runtime_;
    bool ended_ = false;
};

constexpr const char* phase = "/status/phase";
constexpr const char* exit_reason = "/status/containerStatuses/0/state/terminated/reason";

}  // namespace

TEST_CASE("a pod is bound, runs, is ready, and succeeds") {
    cluster c;
    c.create("a");
    CHECK(c.field("a", phase) == "Pending");
    c.run_for(500ms);
    CHECK(c.field("a", "/spec/nodeName") == "sim-node-0");
    CHECK(c.field("a", phase) == "Running");
    CHECK(c.field("a", "/status/conditions/3/type") == "Ready");
    CHECK(c.field("a", "/status/conditions/3/status") == "True");
    CHECK(!c.field("a", "/status/podIP").empty());
    CHECK(!c.field("a", "/status/containerStatuses/0/state/running/startedAt").empty());
    c.run_for(4s);
    CHECK(c.field("a", phase) == "Succeeded");
    CHECK(c.field("a", exit_reason) == "Completed");
    const std::string end = "/status/containerStatuses/0/state/terminated/";
    CHECK(c.field("a", (end + "startedAt").c_str()) == "2023-11-14T22:13:20Z");
    CHECK(c.field("a", (end + "finishedAt").c_str()) == "2023-11-14T22:13:23Z");
    CHECK(c.pod("a").find("\"exitCode\":0") != std::string::npos);
    CHECK(c.counters().ended == 1);
    CHECK(c.complaints().empty());
}

TEST_CASE("annotations say how a pod fails") {
    cluster c;
    c.create(
        "a",
        "",
        R"(,"annotations":{"sim.signalbox.dev/exit-code":"3",)"
        R"("sim.signalbox.dev/duration":"1s","sim.signalbox.dev/message":"no data"})"
    );
    c.run_for(2s);
    CHECK(c.field("a", phase) == "Failed");
    CHECK(c.field("a", exit_reason) == "Error");
    CHECK(c.field("a", "/status/containerStatuses/0/state/terminated/message") == "no data");
    CHECK(c.pod("a").find("\"exitCode\":3") != std::string::npos);
}

TEST_CASE("a deleted pod is told to stop and then goes") {
    cluster c("defaults: {duration: forever, stop-after: 2s}");
    c.create("a");
    c.run_for(1s);
    c.remove("a");
    c.run_for(1s);
    CHECK(!c.field("a", "/metadata/deletionTimestamp").empty());
    CHECK(c.field("a", phase) == "Running");
    c.run_for(2s);
    CHECK(c.pod("a").empty());
    CHECK(c.counters().removed == 1);
}

TEST_CASE("changes of a pod that is being deleted give it no more time") {
    cluster c("defaults: {duration: forever, stop-after: 4s}");
    c.create("a");
    c.run_for(1s);
    c.remove("a");
    for (int i = 0; i < 3; ++i) {
        c.run_for(1s);
        c.patch("a", fmt::format(R"({{"metadata":{{"labels":{{"n":"{}"}}}}}})", i));
    }
    c.run_for(1500ms);
    CHECK(c.pod("a").empty());
}

TEST_CASE("a pod of a lost kubelet stays in deletion") {
    cluster c("defaults: {duration: forever, stop-after: never}");
    c.create("a");
    c.run_for(1s);
    c.remove("a");
    c.run_for(10min);
    CHECK(!c.field("a", "/metadata/deletionTimestamp").empty());
}

TEST_CASE("idle commands run until they are deleted") {
    cluster c;
    c.create("sleeps", "", "", R"({"name":"pytorch","image":"i","command":["sleep","inf"]})");
    c.create("serves", "", "", R"({"name":"w","image":"i","command":["/usr/sbin/sshd","-D"]})");
    c.create("works", "", "", R"({"name":"w","image":"i","command":["sleep","5"]})");
    c.run_for(1h);
    CHECK(c.field("sleeps", phase) == "Running");
    CHECK(c.field("serves", phase) == "Running");
    CHECK(c.field("works", phase) == "Succeeded");
}

TEST_CASE("a preset node is left alone") {
    cluster c;
    c.create("a", R"(,"nodeName":"sm02")");
    c.run_for(5s);
    CHECK(c.field("a", "/spec/nodeName") == "sm02");
    CHECK(c.field("a", phase) == "Succeeded");
    CHECK(c.counters().bound == 0);
}

TEST_CASE("scheduling, image and init faults show as a cluster shows them") {
    SECTION("no node") {
        cluster c("defaults: {unschedulable: true}");
        c.create("a");
        c.run_for(1min);
        CHECK(c.field("a", "/status/conditions/0/reason") == "Unschedulable");
        CHECK(c.field("a", phase) == "Pending");
    }
    SECTION("image") {
        cluster c("defaults: {image-error: ErrImagePull}");
        c.create("a");
        c.run_for(1min);
        CHECK(c.field("a", "/status/containerStatuses/0/state/waiting/reason") == "ErrImagePull");
        CHECK(c.field("a", phase) == "Pending");
    }
    SECTION("init container") {
        cluster c("defaults: {init-exit-code: 4}");
        c.create("a", R"(,"initContainers":[{"name":"fetch","image":"i"}])");
        c.run_for(1min);
        CHECK(c.field("a", phase) == "Failed");
        CHECK(c.field("a", "/status/initContainerStatuses/0/state/terminated/reason") == "Error");
        CHECK(
            c.field("a", "/status/containerStatuses/0/state/waiting/reason") == "PodInitializing"
        );
    }
}

TEST_CASE("evictions and preemptions are marked as disruptions") {
    SECTION("evicted") {
        cluster c("defaults: {evict-at: 1s}");
        c.create("a");
        c.run_for(5s);
        CHECK(c.field("a", phase) == "Failed");
        CHECK(c.field("a", "/status/reason") == "Evicted");
        CHECK(c.field("a", "/status/conditions/4/type") == "DisruptionTarget");
    }
    SECTION("preempted") {
        cluster c("defaults: {preempt-at: 1s, stop-after: 1s}");
        c.create("a");
        c.run_for(1500ms);
        CHECK(c.field("a", "/status/conditions/4/reason") == "PreemptionByScheduler");
        CHECK(!c.field("a", "/metadata/deletionTimestamp").empty());
        c.run_for(2s);
        CHECK(c.pod("a").empty());
    }
    SECTION("vanished") {
        cluster c("defaults: {vanish-at: 1s}");
        c.create("a");
        c.run_for(2s);
        CHECK(c.pod("a").empty());
    }
    SECTION("a lost node") {
        cluster c("defaults: {duration: forever, unknown-at: 1s}");
        c.create("a");
        c.run_for(5s);
        CHECK(c.field("a", phase) == "Unknown");
        CHECK(c.field("a", "/status/reason") == "NodeLost");
        CHECK(c.field("a", "/status/conditions/3/status") == "False");
    }
    SECTION("out of memory") {
        cluster c("defaults: {oom-at: 1s}");
        c.create("a");
        c.run_for(2s);
        CHECK(c.field("a", exit_reason) == "OOMKilled");
    }
}

TEST_CASE("a sidecar keeps the pod running after the training container ended") {
    const char* two = R"({"name":"log","image":"i"},{"name":"pytorch","image":"i"})";
    SECTION("by default") {
        cluster c;
        c.create("a", "", "", two);
        c.run_for(10s);
        CHECK(c.field("a", phase) == "Running");
        CHECK(!c.field("a", "/status/containerStatuses/0/state/running/startedAt").empty());
        CHECK(c.field("a", "/status/containerStatuses/1/state/terminated/reason") == "Completed");
    }
    SECTION("unless it ends too") {
        cluster c("defaults: {sidecars: exit}");
        c.create("a", "", "", two);
        c.run_for(10s);
        CHECK(c.field("a", phase) == "Succeeded");
    }
}

TEST_CASE("a failed write is tried again") {
    cluster c;
    int left = 3;
    c.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault out;
        const bool binding = method == "POST" && target.find("binding") != std::string_view::npos;
        if (binding && left-- > 0) {
            out.status = 403;
            out.reason = "Forbidden";
            out.message = "not now";
        }
        return out;
    });
    c.create("a");
    c.run_for(10s);
    CHECK(c.field("a", phase) == "Succeeded");
    CHECK(c.counters().errors == 3);
    CHECK(c.complaints().size() == 3);
}

TEST_CASE("a pod that another scheduler binds at the same time is left to it") {
    cluster c;
    c.server().set_fault_hook([&](std::string_view method, std::string_view target) {
        k8sio::server::fault out;
        if (method == "POST" && target.find("binding") != std::string_view::npos) {
            out.status = 409;
            out.reason = "Conflict";
        }
        return out;
    });
    c.create("a");
    c.run_for(10s);
    CHECK(c.field("a", "/spec/nodeName").empty());
    CHECK(c.counters().bound == 0);
    CHECK(c.counters().errors == 0);
    CHECK(c.complaints().empty());
}

TEST_CASE("beside a scheduler pods live from when it has bound them") {
    cluster c("", 16, scheduler::another);
    c.create("a");
    c.create("b");
    c.run_for(10s);
    CHECK(c.field("a", phase) == "Pending");
    CHECK(c.field("a", "/spec/nodeName").empty());
    c.bind("a", "n-7");
    c.run_for(500ms);
    CHECK(c.field("a", "/spec/nodeName") == "n-7");
    CHECK(c.field("a", phase) == "Running");
    CHECK(c.field("b", phase) == "Pending");
    c.remove("b");
    CHECK(c.pod("b").empty());
    c.run_for(5s);
    CHECK(c.field("a", phase) == "Succeeded");
    CHECK(c.counters().bound == 0);
    CHECK(c.counters().errors == 0);
}

TEST_CASE("many pods live with a few requests in flight") {
    constexpr int count = sanitized ? 300 : 1000;
    cluster c("", 4);
    for (int i = 0; i < count; ++i) {
        c.create(fmt::format("p{}", i));
    }
    c.run_for(20s);
    CHECK(c.counters().bound == count);
    CHECK(c.counters().started == count);
    CHECK(c.counters().ended == count);
    CHECK(c.field(fmt::format("p{}", count - 1), phase) == "Succeeded");
    CHECK(c.counters().errors == 0);
}
