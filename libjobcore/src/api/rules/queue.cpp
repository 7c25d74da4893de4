// SPDX-License-Identifier: Apache-2.0
#include "api/rules/queue.hpp"

#include "api/tables/rule_words.hpp"
#include "api/tables/tables.hpp"
#include "api/walk/text.hpp"
#include "json/job_meta.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::schema {
namespace {

constexpr std::string_view kueue = "kueue";
constexpr std::string_view queue_name_field = "queueName";
constexpr std::string_view left_open = gang_request::left_open;

/// The scheduler that the specification names; null: none.
const node* named_scheduler(const node& spec) {
    const node& scheduler = spec["scheduler"];
    const auto asked = std::ranges::find_if(scheduler.members, &node::present);
    return asked == scheduler.members.end() ? nullptr : &*asked;
}

void check_label(
    const node& metadata, const node* named, std::string_view queue, findings_collector& findings
) {
    std::string wrong;
    if (!object_name_form.matches(queue)) {
        wrong = fmt::format("the label must be {}, not {}", object_name_form.words, quoted(queue));
    } else if (named != nullptr && named->row->name == left_open) {
        // The label says what is left open.
    } else if (named != nullptr && named->row->name != kueue) {
        wrong = fmt::format(
            "the label asks for Kueue, and `spec.scheduler` for `{}`: name one of them",
            named->row->name
        );
    } else if (named != nullptr) {
        const node& field = (*named)[queue_name_field];
        const std::string said = field.present() && !field.broken() ? field.text() : std::string();
        if (!said.empty() && said != queue) {
            wrong = fmt::format(
                "the label names queue {}, and `spec.scheduler.kueue.queueName` {}: name the same, "
                "or leave one out",
                quoted(queue),
                quoted(said)
            );
        }
    }
    if (!wrong.empty()) {
        findings.error(
            metadata.order,
            child_pointer(child_pointer(metadata.pointer, "labels"), json::queue_label),
            wrong
        );
    }
}

}  // namespace

void check_queue(
    const node& metadata, const node& spec, std::string_view queue, findings_collector& findings
) {
    if (!spec.present() || spec["scheduler"].broken()) {
        return;
    }
    const node* named = named_scheduler(spec);
    if (!queue.empty()) {
        check_label(metadata, named, queue, findings);
    }
    const bool asks = named != nullptr && named->row->name == kueue;
    if (asks && queue.empty() && !(*named)[queue_name_field].broken() &&
        (!(*named)[queue_name_field].present() || (*named)[queue_name_field].text().empty())) {
        findings.error(
            named->order,
            named->pointer,
            fmt::format(
                "name the queue in `queueName`, or in the job's label {}", json::queue_label
            )
        );
    }
    const node* types = spec.find("replicaSpecs");
    const bool open = named == nullptr || named->row->name == left_open;
    if ((asks || (open && !queue.empty())) && types != nullptr &&
        types->items.size() > words::most_kueue_types) {
        findings.error(types->order, types->pointer, std::string(words::kueue_types));
    }
}

void add_queue(std::string_view queue, job_spec& spec) {
    if (queue.empty()) {
        return;
    }
    if (spec.leaves_scheduler_open()) {
        spec.scheduler = gang_request{.name = std::string(kueue)};
    }
    spec.scheduler->fields.emplace(queue_name_field, queue);
}

void add_chosen(std::string_view chosen, const node& scheduler, job_spec& spec) {
    const auto rows = scheduler.row->fields;
    const auto row = std::ranges::find(rows, chosen, &field::name);
    if (!spec.leaves_scheduler_open() || row == rows.end() || chosen == kueue ||
        chosen == left_open) {
        return;
    }
    gang_request out{.name = std::string(chosen)};
    for (const field& each : row->fields) {
        const bool text = each.fallback.starts_with('"');
        const std::string_view value =
            text ? each.fallback.substr(1, each.fallback.size() - 2) : each.fallback;
        if (!value.empty()) {
            out.fields.emplace(each.name, value);
        }
    }
    spec.scheduler = std::move(out);
}

}  // namespace signalbox::core::schema
