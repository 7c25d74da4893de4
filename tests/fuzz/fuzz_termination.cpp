// SPDX-License-Identifier: Apache-2.0
//
// What a container left as its termination message, on its way into conditions and events
// (BEHAVIOUR.md 3.9).
#include "engine/facts/pod_facts.hpp"
#include "engine/facts/termination.hpp"
#include "fuzz.hpp"

#include <algorithm>
#include <string>

using namespace signalbox::core;
using signalbox::fuzz::require;

namespace {

bool printable(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = signalbox::fuzz::text_of(data, size);
    const engine::termination_note note = engine::read_termination_message(text);
    require(note.text.size() <= 1024, "a note has at most 1,024 bytes");
    require(printable(note.text), "a note is printable");

    pod_record pod;
    pod.name = "job-0a1b2-worker-0";
    pod.phase = pod_phase::failed;
    container_record& c = pod.containers.emplace_back();
    c.name = "worker";
    c.state = container_state::terminated;
    c.exit_code = 1;
    c.message = text.substr(0, 4096);
    const std::string told = engine::describe_failure(pod, "worker");
    require(
        printable(told) && told.size() < 1024 + 200, "the note, its pod, container and exit code"
    );
    return 0;
}
