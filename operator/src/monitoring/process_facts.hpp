// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace signalbox::op {

/// What Prometheus' clients tell of their process; 0 where /proc does not say it.
struct process_facts {
    double cpu_seconds = 0;
    double resident_bytes = 0;
    double virtual_bytes = 0;
    double open_files = 0;
    double most_files = 0;
    double start_time = 0;  ///< Unix time in seconds
};
process_facts read_process_facts();

}  // namespace signalbox::op
