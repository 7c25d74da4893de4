// SPDX-License-Identifier: Apache-2.0
#include "api/tables/shared.hpp"
#include "extension/process_job.hpp"

#include <array>

namespace signalbox::core::schema {
namespace {

/// A further scheduler is a further member of `scheduler`, with the fields that it has.
constexpr std::array gated_fields{
    field{
        .name = "queue",
        .type = value_type::string,
        .doc = "Where the gang waits.",
        .fallback = "\"first\"",
    },
    field{
        .name = "rank",
        .type = value_type::integer,
        .doc = "Its place there.",
        .minimum = 0,
    },
};

constexpr std::array schedulers{
    field{
        .name = "gatedScheduler",
        .type = value_type::object,
        .doc = "Gang scheduling by gates.",
        .fields = gated_fields,
        .presence_counts = true,
    },
    field{
        .name = "ticketedScheduler",
        .type = value_type::object,
        .doc = "Gang scheduling by tickets.",
        .presence_counts = true,
    },
    field{
        .name = "countedScheduler",
        .type = value_type::object,
        .doc = "Gang scheduling by numbers.",
        .presence_counts = true,
    },
    field{
        .name = "metered",
        .type = value_type::object,
        .doc = "Quota by permits.",
        .presence_counts = true,
    },
};

constexpr std::array process_fields{
    field{
        .name = "replicas",
        .type = value_type::integer,
        .doc = "Number of processes.",
        .fallback = "1",
        .minimum = 1,
        .maximum = max_replicas,
    },
    restart_policy_field,
    template_field,
};

constexpr std::array process_spec_fields{
    field{
        .name = "scheduler",
        .type = value_type::object,
        .doc = "Who schedules the pods.",
        .fields = schedulers,
    },
    run_mode_field,
    run_policy_field,
    elastic_field,
    field{
        .name = "process",
        .type = value_type::object,
        .doc = "What runs.",
        .fields = process_fields,
        .required = true,
    },
    managed_by_field,
};

}  // namespace

constexpr field process_spec_field{
    .name = "spec",
    .type = value_type::object,
    .doc = "What to run.",
    .fields = process_spec_fields,
    .required = true,
    .rule = "api 1",
};

}  // namespace signalbox::core::schema
