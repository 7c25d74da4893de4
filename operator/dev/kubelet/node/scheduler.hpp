// SPDX-License-Identifier: Apache-2.0
//
// Which node takes a pod, and which accelerators it gets. Pure. Counts extended resources and
// ports of the node alone: processors and memory are the machine's, whatever pods ask for.
#pragma once

#include "kubelet/pod/pod_spec.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace signalbox::op::kubelet {

using amounts = std::map<std::string, std::uint64_t>;

struct node_offer {
    std::string name;
    string_map labels;
    amounts resources;               ///< extended ones, e.g. `nvidia.com/gpu`
    std::uint64_t first_device = 0;  ///< id of the first accelerator
};

/// Extended resources that a pod needs at a time.
amounts needs_of(const pod_spec& pod);

class scheduler {
public:
    explicit scheduler(std::vector<node_offer> nodes);

    struct verdict {
        std::string node;  ///< empty: none
        std::string why;   ///< in the scheduler's words
    };
    /// Finds a node and takes what the pod needs; nodes come in turn.
    verdict place(const pod_spec& pod);
    /// A pod that has a node already takes what it needs, as far as that is there.
    void take(const pod_spec& pod);
    void release(const std::string& uid);

    bool has_node(const std::string& name) const;
    const std::vector<node_offer>& nodes() const { return nodes_; }
    /// Value of CUDA_VISIBLE_DEVICES for containers of a placed pod; none where no node has GPUs.
    device_map devices_of(const pod_spec& pod) const;

private:
    struct use {
        std::size_t node = 0;
        amounts taken;
        std::vector<std::uint64_t> devices;
        std::vector<std::string> ports;  ///< of the node
    };
    std::string what_lacks(std::size_t node, const pod_spec& pod, const amounts& needs) const;
    std::string never_here(const pod_spec& pod, const amounts& needs) const;
    void take_on(std::size_t node, const pod_spec& pod, amounts needs);

    std::vector<node_offer> nodes_;
    std::vector<amounts> free_;
    std::vector<std::set<std::uint64_t>> free_devices_;
    std::vector<std::multiset<std::string>> used_ports_;
    std::unordered_map<std::string, use> used_;  ///< by UID
    std::size_t next_ = 0;
};

/// `count` nodes called `name`, or `name-0` ... if there are more; the resources are divided.
std::vector<node_offer> node_offers(const std::string& name, int count, const amounts& resources);

}  // namespace signalbox::op::kubelet
