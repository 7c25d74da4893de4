// SPDX-License-Identifier: Apache-2.0
//
// How the operator's memory and time grow with the cluster: jobs of 20 pods on the embedded server,
// in one process and virtual time. Prints what each pod costs with few and with many of them.
// Memory is that of the operator alone; CPU time includes the server, and the simulated kubelets
// where they run.
//
// A shared machine is faster in one minute than in the next. So that a ratio says something, each
// step is done by many small clusters and by a large one with as many pods together, one right
// after the other: half of the small ones before it, half after it.
//
// usage: bench_many_jobs [<pods> <pods>]      10000 and 100000 by default
#include "controller/controller.hpp"
#include "controller/resource_table.hpp"
#include "jobcore/schema.hpp"
#include "k8sio/server/api_server.hpp"
#include "pods/simulated.hpp"
#include "signalbox_test/heap.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <time.h>

namespace asio = boost::asio;
using namespace signalbox;
using namespace std::chrono_literals;

namespace {

constexpr int pods_of_job = 20;

double cpu_seconds() {
    std::timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// What is printed of all clusters of one size.
struct costs {
    int clusters = 0;
    int pods = 0;           ///< of all of them
    double memory = 0;      ///< bytes of an operator that is at rest
    double list = 0;        ///< CPU seconds: a bare client reads what the operator lists
    double cold = 0;        ///< until a new operator has looked at every job
    double idle = 0;        ///< an hour without a change
    double create = 0;      ///< until all pods run
    double storm = 0;       ///< one pod of each job fails, and all pods run again
    double storm_took = 0;  ///< seconds of the cluster's time; of the slowest

    costs& operator+=(const costs& other) {
        clusters += other.clusters;
        pods += other.pods;
        memory += other.memory;
        list += other.list;
        cold += other.cold;
        idle += other.idle;
        create += other.create;
        storm += other.storm;
        storm_took = std::max(storm_took, other.storm_took);
        return *this;
    }
};

/// An operator with its own connection.
struct replica {
    replica(asio::io_context& loop, k8sio::clock& time, k8sio::server::api_server& server)
        : transport(server.connect()),
          api(*transport, time),
          work(loop.get_executor(), api, core::policy()) {
        asio::co_spawn(loop, work.run(), [this](std::exception_ptr) { ended = true; });
    }
    bool rests() const { return work.synced() && work.queue_depth() + work.active_passes() == 0; }

    std::unique_ptr<k8sio::transport> transport;
    k8sio::client api;
    op::controller work;
    bool ended = false;
};

/// Scheduler and kubelets. Of each job the first pod 0 fails in the middle of the day.
struct nodes {
    nodes(asio::io_context& loop, k8sio::clock& time, k8sio::server::api_server& server)
        : transport(server.connect()), api(*transport, time) {
        op::pods::simulated_options options;
        options.script.defaults = {{"duration", "never"}};
        op::pods::rule first;
        first.index = core::index_set::parse("0");
        first.attempt = core::index_set::parse("1");
        first.does = {{"fail-at", "12h"}, {"exit-code", "1"}};
        options.script.rules.push_back(first);
        all = op::pods::make_simulated_runtime(loop.get_executor(), api, std::move(options));
        asio::co_spawn(loop, all->run(), [this](std::exception_ptr) { ended = true; });
    }

    std::unique_ptr<k8sio::transport> transport;
    k8sio::client api;
    std::unique_ptr<op::pods::pod_runtime> all;
    bool ended = false;
};

class cluster {
public:
    explicit cluster(int pods) : jobs_(pods / pods_of_job) {
        cost_.clusters = 1;
        cost_.pods = jobs_ * pods_of_job;
        for (const core::job_kind kind : core::all_job_kinds) {
            if (server_.add_custom_resource(core::crd_json(kind)).has_error()) {
                std::abort();
            }
        }
    }
    ~cluster() { server_.stop(); }

    const costs& found() const { return cost_; }

    // The steps, in this order.

    void create() {
        start_nodes();
        start_operator();
        cost_.create = timed([this] {
            asio::co_spawn(loop_, create_jobs(), [](std::exception_ptr) {});
            wait([this] { return started() == cost_.pods && operator_->rests(); });
        });
        stop_operator();
        stop_nodes();
    }
    void list() {
        cost_.list = timed([this] {
            bool read = false;
            asio::co_spawn(loop_, read_lists(), [&](std::exception_ptr) { read = true; });
            wait([&] { return read; });
        });
    }
    void take_over() {
        const std::size_t before = test::heap_in_use();
        cost_.cold = timed([this] {
            start_operator();
            wait([this] {
                return operator_->rests() &&
                       operator_->work.counters().reconciles >= static_cast<std::uint64_t>(jobs_);
            });
        });
        run_for(1min);
        cost_.memory = static_cast<double>(test::heap_in_use() - before);
    }
    void rest() {
        cost_.idle = timed([this] { run_for(1h); });
    }
    void restart_jobs() {
        start_nodes();
        run_until(begin_ + 12h - 1min);
        const auto begin = time_.steady_now();
        cost_.storm = timed([this] {
            wait([this] { return started() == cost_.pods && operator_->rests(); });
        });
        cost_.storm_took = std::chrono::duration<double>(time_.steady_now() - begin).count() - 60;
        stop_operator();
        stop_nodes();
    }

private:
    double timed(const std::function<void()>& work) {
        const double begin = cpu_seconds();
        work();
        return cpu_seconds() - begin;
    }
    void run_until(k8sio::steady_time end) {
        do {
            loop_.restart();
            while (loop_.poll() > 0) {
            }
        } while (time_.has_pending() && time_.next_at() <= end && time_.advance_to_next());
        time_.advance(end - time_.steady_now());
    }
    void run_for(std::chrono::nanoseconds duration) { run_until(time_.steady_now() + duration); }
    void wait(const std::function<bool()>& done) {
        for (int i = 0; !done(); ++i) {
            if (i > 10000) {
                fmt::print(stderr, "bench_many_jobs: the cluster does not come to rest\n");
                std::abort();
            }
            run_for(1s);
        }
    }

    void start_operator() { operator_ = std::make_unique<replica>(loop_, time_, server_); }
    void start_nodes() { nodes_ = std::make_unique<nodes>(loop_, time_, server_); }
    void stop_operator() {
        operator_->work.stop();
        wait([this] { return operator_->ended; });
        operator_.reset();
    }
    void stop_nodes() {
        nodes_->all->stop();
        wait([this] { return nodes_->ended; });
        nodes_.reset();
    }
    int started() const { return static_cast<int>(nodes_->all->counters().started); }

    asio::awaitable<void> create_jobs() {
        const k8sio::resource_type& type = op::type_of(core::job_kind::pytorch);
        for (int i = 0; i < jobs_; ++i) {
            std::string body = as_written(
                test::job_builder("job-" + std::to_string(i)).replicas("worker", pods_of_job).json()
            );
            const auto made = co_await user_.create(type, "default", std::move(body));
            if (made.has_error()) {
                fmt::print(stderr, "bench_many_jobs: {}\n", made.error().text());
                std::abort();
            }
        }
    }
    /// Without what the server sets.
    static std::string as_written(const std::string& job) {
        rapidjson::Document object;
        object.Parse(job.c_str());
        for (const char* field : {"uid", "resourceVersion", "generation", "creationTimestamp"}) {
            object["metadata"].RemoveMember(field);
        }
        rapidjson::StringBuffer buffer;
        rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
        object.Accept(out);
        return buffer.GetString();
    }
    asio::awaitable<void> read_lists() {
        const std::vector<k8sio::resource_type> types{
            op::type_of(core::job_kind::pytorch),
            k8sio::resources::pods(),
            k8sio::resources::services()};
        for (const k8sio::resource_type& type : types) {
            k8sio::list_options options;
            if (type.plural() == "pods" || type.plural() == "services") {
                options.label_selector = "app.kubernetes.io/managed-by=signalbox";
            }
            do {
                k8sio::client::item_function item = [](std::string_view, std::string_view) {};
                auto page = co_await user_.list(type, "", options, std::move(item));
                if (page.has_error()) {
                    fmt::print(stderr, "bench_many_jobs: {}\n", page.error().text());
                    std::abort();
                }
                options.continue_token = page->continue_token;
            } while (!options.continue_token.empty());
        }
    }

    int jobs_;
    costs cost_;
    asio::io_context loop_;
    k8sio::virtual_clock time_{
        loop_.get_executor(), k8sio::wall_time(std::chrono::seconds{1700000000})};
    k8sio::steady_time begin_ = time_.steady_now();
    k8sio::server::api_server server_{loop_.get_executor(), time_};
    std::unique_ptr<k8sio::transport> way_ = server_.connect();
    k8sio::client user_{*way_, time_};
    std::unique_ptr<replica> operator_;
    std::unique_ptr<nodes> nodes_;
};

/// Of small clusters and of a large one with as many pods together.
std::vector<costs> measure(int small, int large) {
    using step = void (cluster::*)();
    constexpr step steps[] = {
        &cluster::create,
        &cluster::list,
        &cluster::take_over,
        &cluster::rest,
        &cluster::restart_jobs};
    std::vector<std::unique_ptr<cluster>> all(static_cast<std::size_t>(large / small));
    for (auto& each : all) {
        each = std::make_unique<cluster>(small);
    }
    const auto middle = all.begin() + large / small / 2;
    const cluster& one = **all.insert(middle, std::make_unique<cluster>(large));
    for (const step next : steps) {
        for (const auto& each : all) {
            (*each.*next)();
        }
    }
    costs of_small;
    for (const auto& each : all) {
        if (each.get() != &one) {
            of_small += each->found();
        }
    }
    return {of_small, one.found()};
}

void print(const std::vector<costs>& all) {
    struct row {
        const char* what;
        double costs::*value;
        double unit;
    };
    const row rows[] = {
        {"memory of the operator, bytes", &costs::memory, 1},
        {"a bare client reads the lists, us", &costs::list, 1e6},
        {"cold start, us", &costs::cold, 1e6},
        {"an idle hour, us", &costs::idle, 1e6},
        {"jobs created until all pods run, us", &costs::create, 1e6},
        {"every job starts again, us", &costs::storm, 1e6},
    };
    std::string head = fmt::format("{:38}", "for each pod, with pods:");
    for (const costs& c : all) {
        head += fmt::format("{:>10}", c.pods / c.clusters);
    }
    fmt::print("{}{:>8}\n", head, "ratio");
    for (const row& r : rows) {
        std::string line = fmt::format("{:38}", r.what);
        for (const costs& c : all) {
            line += fmt::format("{:>10.2f}", c.*r.value * r.unit / c.pods);
        }
        const double ratio =
            (all.back().*r.value / all.back().pods) / (all.front().*r.value / all.front().pods);
        fmt::print("{}{:>8.2f}\n", line, ratio);
    }
    for (const costs& c : all) {
        fmt::print(
            "{} x {} pods: {:.1f} MB; cold start {:.2f} s of CPU, {:.2f} times the bare client; "
            "all jobs started again after {:.0f} s of cluster time, {:.1f} s of CPU\n",
            c.clusters,
            c.pods / c.clusters,
            c.memory / 1e6,
            c.cold,
            c.cold / c.list,
            c.storm_took,
            c.storm
        );
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int small = argc == 3 ? std::atoi(argv[1]) : 10000;
    const int large = argc == 3 ? std::atoi(argv[2]) : 100000;
    if ((argc != 1 && argc != 3) || small < pods_of_job || large < small) {
        fmt::print(
            stderr,
            "usage: bench_many_jobs [<pods> <pods>]: the smaller number first, at least {}\n",
            pods_of_job
        );
        return 2;
    }
    print(measure(small, large));
    return 0;
}
