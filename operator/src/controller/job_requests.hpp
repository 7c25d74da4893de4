// SPDX-License-Identifier: Apache-2.0
//
// Requests on the object of a job itself: its status is written, and it is read where what is held
// may not be the newest.
#pragma once

#include "controller/request_slots.hpp"
#include "controller/server_clock.hpp"
#include "controller/settings.hpp"
#include "controller/view_updates.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>

namespace signalbox::op {

enum class write_result {
    written,
    superseded,  ///< there is a newer object: decide on that
    failed,
    refused,  ///< and would be refused again
};

/// All that it is made of must outlive it. References that are handed over must live until
/// completion.
class job_requests {
public:
    /// `slots`: of the requests of all jobs.
    job_requests(
        k8sio::client& api,
        const settings& config,
        view_updates& updates,
        k8sio::controller& runtime,
        controller_counters& counters,
        request_slots& slots
    )
        : api_(&api),
          config_(&config),
          updates_(&updates),
          runtime_(&runtime),
          counters_(&counters),
          slots_(&slots) {}

    /// Writes the status of the job that `decided` is a snapshot of, if that is still its version.
    /// A write of unknown outcome is looked up.
    boost::asio::awaitable<write_result> write_status(
        job_entry& entry, const core::job_object& decided, const core::job_status& status
    );
    /// Brings a job back whose object was let go, or of which there must be a newer one than we
    /// hold. False if that did not work.
    boost::asio::awaitable<bool> read_again(job_entry& entry);

private:
    boost::asio::awaitable<k8sio::result<std::string>> read_live(
        const core::job_meta& meta, std::string_view why
    );
    boost::asio::awaitable<write_result> read_back(
        job_entry& entry, const core::job_object& decided, std::string wanted
    );

    k8sio::client* api_;
    const settings* config_;
    view_updates* updates_;
    k8sio::controller* runtime_;
    controller_counters* counters_;
    request_slots* slots_;
};

}  // namespace signalbox::op
