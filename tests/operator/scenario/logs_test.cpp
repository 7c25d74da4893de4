// SPDX-License-Identifier: Apache-2.0
//
// The operator reads the logs of pods that failed, where it may (BEHAVIOUR.md 3.13, 12.14).
#include "k8sio/server/pod_streams.hpp"
#include "k8sio/synchronization.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;
namespace server = k8sio::server;
namespace asio = boost::asio;

/// A text, or what never comes.
class text_source final : public server::byte_source {
public:
    text_source(const asio::any_io_executor& executor, std::string text, bool hangs)
        : text_(std::move(text)), hangs_(hangs), closed_(executor) {}

    asio::awaitable<k8sio::result<std::string>> read_some() override {
        k8sio::result<std::string> piece = std::exchange(text_, std::string());
        while (hangs_) {
            asio::awaitable<void> closed = closed_.wait();
            co_await std::move(closed);
        }
        co_return piece;
    }
    void close() override {
        hangs_ = false;
        closed_.notify();
    }

private:
    std::string text_;
    bool hangs_;
    k8sio::notification closed_;
};

/// The same log for each container.
class one_log final : public server::pod_streams {
public:
    explicit one_log(world& of) : world_(&of), executor_(of.loop()) {
        of.server().set_pod_streams(this);
    }
    ~one_log() override { world_->server().set_pod_streams(nullptr); }
    one_log(const one_log&) = delete;
    one_log& operator=(const one_log&) = delete;

    k8sio::result<std::unique_ptr<server::byte_source>> open_log(
        const server::pod_ref& pod, const server::log_options& options
    ) override {
        read.push_back(pod.name);
        last = options;
        const bool failed = pod.name.ends_with("worker-1");
        return std::unique_ptr<server::byte_source>(
            std::make_unique<text_source>(executor_, failed ? text : "step 3\n", hangs)
        );
    }
    asio::awaitable<k8sio::result<std::unique_ptr<server::container_process>>>
    exec(const server::pod_ref&, const server::process_options&) override {
        const k8sio::api_error refused = server::pod_failure("not here");
        co_return refused;
    }
    asio::awaitable<k8sio::result<std::unique_ptr<server::container_process>>>
    attach(const server::pod_ref&, const server::process_options&) override {
        const k8sio::api_error refused = server::pod_failure("not here");
        co_return refused;
    }
    asio::awaitable<k8sio::result<std::unique_ptr<server::byte_channel>>> connect(
        const server::pod_ref&, std::uint16_t
    ) override {
        const k8sio::api_error refused = server::pod_failure("not here");
        co_return refused;
    }

    std::string text =
        "2026-01-01T00:00:00.5Z Traceback (most recent call last):\n"
        "2026-01-01T00:00:00.5Z   File \"train.py\", line 57, in step\n"
        "2026-01-01T00:00:00.5Z ValueError: loss is NaN\n";
    bool hangs = false;
    std::vector<std::string> read;
    server::log_options last;

private:
    world* world_;
    asio::any_io_executor executor_;
};

/// Worker 1 fails once, and its message tells of a consequence.
world_options with_logs() {
    world_options options;
    options.controller.reads_logs = true;
    options.script.defaults = {{"duration", "60s"}};
    op::pods::settings fails{
        {"fail-at", "1s"},
        {"exit-code", "1"},
        {"message", "RuntimeError: Connection closed by peer"}};
    op::pods::rule rule = pods_of_type("worker", std::move(fails));
    rule.index = core::index_set::parse("1");
    rule.nth = core::index_set::parse("1");
    options.script.rules.push_back(std::move(rule));
    return options;
}

bool has_incident(world& w) {
    return w.status("mnist").restarts.last.has_value();
}

}  // namespace

TEST_CASE("[behaviour 12.14] the log of a pod that failed is read once, before it is deleted") {
    world w(with_logs());
    one_log logs(w);
    w.create_job(job_builder("mnist").replicas("worker", 3));
    REQUIRE(w.run_until([&] { return has_incident(w); }, seconds{20}));
    const core::job_status status = w.status("mnist");
    CHECK_THAT(
        status.restarts.last->message,
        Catch::EndsWith("worker-1, container pytorch: ValueError: loss is NaN "
                        "(train.py:57, in step)")
    );
    REQUIRE(logs.read.size() == 3);  // those that still run, too
    CHECK_THAT(logs.read[0], Catch::EndsWith("worker-1"));
    CHECK(logs.last.container == "pytorch");
    CHECK(logs.last.timestamps);
    CHECK(logs.last.tail_lines == 256);
    CHECK_FALSE(logs.last.follow);
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{20}));
    CHECK(logs.read.size() == 3);
    CHECK(w.status("mnist").attempt == 2);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 12.14] a log that cannot be read delays the job by three seconds at most") {
    const bool hangs = GENERATE(true, false);
    world w(with_logs());
    one_log logs(w);
    logs.hangs = hangs;
    if (!hangs) {
        w.server().set_fault_hook([](std::string_view, std::string_view target) {
            server::fault f;
            f.status = target.find("/log?") == target.npos ? 0 : 403;
            f.reason = "Forbidden";
            return f;
        });
    }
    w.create_job(job_builder("mnist").replicas("worker", 3));
    const auto failed = [&] {
        const auto pods = w.pods();
        return std::ranges::find(pods, core::pod_phase::failed, &core::pod_record::phase) !=
               pods.end();
    };
    REQUIRE(w.run_until(failed, seconds{20}));
    REQUIRE(w.run_until([&] { return has_incident(w); }, milliseconds{3500}));
    CHECK_THAT(
        w.status("mnist").restarts.last->message, Catch::EndsWith("Connection closed by peer")
    );
    CHECK(w.status("mnist").restarts.last->consequence);
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, seconds{20}));
}

TEST_CASE("[behaviour 12.14] an operator that dies after it has read reads again, and says the same"
) {
    world w(with_logs());
    one_log logs(w);
    w.create_job(job_builder("mnist").replicas("worker", 3));
    REQUIRE(w.run_until([&] { return !logs.read.empty(); }, seconds{20}));
    w.kill_operator();
    const bool recorded = has_incident(w);
    w.start_operator();
    REQUIRE(w.run_until([&] { return has_incident(w); }, seconds{20}));
    CHECK_THAT(
        w.status("mnist").restarts.last->message, Catch::Contains("ValueError: loss is NaN")
    );
    CHECK(logs.read.size() >= (recorded ? 3 : 4));
    CHECK(w.status("mnist").backoff_count == 1);
}

TEST_CASE("[behaviour 3.13] without the permission nothing is read, and nothing waits") {
    world_options options = with_logs();
    options.controller.reads_logs = false;
    world w(std::move(options));
    one_log logs(w);
    w.create_job(job_builder("mnist").replicas("worker", 3));
    REQUIRE(w.run_until([&] { return has_incident(w); }, seconds{20}));
    CHECK(logs.read.empty());
}
