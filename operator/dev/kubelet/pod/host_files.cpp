// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/host_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::op::kubelet {

namespace {

std::string aliases_text(const pod_spec& pod) {
    if (pod.aliases.empty()) {
        return {};
    }
    std::string out = "\n# Entries added by HostAliases.\n";
    for (const host_alias& a : pod.aliases) {
        out += fmt::format("{}\t{}\n", a.address, fmt::join(a.names, "\t"));
    }
    return out;
}

struct resolver_lines {
    std::vector<std::string> servers, searches, options;
};

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> out;
    while (true) {
        const std::size_t start = line.find_first_not_of(" \t\r");
        if (start == std::string_view::npos) {
            return out;
        }
        const std::size_t end = std::min(line.find_first_of(" \t\r", start), line.size());
        out.emplace_back(line.substr(start, end - start));
        line.remove_prefix(end);
    }
}

resolver_lines read_resolver(std::string_view file) {
    resolver_lines out;
    while (!file.empty()) {
        const std::size_t end = std::min(file.find('\n'), file.size());
        std::vector<std::string> words = words_of(file.substr(0, end));
        file.remove_prefix(std::min(end + 1, file.size()));
        if (words.size() < 2) {
            continue;
        }
        const std::string what = words.front();
        words.erase(words.begin());
        if (what == "nameserver") {
            out.servers.push_back(words.front());
        } else if (what == "search") {
            out.searches = words;
        } else if (what == "options") {
            out.options.insert(out.options.end(), words.begin(), words.end());
        }
    }
    return out;
}

void append_new(std::vector<std::string>& to, const std::vector<std::string>& more) {
    for (const std::string& m : more) {
        if (std::ranges::find(to, m) == to.end()) {
            to.push_back(m);
        }
    }
}

/// Of options with the same name those of the pod win.
void merge_options(std::vector<std::string>& to, const std::vector<std::string>& more) {
    const auto name = [](const std::string& o) { return o.substr(0, o.find(':')); };
    for (const std::string& m : more) {
        std::erase_if(to, [&](const std::string& o) { return name(o) == name(m); });
        to.push_back(m);
    }
}

/// Fields of the user's line of `passwd`; empty if there is none.
std::vector<std::string> passwd_entry(std::string_view passwd, std::int64_t user) {
    const std::string id = std::to_string(user);
    for (std::vector<std::string>& fields : account_lines(passwd)) {
        if (fields.size() > 2 && fields[2] == id) {
            return std::move(fields);
        }
    }
    return {};
}

}  // namespace

std::vector<std::vector<std::string>> account_lines(std::string_view file) {
    std::vector<std::vector<std::string>> out;
    while (!file.empty()) {
        const std::size_t end = std::min(file.find('\n'), file.size());
        std::string_view line = file.substr(0, end);
        file.remove_prefix(std::min(end + 1, file.size()));
        std::vector<std::string>& fields = out.emplace_back();
        while (true) {
            const std::size_t colon = line.find(':');
            fields.emplace_back(line.substr(0, colon));
            if (colon == std::string_view::npos) {
                break;
            }
            line.remove_prefix(colon + 1);
        }
    }
    return out;
}

std::string hosts_file(const pod_spec& pod, std::string_view address, std::string_view of_node) {
    if (pod.host_network) {
        return fmt::format(
            "# Kubernetes-managed hosts file (host network).\n{}{}", of_node, aliases_text(pod)
        );
    }
    const std::string host = host_name_of(pod);
    const std::string full = full_name_of(pod);
    return fmt::format(
        "# Kubernetes-managed hosts file.\n"
        "127.0.0.1\tlocalhost\n"
        "::1\tlocalhost ip6-localhost ip6-loopback\n"
        "fe00::0\tip6-localnet\n"
        "fe00::0\tip6-mcastprefix\n"
        "fe00::1\tip6-allnodes\n"
        "fe00::2\tip6-allrouters\n"
        "{}\t{}{}{}\n{}",
        address,
        full,
        full.empty() ? "" : "\t",
        host,
        aliases_text(pod)
    );
}

std::string kernel_host_name(const pod_spec& pod) {
    const std::string full = full_name_of(pod);
    return pod.fqdn_as_hostname && !full.empty() ? full : host_name_of(pod);
}

std::string resolver_file(
    const pod_spec& pod, std::string_view name_server, std::string_view of_node
) {
    resolver_lines lines;
    const bool cluster = pod.dns_policy == "ClusterFirstWithHostNet" ||
                         (pod.dns_policy == "ClusterFirst" && !pod.host_network);
    if (cluster) {
        lines.servers = {std::string(name_server)};
        lines.searches = {pod.ns + ".svc.cluster.local", "svc.cluster.local", "cluster.local"};
        lines.options = {"ndots:5"};
    } else if (pod.dns_policy != "None") {
        lines = read_resolver(of_node);
    }
    append_new(lines.servers, pod.dns.servers);
    append_new(lines.searches, pod.dns.searches);
    merge_options(lines.options, pod.dns.options);
    std::string out;
    if (!lines.searches.empty()) {
        out += fmt::format("search {}\n", fmt::join(lines.searches, " "));
    }
    for (const std::string& s : lines.servers) {
        out += fmt::format("nameserver {}\n", s);
    }
    if (!lines.options.empty()) {
        out += fmt::format("options {}\n", fmt::join(lines.options, " "));
    }
    return out;
}

std::string home_of(std::string_view passwd, std::int64_t user) {
    constexpr std::size_t home = 5;
    const std::vector<std::string> fields = passwd_entry(passwd, user);
    return fields.size() > home && !fields[home].empty() ? fields[home] : "/";
}

std::optional<std::string> with_user(
    std::string_view passwd, std::int64_t user, std::optional<std::int64_t> group
) {
    if (!passwd_entry(passwd, user).empty()) {
        return std::nullopt;
    }
    std::string out(passwd);
    if (!out.empty() && out.back() != '\n') {
        out += '\n';
    }
    return out + fmt::format("user{0}:x:{0}:{1}::/:/sbin/nologin\n", user, group.value_or(0));
}

}  // namespace signalbox::op::kubelet
