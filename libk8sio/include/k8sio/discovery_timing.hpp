// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace signalbox::k8sio {

/// How often discovery is asked (REQUIREMENTS.md Q12).
class discovery_timing {
public:
    discovery_timing() = default;
    /// Between two looks.
    std::chrono::nanoseconds interval = std::chrono::seconds{60};
    /// After a look in which a resource got no answer, doubling up to `interval`.
    std::chrono::nanoseconds first_retry = std::chrono::seconds{1};
    /// How long the first lists of what is served may take before discovery_poll::settled(). One
    /// that cannot be listed must not hold up what does not need it.
    std::chrono::nanoseconds first_list_time = std::chrono::seconds{2};
};

}  // namespace signalbox::k8sio
