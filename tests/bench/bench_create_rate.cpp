// SPDX-License-Identifier: Apache-2.0
//
// One measurement of pod creation on a running API server. `raw`: a plain loop of the client
// creates the pods, so many requests at a time. `job`: a job of that size is created; who makes the
// pods is the operator, started by somebody else. Both are counted as a watch shows them. Prints
// seconds.
#include "jobcore/decide.hpp"
#include "k8sio/client.hpp"
#include "k8sio/config.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace signalbox;

namespace {

using watch_clock = std::chrono::steady_clock;

struct measurement {
    std::string ns;
    std::string name;
    int pods = 0;
    int in_flight = 0;  // requests of `raw`
};

std::string job_json(const measurement& m, const std::string& uid) {
    return fmt::format(
        R"({{"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob",)"
        R"("metadata":{{"name":"{}","namespace":"{}"{}}},"spec":{{"replicaSpecs":[{{"type":"worker",)"
        R"("replicas":{},"template":{{"spec":{{"containers":[{{"name":"pytorch",)"
        R"("image":"example.com/torch:2","command":["python","train.py"]}}]}}}}}}]}}}})",
        m.name,
        m.ns,
        uid.empty() ? "" : fmt::format(R"(,"uid":"{}")", uid),
        m.pods
    );
}

/// The very pods that the operator would make.
std::vector<std::string> pod_bodies(const measurement& m) {
    const auto job = core::read_job(job_json(m, "00000000-0000-4000-8000-000000000000"));
    std::vector<std::string> bodies;
    for (int i = 0; job && job->compiled->plan && i < m.pods; ++i) {
        bodies.push_back(core::render_pod(*job->compiled->plan, {0, i, 1, 0, 0}, {}));
    }
    return bodies;
}

class raw_loop {
public:
    raw_loop(k8sio::client& api, const measurement& m)
        : api_(api), ns_(m.ns), bodies_(pod_bodies(m)) {}

    /// One of several workers that share the list.
    asio::awaitable<void> work() {
        const k8sio::resource_type& pods = k8sio::resources::pods();
        while (next_ < bodies_.size()) {
            std::string body = std::move(bodies_[next_++]);
            const k8sio::result<std::string> made =
                co_await api_.create(pods, ns_, std::move(body));
            if (!made) {
                failures_.push_back(made.error().text());
            }
        }
    }

    const std::vector<std::string>& failures() const { return failures_; }

private:
    k8sio::client& api_;
    std::string ns_;
    std::vector<std::string> bodies_;
    std::size_t next_ = 0;
    std::vector<std::string> failures_;
};

/// Counts pods from a beginning on.
class pod_watch {
public:
    /// Starts what makes the pods; gives what went wrong.
    using beginning = std::function<asio::awaitable<std::string>()>;

    pod_watch(k8sio::client& api, const measurement& m, beginning begin)
        : api_(api), m_(m), begin_(std::move(begin)) {}

    asio::awaitable<void> run() {
        const std::string path = k8sio::resources::pods().collection_path(m_.ns);
        k8sio::http_request request("GET", path + "?watch=1");
        request.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        k8sio::transport& transport = api_.transport();
        const std::chrono::minutes idle(2);
        auto stream = co_await transport.open_stream(request, idle);
        if (!stream) {
            failure_ = stream.error().text();
            co_return;
        }
        failure_ = co_await begin_();
        if (!failure_.empty()) {
            co_return;
        }
        begun_ = watch_clock::now();
        k8sio::response_stream& events = **stream;
        int seen = 0;
        while (seen < m_.pods) {
            const k8sio::result<std::string_view> bytes = co_await events.read_some();
            if (!bytes || bytes->empty()) {
                failure_ = bytes ? "the watch ended" : bytes.error().text();
                co_return;
            }
            seen += count_added(*bytes);
        }
        last_pod_ = watch_clock::now();
        events.close();
    }

    const std::string& failure() const { return failure_; }
    double took() const { return std::chrono::duration<double>(last_pod_ - begun_).count(); }

private:
    /// Counts `"type":"ADDED"` over any split of the bytes: at most one partial match is carried.
    int count_added(std::string_view bytes) {
        static constexpr std::string_view mark = "\"type\":\"ADDED\"";
        int n = 0;
        for (const char c : bytes) {
            matched_ = c == mark[matched_] ? matched_ + 1 : (c == mark.front() ? 1U : 0U);
            if (matched_ == mark.size()) {
                ++n;
                matched_ = 0;
            }
        }
        return n;
    }

    k8sio::client& api_;
    measurement m_;
    beginning begin_;
    std::size_t matched_ = 0;
    watch_clock::time_point begun_{}, last_pod_{};
    std::string failure_;
};

int measure(
    asio::io_context& io,
    k8sio::client& api,
    const measurement& m,
    pod_watch::beginning begin,
    const std::vector<std::string>& failures = {}
) {
    pod_watch watch(api, m, std::move(begin));
    asio::co_spawn(io, watch.run(), asio::detached);
    io.run();
    if (!failures.empty() || !watch.failure().empty()) {
        std::cerr << (failures.empty() ? watch.failure() : failures.front()) << '\n';
        return EXIT_FAILURE;
    }
    std::cout << watch.took() << '\n';
    return EXIT_SUCCESS;
}

int measure_raw(asio::io_context& io, k8sio::client& api, const measurement& m) {
    raw_loop loop(api, m);
    const auto begin = [&]() -> asio::awaitable<std::string> {
        const int workers = m.in_flight;
        for (int i = 0; i < workers; ++i) {
            asio::co_spawn(io, loop.work(), asio::detached);
        }
        co_return std::string();
    };
    return measure(io, api, m, begin, loop.failures());
}

int measure_job(asio::io_context& io, k8sio::client& api, const measurement& m) {
    const auto begin = [&]() -> asio::awaitable<std::string> {
        const k8sio::resource_type jobs(
            "batch.tensorstack.dev", "v1beta1", "pytorchtrainingjobs", "PyTorchTrainingJob"
        );
        std::string body = job_json(m, "");
        const k8sio::result<std::string> made = co_await api.create(jobs, m.ns, std::move(body));
        co_return made ? std::string() : made.error().text();
    };
    return measure(io, api, m, begin);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::cerr << "usage: bench_create_rate raw|job KUBECONFIG NAMESPACE NAME PODS IN_FLIGHT\n";
        return 2;
    }
    const std::string mode = argv[1];
    measurement m;
    m.ns = argv[3];
    m.name = argv[4];
    m.pods = std::atoi(argv[5]);
    m.in_flight = std::atoi(argv[6]);

    asio::io_context io(1);
    const auto clock = k8sio::make_machine_clock(io.get_executor());
    auto config = k8sio::load_kubeconfig(argv[2], "");
    if (!config) {
        std::cerr << config.error().text() << '\n';
        return 2;
    }
    auto transport = k8sio::make_http_transport(io.get_executor(), *clock, std::move(*config));
    if (!transport) {
        std::cerr << transport.error().text() << '\n';
        return 2;
    }
    k8sio::client api(**transport, *clock);
    return mode == "raw" ? measure_raw(io, api, m) : measure_job(io, api, m);
}
