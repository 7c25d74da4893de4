// SPDX-License-Identifier: Apache-2.0
#include "json/resources.hpp"

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

/// Extended resources that are accelerators. A name counts if it begins and ends so.
struct accelerator_name {
    std::string_view begin, end;
};
constexpr std::array accelerator_names{
    accelerator_name{"", "/gpu"},
    accelerator_name{"", "/gpu.shared"},
    accelerator_name{"nvidia.com/mig-", ""},
    accelerator_name{"gpu.intel.com/", ""},
    accelerator_name{"habana.ai/", "gaudi"},
    accelerator_name{"huawei.com/Ascend", ""},
    accelerator_name{"google.com/", "/tpu"},
    accelerator_name{"cambricon.com/", "mlu"},
};

std::optional<std::int64_t> in_thousandths(double value) {
    // 2^53: beyond it a double has no unit digits, and no machine has so many processors.
    if (!(value >= 0) || value * 1000 > 0x1p53) {
        return std::nullopt;
    }
    // 0.3 * 1000 lies below 300: the smallest step that quantities know is not to get lost.
    return static_cast<std::int64_t>(std::floor(value * 1000 + 1e-6));
}

bool is_accelerator(std::string_view name) {
    for (const auto& a : accelerator_names) {
        if (name.starts_with(a.begin) && name.ends_with(a.end)) {
            return true;
        }
    }
    return false;
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

std::int64_t accelerators(const value& container) {
    for (const std::string_view list : {"limits", "requests"}) {
        const value* resources = find(container, "resources", list);
        if (resources == nullptr || !resources->IsObject()) {
            continue;
        }
        std::int64_t sum = 0;
        for (const auto& member : resources->GetObject()) {
            if (is_accelerator(view(member.name))) {
                sum += quantity_milli(member.value).value_or(0) / 1000;
            }
        }
        if (sum > 0) {
            return sum;
        }
    }
    return 0;
}

}  // namespace signalbox::core::json
