// SPDX-License-Identifier: Apache-2.0
#include "kubelet/node/scheduler.hpp"

#include "kubelet/pod/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

constexpr const char* gpu = "nvidia.com/gpu";
/// Of a machine that has accelerators, in what is advised.
constexpr std::uint64_t usual_devices = 8;

/// By limits, which an extended resource's requests must equal.
amounts needs_of_container(const container_spec& c) {
    amounts out;
    for (const string_map* in : {&c.requests, &c.limits}) {
        for (const auto& [name, quantity] : *in) {
            // Those without a domain are the machine's own: cpu, memory, ephemeral-storage.
            if (name.find('/') != std::string::npos) {
                out[name] = bytes_of(quantity).value_or(0);
            }
        }
    }
    std::erase_if(out, [](const auto& n) { return n.second == 0; });
    return out;
}

std::uint64_t amount_of(const amounts& in, const std::string& name) {
    const auto it = in.find(name);
    return it == in.end() ? 0 : it->second;
}

std::vector<std::string> host_ports_of(const pod_spec& pod) {
    std::vector<std::string> out;
    for (const container_spec& c : pod.containers) {
        if (!c.init || c.sidecar) {
            out.insert(out.end(), c.host_ports.begin(), c.host_ports.end());
        }
    }
    return out;
}

}  // namespace

amounts needs_of(const pod_spec& pod) {
    amounts out, most;
    for (const container_spec& c : pod.containers) {
        for (const auto& [name, amount] : needs_of_container(c)) {
            if (c.init && !c.sidecar) {
                // The sidecars before it run beside it.
                most[name] = std::max(most[name], amount_of(out, name) + amount);
            } else {
                out[name] += amount;
            }
        }
    }
    for (const auto& [name, amount] : most) {
        out[name] = std::max(out[name], amount);
    }
    return out;
}

scheduler::scheduler(std::vector<node_offer> nodes) : nodes_(std::move(nodes)) {
    for (const node_offer& n : nodes_) {
        free_.push_back(n.resources);
        std::set<std::uint64_t> devices;
        for (std::uint64_t i = 0; i < amount_of(n.resources, gpu); ++i) {
            devices.insert(n.first_device + i);
        }
        free_devices_.push_back(std::move(devices));
    }
    used_ports_.resize(nodes_.size());
}

std::string scheduler::what_lacks(std::size_t node, const pod_spec& pod, const amounts& needs)
    const {
    for (const auto& [key, value] : pod.node_selector) {
        const auto label = nodes_[node].labels.find(key);
        if (label == nodes_[node].labels.end() || label->second != value) {
            return "node(s) didn't match Pod's node affinity/selector";
        }
    }
    for (const auto& [name, amount] : needs) {
        if (amount_of(free_[node], name) < amount) {
            return "Insufficient " + name;
        }
    }
    const bool taken = std::ranges::any_of(host_ports_of(pod), [&](const std::string& port) {
        return used_ports_[node].contains(port);
    });
    return taken ? "node(s) didn't have free ports for the requested pod ports" : "";
}

void scheduler::take_on(std::size_t node, const pod_spec& pod, amounts needs) {
    use out;
    out.node = node;
    for (auto& [name, amount] : needs) {
        std::uint64_t& left = free_[node][name];
        amount = std::min(amount, left);
        left -= amount;
    }
    for (std::uint64_t i = amount_of(needs, gpu); i > 0; --i) {
        std::set<std::uint64_t>& devices = free_devices_[node];
        out.devices.push_back(*devices.begin());
        devices.erase(devices.begin());
    }
    out.taken = std::move(needs);
    out.ports = host_ports_of(pod);
    used_ports_[node].insert(out.ports.begin(), out.ports.end());
    used_[pod.uid] = std::move(out);
}

scheduler::verdict scheduler::place(const pod_spec& pod) {
    const amounts needs = needs_of(pod);
    std::map<std::string, int> reasons;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const std::size_t node = (next_ + i) % nodes_.size();
        const std::string lacks = what_lacks(node, pod, needs);
        if (lacks.empty()) {
            next_ = (node + 1) % nodes_.size();
            take_on(node, pod, needs);
            return {nodes_[node].name, {}};
        }
        ++reasons[lacks];
    }
    std::vector<std::string> texts;
    for (const auto& [reason, count] : reasons) {
        texts.push_back(fmt::format("{} {}", count, reason));
    }
    return {
        {},
        fmt::format(
            "0/{} nodes are available: {}.{}",
            nodes_.size(),
            fmt::join(texts, ", "),
            never_here(pod, needs)
        )};
}

/// What no end of another pod gives; empty: nothing. Behind the scheduler's words, which do not say
/// that they are about one machine.
std::string scheduler::never_here(const pod_spec& pod, const amounts& needs) const {
    std::string out;
    for (const auto& [key, value] : pod.node_selector) {
        const bool known = std::ranges::any_of(nodes_, [&](const node_offer& n) {
            const auto label = n.labels.find(key);
            return label != n.labels.end() && label->second == value;
        });
        if (!known) {
            out += fmt::format(" Nothing here has the label {}={}.", key, value);
        }
    }
    for (const auto& [name, amount] : needs) {
        std::uint64_t most = 0;
        for (const node_offer& n : nodes_) {
            most = std::max(most, amount_of(n.resources, name));
        }
        if (most < amount) {
            out += fmt::format(
                " This machine has {} {}; --fake-resource {}={} pretends.",
                most == 0 ? "no" : std::to_string(most),
                name,
                name,
                std::max(amount, usual_devices)
            );
        }
    }
    return out;
}

void scheduler::take(const pod_spec& pod) {
    const auto it = std::ranges::find(nodes_, pod.node, &node_offer::name);
    if (it != nodes_.end() && !used_.contains(pod.uid)) {
        take_on(static_cast<std::size_t>(it - nodes_.begin()), pod, needs_of(pod));
    }
}

void scheduler::release(const std::string& uid) {
    const auto it = used_.find(uid);
    if (it == used_.end()) {
        return;
    }
    for (const auto& [name, amount] : it->second.taken) {
        free_[it->second.node][name] += amount;
    }
    free_devices_[it->second.node].insert(it->second.devices.begin(), it->second.devices.end());
    for (const std::string& port : it->second.ports) {
        used_ports_[it->second.node].extract(port);  // one, also if two pods came with it
    }
    used_.erase(it);
}

bool scheduler::has_node(const std::string& name) const {
    return std::ranges::find(nodes_, name, &node_offer::name) != nodes_.end();
}

device_map scheduler::devices_of(const pod_spec& pod) const {
    device_map out;
    const bool any = std::ranges::any_of(nodes_, [](const node_offer& n) {
        return amount_of(n.resources, gpu) > 0;
    });
    const auto it = used_.find(pod.uid);
    if (!any || it == used_.end()) {
        return out;
    }
    const std::vector<std::uint64_t>& ids = it->second.devices;
    std::size_t next = 0;
    for (const container_spec& c : pod.containers) {
        const std::size_t wanted = amount_of(needs_of_container(c), gpu);
        // Init containers have ended before those behind them begin, which get the same ones.
        std::size_t at = next;
        std::vector<std::uint64_t> mine;
        for (std::size_t i = 0; i < wanted && at < ids.size(); ++i, ++at) {
            mine.push_back(ids[at]);
        }
        next = c.init && !c.sidecar ? next : at;
        // A container that asks for none sees none.
        out[c.name] = fmt::format("{}", fmt::join(mine, ","));
    }
    return out;
}

std::vector<node_offer> node_offers(const std::string& name, int count, const amounts& resources) {
    std::vector<node_offer> out;
    std::uint64_t device = 0;
    const auto nodes = static_cast<std::uint64_t>(std::max(count, 1));
    for (std::uint64_t i = 0; i < nodes; ++i) {
        node_offer n;
        n.name = nodes == 1 ? name : fmt::format("{}-{}", name, i);
        n.labels = {{"kubernetes.io/hostname", n.name}, {"kubernetes.io/os", "linux"}};
        for (const auto& [resource, amount] : resources) {
            n.resources[resource] = amount / nodes + (i < amount % nodes ? 1U : 0U);
        }
        n.first_device = device;
        device += amount_of(n.resources, gpu);
        out.push_back(std::move(n));
    }
    return out;
}

}  // namespace signalbox::op::kubelet
