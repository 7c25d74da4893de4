// SPDX-License-Identifier: Apache-2.0
#include "pods/simulated.hpp"

#include "k8sio/synchronization.hpp"
#include "pods/binding.hpp"
#include "pods/simulated_status.hpp"
#include "pods/timeline.hpp"
#include "pods/training_reports.hpp"

#include <k8sio/reflector.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace signalbox::op::pods {

namespace {

namespace asio = boost::asio;
using k8sio::result;

constexpr duration retry_delay = std::chrono::milliseconds{500};

struct entry {
    pod_facts pod;
    behaviour does;
    pod_report report;
    std::deque<timed_step> steps;
    k8sio::steady_time anchor;  ///< what the steps' times count from
    k8sio::clock::timer_id timer = 0;
    bool busy = false;                        ///< a step is under way
    k8sio::steady_time started;               ///< its training
    k8sio::clock::timer_id report_timer = 0;  ///< 0: it does not report
};

/// The names of `.../namespaces/NS/PLURAL/JOB`.
report_sender sender_of(const pod_facts& pod) {
    const std::string_view url = pod.reports_to;
    const std::size_t last = url.rfind('/');
    const std::size_t before = last == 0 || last == url.npos ? url.npos : url.rfind('/', last - 1);
    report_sender out{pod.ns, pod.uid, {}, {}};
    if (before != url.npos) {
        out.plural = url.substr(before + 1, last - before - 1);
        out.job_name = url.substr(last + 1);
    }
    return out;
}

class simulated_runtime final : public pod_runtime, private k8sio::reflector_sink {
public:
    simulated_runtime(asio::any_io_executor executor, k8sio::client& api, simulated_options options)
        : executor_(executor),
          api_(api),
          options_(std::move(options)),
          reflector_(api, k8sio::resources::pods(), *this, reflect_options(options_)),
          idle_(executor) {}

    ~simulated_runtime() override {
        for (auto& [uid, e] : entries_) {
            cancel_timers(e);
        }
    }

    asio::awaitable<void> run() override {
        const bool with_nodes = options_.create_nodes;
        if (with_nodes) {
            co_await create_nodes();
        }
        co_await reflector_.run();
        stop();
        while (in_flight_ > 0) {
            co_await idle_.wait();
        }
    }

    void stop() override {
        stopping_ = true;
        reflector_.stop();
        for (auto& [uid, e] : entries_) {
            cancel_timers(e);
        }
        ready_.clear();
    }

    const runtime_counters& counters() const override { return counters_; }

private:
    static k8sio::reflector_options reflect_options(const simulated_options& options) {
        k8sio::reflector_options out;
        out.ns = options.ns;
        out.label_selector = options.label_selector;
        return out;
    }

    // What the reflector sees.
    void replace_begin() override { listed_.clear(); }
    void replace_item(std::string_view json) override {
        if (const auto pod = read_pod(json)) {
            listed_.insert(pod->uid);
            see(*pod);
        }
    }
    void replace_end(std::string_view) override {
        for (auto it = entries_.begin(); it != entries_.end();) {
            const auto next = std::next(it);
            if (!listed_.contains(it->first)) {
                forget(it->first);
            }
            it = next;
        }
        listed_.clear();
    }
    void replace_abort() override { listed_.clear(); }
    void upsert(std::string_view json) override {
        if (const auto pod = read_pod(json)) {
            see(*pod);
        }
    }
    void remove(std::string_view json) override {
        if (const auto pod = read_pod(json)) {
            forget(pod->uid);
        }
    }

    void see(const pod_facts& pod) {
        // What no kubelet has seen the API server removes by itself.
        if (options_.bound_only && pod.node.empty()) {
            return;
        }
        const auto [it, fresh] = entries_.try_emplace(pod.uid);
        entry& e = it->second;
        if (fresh) {
            begin(e, pod);
        }
        if (pod.deleting && !e.pod.deleting) {
            e.pod.deleting = true;
            e.pod.grace = pod.grace;
            const bool running = e.report.state == containers_state::running ||
                                 e.report.state == containers_state::init || e.report.sidecars_run;
            set_steps(e, plan_deletion(e.pod, e.does, running));
        }
    }

    void begin(entry& e, const pod_facts& pod) {
        e.pod = pod;
        e.pod.deleting = false;
        const std::string key = fmt::format("{}/{}/{}", pod.job_uid, pod.type, pod.index);
        const std::int32_t nth = pod.job_uid.empty() ? 1 : ++seen_[key];
        std::string problem;
        e.does = behaviour_of(pod, nth, options_.script, problem);
        if (!problem.empty()) {
            complain(fmt::format("pod {}/{}: {}", pod.ns, pod.name, problem));
        }
        e.report = first_report(pod);
        const k8sio::wall_time now = api_.server_now();
        set_steps(e, plan_life(e.pod, e.does, now));
    }

    pod_report first_report(const pod_facts& pod) {
        pod_report out;
        out.scheduled = !pod.node.empty();
        out.ip = fmt::format("10.244.{}.{}", (addresses_ / 250) % 250, addresses_ % 250 + 1);
        ++addresses_;
        if (pod.phase == "Running") {
            out.phase = pod.phase;
            out.state = containers_state::running;
            out.initialized = out.ready = true;
            if (pod.started) {
                out.started = std::chrono::floor<core::milliseconds>(*pod.started);
            }
        } else if (pod.phase == "Succeeded" || pod.phase == "Failed") {
            out.phase = pod.phase;
            out.state = containers_state::ended;
        }
        return out;
    }

    void set_steps(entry& e, const std::vector<timed_step>& steps) {
        e.steps.assign(steps.begin(), steps.end());
        e.anchor = api_.time().steady_now();
        arm(e);
    }

    void arm(entry& e) {
        api_.time().cancel(e.timer);
        if (e.busy || e.steps.empty() || stopping_) {
            return;
        }
        const std::string uid = e.pod.uid;
        const auto due = e.anchor + at_speed(e.steps.front().at);
        e.timer = api_.time().schedule(due, [this, uid] {
            ready_.push_back(uid);
            pump();
        });
    }

    void cancel_timers(entry& e) {
        api_.time().cancel(std::exchange(e.timer, 0));
        api_.time().cancel(std::exchange(e.report_timer, 0));
    }

    duration at_speed(duration in_its_time) const {
        return std::chrono::duration_cast<duration>(std::chrono::duration<double, std::nano>(
            static_cast<double>(in_its_time.count()) / options_.speed
        ));
    }

    void begin_reports(entry& e) {
        if (options_.report && e.does.step_every && e.pod.reports()) {
            e.started = api_.time().steady_now();
            report_later(e);
        }
    }

    void report_later(entry& e) {
        const duration pause = training_reports::interval(e.does);
        api_.time().cancel(std::exchange(e.report_timer, 0));
        if (pause == never || stopping_) {
            return;
        }
        const std::string uid = e.pod.uid;
        e.report_timer = api_.time().schedule(
            api_.time().steady_now() + at_speed(pause), [this, uid] { report(uid); }
        );
    }

    void report(const std::string& uid) {
        const auto it = entries_.find(uid);
        if (it == entries_.end()) {
            return;
        }
        entry& e = it->second;
        e.report_timer = 0;
        if (e.report.state != containers_state::running || e.pod.deleting) {
            return;
        }
        const auto real = api_.time().steady_now() - e.started;
        const auto since =
            std::chrono::duration_cast<duration>(std::chrono::duration<double, std::nano>(
                static_cast<double>(real.count()) * options_.speed
            ));
        if (const auto said = trainings_.report_of(e.pod, e.does, since)) {
            options_.report(sender_of(e.pod), *said);
        }
        report_later(e);
    }

    void forget(const std::string& uid) {
        const auto it = entries_.find(uid);
        if (it == entries_.end()) {
            return;
        }
        cancel_timers(it->second);
        entries_.erase(it);
        ++counters_.removed;
    }

    void pump() {
        while (!stopping_ && in_flight_ < options_.max_in_flight && !ready_.empty()) {
            std::string uid = std::move(ready_.front());
            ready_.pop_front();
            const auto it = entries_.find(uid);
            if (it == entries_.end() || it->second.busy || it->second.steps.empty()) {
                continue;
            }
            it->second.busy = true;
            ++in_flight_;
            asio::co_spawn(executor_, take_step(std::move(uid)), asio::detached);
        }
    }

    asio::awaitable<void> take_step(std::string uid) {
        const timed_step taken = entries_.at(uid).steps.front();
        const result<void> done = co_await carry_out(uid, taken.what);
        --in_flight_;
        step_done(uid, taken, done);
        if (in_flight_ == 0) {
            idle_.notify();
        }
        pump();
    }

    void step_done(const std::string& uid, const timed_step& taken, const result<void>& done) {
        const auto it = entries_.find(uid);
        if (it == entries_.end()) {
            return;
        }
        entry& e = it->second;
        e.busy = false;
        // A deletion seen meanwhile has replaced the steps.
        const bool current = !e.steps.empty() && e.steps.front() == taken;
        if (done.has_value()) {
            count(taken.what);
            if (taken.what == step::start || taken.what == step::start_unready) {
                begin_reports(e);
            }
            if (current) {
                e.steps.pop_front();
            }
        } else if (done.error().http_status == 404 || done.error().http_status == 409) {
            // Gone, another pod by now, or bound by another scheduler: the watch shows it.
            if (current) {
                e.steps.pop_front();
            }
        } else if (!stopping_) {
            ++counters_.errors;
            complain(fmt::format("pod {}/{}: {}", e.pod.ns, e.pod.name, done.error().text()));
            if (current) {
                e.anchor += retry_delay;
            }
        }
        arm(e);
    }

    void count(step what) {
        switch (what) {
            case step::bind:
                ++counters_.bound;
                break;
            case step::start:
            case step::start_unready:
                ++counters_.started;
                break;
            case step::end:
            case step::end_oom:
            case step::evict:
            case step::fail_init:
                ++counters_.ended;
                break;
            default:
                break;
        }
    }

    core::instant now() const { return std::chrono::floor<core::milliseconds>(api_.server_now()); }

    asio::awaitable<result<void>> carry_out(std::string uid, step what) {
        // The entry may go while a request is under way: nothing of it is touched after one.
        const pod_facts pod = entries_.at(uid).pod;
        apply_step(uid, what);
        if (what == step::bind) {
            const result<void> bound = co_await bind(pod);
            co_return bound;
        }
        const bool silent = what == step::remove || what == step::vanish;
        if (!silent) {
            std::string patch =
                status_patch(status_of(entries_.at(uid).report, pod, now()), pod.uid);
            const result<void> written = co_await write_status(pod, std::move(patch));
            const bool ends_here = what != step::preempt && what != step::finish_deletion;
            if (ends_here || written.has_error()) {
                co_return written;
            }
        }
        const grace how =
            what == step::vanish || what == step::finish_deletion ? grace::none : grace::usual;
        const result<void> removed = co_await remove_pod(pod, how);
        co_return removed;
    }

    void apply_step(const std::string& uid, step what) {
        entry& e = entries_.at(uid);
        apply(e.report, what, e.pod, e.does, now());
    }

    asio::awaitable<result<void>> bind(const pod_facts& pod) {
        const int node = static_cast<int>(bound_++ % static_cast<std::uint64_t>(options_.nodes));
        const std::string to = fmt::format("sim-node-{}", node);
        std::string body = binding_json(pod.name, pod.ns, pod.uid, to);
        std::string target = k8sio::resources::pods().object_path(pod.ns, pod.name, "binding");
        const result<std::string> answer =
            co_await api_.raw("POST", std::move(target), "application/json", std::move(body));
        if (answer.has_error()) {
            co_return answer.error();
        }
        co_return result<void>();
    }

    asio::awaitable<result<void>> write_status(const pod_facts& pod, std::string patch) {
        const result<std::string> answer = co_await api_.merge_patch(
            k8sio::resources::pods(), pod.ns, pod.name, std::move(patch), "status"
        );
        if (answer.has_error()) {
            co_return answer.error();
        }
        co_return result<void>();
    }

    enum class grace { usual, none };

    asio::awaitable<result<void>> remove_pod(const pod_facts& pod, grace how) {
        k8sio::delete_options options(pod.uid);
        if (how == grace::none) {
            options.grace_seconds = 0;
        }
        const result<std::string> answer =
            co_await api_.remove(k8sio::resources::pods(), pod.ns, pod.name, options);
        if (answer.has_error()) {
            co_return answer.error();
        }
        co_return result<void>();
    }

    asio::awaitable<void> create_nodes() {
        const int wanted = options_.nodes;
        for (int i = 0; i < wanted && !stopping_; ++i) {
            std::string body = fmt::format(
                R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"sim-node-{}",)"
                R"("labels":{{"kubernetes.io/hostname":"sim-node-{}"}}}}}})",
                i,
                i
            );
            const result<std::string> answer =
                co_await api_.create(k8sio::resources::nodes(), "", std::move(body));
            if (answer.has_error()) {
                if (answer.error().http_status != 409) {
                    complain(answer.error().text());
                }
                continue;
            }
            co_await report_ready(i);
        }
    }

    asio::awaitable<void> report_ready(int node) {
        const std::string name = fmt::format("sim-node-{}", node);
        std::string patch = fmt::format(
            R"({{"status":{{"conditions":[{{"type":"Ready","status":"True","reason":"Simulated",)"
            R"("message":"signalbox simulates this node","lastTransitionTime":"{0}",)"
            R"("lastHeartbeatTime":"{0}"}}],"nodeInfo":{{"kubeletVersion":"simulated","machineID":"",)"
            R"("systemUUID":"","bootID":"","kernelVersion":"","osImage":"","operatingSystem":"linux",)"
            R"("containerRuntimeVersion":"","kubeProxyVersion":"","architecture":""}}}}}})",
            core::format_time(now())
        );
        const result<std::string> answer = co_await api_.merge_patch(
            k8sio::resources::nodes(), "", name, std::move(patch), "status"
        );
        if (answer.has_error()) {
            complain(answer.error().text());
        }
    }

    void complain(const std::string& what) const {
        if (options_.complain) {
            options_.complain(what);
        }
    }

    asio::any_io_executor executor_;
    k8sio::client& api_;
    simulated_options options_;
    std::unordered_map<std::string, entry> entries_;  // by UID
    std::map<std::string, std::int32_t> seen_;        // pods so far, by job, type and index
    training_reports trainings_;
    std::set<std::string> listed_;
    std::deque<std::string> ready_;
    std::size_t in_flight_ = 0;
    std::uint64_t bound_ = 0;
    std::uint64_t addresses_ = 0;
    bool stopping_ = false;
    runtime_counters counters_;
    k8sio::reflector reflector_;
    k8sio::notification idle_;
};

}  // namespace

std::unique_ptr<pod_runtime> make_simulated_runtime(
    asio::any_io_executor executor, k8sio::client& api, simulated_options options
) {
    return std::make_unique<simulated_runtime>(executor, api, std::move(options));
}

}  // namespace signalbox::op::pods
