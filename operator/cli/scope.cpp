// SPDX-License-Identifier: Apache-2.0
#include "cli/scope.hpp"

#include "cli/job_target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <vector>

namespace signalbox::op::cli {

namespace {

bool is_namespace(const std::string& name) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    };
    return !name.empty() && name.size() <= 63 && std::ranges::all_of(name, is_plain) &&
           name.front() != '-' && name.back() != '-';
}

}  // namespace

std::optional<std::string> read_scope(const scope_options& scope, controller_options& out) {
    for (const std::string& name : scope.namespaces) {
        if (!is_namespace(name)) {
            return fmt::format("--namespace: `{}` is no name of a namespace", name);
        }
        if (std::ranges::find(out.namespaces, name) == out.namespaces.end()) {
            out.namespaces.push_back(name);
        }
    }
    for (const std::string& name : scope.without) {
        const auto found = parse_feature(name);
        if (!found) {
            return fmt::format(
                "--without: there is no feature `{}`; there are: {}", name, feature_names()
            );
        }
        out.without.insert(*found);
    }
    for (const std::string& name : scope.with) {
        if (name == row_of(feature::logs).name) {
            out.reads_logs = true;
        } else if (name == row_of(feature::progress).name) {
            out.reviews_tokens = true;
        } else {
            return fmt::format("--with: `{}` cannot be asked for; what can: logs, progress", name);
        }
    }
    for (const std::string& name : scope.schedulers) {
        const auto found = std::ranges::find(scheduler_features(), name, &feature_row::name);
        if (found == scheduler_features().end()) {
            return fmt::format(
                "--scheduler: there is none `{}` to be asked for; there are: {}",
                name,
                scheduler_names()
            );
        }
        out.without.erase(found->which);
    }
    std::vector<core::job_kind> kinds;
    for (const std::string& name : scope.kinds) {
        const auto called = job_kinds_called(name);
        if (called.empty()) {
            return fmt::format(
                "--kind: there is no kind of jobs `{}`; there are: pj, dj, caij", name
            );
        }
        kinds.push_back(called.front());
    }
    if (!kinds.empty()) {
        std::erase_if(out.kinds, [&](core::job_kind kind) {
            return std::ranges::find(kinds, kind) == kinds.end();
        });
    }
    return std::nullopt;
}

std::optional<std::string> check_default_scheduler(
    const std::string& name, const controller_options& options
) {
    const auto kinds = core::kinds_of_scheduler(name);
    if (kinds.empty() || is_wanted(kinds.front(), options.without)) {
        return std::nullopt;
    }
    const std::string_view of = row_of(*feature_of(kinds.front())).name;
    return fmt::format(
        "--default-scheduler {}: it needs {}",
        name,
        of == row_of(feature::gang).name ? "the feature gang" : fmt::format("--scheduler {}", of)
    );
}

namespace {

std::string names_of(std::span<const feature_row> rows) {
    std::vector<std::string_view> names;
    for (const feature_row& row : rows) {
        names.push_back(row.name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string feature_names() {
    return names_of(all_features());
}

std::string scheduler_names() {
    return names_of(scheduler_features());
}

}  // namespace signalbox::op::cli
