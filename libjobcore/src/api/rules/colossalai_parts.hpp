// SPDX-License-Identifier: Apache-2.0
//
// The two published shapes of a ColossalAIJob behind one face (BEHAVIOUR.md api 4.1).
#pragma once

#include "api/walk/walk.hpp"

#include <array>
#include <string>
#include <string_view>

namespace signalbox::core::schema {

inline constexpr std::string_view launcher_type = "launcher";
inline constexpr std::string_view worker_type = "worker";
inline constexpr std::array<std::string_view, 1> worker_container{"worker"};

/// Where the parts of a job are, whichever way it was written. What a shape lacks is nullptr.
struct colossalai_parts {
    bool second = false;
    const node* processes = nullptr;
    const node* command = nullptr;
    const node* options = nullptr;
    const node* worker = nullptr;    ///< has `replicas` and `template`
    const node* launcher = nullptr;  ///< `launcher`, or the entry of that type
};

/// The parts in the second shape if any field of that is written and none of the first.
colossalai_parts parts_of(const node& spec);

/// The launcher's entry of the second shape, walked by `launcher_template_field`. Findings have the
/// place of the template.
node walk_launcher_template(const node& entry, findings_collector& findings);
/// The launcher's container in it: that named `launcher`, else the first; nothing if there is none.
const node* launcher_container(const node& walked_template);

/// Whether this is written, well or not.
inline bool is_written(const node& n) {
    return n.is != node::state::absent;
}

}  // namespace signalbox::core::schema
