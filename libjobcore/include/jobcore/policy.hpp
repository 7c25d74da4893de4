// SPDX-License-Identifier: Apache-2.0
//
// Every constant of BEHAVIOUR.md that is a time or a bound, so that tests and simulations can
// shorten them. The numbers in brackets are rules of BEHAVIOUR.md.
#pragma once

#include "jobcore/time.hpp"

#include <cstdint>
#include <string_view>

namespace signalbox::core {

/// The defaults are what the rule book says. Nothing may be negative. A value that was changed
/// holds for decisions after it: use one policy for all decisions about a job.
struct policy {
    /// A terminating pod is stuck after this time past its deletion timestamp (1.3).
    milliseconds stuck_after = seconds{60};
    /// Delay before the pods of the second counted incident in a row (5.8); doubles.
    milliseconds restart_delay = seconds{10};
    milliseconds restart_delay_max = seconds{300};
    /// The restart streak starts again after this time of Running without incident (5.8).
    milliseconds healthy_after = seconds{600};
    /// A disrupted pod younger than this makes its free replacement wait (5.4).
    milliseconds short_life = seconds{60};
    milliseconds free_delay = seconds{10};
    milliseconds free_delay_max = seconds{300};
    /// A pod that exited settles for this time (5.6).
    milliseconds settle = seconds{15};
    /// Failures that ended this close together count as first (5.5).
    milliseconds first_failure_window = seconds{2};
    /// Where logs are read: how long the ends of other pods are waited for before that, and until
    /// when after the first end they are to have been read (3.13).
    milliseconds evidence_wait = seconds{2};
    milliseconds evidence_limit = seconds{3};
    /// How long the ends of other pods are waited for where what is known follows from others: on a
    /// busy node an agent ends so much later (3.13).
    milliseconds evidence_of_agents = seconds{8};
    /// Of how many pods at once, and how many bytes of each at most (3.13).
    std::int32_t evidence_pods = 8;
    std::int32_t evidence_bytes = 64 << 10;
    /// An `Always` replica that exited 0 is not replaced earlier than this after its start (5.9).
    milliseconds always_delay = seconds{10};
    /// Clean-up after a torchrun success waits this long for peers in the exit barrier (5.1).
    milliseconds exit_barrier = seconds{300};
    /// Clean-up after the success of a plain job waits this long for peers that end by themselves
    /// (5.1).
    milliseconds finish_barrier = seconds{30};
    /// Quota refusals are tried again after this time; doubles (2.8).
    milliseconds quota_retry = seconds{5};
    milliseconds quota_retry_max = seconds{300};
    /// A foreign object that holds one of our names is asked for again after this time; doubles
    /// (1.8).
    milliseconds name_retry = seconds{10};
    milliseconds name_retry_max = seconds{300};
    /// A kind that the server does not serve is asked for again (8.4).
    milliseconds capability_retry = seconds{60};
    /// Bytes of specifications that may have begun in one namespace (2.12).
    std::int32_t namespace_bytes = 32 << 20;
    /// How long a status may stay unwritten that differs in counts alone, and in texts of others
    /// alone (4.16).
    milliseconds counts_interval = seconds{1};
    milliseconds texts_interval = seconds{30};
    /// The same of one that differs in reports of progress alone (13.7).
    milliseconds progress_interval = seconds{15};
    /// Bounds of status lists (BEHAVIOUR.md 4.16, api 5.4).
    std::int32_t replicas_in_status = 256;
    std::int32_t replaced_in_status = 256;
    std::int32_t renamed_in_status = 256;
    std::int32_t pods_in_incident = 16;
    /// Attempts that have ended, in the status (13.2).
    std::int32_t attempts_in_status = 10;
    /// Who schedules jobs that name no scheduler: a name in `spec.scheduler`, `auto`, or empty, the
    /// cluster's default scheduler (8.15). Has static storage: see set_default_scheduler.
    std::string_view default_scheduler;
    /// Above this number per decision NewReplica events are one event (11.1).
    std::int32_t replica_events = 8;
};

}  // namespace signalbox::core
