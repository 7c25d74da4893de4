// SPDX-License-Identifier: Apache-2.0
//
// pod_worker: lifecycle hooks, probes, and the faults of scenarios.
#include "kubelet/life/pod_worker.hpp"
#include "kubelet/life/prober.hpp"
#include "pods/pod_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;
using stage = container_place::stage;

constexpr std::array<const char*, 3> probe_names{"Startup", "Readiness", "Liveness"};
constexpr std::array<const char*, 3> probe_words{"startup", "readiness", "liveness"};

asio::awaitable<void> delete_pod(
    node_services& node, std::string ns, std::string name, k8sio::delete_options options
) {
    const k8sio::result<std::string> answer =
        co_await node.api.remove(k8sio::resources::pods(), ns, name, options);
    if (answer.has_error()) {
        node.complain(answer.error().text());
    }
}

}  // namespace

handler_target pod_worker::target(std::size_t i) const {
    handler_target out;
    out.run = slots_[i].run;
    out.sandbox = sandbox_;
    out.address = state_.address;
    out.container = &pod_.containers[i];
    return out;
}

void pod_worker::after_start(std::size_t i) {
    const handler& hook = pod_.containers[i].post_start;
    if (hook.what == handler::kind::none) {
        start_probes(i);
        return;
    }
    const std::shared_ptr<pod_worker> self = shared_from_this();
    const std::shared_ptr<container_run> run = slots_[i].run;
    carry_out(node_, hook, target(i), {}, [self, run, i](const handler_result& result) {
        // One that is told to end already is not told again.
        if (run->ended || self->slots_[i].run != run ||
            self->state_.containers[i].at != stage::running) {
            return;
        }
        if (result.success) {
            self->start_probes(i);
        } else {
            self->node_.tell(
                self->pod_, true, "FailedPostStartHook", "PostStartHook failed: " + result.text
            );
            self->stop_container(i);
        }
        self->sync();
    });
}

void pod_worker::start_probes(std::size_t i) {
    const container_spec& c = pod_.containers[i];
    if (state_.containers[i].at != stage::running) {
        return;
    }
    slot& s = slots_[i];
    s.startup.emplace(false);
    s.readiness.emplace(false);
    s.liveness.emplace(true);
    if (c.startup) {
        schedule_probe(i, probe_kind::startup, c.startup->initial_delay);
    } else {
        start_later_probes(i);
    }
}

void pod_worker::start_later_probes(std::size_t i) {
    const container_spec& c = pod_.containers[i];
    container_place& place = state_.containers[i];
    place.started_up = place.status.started = true;
    if (c.readiness) {
        schedule_probe(i, probe_kind::readiness, c.readiness->initial_delay);
    } else {
        place.ready = place.status.ready = true;
    }
    if (c.liveness) {
        schedule_probe(i, probe_kind::liveness, c.liveness->initial_delay);
    }
}

void pod_worker::schedule_probe(std::size_t i, probe_kind kind, std::chrono::nanoseconds delay) {
    const std::weak_ptr<pod_worker> self = weak_from_this();
    slots_[i].probe_timers[static_cast<std::size_t>(kind)] =
        node_.time().schedule(node_.now() + delay, [self, i, kind] {
            if (const auto alive = self.lock()) {
                alive->run_probe(i, kind);
            }
        });
}

void pod_worker::run_probe(std::size_t i, probe_kind kind) {
    const container_spec& c = pod_.containers[i];
    const std::array<const std::optional<probe>*, 3> probes{&c.startup, &c.readiness, &c.liveness};
    const probe& what = **probes[static_cast<std::size_t>(kind)];
    const std::shared_ptr<pod_worker> self = shared_from_this();
    const std::shared_ptr<container_run> run = slots_[i].run;
    const k8sio::steady_time next = node_.now() + what.period;
    carry_out(
        node_,
        what.how,
        target(i),
        what.timeout,
        [self, run, i, kind, next](const handler_result& result) {
            if (run->ended || self->slots_[i].run != run ||
                self->state_.containers[i].at != stage::running) {
                return;
            }
            const auto left = std::max(next - self->node_.now(), std::chrono::nanoseconds(0));
            self->schedule_probe(i, kind, left);
            self->probed(i, kind, result.text, result.success);
        }
    );
}

void pod_worker::probed(std::size_t i, probe_kind kind, const std::string& failure, bool success) {
    const container_spec& c = pod_.containers[i];
    slot& s = slots_[i];
    container_place& place = state_.containers[i];
    const auto which = static_cast<std::size_t>(kind);
    if (!success) {
        node_.tell(
            pod_, true, "Unhealthy", fmt::format("{} probe failed: {}", probe_names[which], failure)
        );
    }
    switch (kind) {
        case probe_kind::startup:
            if (s.startup->add(success, *c.startup)) {
                node_.time().cancel(s.probe_timers[which]);
                if (s.startup->good()) {
                    start_later_probes(i);
                } else {
                    restart_unhealthy(i, kind);
                }
            }
            break;
        case probe_kind::readiness:
            s.readiness->add(success, *c.readiness);
            place.ready = place.status.ready = s.readiness->good();
            break;
        case probe_kind::liveness:
            if (s.liveness->add(success, *c.liveness) && s.liveness->failed()) {
                restart_unhealthy(i, kind);
            }
            break;
    }
    sync();
}

void pod_worker::restart_unhealthy(std::size_t i, probe_kind kind) {
    const container_spec& c = pod_.containers[i];
    const std::optional<probe>& what = kind == probe_kind::startup ? c.startup : c.liveness;
    slots_[i].probe_grace = what->grace.value_or(pod_.grace);
    node_.tell(
        pod_,
        false,
        "Killing",
        fmt::format(
            "Container {} failed {} probe, will be restarted",
            c.name,
            probe_words[static_cast<std::size_t>(kind)]
        )
    );
    stop_container(i);
}

void pod_worker::stop_probes(std::size_t i) {
    for (k8sio::clock::timer_id& timer : slots_[i].probe_timers) {
        node_.time().cancel(timer);
        timer = 0;
    }
}

void pod_worker::schedule_faults() {
    if (faults_set_) {
        return;
    }
    faults_set_ = true;
    ++node_.counters.started;
    schedule(faults_);
}

void pod_worker::schedule(const pods::behaviour& faults) {
    fault_at(faults.evict_at, &pod_worker::evict);
    fault_at(faults.preempt_at, &pod_worker::preempt);
    fault_at(faults.delete_at, &pod_worker::remove_by_fault);
    fault_at(faults.vanish_at, &pod_worker::vanish);
    fault_at(faults.unknown_at, &pod_worker::lose_node);
    fault_at(faults.fail_at, &pod_worker::kill_training);
    fault_at(faults.oom_at, &pod_worker::kill_for_memory);
}

/// What somebody annotates while the pod runs befalls it from then on.
void pod_worker::read_new_faults(const string_map& annotations) {
    pods::behaviour fresh;
    for (const auto& [name, value] : annotations) {
        const auto before = pod_.annotations.find(name);
        const bool known = before != pod_.annotations.end() && before->second == value;
        if (known || !name.starts_with(pods::annotation_prefix)) {
            continue;
        }
        const std::string key = name.substr(pods::annotation_prefix.size());
        if (const auto wrong = pods::set(faults_set_ ? fresh : faults_, key, value)) {
            node_.complain(fmt::format("pod {}/{}: {}: {}", pod_.ns, pod_.name, name, *wrong));
        }
    }
    schedule(fresh);
}

void pod_worker::fault_at(const std::optional<duration>& at, void (pod_worker::*what)()) {
    if (!at || *at == never) {
        return;
    }
    const std::weak_ptr<pod_worker> self = weak_from_this();
    fault_timers_.push_back(node_.time().schedule(node_.now() + *at, [self, what] {
        const auto alive = self.lock();
        if (alive && !alive->state_.stopping && !alive->released_) {
            ((*alive).*what)();
        }
    }));
}

void pod_worker::evict() {
    state_.disruption = "TerminationByKubelet";
    node_.tell(pod_, true, "Evicted", "The node was low on resource: memory. (by scenario)");
    end_pod("Evicted", "The node was low on resource: memory. (by scenario)");
}

void pod_worker::preempt() {
    state_.disruption = "PreemptionByScheduler";
    state_.message = "preempted by a pod of higher priority (by scenario)";
    report();
    remove_by_fault();
}

void pod_worker::remove_by_fault() {
    node_.spawn(delete_pod(node_, pod_.ns, pod_.name, k8sio::delete_options(pod_.uid)));
}

void pod_worker::vanish() {
    k8sio::delete_options options(pod_.uid);
    options.grace_seconds = 0;
    node_.spawn(delete_pod(node_, pod_.ns, pod_.name, options));
}

void pod_worker::lose_node() {
    state_.node_lost = true;
    node_.containers.cut(sandbox_, true);
    sync();
}

void pod_worker::kill_training() {
    kill_main({});
}

void pod_worker::kill_for_memory() {
    kill_main("OOMKilled");
}

/// The first of the main containers that runs.
void pod_worker::kill_main(const std::string& reason) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const std::shared_ptr<container_run> run = slots_[i].run;
        if (!pod_.containers[i].init && run && !run->ended) {
            run->forced_reason = reason;
            run->process->kill();
            return;
        }
    }
}

}  // namespace signalbox::op::kubelet
