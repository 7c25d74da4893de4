// SPDX-License-Identifier: Apache-2.0
//
// `torchrunConfig` (BEHAVIOUR.md api 3.3): options of torchrun that are ours.
#include "api/rules/launcher_options.hpp"
#include "api/rules/rules.hpp"
#include "api/walk/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

constexpr std::array torchrun_reserved{
    reserved_option{"--nnodes", "the number of replicas"},
    reserved_option{"--node-rank", "the replica's index"},
    reserved_option{"--nproc-per-node", "`torchrunConfig.procPerNode`"},
    reserved_option{"--max-restarts", "`torchrunConfig.maxRestarts`"},
    reserved_option{"--rdzv-backend", "`torchrunConfig.rdzvBackend`"},
    reserved_option{"--rdzv-id", "the job's identity"},
};

/// Flags of one letter can be joined; of these only -m matters.
std::string_view torchrun_option(std::string_view argument) {
    return argument.starts_with("-m") ? std::string_view("--module")
                                      : long_option(argument, torchrun_options());
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
            const std::string_view option = torchrun_option(texts[i]);
            has_endpoint = has_endpoint || option == "--rdzv-endpoint";
            refuse_reserved(options_, i, option, torchrun_reserved, findings_);
            check_placement(option, i, i + 1 == texts.size());
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
    void refuse(std::size_t i, const std::string& why) {
        refuse_option(options_, i, why, findings_);
    }

    void check_placement(std::string_view option, std::size_t i, bool last) {
        if (option == "--rdzv-endpoint" && backend_ == "c10d") {
            refuse(i, "with back end c10d the first pod is the endpoint");
        }
        if (option == "--standalone" && pods_ > 1) {
            refuse(i, fmt::format("the job has {} pods", pods_));
        }
        if ((option == "--module" || option == "--no-python") && !last) {
            refuse(i, "it may be the last option only, before the script");
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
    static constexpr std::array<std::string_view, 4> idle{
        "maxRestarts", "procPerNode", "rdzvBackend", "extraOptions"};
    const node& config = spec["torchrunConfig"];
    if (!config["enabled"].flag() && !config["enabled"].broken()) {
        warn_idle(config, idle, "`torchrunConfig.enabled` is not true", findings);
    }
    option_checker(spec, findings).check();
}

}  // namespace signalbox::core::schema
