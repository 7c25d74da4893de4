// SPDX-License-Identifier: Apache-2.0
//
// The version fence (REQUIREMENTS.md E2): a reconcile may run only when what it looks at has caught
// up with our own acknowledged writes.
#pragma once

#include "k8sio/resource.hpp"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace signalbox::k8sio {

/// Owners are texts (keys of a work queue); `view` is the name of one, by which it is told from the
/// others. Pure: no clock, no I/O.
///
/// Thread: one.
class version_fence {
public:
    /// A write for `owner` to objects of `view` was acknowledged with this version. An older
    /// version than the one awaited changes nothing. Empty or malformed versions are ignored: the
    /// fence fails open.
    void raise(const std::string& owner, const std::string& view, std::string_view version);
    /// True if a `view` that has seen everything up to `seen` covers all our writes. An
    /// empty `seen` covers none; one that cannot be compared covers all.
    bool passed(const std::string& owner, const std::string& view, std::string_view seen) const;
    /// The version awaited, for logs; empty if none.
    ///
    /// Lifetimes: the text is valid until the fence changes.
    std::string_view awaited(const std::string& owner, const std::string& view) const;
    /// The owner is gone: nothing of it is awaited any more.
    void forget(const std::string& owner);

private:
    std::unordered_map<std::string, std::map<std::string, std::string, std::less<>>> awaited_;
};

}  // namespace signalbox::k8sio
