// SPDX-License-Identifier: Apache-2.0
#include "launch/torchrun.hpp"

#include "json/resources.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::core::launch {
namespace {

struct backend {
    std::string_view name;
    rendezvous how;
};
constexpr std::array backends{
    backend{"c10d", rendezvous::c10d},
    backend{"static", rendezvous::fixed},
    backend{"etcd", rendezvous::external},
    backend{"etcd-v2", rendezvous::external},
};

/// True for `--rdzv_conf`, its dash spelling and its unambiguous prefixes, with or without `=value`
/// (argparse takes them all).
bool is_rdzv_conf(std::string_view option) {
    constexpr std::string_view full = "--rdzv_conf";
    constexpr std::string_view shortest = "--rdzv_c";
    std::string name(option.substr(0, option.find('=')));
    if (!name.starts_with("--")) {
        return false;
    }
    std::replace(name.begin() + 2, name.end(), '-', '_');
    return name.size() >= shortest.size() && full.starts_with(name);
}

/// `k=v,k=v` in order, each key once; a later value replaces an earlier one.
class rdzv_conf {
public:
    void set(std::string_view key, std::string_view item) {
        for (auto& [k, text] : items_) {
            if (k == key) {
                text = item;
                return;
            }
        }
        items_.emplace_back(key, item);
    }
    void merge(std::string_view list) {
        while (!list.empty()) {
            const std::string_view item = list.substr(0, list.find(','));
            if (!item.empty()) {
                set(item.substr(0, item.find('=')), item);
            }
            list.remove_prefix(std::min(item.size() + 1, list.size()));
        }
    }
    std::string text() const {
        std::string out;
        for (const auto& entry : items_) {
            out += (out.empty() ? "" : ",") + entry.second;
        }
        return out;
    }

private:
    std::vector<std::pair<std::string, std::string>> items_;  // key, whole item
};

/// Ours. The times cover image pulls and scheduling of the slowest pod (LAUNCH.md 3.4, 9.2).
rdzv_conf default_conf(rendezvous how, const torchrun_pod& pod) {
    rdzv_conf conf;
    if (how == rendezvous::c10d) {
        // Names are compared differently by every version of torch: never let it guess who hosts.
        conf.set("is_host", pod.deciding ? "is_host=1" : "is_host=0");
        conf.set("read_timeout", "read_timeout=900");
        conf.set("join_timeout", "join_timeout=1800");
    } else if (how == rendezvous::external) {
        conf.set("timeout", "timeout=1800");
    }
    if (how != rendezvous::fixed && pod.elastic != nullptr) {
        conf.set("last_call_timeout", "last_call_timeout=30");
    }
    return conf;
}

/// Takes the user's `--rdzv_conf` into `conf`; gives the options that are left.
std::vector<std::string> take_conf(const std::vector<std::string>& options, rdzv_conf& conf) {
    std::vector<std::string> rest;
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (!is_rdzv_conf(options[i])) {
            rest.push_back(options[i]);
        } else if (const auto equals = options[i].find('='); equals != std::string::npos) {
            conf.merge(std::string_view(options[i]).substr(equals + 1));
        } else if (++i < options.size()) {
            conf.merge(options[i]);
        }
    }
    return rest;
}

}  // namespace

rendezvous parse_rendezvous(std::string_view name) {
    for (const auto& b : backends) {
        if (b.name == name) {
            return b.how;
        }
    }
    return rendezvous::c10d;  // the parser lets no other name through
}

std::vector<argument> torchrun_options(const torchrun_config& config, const torchrun_pod& pod) {
    const rendezvous how = parse_rendezvous(config.rdzv_backend);
    std::vector<argument> args;
    if (pod.elastic != nullptr) {
        args.push_back(
            {"--nnodes=" + std::to_string(pod.elastic->min_replicas) + ':' +
             std::to_string(pod.elastic->max_replicas)}
        );
    } else {
        args.push_back({"--nnodes=", filling::world_size});
    }
    args.push_back({"--nproc_per_node=" + pod.proc_per_node});
    args.push_back({"--max_restarts=" + std::to_string(config.max_restarts)});
    args.push_back({"--rdzv_backend=" + config.rdzv_backend});

    rdzv_conf conf = default_conf(how, pod);
    const auto rest = take_conf(config.extra_options, conf);
    if (how == rendezvous::fixed) {
        args.push_back({"--node_rank=", filling::rank});
        args.push_back({"--master_addr=" + pod.rendezvous_host});
        args.push_back({"--master_port=" + std::to_string(master_port)});
    } else {
        if (how == rendezvous::c10d) {
            args.push_back(
                {"--rdzv_endpoint=" + pod.rendezvous_host + ':' + std::to_string(c10d_port)}
            );
        }
        // A closed rendezvous stays closed under its name: a fresh one per attempt.
        args.push_back({"--rdzv_id=" + pod.job_uid + '-', filling::attempt});
    }
    if (const auto text = conf.text(); !text.empty()) {
        args.push_back({"--rdzv_conf=" + text});
    }
    args.push_back({"--role=" + pod.type});
    for (const auto& option : rest) {
        args.push_back({option});
    }
    return args;
}

std::string resolve_processes(const std::string& proc_per_node, const json::value& container) {
    if (proc_per_node != "auto") {
        return proc_per_node;
    }
    const auto devices = json::count_devices(container);
    if (devices.any) {
        return std::to_string(std::max<std::int64_t>(1, devices.accelerators));
    }
    auto cpus = json::cpu_request_milli(container);
    if (!cpus) {
        cpus = json::cpu_limit_milli(container);
    }
    return cpus ? std::to_string(std::max<std::int64_t>(1, *cpus / 1000)) : proc_per_node;
}

}  // namespace signalbox::core::launch
