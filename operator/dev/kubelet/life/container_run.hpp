// SPDX-License-Identifier: Apache-2.0
//
// One run of a container: its process, its log, and who else listens.
#pragma once

#include "containers/container_runtime.hpp"
#include "kubelet/disk/kept_log.hpp"
#include "kubelet/disk/log_file.hpp"

#include <k8sio/clock.hpp>
#include <k8sio/synchronization.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

/// Hears what a container says while it runs.
class output_listener {
public:
    virtual ~output_listener() = default;
    virtual void hear(containers::output_stream from, std::string_view bytes) = 0;
    /// It has ended; nothing more comes.
    virtual void end() = 0;
};

class container_run {
public:
    container_run(
        boost::asio::any_io_executor executor,
        containers::container_spec spec,
        std::unique_ptr<containers::process> started,
        std::filesystem::path log_path
    )
        : made(std::move(spec)),
          process(std::move(started)),
          log(std::move(log_path)),
          drained(executor) {}

    containers::container_spec made;
    std::unique_ptr<containers::process> process;
    log_file log;
    kept_log kept;
    int open_outputs = 0;
    k8sio::notification drained;  ///< an output has ended
    bool ended = false;
    bool loss_told = false;  ///< that lines of the log are lost
    std::vector<std::weak_ptr<output_listener>> listeners;
};

}  // namespace signalbox::op::kubelet
