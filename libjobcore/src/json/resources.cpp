// SPDX-License-Identifier: Apache-2.0
#include "json/resources.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

namespace signalbox::core::json {
namespace {

struct suffix {
    std::string_view text;
    double factor;
};
constexpr std::array suffixes{
    suffix{"", 1},
    suffix{"n", 1e-9},
    suffix{"u", 1e-6},
    suffix{"m", 1e-3},
    suffix{"k", 1e3},
    suffix{"M", 1e6},
    suffix{"G", 1e9},
    suffix{"T", 1e12},
    suffix{"P", 1e15},
    suffix{"E", 1e18},
    suffix{"Ki", 1024.0},
    suffix{"Mi", 1048576.0},
    suffix{"Gi", 0x1p30},
    suffix{"Ti", 0x1p40},
    suffix{"Pi", 0x1p50},
    suffix{"Ei", 0x1p60},
};

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

std::optional<std::int64_t> in_thousandths(double value) {
    // 2^53: beyond it a double has no unit digits, and no machine has so many processors.
    if (!(value >= 0) || value * 1000 > 0x1p53) {
        return std::nullopt;
    }
    // 0.3 * 1000 lies below 300: the smallest step that quantities know is not to get lost.
    return static_cast<std::int64_t>(std::floor(value * 1000 + 1e-6));
}

/// Null for a name that nobody knows.
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
    if (quantity.IsNumber()) {
        return in_thousandths(quantity.GetDouble());
    }
    if (!quantity.IsString()) {
        return std::nullopt;
    }
    std::string_view text = view(quantity);
    if (text.starts_with('+')) {
        text.remove_prefix(1);
    }
    if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) {
        return std::nullopt;  // from_chars would take `inf`, `nan` and signs
    }
    double number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    for (const auto& s : suffixes) {
        if (s.text == text) {
            return in_thousandths(number * s.factor);
        }
    }
    return std::nullopt;
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
