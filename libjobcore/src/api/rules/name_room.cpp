// SPDX-License-Identifier: Apache-2.0
//
// Names of pods and Services are DNS labels; the job's name has to leave room for the rest of them.
#include "api/rules/rules.hpp"
#include "api/tables/rule_words.hpp"
#include "api/walk/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::schema {
namespace {

constexpr std::int64_t label_limit = 63;
constexpr std::int64_t hash_part = 7;  // "-" + 5 hex digits + "-", BEHAVIOUR.md 1.2

bool is_job_name(std::string_view name) {
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return !name.empty() && is_letter(name.front()) && name.back() != '-' &&
           std::all_of(name.begin(), name.end(), [&](char c) {
               return c == '-' || is_letter(c) || is_digit(c);
           });
}

std::int64_t digits_of_last_index(std::int64_t replicas) {
    return static_cast<std::int64_t>(
        fmt::formatted_size("{}", std::max<std::int64_t>(replicas, 1) - 1)
    );
}

}  // namespace

std::int64_t name_excess(std::string_view job, const name_need& need) {
    return static_cast<std::int64_t>(job.size() + need.type.size()) + hash_part + 1 +
           digits_of_last_index(need.replicas) - label_limit;
}

void check_name(
    const node& metadata,
    std::string_view name,
    std::span<const name_need> needs,
    findings_collector& findings
) {
    const std::string pointer = child_pointer(metadata.pointer, "name");
    if (!is_job_name(name)) {
        findings.error(
            metadata.order, pointer, fmt::format("{}, not {}", words::name_form, quoted(name))
        );
    }
    const name_need* worst = nullptr;
    for (const name_need& need : needs) {
        if (worst == nullptr || name_excess(name, need) > name_excess(name, *worst)) {
            worst = &need;
        }
    }
    if (worst == nullptr || name_excess(name, *worst) <= 0) {
        return;
    }
    const std::int64_t excess = name_excess(name, *worst);
    findings.error(
        metadata.order,
        pointer,
        fmt::format(
            "{}; for type `{}` it may have {}, not {}",
            words::name_room,
            worst->type,
            static_cast<std::int64_t>(name.size()) - excess,
            name.size()
        )
    );
}

}  // namespace signalbox::core::schema
