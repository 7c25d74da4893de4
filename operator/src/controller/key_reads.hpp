// SPDX-License-Identifier: Apache-2.0
//
// Secrets of jobs that use ssh. They are not watched but read by name, when it matters
// (BEHAVIOUR.md 2.10).
#pragma once

#include "controller/context.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>

namespace signalbox::op {

enum class key_news {
    none,     ///< the Secret is as the view had it
    changed,  ///< it is there, gone, or another one, unlike before
    failed,   ///< no usable answer
};

/// When the next decision on the job needs a read before it, the present included; nothing: not
/// before pods are made.
std::optional<k8sio::steady_time> keys_due(const context& shared, const job_entry& entry);

/// The job has a Secret, and it may have gone since it was last looked at.
bool keys_may_be_old(const context& shared, const job_entry& entry);

/// A pod is to be created now.
bool creates_pods(const core::decision& made, core::instant now);

/// Reads the job's Secret into the view. Where that is not permitted the view stays as it is.
boost::asio::awaitable<key_news> read_keys(context& shared, job_entry& entry);

/// The job is gone: so are its Secrets, or soon.
void forget_keys(context& shared, const std::string& job_uid);

}  // namespace signalbox::op
