// SPDX-License-Identifier: Apache-2.0
//
// The kind ProcessJob: one replica type of plain processes, with everything that all kinds have.
#pragma once

#include "api/cel/cel.hpp"
#include "api/rules/rules.hpp"
#include "api/tables/schema_types.hpp"
#include "gang/scheduler.hpp"
#include "launch/compiler.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace signalbox::core {

/// Beside the kinds of the library.
inline constexpr job_kind process_kind{3};

namespace schema {
extern const field process_spec_field;
void check_process(const node& spec, findings_collector& findings);
std::vector<name_need> process_name_needs(const node& spec);
std::optional<std::int64_t> process_size(const node& spec);
job_spec bind_process(const node& spec);
}  // namespace schema

namespace launch {
void compile_process(compile_context& ctx);
}

namespace gang {
/// `scheduler.gatedScheduler`: an object Gang, in two versions, that names its pods by type and
/// tells when they may start; its pods wait at a gate.
extern const scheduler gated;
/// `scheduler.ticketedScheduler`: no pod before its Ticket is open.
extern const scheduler ticketed;
/// `scheduler.countedScheduler`: an object Count of the pods that have not ended; it holds pods
/// without a word.
extern const scheduler counted;
/// `scheduler.metered`: a Permit gives quota to the pods of each type, on nodes that a Tariff
/// names.
extern const scheduler metered;
}  // namespace gang

}  // namespace signalbox::core
