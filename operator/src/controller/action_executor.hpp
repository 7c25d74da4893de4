// SPDX-License-Identifier: Apache-2.0
//
// Carries out one action of a decision: gives its order to the library's writer (REQUIREMENTS.md
// X16-X19), and says what came of it for the job (BEHAVIOUR.md 12.4-12.6).
#pragma once

#include "controller/server_clock.hpp"
#include "controller/settings.hpp"
#include "controller/view_updates.hpp"
#include "jobcore/carry_out.hpp"
#include "k8sio/object_write.hpp"

#include <boost/asio/awaitable.hpp>

namespace signalbox::op {

enum class action_result {
    done,         ///< acknowledged: what the action asked for holds
    present,      ///< what was to be created was there already, as wanted
    refused,      ///< the server will refuse it again; noted in the job's refusals
    recompute,    ///< the world is not as the decision thought: decide again
    failed,       ///< this request failed; others may well succeed
    unavailable,  ///< no usable answer, or one that says to come back later: so for any request
    skipped,      ///< not started, because the controller stops or the job changed
};

/// All that it is made of must outlive it.
class action_executor {
public:
    action_executor(
        k8sio::client& api,
        const settings& config,
        view_updates& updates,
        controller_counters& counters
    )
        : api_(&api), config_(&config), updates_(&updates), counters_(&counters) {}

    /// Carries out `a`, an action of `made` that `order` has given, for the job that `decided` is a
    /// snapshot of, and notes there what became of it. Answers go into the views at once. All
    /// references must live until completion. Never fails by exception.
    boost::asio::awaitable<action_result> carry_out(
        job_entry& entry,
        const core::job_object& decided,
        const core::decision& made,
        core::work_order& order,
        const core::action& a
    );

private:
    void tell_failure(
        const core::action& a, const k8sio::failed_request& request, action_result result
    );

    k8sio::client* api_;
    const settings* config_;
    view_updates* updates_;
    controller_counters* counters_;
};

}  // namespace signalbox::op
