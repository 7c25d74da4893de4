// SPDX-License-Identifier: Apache-2.0
#include "jobcore/compact.hpp"

#include <algorithm>

namespace signalbox::core {

void text_pool::share(compact_text& text) {
    constexpr std::size_t few = 64;
    if (text.empty()) {
        return;
    }
    if (known_.size() >= std::max(full_, few)) {
        std::erase_if(known_, [](const compact_text& known) { return !known.is_shared(); });
        full_ = 2 * known_.size();
    }
    text = *known_.insert(text).first;
}

}  // namespace signalbox::core
