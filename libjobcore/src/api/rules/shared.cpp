// SPDX-License-Identifier: Apache-2.0
//
// Rules over the fields that several kinds have: BEHAVIOUR.md api 1.
#include "api/rules/rules.hpp"
#include "api/tables/rule_words.hpp"
#include "api/walk/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

/// The deciding pod, whatever its type (BEHAVIOUR.md api 1.5).
constexpr std::string_view master_entry = "master";

void check_entries(
    const node& list, std::span<const std::string> types, findings_collector& findings
) {
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        const node& type = list.items[i]["type"];
        if (!type.present()) {
            continue;
        }
        const std::string name = type.text();
        if (name != master_entry && std::find(types.begin(), types.end(), name) == types.end()) {
            std::vector<std::string_view> known(types.begin(), types.end());
            known.push_back(master_entry);
            findings.error(
                type.order,
                type.pointer,
                fmt::format("{}: {}, not \"{}\"", words::listed_type, enumerate(known, "or"), name)
            );
        }
        const auto same = [&](const node& other) {
            return other["type"].present() && other["type"].text() == name;
        };
        const auto here = list.items.begin() + static_cast<std::ptrdiff_t>(i);
        if (std::any_of(list.items.begin(), here, same)) {
            findings.warning(
                type.order,
                type.pointer,
                fmt::format(
                    "there is an entry of type \"{}\" before; this one has no effect", name
                ),
                field_ignored
            );
        }
    }
}

}  // namespace

void warn_size(
    const node& expected,
    std::optional<std::int64_t> size,
    std::string_view why,
    findings_collector& findings
) {
    if (expected.present() && expected.integer() != size) {
        findings.warning(
            expected.order,
            expected.pointer,
            fmt::format(
                "`{}` has no effect: {}, and `replicas` counts{}",
                expected.written_as,
                why,
                size ? fmt::format("; the operator will write {}", *size) : std::string()
            ),
            field_ignored
        );
    }
}

void check_elastic(
    const node& elastic,
    std::int64_t minimum,
    std::optional<std::int64_t> size,
    findings_collector& findings
) {
    static constexpr std::array<std::string_view, 2> bounds{"minReplicas", "maxReplicas"};
    static constexpr std::string_view off = "`elastic.enabled` is not true";
    const node& maximum = elastic["maxReplicas"];
    const node& expected = elastic["expectedReplicas"];
    if (!elastic["enabled"].flag() && !elastic["enabled"].broken()) {
        warn_idle(elastic, bounds, fmt::format("{}, and `replicas` counts", off), findings);
        warn_size(expected, size, off, findings);
    }
    if (elastic["enabled"].flag() && !maximum.present() && !maximum.broken()) {
        findings.error(elastic.order, maximum.pointer, std::string(words::elastic_needs_maximum));
    }
    if (maximum.present() && *maximum.integer() < minimum) {
        findings.error(
            maximum.order,
            maximum.pointer,
            fmt::format("{}, {}, not {}", words::maximum_below_minimum, minimum, *maximum.integer())
        );
    }
    if (elastic["enabled"].flag() && expected.present() &&
        (*expected.integer() < minimum ||
         (maximum.present() && *expected.integer() > *maximum.integer()))) {
        findings.error(
            expected.order,
            expected.pointer,
            fmt::format("{}, not {}", words::expected_outside, *expected.integer())
        );
    }
}

std::int64_t elastic_most(const node& spec) {
    const node& elastic = spec["elastic"];
    return elastic["enabled"].flag() ? elastic["maxReplicas"].int32() : 0;
}

void check_scheduler(const node& scheduler, findings_collector& findings) {
    const node* first = nullptr;
    for (const node& asked : scheduler.members) {
        if (asked.present() && first != nullptr) {
            findings.error(
                asked.order,
                asked.pointer,
                fmt::format("{}, not `{}` too", words::one_scheduler, asked.row->name)
            );
            return;
        }
        first = asked.present() ? &asked : first;
    }
}

void check_run_mode(
    const node& mode, std::span<const std::string> types, findings_collector& findings
) {
    check_entries(mode["debug"]["replicaSpecs"], types, findings);
    check_entries(mode["pause"]["resumeSpecs"], types, findings);
}

}  // namespace signalbox::core::schema
