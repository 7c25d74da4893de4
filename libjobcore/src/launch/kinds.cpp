// SPDX-License-Identifier: Apache-2.0
#include "launch/kinds.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace signalbox::core::launch {
namespace {

/// A specification holds the alternative of its kind; of another one nothing is made.
template <class Launch, void (*Compile)(compile_context&, const Launch&)>
void compile_as(compile_context& ctx) {
    if (const auto* launch = std::get_if<Launch>(&ctx.spec.launch)) {
        Compile(ctx, *launch);
    }
}

/// 256 minus the signal (LAUNCH.md 4.7).
constexpr std::array<std::int32_t, 4> deepspeed_signals{254, 247, 246, 241};

constexpr std::array rows{
    kind_row{job_kind::pytorch, compile_as<pytorch_spec, compile_pytorch>},
    // Its launcher reads its hosts once (BEHAVIOUR.md 7.3).
    kind_row{
        job_kind::deepspeed,
        compile_as<deepspeed_spec, compile_deepspeed>,
        resize_rule::new_attempt,
        deepspeed_signals},
    kind_row{job_kind::colossalai, compile_as<colossalai_spec, compile_colossalai>},
};

}  // namespace

const kind_row& row_of(job_kind kind) {
    return *std::ranges::find(rows, kind, &kind_row::kind);
}

}  // namespace signalbox::core::launch
