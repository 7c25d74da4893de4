// SPDX-License-Identifier: Apache-2.0
#include "k8sio/version_fence.hpp"

namespace signalbox::k8sio {

namespace {

bool is_malformed(std::string_view version) {
    // Only well-formed versions can be compared with "1" (REQUIREMENTS.md V4).
    return version != "1" && compare_versions(version, "1") == version_order::incomparable;
}

}  // namespace

void version_fence::raise(
    const std::string& owner, const std::string& view, std::string_view version
) {
    if (is_malformed(version)) {
        return;
    }
    std::string& awaited = awaited_[owner][view];
    if (awaited.empty() || compare_versions(version, awaited) == version_order::newer) {
        awaited = version;
    }
}

bool version_fence::passed(const std::string& owner, const std::string& view, std::string_view seen)
    const {
    const std::string_view needed = awaited(owner, view);
    if (needed.empty()) {
        return true;
    }
    // A store that has seen nothing covers nothing; a version we cannot read lets us through (E2).
    return !seen.empty() && compare_versions(seen, needed) != version_order::older;
}

std::string_view version_fence::awaited(const std::string& owner, const std::string& view) const {
    const auto found = awaited_.find(owner);
    if (found == awaited_.end()) {
        return {};
    }
    const auto version = found->second.find(view);
    return version == found->second.end() ? std::string_view{} : std::string_view(version->second);
}

void version_fence::forget(const std::string& owner) {
    awaited_.erase(owner);
}

}  // namespace signalbox::k8sio
