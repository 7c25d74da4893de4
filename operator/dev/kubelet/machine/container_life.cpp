// SPDX-License-Identifier: Apache-2.0
#include "kubelet/machine/container_life.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

using kind = pods::container_state::kind;

/// Until a container that could not be made is tried again.
constexpr std::chrono::seconds create_delay{10};
constexpr int start_failed_code = 128;
constexpr int killed_code = 137;

void tell(const container_scene& scene, bool warning, std::string reason, std::string message) {
    scene.out.emplace_back(pod_commands::tell{warning, std::move(reason), std::move(message)});
}

/// As Go writes a duration: `40s`, `1m20s`.
std::string duration_text(std::chrono::seconds d) {
    const auto minutes = std::chrono::floor<std::chrono::minutes>(d);
    return minutes.count() == 0 ? fmt::format("{}s", d.count())
                                : fmt::format("{}m{}s", minutes.count(), (d - minutes).count());
}

/// A container that was running when its kubelet was lost, in the kubelet's words.
pods::container_state lost_container(core::instant now) {
    pods::container_state out;
    out.what = kind::terminated;
    out.exit_code = killed_code;
    out.reason = "ContainerStatusUnknown";
    out.message = "The container could not be located when the pod was terminated";
    out.finished = now;
    return out;
}

pods::container_state waiting_state(std::string reason, std::string message) {
    pods::container_state out;
    out.reason = std::move(reason);
    out.message = std::move(message);
    return out;
}

std::string_view capital(probe_kind which) {
    switch (which) {
        case probe_kind::startup:
            return "Startup";
        case probe_kind::readiness:
            return "Readiness";
        case probe_kind::liveness:
            return "Liveness";
    }
    return "";
}

std::string_view lower_case(probe_kind which) {
    return which == probe_kind::startup ? "startup" : "liveness";
}

/// Asked `initial_delay` from now on; null: the container has no such probe.
std::optional<container_states::probing> first_probing(
    const container_scene& scene, probe_kind which, bool good_at_first
) {
    const probe* what = probe_of(scene.spec(), which);
    if (what == nullptr) {
        return std::nullopt;
    }
    return container_states::probing{
        probe_count(good_at_first), scene.now.steady + what->initial_delay, k8sio::steady_time{}};
}

void ask_if_due(
    const container_scene& scene, container_states::probing& probing, int run, probe_kind which
) {
    if (!probing.due || *probing.due > scene.now.steady) {
        return;
    }
    probing.due.reset();
    probing.next = scene.now.steady + probe_of(scene.spec(), which)->period;
    scene.out.emplace_back(pod_commands::ask_probe{scene.index, run, which});
}

/// The probing of this kind that awaits an answer; null if there is none.
container_states::probing* asked(container_states::running& of, probe_kind which) {
    container_states::probing* found = nullptr;
    if (auto* early = std::get_if<container_states::starting_up>(&of.phase)) {
        found = which == probe_kind::startup ? &early->startup : nullptr;
    } else if (auto* late = std::get_if<container_states::up>(&of.phase)) {
        std::optional<container_states::probing>* one =
            which == probe_kind::readiness  ? &late->readiness
            : which == probe_kind::liveness ? &late->liveness
                                            : nullptr;
        found = one != nullptr && *one ? &**one : nullptr;
    }
    return found != nullptr && !found->due ? found : nullptr;
}

}  // namespace

std::optional<k8sio::steady_time> earlier_of(
    std::optional<k8sio::steady_time> a, std::optional<k8sio::steady_time> b
) {
    return a && b ? std::min(*a, *b) : a ? a : b;
}

container_life::container_life(const container_spec& spec) {
    status_.name = spec.name;
    status_.image = spec.image;
}

void container_life::restore(const container_scene& scene, const former_container& before) {
    status_.restarts = before.restarts;
    if (before.was == former_container::state::waiting) {
        return;
    }
    pods::container_state how = lost_container(scene.now.server);
    if (before.was == former_container::state::terminated) {
        how = pods::container_state();
        how.what = kind::terminated;
        how.exit_code = before.exit_code;
        how.reason = before.exit_code == 0 ? "Completed" : "Error";
        how.finished = scene.now.server;
    }
    end(scene, scene.now.steady, std::move(how));
}

void container_life::start(const container_scene& scene) {
    state_ = container_states::starting();
    scene.out.emplace_back(pod_commands::start{scene.index, runs_});
}

void container_life::on_started(const container_scene& scene) {
    const container_spec& spec = scene.spec();
    container_states::running now;
    now.run.number = runs_++;
    now.run.since = scene.now.steady;
    state_ = std::move(now);
    status_.now = pods::container_state();
    status_.now.what = kind::running;
    status_.now.started = scene.now.server;
    tell(
        scene,
        false,
        "Pulled",
        fmt::format("Container image \"{}\" already present on machine", spec.image)
    );
    tell(scene, false, "Created", "Created container: " + spec.name);
    tell(scene, false, "Started", "Started container " + spec.name);
}

void container_life::begin_checks(const container_scene& scene) {
    if (hook_of(scene.spec(), hook_kind::post_start).what == handler::kind::none) {
        begin_probes(scene);
        return;
    }
    pod_commands::call_hook hook;
    hook.container = scene.index;
    hook.run = std::get<container_states::running>(state_).run.number;
    hook.which = hook_kind::post_start;
    scene.out.emplace_back(hook);
}

void container_life::begin_probes(const container_scene& scene) {
    if (auto startup = first_probing(scene, probe_kind::startup, false)) {
        std::get<container_states::running>(state_).phase =
            container_states::starting_up{std::move(*startup)};
    } else {
        come_up(scene);
    }
}

void container_life::come_up(const container_scene& scene) {
    started_up_ = status_.started = true;
    container_states::up phase;
    phase.readiness = first_probing(scene, probe_kind::readiness, false);
    phase.liveness = first_probing(scene, probe_kind::liveness, true);
    status_.ready = !phase.readiness;
    std::get<container_states::running>(state_).phase = std::move(phase);
}

void container_life::on_start_failed(const container_scene& scene, const refusal& why) {
    if (!is<container_states::starting>()) {
        return;
    }
    if (!scene.restarts) {
        state_ = container_states::ended();
        return;
    }
    tell(scene, true, "Failed", "Error: " + why.message);
    if (why.reason == "StartError") {
        pods::container_state how;
        how.what = kind::terminated;
        how.exit_code = start_failed_code;
        how.reason = why.reason;
        how.message = why.message;
        how.started = core::instant{};
        how.finished = scene.now.server;
        end(scene, scene.now.steady, std::move(how));
        return;
    }
    state_ = container_states::waiting{scene.now.steady + create_delay};
    status_.now = waiting_state(why.reason, why.message);
}

void container_life::try_again(const container_scene& scene) {
    auto* waits = std::get_if<container_states::waiting>(&state_);
    if (waits != nullptr && status_.now.reason == "CreateContainerConfigError") {
        waits->due = scene.now.steady;
    }
}

void container_life::on_hook(
    const container_scene& scene, int number, hook_kind which, const handler_result& result
) {
    const container_states::run_facts* present = run();
    const bool same = present != nullptr && present->number == number;
    if (which == hook_kind::pre_stop) {
        if (!result.success) {
            tell(scene, true, "FailedPreStopHook", "PreStopHook failed: " + result.text);
        }
        if (same && is<container_states::stopping>()) {
            scene.out.emplace_back(pod_commands::terminate{scene.index});
        }
        return;
    }
    // One that is told to end already is not told again.
    const auto* runs = std::get_if<container_states::running>(&state_);
    const bool awaited =
        runs != nullptr && std::holds_alternative<container_states::in_hook>(runs->phase);
    if (!same || !awaited) {
        return;
    }
    if (result.success) {
        begin_probes(scene);
    } else {
        tell(scene, true, "FailedPostStartHook", "PostStartHook failed: " + result.text);
        stop(scene, scene.pod.grace);
    }
}

void container_life::on_probe(
    const container_scene& scene, int number, probe_kind which, const handler_result& result
) {
    auto* runs = std::get_if<container_states::running>(&state_);
    container_states::probing* probing =
        runs != nullptr && runs->run.number == number ? asked(*runs, which) : nullptr;
    if (probing == nullptr) {
        return;
    }
    const probe& what = *probe_of(scene.spec(), which);
    probing->due = std::max(probing->next, scene.now.steady);
    if (!result.success) {
        tell(
            scene,
            true,
            "Unhealthy",
            fmt::format("{} probe failed: {}", capital(which), result.text)
        );
    }
    const bool decided = probing->count.add(result.success, what);
    switch (which) {
        case probe_kind::startup:
            if (decided && probing->count.good()) {
                come_up(scene);
            } else if (decided) {
                restart_unhealthy(scene, which);
            }
            break;
        case probe_kind::readiness:
            status_.ready = probing->count.good();
            break;
        case probe_kind::liveness:
            if (decided && probing->count.failed()) {
                restart_unhealthy(scene, which);
            }
            break;
    }
}

void container_life::restart_unhealthy(const container_scene& scene, probe_kind which) {
    tell(
        scene,
        false,
        "Killing",
        fmt::format(
            "Container {} failed {} probe, will be restarted", scene.spec().name, lower_case(which)
        )
    );
    stop_with(scene, probe_of(scene.spec(), which)->grace.value_or(scene.pod.grace));
}

void container_life::stop(const container_scene& scene, std::chrono::nanoseconds grace) {
    if (grace.count() > 0) {
        tell(scene, false, "Killing", fmt::format("Stopping container {}", scene.spec().name));
    }
    stop_with(scene, grace);
}

void container_life::stop_with(const container_scene& scene, std::chrono::nanoseconds grace) {
    container_states::stopping next;
    next.run = std::move(std::get<container_states::running>(state_).run);
    const int number = next.run.number;
    if (grace.count() <= 0) {
        state_ = std::move(next);
        scene.out.emplace_back(pod_commands::kill{scene.index});
        return;
    }
    next.kill_at = scene.now.steady + grace;
    state_ = std::move(next);
    if (hook_of(scene.spec(), hook_kind::pre_stop).what == handler::kind::none) {
        scene.out.emplace_back(pod_commands::terminate{scene.index});
        return;
    }
    // SIGTERM comes behind the hook.
    scene.out.emplace_back(pod_commands::call_hook{scene.index, number, hook_kind::pre_stop, grace}
    );
}

void container_life::shorten(const container_scene& scene, std::chrono::nanoseconds grace) {
    auto* stops = std::get_if<container_states::stopping>(&state_);
    if (stops != nullptr && stops->kill_at) {
        stops->kill_at = std::min(*stops->kill_at, scene.now.steady + grace);
    }
}

bool container_life::kill_as(const container_scene& scene, const std::string& reason) {
    if (auto* runs = std::get_if<container_states::running>(&state_)) {
        runs->run.killed_as = reason;
    } else if (auto* stops = std::get_if<container_states::stopping>(&state_)) {
        stops->run.killed_as = reason;
    } else {
        return false;
    }
    scene.out.emplace_back(pod_commands::kill{scene.index});
    return true;
}

void container_life::kill(const container_scene& scene) {
    if (is<container_states::running>()) {
        stop_with(scene, std::chrono::nanoseconds(0));
    } else if (auto* stops = std::get_if<container_states::stopping>(&state_)) {
        stops->kill_at.reset();
        scene.out.emplace_back(pod_commands::kill{scene.index});
    }
}

void container_life::on_time(const container_scene& scene) {
    if (auto* stops = std::get_if<container_states::stopping>(&state_)) {
        if (stops->kill_at && *stops->kill_at <= scene.now.steady) {
            kill(scene);
        }
        return;
    }
    auto* runs = std::get_if<container_states::running>(&state_);
    if (runs == nullptr) {
        return;
    }
    const int number = runs->run.number;
    if (auto* early = std::get_if<container_states::starting_up>(&runs->phase)) {
        ask_if_due(scene, early->startup, number, probe_kind::startup);
    } else if (auto* late = std::get_if<container_states::up>(&runs->phase)) {
        if (late->readiness) {
            ask_if_due(scene, *late->readiness, number, probe_kind::readiness);
        }
        if (late->liveness) {
            ask_if_due(scene, *late->liveness, number, probe_kind::liveness);
        }
    }
}

void container_life::on_ended(const container_scene& scene, const run_end& how) {
    const container_states::run_facts* present = run();
    if (present == nullptr) {
        return;
    }
    pods::container_state ended;
    ended.what = kind::terminated;
    ended.exit_code = how.code;
    ended.reason = !present->killed_as.empty() ? present->killed_as
                   : how.oom_killed            ? "OOMKilled"
                   : how.code == 0             ? "Completed"
                                               : "Error";
    ended.message = how.message;
    ended.started = status_.now.started;
    ended.finished = scene.now.server;
    end(scene, present->since, std::move(ended));
    const auto due = start_due();
    if (due && *due > scene.now.steady) {
        tell(
            scene,
            true,
            "BackOff",
            fmt::format(
                "Back-off restarting failed container {} in pod {}_{}({})",
                scene.spec().name,
                scene.pod.name,
                scene.pod.ns,
                scene.pod.uid
            )
        );
    }
}

/// It has ended so: does it start again?
void container_life::end(
    const container_scene& scene, k8sio::steady_time since, pods::container_state how
) {
    const container_spec& spec = scene.spec();
    const bool again = scene.restarts && restarts_after(how.exit_code, spec, scene.pod.restart) &&
                       !(spec.sidecar && scene.mains_ended);
    started_up_ = spec.sidecar && started_up_ && again;
    status_.ready = status_.started = false;
    if (!again) {
        state_ = container_states::ended();
        status_.now = std::move(how);
        return;
    }
    const k8sio::steady_time due = delay_.next(since, scene.now.steady);
    state_ = container_states::waiting{due};
    ++status_.restarts;
    status_.last = how;
    if (due <= scene.now.steady) {
        status_.now = std::move(how);
        return;
    }
    status_.now = waiting_state(
        "CrashLoopBackOff",
        fmt::format(
            "back-off {} restarting failed container={} pod={}_{}({})",
            duration_text(delay_.current()),
            spec.name,
            scene.pod.name,
            scene.pod.ns,
            scene.pod.uid
        )
    );
}

const container_states::run_facts* container_life::run() const {
    if (const auto* runs = std::get_if<container_states::running>(&state_)) {
        return &runs->run;
    }
    const auto* stops = std::get_if<container_states::stopping>(&state_);
    return stops == nullptr ? nullptr : &stops->run;
}

bool container_life::active() const {
    return !is<container_states::waiting>() && !is<container_states::ended>();
}

bool container_life::succeeded() const {
    return is<container_states::ended>() && status_.now.what == kind::terminated &&
           status_.now.exit_code == 0;
}

bool container_life::lets_pass(const container_spec& spec) const {
    return spec.sidecar ? started_up_ : succeeded();
}

bool container_life::may_start(k8sio::steady_time now) const {
    const auto due = start_due();
    return due && *due <= now;
}

std::optional<k8sio::steady_time> container_life::start_due() const {
    const auto* waits = std::get_if<container_states::waiting>(&state_);
    return waits == nullptr ? std::nullopt : std::optional<k8sio::steady_time>(waits->due);
}

std::optional<k8sio::steady_time> container_life::wake() const {
    std::optional<k8sio::steady_time> out;
    if (const auto* stops = std::get_if<container_states::stopping>(&state_)) {
        out = stops->kill_at;
    } else if (const auto* runs = std::get_if<container_states::running>(&state_)) {
        if (const auto* early = std::get_if<container_states::starting_up>(&runs->phase)) {
            out = early->startup.due;
        } else if (const auto* late = std::get_if<container_states::up>(&runs->phase)) {
            out = earlier_of(out, late->readiness ? late->readiness->due : std::nullopt);
            out = earlier_of(out, late->liveness ? late->liveness->due : std::nullopt);
        }
    }
    return out;
}

}  // namespace signalbox::op::kubelet
