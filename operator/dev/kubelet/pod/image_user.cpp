// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/image_user.hpp"

#include "kubelet/pod/host_files.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace signalbox::op::kubelet {

namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    return core::read_whole_number<std::int64_t>(text, most);
}

/// A line of `group`: name, password, number, members with commas between them.
bool has_member(const std::vector<std::string>& line, const std::string& user) {
    constexpr std::size_t members = 3;
    const std::string all = line.size() > members ? "," + line[members] + "," : "";
    return all.find("," + user + ",") != std::string::npos;
}

}  // namespace

outcome<account> account_of(
    const security& rights,
    std::string_view image_user,
    std::string_view passwd,
    std::string_view groups,
    const std::string& container
) {
    const std::string said(image_user.substr(0, image_user.find(':')));
    std::optional<std::int64_t> user = rights.user;
    if (!user) {
        user = said.empty() ? std::optional<std::int64_t>(0) : number_of(said);
        if (!user && rights.non_root) {
            return refusal(
                "CreateContainerConfigError",
                fmt::format(
                    "container has runAsNonRoot and image has non-numeric user ({}), cannot verify "
                    "user is non-root ({})",
                    said,
                    container
                )
            );
        }
    }
    constexpr std::size_t fields = 4;  // name, password, user, group
    std::vector<std::string> entry;
    for (std::vector<std::string>& line : account_lines(passwd)) {
        if (line.size() >= fields && (user ? number_of(line[2]) == user : line[0] == said)) {
            entry = std::move(line);
            break;
        }
    }
    if (!user && (entry.empty() || !number_of(entry[2]))) {
        return refusal(
            "CreateContainerError",
            fmt::format("unable to find user {}: no matching entries in passwd file", said)
        );
    }
    account out;
    out.user = user ? *user : *number_of(entry[2]);
    out.group =
        rights.group ? *rights.group : (entry.empty() ? 0 : number_of(entry[3]).value_or(0));
    for (const std::vector<std::string>& line : account_lines(groups)) {
        const auto group = line.size() > 2 ? number_of(line[2]) : std::nullopt;
        if (group && !entry.empty() && has_member(line, entry[0])) {
            out.groups.push_back(*group);
        }
    }
    return out;
}

}  // namespace signalbox::op::kubelet
