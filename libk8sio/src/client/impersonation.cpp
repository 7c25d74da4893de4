// SPDX-License-Identifier: Apache-2.0
#include "client/impersonation.hpp"

#include "k8sio/resource.hpp"

#include <algorithm>
#include <string_view>

namespace signalbox::k8sio {

namespace {

/// What a header's name may hold (RFC 9110) beside unreserved characters, but `%`, which escapes
/// the rest. The server decodes the name, so more could be escaped; kubectl does not.
constexpr std::string_view header_name_marks = "!#$&'*+^`|";

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
}

}  // namespace

std::string check_impersonation(const impersonation& as) {
    if (as.user.empty()) {
        const bool more = !as.uid.empty() || !as.groups.empty() || !as.extra.empty();
        return more ? "is not set, but as-uid, as-groups or as-user-extra is" : "";
    }
    bool bad = false;
    for (const auto& [name, value] : impersonation_headers(as)) {
        bad = bad || has_control(value);
    }
    return bad ? "has a name, group or value with control characters" : "";
}

std::vector<std::pair<std::string, std::string>> impersonation_headers(const impersonation& as) {
    std::vector<std::pair<std::string, std::string>> out;
    if (as.user.empty()) {
        return out;
    }
    out.emplace_back("Impersonate-User", as.user);
    if (!as.uid.empty()) {
        out.emplace_back("Impersonate-Uid", as.uid);
    }
    for (const std::string& group : as.groups) {
        out.emplace_back("Impersonate-Group", group);
    }
    for (const auto& [key, values] : as.extra) {
        for (const std::string& value : values) {
            out.emplace_back("Impersonate-Extra-" + percent_encode(key, header_name_marks), value);
        }
    }
    return out;
}

}  // namespace signalbox::k8sio
