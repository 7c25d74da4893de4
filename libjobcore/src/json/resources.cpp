// SPDX-License-Identifier: Apache-2.0
#include "json/resources.hpp"

#include "kubernetes/quantity.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace signalbox::core::json {
namespace {

/// 2^53: a number of JSON is exact up to it, and no machine has so many processors.
constexpr std::uint64_t most_thousandths = std::uint64_t{1} << 53U;

/// What an extended resource counts, as far as it is known. A name that ends with `*` is a
/// beginning. The first row counts that fits.
struct resource_name {
    std::string_view name;
    bool accelerator;
};
constexpr std::array resource_names{
    resource_name{"nvidia.com/gpu", true},
    resource_name{"nvidia.com/gpu.shared", true},
    resource_name{"nvidia.com/mig-*", true},
    resource_name{"amd.com/gpu", true},
    resource_name{"aws.amazon.com/neuron", true},
    resource_name{"cambricon.com/mlu", true},
    resource_name{"enflame.com/gcu", true},
    resource_name{"google.com/tpu", true},
    resource_name{"gpu.intel.com/i915", true},
    resource_name{"gpu.intel.com/xe", true},
    resource_name{"habana.ai/gaudi", true},
    resource_name{"huawei.com/Ascend310", true},
    resource_name{"huawei.com/Ascend310P", true},
    resource_name{"huawei.com/Ascend910", true},
    resource_name{"huawei.com/Ascend910A", true},
    resource_name{"huawei.com/Ascend910B", true},
    resource_name{"huawei.com/Ascend910C", true},
    resource_name{"hygon.com/dcu", true},
    resource_name{"iluvatar.com/gpu", true},
    resource_name{"kunlunxin.com/xpu", true},
    resource_name{"metax-tech.com/gpu", true},
    resource_name{"mthreads.com/gpu", true},
    // Memory, parts of a device, networks.
    resource_name{"aliyun.com/gpu-mem", false},
    resource_name{"gpu.intel.com/*", false},
    resource_name{"huawei.com/Ascend310P-memory", false},
    resource_name{"huawei.com/Ascend910-memory", false},
    resource_name{"nvidia.com/gpucores", false},
    resource_name{"nvidia.com/gpumem*", false},
    resource_name{"nvidia.com/hostdev", false},
    resource_name{"rdma/*", false},
    resource_name{"vpc.amazonaws.com/*", false},
};

/// Null for an unknown name.
const resource_name* find_resource(std::string_view name) {
    const auto* it = std::ranges::find_if(resource_names, [&](const resource_name& row) {
        return row.name.ends_with('*') ? name.starts_with(row.name.substr(0, row.name.size() - 1))
                                       : name == row.name;
    });
    return it == resource_names.end() ? nullptr : it;
}

/// `visit(name, quantity)` for each extended resource of the limits, else of the requests: those
/// have a domain in their name.
template <class Visit>
void for_each_extended(const value& container, Visit visit) {
    for (const std::string_view list : {"limits", "requests"}) {
        const value* resources = find(container, "resources", list);
        bool any = false;
        if (resources != nullptr && resources->IsObject()) {
            for (const auto& member : resources->GetObject()) {
                const std::int64_t n = quantity_milli(member.value).value_or(0) / 1000;
                if (n > 0 && view(member.name).find('/') != std::string_view::npos) {
                    visit(view(member.name), n);
                    any = true;
                }
            }
        }
        if (any) {
            return;
        }
    }
}

std::optional<std::int64_t> cpu_of(const value& container, std::string_view list) {
    const value* cpu = find(container, "resources", list, "cpu");
    return cpu == nullptr ? std::nullopt : quantity_milli(*cpu);
}

}  // namespace

std::optional<std::int64_t> quantity_milli(const value& quantity) {
    if (!quantity.IsNumber() && !quantity.IsString()) {
        return std::nullopt;
    }
    const auto amount = kubernetes::quantity_in(
        quantity.IsString() ? std::string(view(quantity)) : to_text(quantity),
        kubernetes::nanos_per_thousandth,
        kubernetes::rounding::down
    );
    return amount && *amount <= most_thousandths ? std::optional(static_cast<std::int64_t>(*amount))
                                                 : std::nullopt;
}

std::optional<std::int64_t> cpu_limit_milli(const value& container) {
    return cpu_of(container, "limits");
}

std::optional<std::int64_t> cpu_request_milli(const value& container) {
    return cpu_of(container, "requests");
}

std::vector<std::pair<std::string, std::int64_t>> extended_resources(const value& pod_spec) {
    std::map<std::string, std::int64_t> sums;
    const value* containers = find(pod_spec, "containers");
    if (containers == nullptr || !containers->IsArray()) {
        return {};
    }
    for (const value& container : containers->GetArray()) {
        const value* limits = find(container, "resources", "limits");
        if (limits == nullptr || !limits->IsObject()) {
            continue;
        }
        for (const auto& member : limits->GetObject()) {
            const std::int64_t n = quantity_milli(member.value).value_or(0) / 1000;
            if (n > 0 && view(member.name).find('/') != std::string_view::npos) {
                sums[std::string(view(member.name))] += n;
            }
        }
    }
    return {sums.begin(), sums.end()};
}

device_count count_devices(const value& container) {
    device_count out;
    for_each_extended(container, [&](std::string_view name, std::int64_t n) {
        out.any = true;
        const resource_name* row = find_resource(name);
        if (row == nullptr) {
            out.unknown = out.unknown.empty() ? std::string(name) : out.unknown;
        } else if (row->accelerator) {
            out.accelerators += n;
        }
    });
    return out;
}

std::int64_t accelerators(const value& container) {
    return count_devices(container).accelerators;
}

}  // namespace signalbox::core::json
