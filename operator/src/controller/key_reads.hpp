// SPDX-License-Identifier: Apache-2.0
//
// Secrets of jobs that use ssh. They are not watched but read by name, when it matters
// (BEHAVIOUR.md 2.10).
#pragma once

#include "controller/cluster_views.hpp"
#include "controller/server_clock.hpp"
#include "controller/settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::op {

enum class key_news {
    none,     ///< the Secret is as the view had it
    changed,  ///< it is there, gone, or another one, unlike before
    failed,   ///< no usable answer
};

/// A pod is to be created now.
bool creates_pods(const core::decision& made, core::instant now);

/// Whose the keys in a Secret of that job are (BEHAVIOUR.md 2.13). `secret` is the record of the
/// text.
core::key_standing standing_of(
    const child_store& secrets,
    const core::job_object& job,
    const core::child_record& secret,
    std::string_view secret_json
);

/// The job is gone: so are its Secrets, or soon.
void forget_keys(cluster_views& views, const std::string& job_uid);

/// All that it is made of must outlive it.
class key_reads {
public:
    key_reads(
        k8sio::client& api,
        const settings& config,
        cluster_views& views,
        controller_counters& counters
    )
        : api_(&api), clock_(api), config_(&config), views_(&views), counters_(&counters) {}

    /// When the next decision on the job needs a read before it, the present included; nothing: not
    /// before pods are made.
    std::optional<k8sio::steady_time> due(const job_entry& entry) const;
    /// The job has a Secret, and it may have gone since it was last looked at.
    bool may_be_old(const job_entry& entry) const;
    /// Reads the job's Secret into the view. Where that is not permitted the view stays as it is.
    boost::asio::awaitable<key_news> read(job_entry& entry);

private:
    std::string secret_name(const core::job_object& job) const;
    void tell_failure(
        const core::job_meta& job,
        std::string_view name,
        const k8sio::api_error& error,
        spdlog::level::level_enum level
    ) const;

    k8sio::client* api_;
    server_clock clock_;
    const settings* config_;
    cluster_views* views_;
    controller_counters* counters_;
};

}  // namespace signalbox::op
