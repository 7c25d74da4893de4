// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/inputs.hpp"

#include "engine/facts/reasons.hpp"

#include <charconv>

namespace signalbox::core::engine {

milliseconds stuck_after(const job_meta& meta, const policy& policy) {
    const auto it = meta.annotations.find("batch.tensorstack.dev/stuck-after");
    if (it == meta.annotations.end()) {
        return policy.stuck_after;
    }
    const std::string& text = it->second;
    std::int32_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    const bool whole = error == std::errc{} && end == text.data() + text.size() && n >= 0;
    return whole ? milliseconds(seconds(n)) : policy.stuck_after;
}

bool is_resumed(const job_status& status) {
    return find_condition(status, condition_type::paused) != nullptr;
}

std::string cut_message(std::string message, std::size_t limit) {
    if (message.size() > limit) {
        std::size_t end = limit;
        while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) {
            --end;
        }
        message.resize(end);
    }
    return message;
}

}  // namespace signalbox::core::engine
