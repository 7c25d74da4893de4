// SPDX-License-Identifier: Apache-2.0
//
// Files that somebody replaces while they are used, as Kubernetes does with those of a Secret.
#pragma once

#include "client/surroundings.hpp"

namespace signalbox::op::test {

/// Puts another file in the place of `name`; gives its path.
inline std::string replace(
    const k8sio::test::folder& in, const std::string& name, const std::string& text
) {
    const std::string next = in.write(name + ".new", text);
    std::filesystem::rename(next, in.path() + "/" + name);
    return in.path() + "/" + name;
}

}  // namespace signalbox::op::test
