// SPDX-License-Identifier: Apache-2.0
#include "engine/pod_facts.hpp"

#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::engine {
namespace {

constexpr std::size_t note_limit = 512;

/// Waiting reasons a container does not leave by itself (behaviour.md 4.13: image, config).
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

const container_record* terminated_init(const pod_record& pod) {
    const auto it = std::ranges::find_if(pod.containers, [](const container_record& c) {
        return c.init && c.state == container_state::terminated && c.exit_code != 0;
    });
    return it == pod.containers.end() ? nullptr : &*it;
}

/// The last `note_limit` bytes, begun at a character and with control characters made blanks.
std::string printable_tail(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r')) {
        text.remove_suffix(1);
    }
    if (text.size() > note_limit) {
        text.remove_prefix(text.size() - note_limit);
        while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0U) == 0x80U) {
            text.remove_prefix(1);
        }
    }
    std::string out(text);
    for (char& c : out) {
        if (static_cast<unsigned char>(c) < 0x20U || c == 0x7F) {
            c = ' ';
        }
    }
    return out;
}

/// torchrun writes `{"message": {"message": ..., "errorCode": ...}}`, or a plain text as `message`.
std::optional<termination_note> read_error_file(std::string_view message) {
    if (message.empty() || message.front() != '{') {
        return std::nullopt;
    }
    json::document document;
    json::parse(document, message);
    if (document.HasParseError()) {
        return std::nullopt;
    }
    const json::value* body = json::find(document, "message");
    if (body == nullptr) {
        return std::nullopt;
    }
    if (body->IsString()) {
        return termination_note{printable_tail(json::view(*body)), std::nullopt};
    }
    termination_note note{printable_tail(json::string_or_empty(*body, "message")), std::nullopt};
    const json::value* code = json::find(*body, "errorCode");
    if (code != nullptr && code->IsInt()) {
        note.error_code = code->GetInt();
    }
    return note;
}

}  // namespace

const container_record* training_container(const pod_record& pod, std::string_view name) {
    const auto it = std::ranges::find_if(pod.containers, [&](const container_record& c) {
        return !c.init && (name.empty() || c.name == name);
    });
    return it == pod.containers.end() ? nullptr : &*it;
}

std::optional<instant> deletion_asked(const pod_record& pod) {
    if (!pod.deletion) {
        return std::nullopt;
    }
    return *pod.deletion - seconds(pod.grace_seconds);
}

std::optional<pod_end> end_of(const pod_record& pod, std::string_view container, instant now) {
    const container_record* c = training_container(pod, container);
    const bool terminated = c != nullptr && c->state == container_state::terminated;
    if (!terminated && pod.phase != pod_phase::failed && pod.phase != pod_phase::succeeded) {
        return std::nullopt;
    }
    pod_end end;
    end.time = now;
    if (terminated) {
        end.exit_code = c->exit_code;
        end.time = std::min(c->finished.value_or(now), now);
    } else if (pod.phase == pod_phase::succeeded) {
        end.exit_code = 0;
    }
    const auto asked = deletion_asked(pod);
    end.before_deletion = !pod.disruption_target && (!asked || end.time < *asked);
    return end;
}

bool is_up(const pod_record& pod, std::string_view container) {
    const container_record* c = training_container(pod, container);
    return c != nullptr && c->state == container_state::running;
}

bool has_started(const container_record& container) {
    return container.state == container_state::running ||
           container.state == container_state::terminated;
}

bool init_failed(const pod_record& pod) {
    return terminated_init(pod) != nullptr;
}

std::string cannot_start_reason(const pod_record& pod) {
    for (const container_record& c : pod.containers) {
        if (c.state == container_state::waiting &&
            std::ranges::find(hopeless_waits, c.reason) != hopeless_waits.end()) {
            return c.reason;
        }
    }
    return {};
}

termination_note read_termination_message(std::string_view message) {
    if (auto note = read_error_file(message)) {
        return *note;
    }
    return {printable_tail(message), std::nullopt};
}

std::string describe_failure(const pod_record& pod, std::string_view container) {
    const container_record* c = terminated_init(pod);
    if (c == nullptr) {
        c = training_container(pod, container);
    }
    if (c == nullptr || c->state != container_state::terminated) {
        const bool deleted = pod.deletion.has_value() && pod.phase != pod_phase::failed;
        std::string text = fmt::format("pod {} {}", pod.name, deleted ? "was deleted" : "failed");
        if (!pod.reason.empty()) {
            text += fmt::format(" ({})", pod.reason);
        }
        const std::string note = printable_tail(pod.message);
        return note.empty() ? text : fmt::format("{}: {}", text, note);
    }
    const termination_note note = read_termination_message(c->message);
    std::string text = fmt::format(
        "pod {}, {} {} exited with {}",
        pod.name,
        c->init ? "init container" : "container",
        c->name,
        note.error_code.value_or(c->exit_code)
    );
    const bool telling = !c->reason.empty() && c->reason != "Error" && c->reason != "Completed";
    if (telling) {
        text += fmt::format(" ({})", c->reason);
    }
    return note.text.empty() ? text : fmt::format("{}: {}", text, note.text);
}

}  // namespace signalbox::core::engine
