// SPDX-License-Identifier: Apache-2.0
#include "api/rules/launcher_options.hpp"

#include "api/walk/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

/// Needed to know which abbreviations are unambiguous. Options of newer versions make no
/// abbreviation of a reserved one ambiguous.
constexpr std::array<std::string_view, 34> options_of_torchrun{
    "--duplicate-stderr-filters",
    "--duplicate-stdout-filters",
    "--event-log-handler",
    "--help",
    "--local-addr",
    "--local-ranks-filter",
    "--log-dir",
    "--log-line-prefix-template",
    "--logs-specs",
    "--master-addr",
    "--master-port",
    "--max-restarts",
    "--module",
    "--monitor-interval",
    "--nnodes",
    "--no-python",
    "--node-rank",
    "--nproc-per-node",
    "--numa-binding",
    "--print-completion",
    "--rdzv-backend",
    "--rdzv-conf",
    "--rdzv-endpoint",
    "--rdzv-id",
    "--redirects",
    "--role",
    "--run-path",
    "--shutdown-timeout",
    "--signals-to-handle",
    "--standalone",
    "--start-method",
    "--tee",
    "--use-agent-store",
    "--virtual-local-rank",
};

}  // namespace

std::span<const std::string_view> torchrun_options() {
    return options_of_torchrun;
}

std::string_view long_option(std::string_view argument, std::span<const std::string_view> options) {
    if (!argument.starts_with("--")) {
        return {};
    }
    std::string name(argument.substr(0, argument.find('=')));
    std::replace(name.begin(), name.end(), '_', '-');
    std::string_view match;
    for (const std::string_view option : options) {
        if (option == name) {
            return option;
        }
        if (option.starts_with(name)) {
            if (!match.empty()) {
                return {};
            }
            match = option;
        }
    }
    return match;
}

void refuse_option(
    const node& list, std::size_t i, std::string_view why, findings_collector& findings
) {
    const json::value& item = (*list.value)[static_cast<rapidjson::SizeType>(i)];
    findings.error(
        list.order,
        child_pointer(list.pointer, i),
        fmt::format("`{}` must not contain {}: {}", list.written_as, quoted(json::view(item)), why)
    );
}

void refuse_reserved(
    const node& list,
    std::size_t i,
    std::string_view option,
    std::span<const reserved_option> reserved,
    findings_collector& findings
) {
    for (const reserved_option& row : reserved) {
        if (row.option == option) {
            refuse_option(list, i, fmt::format("{} decides it", row.instead), findings);
        }
    }
}

}  // namespace signalbox::core::schema
