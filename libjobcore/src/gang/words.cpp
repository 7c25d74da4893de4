// SPDX-License-Identifier: Apache-2.0
#include "gang/words.hpp"

#include "jobcore/strings.hpp"

namespace signalbox::core::gang {

std::string bounded(std::string_view text) {
    constexpr std::size_t most = 512;
    return std::string(first_bytes(text, most));
}

std::string_view phase_of(const json::value& object) {
    const json::value* status = json::find(object, "status");
    return status == nullptr ? std::string_view() : json::string_or_empty(*status, "phase");
}

std::string condition_words::text() const {
    std::string out(reason);
    if (!out.empty() && !message.empty()) {
        out += ": ";
    }
    return bounded(out += message);
}

condition_words find_words(const json::value& object, std::string_view type) {
    condition_words out;
    const json::value* list = json::find(object, "status", "conditions");
    if (list == nullptr || !list->IsArray()) {
        return out;
    }
    for (const json::value& c : list->GetArray()) {
        if (json::string_or_empty(c, "type") == type) {
            const std::string_view status = json::string_or_empty(c, "status");
            out = {
                status == "True",
                status == "False",
                json::string_or_empty(c, "reason"),
                json::string_or_empty(c, "message"),
                json::string_or_empty(c, "lastTransitionTime")};
        }
    }
    return out;
}

}  // namespace signalbox::core::gang
