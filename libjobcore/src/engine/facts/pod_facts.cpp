// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/pod_facts.hpp"

#include "engine/facts/reasons.hpp"
#include "engine/facts/signals.hpp"
#include "engine/facts/termination.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::core::engine {
namespace {

/// Waiting reasons a container does not leave by itself (BEHAVIOUR.md 4.13: image, config).
constexpr std::array<std::string_view, 8> hopeless_waits{
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
};

/// What an exit code says of a signal, for people. Shells, kubelets and torchrun give 128 + n; a
/// program of Python that exits with the code -n of its child, as DeepSpeed's launcher does,
/// 256 - n.
std::string signal_of(std::int32_t code, bool of_container) {
    if (code <= 128 || code >= 256) {
        return {};
    }
    if (const auto words = killed_by(code - 128); !words.empty()) {
        const bool killed = of_container && code - 128 == 9;
        return fmt::format("{}{}", words, killed ? "; the kubelet reports no OOM kill" : "");
    }
    const auto words = killed_by(256 - code);
    return words.empty() ? std::string() : fmt::format("a process of it {}", words);
}

const container_record* terminated_init(const pod_record& pod) {
    const auto it = std::ranges::find_if(pod.containers, [](const container_record& c) {
        return c.init && c.state == container_state::terminated && c.exit_code != 0;
    });
    return it == pod.containers.end() ? nullptr : &*it;
}

std::string with_colon(const std::string& text) {
    return text.empty() ? text : ": " + text;
}

/// Of a program of Python: by an exception, or by an abort as shells and DeepSpeed's launcher say
/// it.
bool is_raised_or_aborted(std::int32_t code) {
    constexpr std::array<std::int32_t, 3> codes{1, 128 + 6, 256 - 6};
    return std::ranges::find(codes, code) != codes.end();
}

}  // namespace

const container_record* training_container(const pod_record& pod, std::string_view name) {
    const container_record* named = nullptr;
    const container_record* any = nullptr;
    std::ptrdiff_t regular = 0;
    for (const container_record& c : pod.containers) {
        if (c.init) {
            continue;
        }
        if (c.training) {
            return &c;
        }
        named = named == nullptr && c.name == name ? &c : named;
        any = &c;
        ++regular;
    }
    return name.empty() && regular == 1 ? any : named;
}

std::optional<instant> deletion_asked(const pod_record& pod) {
    if (!pod.deletion) {
        return std::nullopt;
    }
    return *pod.deletion - seconds(pod.grace_seconds);
}

instant told_by_node(instant t, const pod_record& pod, instant now) {
    return std::min(std::max(t, pod.creation.value_or(instant::min())), now);
}

instant start_of(const pod_record& pod, const container_record* c, instant now) {
    const instant created = pod.creation.value_or(now);
    const bool known = c != nullptr && c->started && *c->started <= now;
    return known ? std::max(*c->started, created) : created;
}

std::optional<pod_end> end_of(const pod_record& pod, std::string_view container, instant now) {
    return end_of(pod, training_container(pod, container), now);
}

std::optional<pod_end> end_of(const pod_record& pod, const container_record* c, instant now) {
    const bool terminated = c != nullptr && c->state == container_state::terminated;
    if (!terminated && pod.phase != pod_phase::failed && pod.phase != pod_phase::succeeded) {
        return std::nullopt;
    }
    pod_end end;
    if (terminated) {
        end.exit_code = c->exit_code;
    } else if (pod.phase == pod_phase::succeeded) {
        end.exit_code = 0;
    }
    // Of a pod that never came to its training: when what it needed before that failed.
    const container_record* last = terminated ? c : terminated_init(pod);
    const bool known = last != nullptr && last->finished && *last->finished <= now;
    end.time = known ? told_by_node(*last->finished, pod, now) : now;
    end.at_unknown_time = !known;
    const auto asked = deletion_asked(pod);
    end.before_deletion = !pod.disruption_target && (!asked || end.time < *asked);
    return end;
}

bool has_started(const container_record& container) {
    return container.state == container_state::running ||
           container.state == container_state::terminated;
}

bool init_failed(const pod_record& pod) {
    return terminated_init(pod) != nullptr;
}

const container_record* hopeless_container(const pod_record& pod) {
    const auto it = std::ranges::find_if(pod.containers, [](const container_record& c) {
        return c.state == container_state::waiting &&
               std::ranges::find(hopeless_waits, c.reason) != hopeless_waits.end();
    });
    return it == pod.containers.end() ? nullptr : &*it;
}

std::string describe_hopeless(const pod_record& pod) {
    const container_record* c = hopeless_container(pod);
    if (c == nullptr) {
        return {};
    }
    return fmt::format(
        "pod {} cannot start: {}{}",
        pod.name,
        c->reason.str(),
        with_colon(printable_tail(c->message))
    );
}

std::string describe_unschedulable(const pod_record& pod) {
    const std::string said = printable_tail(pod.scheduler_message);
    return fmt::format("pod {} cannot be scheduled{}", pod.name, with_colon(said));
}

std::string describe_gates(const pod_record& pod) {
    return fmt::format("pod {} waits at scheduling gates: {}", pod.name, printable_tail(pod.gates));
}

bool is_telling(std::string_view reason) {
    const auto known = parse<kubelet_reason>(reason);
    return !reason.empty() && known != kubelet_reason::error && known != kubelet_reason::completed;
}

std::int32_t crash_signal(std::int32_t code) {
    constexpr std::array<std::int32_t, 5> signals{4, 7, 8, 9, 11};
    for (const std::int32_t n : signals) {
        if (code == 128 + n || code == 256 - n) {
            return n;
        }
    }
    return 0;
}

bool is_code_of_raised(std::int32_t code) {
    const std::int32_t signal = crash_signal(code);
    return is_raised_or_aborted(code) || (signal != 0 && signal != sigkill);
}

bool is_victims_code(std::int32_t code) {
    constexpr std::int32_t terminated = 128 + 15;
    return is_raised_or_aborted(code) || code == terminated;
}

std::string describe_code(
    std::int32_t code, const termination_note& said, std::string_view reason
) {
    const bool telling = is_telling(reason);
    if (!telling && said.raised && is_code_of_raised(code)) {
        return {};
    }
    const bool tells_signal = said.text.find("SIG") != said.text.npos;
    const std::string why = telling        ? std::string(reason)
                            : tells_signal ? std::string()
                                           : signal_of(code, !said.error_code);
    return fmt::format(" exited with {}", code) + (why.empty() ? why : fmt::format(" ({})", why));
}

std::string describe_failure(
    const pod_record& pod, std::string_view container, const termination_note* said
) {
    const container_record* c = terminated_init(pod);
    if (c == nullptr) {
        c = training_container(pod, container);
    }
    // What took the pod says more than the exit code that followed from it, e.g. `Evicted`.
    const bool taken = pod.phase == pod_phase::failed && !pod.reason.empty();
    if (taken || c == nullptr || c->state != container_state::terminated) {
        const bool deleted = pod.deletion.has_value() && pod.phase != pod_phase::failed;
        std::string text = fmt::format("pod {} {}", pod.name, deleted ? "was deleted" : "failed");
        // Where the pod itself does not, who took it says why: preemption, an eviction, a taint.
        const bool disrupted =
            pod.reason.empty() && pod.disruption_target && !pod.disruption_reason.empty();
        const std::string why = disrupted ? pod.disruption_reason.str() : pod.reason.str();
        if (!why.empty()) {
            text += fmt::format(" ({})", why);
        }
        return text + with_colon(printable_tail(disrupted ? pod.disruption_message : pod.message));
    }
    const termination_note note =
        said != nullptr ? *said : read_termination_message(c->message, pod.name);
    const std::int32_t code = note.error_code.value_or(c->exit_code);
    std::string text =
        fmt::format("pod {}, {} {}", pod.name, c->init ? "init container" : "container", c->name);
    text += describe_code(code, note, c->reason);
    // Of who was killed the end of the log says how far it came: one line is enough.
    const bool of_others = !note.names_error || note.secondary;
    const bool killed = crash_signal(code) != 0 && of_others && !note.error_code;
    return text + with_colon(killed ? note.last_line : note.text);
}

}  // namespace signalbox::core::engine
