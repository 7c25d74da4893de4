// SPDX-License-Identifier: Apache-2.0
#include "api/tables/shared.hpp"

namespace signalbox::core {

std::string_view to_string(failure_action action) {
    return schema::failure_actions[static_cast<std::size_t>(action)].name;
}

}  // namespace signalbox::core
