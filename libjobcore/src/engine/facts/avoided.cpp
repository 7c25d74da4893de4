// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/avoided.hpp"

#include "status/bounds.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

std::string_view trimmed_name(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    const std::size_t last = text.find_last_not_of(' ');
    return first == text.npos ? std::string_view() : text.substr(first, last - first + 1);
}

}  // namespace

bool is_forgiven(const job_meta& meta, std::string_view node) {
    const auto it = meta.annotations.find("batch.tensorstack.dev/forgive-nodes");
    if (it == meta.annotations.end()) {
        return false;
    }
    std::string_view rest = it->second;
    if (rest == "all") {
        return true;
    }
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (trimmed_name(rest.substr(0, comma)) == node) {
            return true;
        }
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return false;
}

namespace {

/// A node without a time was noted by somebody else.
bool is_avoided(const inputs& in, const avoided_node& entry) {
    const seconds time(
        in.job.compiled->plan ? in.job.compiled->plan->run.avoid_seconds : in.plan.run.avoid_seconds
    );
    return entry.time && in.now < *entry.time + time && !is_forgiven(in.job.meta, entry.node);
}

}  // namespace

node_avoidance avoided_now(const inputs& in, const job_status& status) {
    node_avoidance out;
    out.required = in.plan.run.avoid == avoid_policy::required;
    for (const avoided_node& entry : status.avoided) {
        if (is_avoided(in, entry)) {
            out.nodes.push_back(entry.node);
        }
    }
    std::ranges::sort(out.nodes);
    return out;
}

std::string describe_avoided(const inputs& in, const job_status& status) {
    std::string out;
    for (const std::string& node : avoided_now(in, status).nodes) {
        out += (out.empty() ? "" : ", ") + node;
    }
    return out;
}

void note_bad_node(
    const inputs& in, std::string_view node, std::string_view rule, job_status& status
) {
    if (node.empty()) {
        return;
    }
    auto& all = status.avoided;
    std::erase_if(all, [&](const avoided_node& entry) { return !is_avoided(in, entry); });
    avoided_node noted;
    noted.node = node;
    const auto known = std::ranges::find(all, node, &avoided_node::node);
    if (known != all.end()) {
        noted.count = std::min(known->count, most_counted - 1) + 1;
        all.erase(known);
    }
    noted.rule = rule;
    noted.time = round_down_to_second(in.now);
    if (is_forgiven(in.job.meta, node)) {
        return;
    }
    if (all.size() >= most_avoided) {
        all.erase(all.begin());
    }
    all.push_back(std::move(noted));
}

}  // namespace signalbox::core::engine
