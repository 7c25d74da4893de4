// SPDX-License-Identifier: Apache-2.0
//
// `torchrunConfig` (api.md 3): options of torchrun that are ours.
#include "api/rules.hpp"
#include "api/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

/// Every long option of torchrun, dashes for underscores: needed to know which abbreviations are
/// unambiguous. Options of newer versions make no abbreviation of a reserved one ambiguous.
constexpr std::array<std::string_view, 34> torchrun_options{
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

struct ours {
    std::string_view option;
    std::string_view instead;
};
constexpr std::array reserved{
    ours{"--nnodes", "the number of replicas"},
    ours{"--node-rank", "the replica's index"},
    ours{"--nproc-per-node", "`torchrunConfig.procPerNode`"},
    ours{"--max-restarts", "`torchrunConfig.maxRestarts`"},
    ours{"--rdzv-backend", "`torchrunConfig.rdzvBackend`"},
    ours{"--rdzv-id", "the job's identity"},
};

/// The option that torchrun's parser takes `argument` for; empty if it is none or is ambiguous.
std::string_view option_of(std::string_view argument) {
    if (!argument.starts_with("--")) {
        // Flags of one letter can be joined; of these only -m matters.
        return argument.starts_with("-m") ? std::string_view("--module") : std::string_view();
    }
    std::string name(argument.substr(0, argument.find('=')));
    std::replace(name.begin(), name.end(), '_', '-');
    std::string_view match;
    for (const std::string_view option : torchrun_options) {
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

class option_checker {
public:
    option_checker(const node& spec, findings_collector& findings)
        : config_(spec["torchrunConfig"]),
          options_(config_["extraOptions"]),
          backend_(config_["rdzvBackend"].text()),
          findings_(findings) {
        for (const node& replica : spec["replicaSpecs"].items) {
            pods_ += replica["replicas"].int32();
        }
        if (spec["elastic"]["enabled"].flag()) {
            pods_ = std::max<std::int64_t>(pods_, spec["elastic"]["maxReplicas"].int32());
        }
    }

    void check() {
        bool has_endpoint = false;
        const auto texts = options_.texts();
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const std::string_view option = option_of(texts[i]);
            has_endpoint = has_endpoint || option == "--rdzv-endpoint";
            check_reserved(option, i, texts[i]);
            check_placement(option, i, texts);
        }
        if (backend_.starts_with("etcd") && !has_endpoint && !options_.broken()) {
            const node& backend = config_["rdzvBackend"];
            findings_.error(
                backend.order,
                backend.pointer,
                fmt::format(
                    "`rdzvBackend` {} needs `--rdzv_endpoint=<host>:<port>` in `extraOptions`",
                    backend_
                )
            );
        }
    }

private:
    void refuse(std::size_t i, std::string_view written, const std::string& why) {
        findings_.error(
            options_.order,
            child_pointer(options_.pointer, i),
            fmt::format("`extraOptions` must not contain {}: {}", quoted(written), why)
        );
    }

    void check_reserved(std::string_view option, std::size_t i, std::string_view written) {
        for (const ours& r : reserved) {
            if (r.option == option) {
                refuse(i, written, fmt::format("{} decides it", r.instead));
            }
        }
    }

    void check_placement(
        std::string_view option, std::size_t i, const std::vector<std::string>& texts
    ) {
        if (option == "--rdzv-endpoint" && backend_ == "c10d") {
            refuse(i, texts[i], "with back end c10d the first pod is the endpoint");
        }
        if (option == "--standalone" && pods_ > 1) {
            refuse(i, texts[i], fmt::format("the job has {} pods", pods_));
        }
        if ((option == "--module" || option == "--no-python") && i + 1 != texts.size()) {
            refuse(i, texts[i], "it may be the last option only, before the script");
        }
    }

    const node& config_;
    const node& options_;
    std::string backend_;
    std::int64_t pods_ = 0;
    findings_collector& findings_;
};

}  // namespace

void check_torchrun(const node& spec, findings_collector& findings) {
    option_checker(spec, findings).check();
}

}  // namespace signalbox::core::schema
