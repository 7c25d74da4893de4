// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/pod_worker.hpp"

#include "kubelet/life/prober.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;
using stage = container_place::stage;

constexpr std::chrono::milliseconds write_again{500};
constexpr int not_found = 404, conflict = 409, unprocessable = 422;

bool is_gone(const k8sio::api_error& e) {
    return e.http_status == not_found || e.http_status == conflict ||
           e.http_status == unprocessable;
}

}  // namespace

pod_worker::pod_worker(
    node_services& node, pod_spec pod, device_map devices, pods::behaviour faults
)
    : node_(node),
      pod_(std::move(pod)),
      devices_(std::move(devices)),
      faults_(std::move(faults)),
      state_(first_state(pod_, node.server_now())),
      place_(node.place),
      folders_(node.options.folder, pod_),
      slots_(pod_.containers.size()) {
    place_.node = pod_.node;
    state_.host_address = place_.host_address;
    for (const container_spec& c : pod_.containers) {
        add_references(c, references_);
    }
    for (const volume_spec& v : pod_.volumes) {
        add_references(v, references_);
    }
}

pod_worker::~pod_worker() {
    clear_timers();
}

void pod_worker::begin() {
    if (pod_.deadline) {
        // From the start that the status tells: a process before this one may have begun the pod.
        const auto active =
            std::max(node_.server_now() - *state_.accepted, core::milliseconds::zero());
        const std::weak_ptr<pod_worker> self = weak_from_this();
        deadline_timer_ = node_.time().schedule(node_.now() + (*pod_.deadline - active), [self] {
            if (const auto alive = self.lock()) {
                alive->end_pod(
                    "DeadlineExceeded",
                    "Pod was active on the node longer than the specified deadline"
                );
            }
        });
    }
    sync();
}

void pod_worker::end_pod(std::string reason, std::string message) {
    if (state_.stopping || released_) {
        return;
    }
    state_.stopping = true;
    state_.reason = std::move(reason);
    state_.message = std::move(message);
    sync();
}

void pod_worker::update(const pod_spec& now) {
    const bool told = now.labels != pod_.labels || now.annotations != pod_.annotations;
    read_new_faults(now.annotations);
    pod_.labels = now.labels;
    pod_.annotations = now.annotations;
    if (told) {
        object_changed();
    }
    if (!now.deleting) {
        return;
    }
    const bool shorter = pod_.deleting && now.grace < pod_.grace;
    if (pod_.deleting && !shorter) {
        return;
    }
    pod_.deleting = state_.stopping = true;
    pod_.grace = now.grace;
    for (slot& s : slots_) {
        // Stopped before: by the shorter grace of a deletion before, by a probe, or by the
        // deadline.
        if (s.run && !s.run->ended && s.run->kill_timer != 0) {
            kill_at(*s.run, std::min(s.run->kill_at, node_.now() + now.grace));
        }
    }
    sync();
}

void pod_worker::object_gone() {
    gone_ = true;
    abandon();
}

void pod_worker::abandon() {
    abandoned_ = state_.stopping = true;
    for (slot& s : slots_) {
        if (s.run && !s.run->ended) {
            s.run->process->kill();
        }
    }
    sync();
}

void pod_worker::sync() {
    const next_steps steps = steps_of(state_, pod_, node_.now());
    const bool busy = preparing_ || prepare_timer_ != 0;
    if (!state_.prepared && !state_.stopping && !busy && !steps.over) {
        preparing_ = true;
        node_.spawn(prepare(shared_from_this()));
    }
    for (const std::size_t i : steps.start) {
        state_.containers[i].at = stage::starting;
        node_.spawn(start(shared_from_this(), i));
    }
    for (const std::size_t i : steps.stop) {
        stop_container(i);
    }
    wake_at(steps.wake);
    if (steps.over && !preparing_) {
        finish();
    }
    report();
}

void pod_worker::wake_at(std::optional<k8sio::steady_time> at) {
    node_.time().cancel(wake_timer_);
    if (at) {
        const std::weak_ptr<pod_worker> self = weak_from_this();
        wake_timer_ = node_.time().schedule(*at, [self] {
            if (const auto alive = self.lock()) {
                alive->sync();
            }
        });
    }
}

void pod_worker::stop_container(std::size_t i) {
    container_place& c = state_.containers[i];
    slot& s = slots_[i];
    c.at = stage::stopping;
    stop_probes(i);
    const std::chrono::nanoseconds grace =
        abandoned_ ? std::chrono::seconds(0) : s.probe_grace.value_or(pod_.grace);
    if (grace.count() <= 0) {
        s.run->process->kill();
        return;
    }
    if (!s.probe_grace) {
        node_.tell(
            pod_, false, "Killing", fmt::format("Stopping container {}", pod_.containers[i].name)
        );
    }
    kill_at(*s.run, node_.now() + grace);
    send_signal(i);
}

/// Behind the hook, if there is one.
void pod_worker::send_signal(std::size_t i) {
    const std::shared_ptr<container_run> run = slots_[i].run;
    const handler& hook = pod_.containers[i].pre_stop;
    if (hook.what == handler::kind::none) {
        run->process->signal(SIGTERM);
        return;
    }
    const std::shared_ptr<pod_worker> self = shared_from_this();
    const auto patience = std::max(run->kill_at - node_.now(), std::chrono::nanoseconds(1));
    carry_out(node_, hook, target(i), patience, [self, run](const handler_result& result) {
        if (!result.success) {
            self->node_.tell(
                self->pod_, true, "FailedPreStopHook", "PreStopHook failed: " + result.text
            );
        }
        if (!run->ended) {
            run->process->signal(SIGTERM);
        }
    });
}

void pod_worker::kill_at(container_run& run, k8sio::steady_time at) {
    node_.time().cancel(run.kill_timer);
    run.kill_at = at;
    for (const slot& s : slots_) {
        if (s.run.get() == &run) {
            const std::weak_ptr<container_run> which = s.run;
            run.kill_timer = node_.time().schedule(at, [which] {
                const auto alive = which.lock();
                if (alive && !alive->ended) {
                    alive->process->kill();
                }
            });
        }
    }
}

/// Nothing runs any more, and nothing will.
void pod_worker::finish() {
    clear_timers();
    if (!released_) {
        released_ = true;
        if (!sandbox_.empty()) {
            node_.containers.remove_sandbox(sandbox_);
            sandbox_.clear();
        }
        ++node_.counters.ended;
        remove_folder(folders_.pod);
        node_.released(pod_.uid);
    }
    if (gone_ && !writing_ && !removing_) {
        forget();
    }
}

void pod_worker::forget() {
    remove_folder(folders_.logs);
    node_.gone(pod_.uid);
}

/// What containers leave may be much, and closed to us: their runtime removes it.
void pod_worker::remove_folder(const std::filesystem::path& folder) {
    node_.spawn(node_.containers.remove_files(folder.string()));
}

void pod_worker::clear_timers() {
    for (const k8sio::clock::timer_id t : {wake_timer_, deadline_timer_, prepare_timer_}) {
        node_.time().cancel(t);
    }
    for (const k8sio::clock::timer_id t : fault_timers_) {
        node_.time().cancel(t);
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        stop_probes(i);
    }
}

void pod_worker::report() {
    if (abandoned_) {
        return;
    }
    wanted_ = status_of(state_, pod_, wanted_, node_.server_now());
    const bool news = !ever_reported_ || wanted_ != reported_;
    const bool last = released_ && pod_.deleting && !removing_;
    if ((news || last) && !writing_) {
        writing_ = true;
        node_.spawn(write_status(shared_from_this()));
    }
}

asio::awaitable<void> pod_worker::write_status(std::shared_ptr<pod_worker> self) {
    node_services& node = self->node_;
    while (!self->abandoned_ && (!self->ever_reported_ || self->wanted_ != self->reported_)) {
        const pods::pod_status status = self->wanted_;
        co_await node.requests.acquire();
        const k8sio::semaphore::holder slot(node.requests);
        std::string patch = pods::status_patch(status, self->pod_.uid);
        const k8sio::result<std::string> answer = co_await node.api.merge_patch(
            k8sio::resources::pods(), self->pod_.ns, self->pod_.name, std::move(patch), "status"
        );
        if (answer.has_value()) {
            self->reported_ = status;
            self->ever_reported_ = true;
            continue;
        }
        if (is_gone(answer.error())) {
            // The watch says so too, soon.
            self->abandoned_ = true;
            break;
        }
        ++node.counters.errors;
        node.complain(
            fmt::format("pod {}/{}: {}", self->pod_.ns, self->pod_.name, answer.error().text())
        );
        co_await k8sio::sleep_for(node.time(), write_again);
    }
    self->writing_ = false;
    if (self->released_ && self->pod_.deleting && !self->removing_ && !self->abandoned_) {
        self->removing_ = true;
        node.spawn(remove_object(self));
    }
    if (self->gone_ && self->released_ && !self->removing_) {
        self->forget();
    }
}

asio::awaitable<void> pod_worker::remove_object(std::shared_ptr<pod_worker> self) {
    node_services& node = self->node_;
    k8sio::delete_options options(self->pod_.uid);
    options.grace_seconds = 0;
    while (!self->abandoned_) {
        const k8sio::result<std::string> answer = co_await node.api.remove(
            k8sio::resources::pods(), self->pod_.ns, self->pod_.name, options
        );
        if (answer.has_value() || is_gone(answer.error())) {
            break;
        }
        ++node.counters.errors;
        node.complain(answer.error().text());
        co_await k8sio::sleep_for(node.time(), write_again);
    }
    self->removing_ = false;
    self->abandoned_ = true;
    if (self->gone_) {
        self->forget();
    }
}

std::shared_ptr<container_run> pod_worker::run_of(const std::string& container) const {
    const auto it = std::ranges::find(pod_.containers, container, &container_spec::name);
    return it == pod_.containers.end()
               ? nullptr
               : slots_[static_cast<std::size_t>(it - pod_.containers.begin())].run;
}

std::filesystem::path pod_worker::log_of(const std::string& container, bool previous) const {
    const auto it = std::ranges::find(pod_.containers, container, &container_spec::name);
    if (it == pod_.containers.end()) {
        return {};
    }
    const int runs = slots_[static_cast<std::size_t>(it - pod_.containers.begin())].runs;
    const int number = previous ? runs - 2 : runs - 1;
    return number < 0 ? std::filesystem::path() : folders_.log(container, number);
}

}  // namespace signalbox::op::kubelet
