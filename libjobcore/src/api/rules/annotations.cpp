// SPDX-License-Identifier: Apache-2.0
//
// Our annotations on a job (BEHAVIOUR.md api 1.11). A wrong value never stops a job: it has no
// effect, and a warning says what would be right.
#include "api/rules/annotations.hpp"

#include "api/walk/text.hpp"
#include "json/job_meta.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::schema {
namespace {

bool is_seconds(std::string_view text) {
    // Nine digits: what follows counts in 32 bits.
    return !text.empty() && text.size() <= 9 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Names of nodes are DNS subdomains.
bool are_names(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
               c == ',' || c == ' ';
    });
}

constexpr std::array rows{
    annotation{
        .name = "stuck-after",
        .seconds = true,
        .word = {},
        .doc = "Seconds after the deletion of a pod was due after which it counts as stuck; "
               "0: never.",
    },
    annotation{
        .name = "shm",
        .seconds = false,
        .word = "off",
        .doc = "No `/dev/shm` volume of ours.",
    },
    annotation{
        .name = "ssh-check",
        .seconds = false,
        .word = "on",
        .doc = "Leaves out `--no_ssh_check`, for DeepSpeed before 0.6.5.",
    },
    annotation{
        .name = "wait-timeout",
        .seconds = true,
        .word = "off",
        .doc = "Seconds for which the bootstrap waits for the workers' sshd; default 600.",
    },
    annotation{
        .name = "torchrun",
        .seconds = false,
        .word = "module",
        .doc = "Starts `python -m torch.distributed.run` instead of `torchrun`.",
    },
    annotation{
        .name = "forgive-nodes",
        .seconds = false,
        .word = "all",
        .doc = "Nodes that are good again and not avoided, whatever failed there.",
        .names = true,
    },
};

bool is_right(const annotation& row, std::string_view value) {
    return (row.seconds && is_seconds(value)) || (!row.word.empty() && value == row.word) ||
           (row.names && are_names(value));
}

/// What the value of an unknown name of ours may have been meant for.
std::string_view meant(std::string_view name) {
    std::vector<std::string_view> names;
    for (const annotation& row : rows) {
        names.push_back(row.name);
    }
    return nearest(name, names);
}

void check_annotation(
    const node& metadata,
    std::string_view key,
    const json::value& value,
    findings_collector& findings
) {
    const std::string_view name = key.substr(json::our_prefix.size());
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const annotation& each) {
        return each.name == name;
    });
    const std::string place = child_pointer(child_pointer(metadata.pointer, "annotations"), key);
    if (row != rows.end()) {
        if (!value.IsString() || !is_right(*row, json::view(value))) {
            findings.warning(
                metadata.order,
                place,
                fmt::format(
                    "the annotation `{}` must be {}, not {}; it has no effect",
                    key,
                    values_of(*row),
                    describe(value)
                ),
                field_ignored
            );
        }
    } else if (const std::string_view guess = meant(name); !guess.empty()) {
        findings.warning(
            metadata.order,
            place,
            fmt::format(
                "{} is no known annotation and has no effect; did you mean `{}{}`?",
                quoted(key),
                json::our_prefix,
                guess
            ),
            unknown_field
        );
    }
}

}  // namespace

std::span<const annotation> our_annotations() {
    return rows;
}

std::string values_of(const annotation& row) {
    if (row.names) {
        return fmt::format("`{}` or names with commas", row.word);
    }
    if (!row.seconds) {
        return fmt::format("`{}`", row.word);
    }
    return row.word.empty() ? "a whole number of seconds"
                            : fmt::format("a whole number of seconds or `{}`", row.word);
}

void check_annotations(const node& metadata, findings_collector& findings) {
    const json::value* annotations =
        metadata.present() ? json::find(*metadata.value, "annotations") : nullptr;
    if (annotations == nullptr || !annotations->IsObject()) {
        return;
    }
    for (const auto& member : annotations->GetObject()) {
        const std::string_view key = json::view(member.name);
        if (key.starts_with(json::our_prefix) && !member.value.IsNull()) {
            check_annotation(metadata, key, member.value, findings);
        }
    }
}

}  // namespace signalbox::core::schema
