// SPDX-License-Identifier: Apache-2.0
//
// One row per kind: how a job of it is compiled. Nothing else in src/launch asks which kind a job
// has.
#pragma once

#include "launch/compiler.hpp"

#include <cstdint>
#include <span>

namespace signalbox::core::launch {

struct kind_row {
    job_kind kind;
    void (*compile)(compile_context& ctx);
    /// How a job of it follows a change of its size (BEHAVIOUR.md 7.2, 7.3).
    resize_rule resize = resize_rule::in_place;
    /// Exit codes, besides those of the kernel's, by which its launcher tells of a signal.
    std::span<const std::int32_t> signal_codes = {};
};

const kind_row& row_of(job_kind kind);

}  // namespace signalbox::core::launch
