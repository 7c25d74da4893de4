// SPDX-License-Identifier: Apache-2.0
//
// One measurement of pod creation on a running API server. `raw`: a plain loop of the client
// creates the pods. `job`: a job of that size is created and the pods are counted as the server
// shows them; who makes them is the operator, started by somebody else. Prints seconds.
#include "jobcore/decide.hpp"
#include "k8sio/client.hpp"
#include "k8sio/config.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace signalbox;

namespace {

using watch_clock = std::chrono::steady_clock;

struct measurement {
    std::string ns;
    std::string name;
    int pods = 0;
    int in_flight = 32;
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

class job_watch {
public:
    job_watch(k8sio::client& api, const measurement& m) : api_(api), m_(m) {}

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
        const k8sio::resource_type jobs(
            "batch.tensorstack.dev", "v1beta1", "pytorchtrainingjobs", "PyTorchTrainingJob"
        );
        std::string body = job_json(m_, "");
        const k8sio::result<std::string> made = co_await api_.create(jobs, m_.ns, std::move(body));
        if (!made) {
            failure_ = made.error().text();
            co_return;
        }
        accepted_ = watch_clock::now();
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
    double took() const { return std::chrono::duration<double>(last_pod_ - accepted_).count(); }

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
    std::size_t matched_ = 0;
    watch_clock::time_point accepted_{}, last_pod_{};
    std::string failure_;
};

int measure_raw(asio::io_context& io, k8sio::client& api, const measurement& m) {
    raw_loop loop(api, m);
    for (int i = 0; i < m.in_flight; ++i) {
        asio::co_spawn(io, loop.work(), asio::detached);
    }
    const auto start = watch_clock::now();
    io.run();
    const double took = std::chrono::duration<double>(watch_clock::now() - start).count();
    if (!loop.failures().empty()) {
        std::cerr << loop.failures().size() << " failures, the first: " << loop.failures().front()
                  << '\n';
        return EXIT_FAILURE;
    }
    std::cout << took << '\n';
    return EXIT_SUCCESS;
}

int measure_job(asio::io_context& io, k8sio::client& api, const measurement& m) {
    job_watch watch(api, m);
    asio::co_spawn(io, watch.run(), asio::detached);
    io.run();
    if (!watch.failure().empty()) {
        std::cerr << watch.failure() << '\n';
        return EXIT_FAILURE;
    }
    std::cout << watch.took() << '\n';
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::cerr << "usage: bench_create_rate raw|job KUBECONFIG NAMESPACE NAME PODS\n";
        return 2;
    }
    const std::string mode = argv[1];
    measurement m;
    m.ns = argv[3];
    m.name = argv[4];
    m.pods = std::atoi(argv[5]);

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
