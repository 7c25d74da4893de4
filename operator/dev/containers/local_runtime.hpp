// SPDX-License-Identifier: Apache-2.0
//
// Containers of this machine, made with the kernel's namespaces: as root, or as an ordinary user
// within a user namespace. Everything ends with the process that made the runtime, however that
// ends.
#pragma once

#include "containers/container_runtime.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace signalbox::op::containers {

struct local_options {
    /// Below it each runtime has a folder of its own; made if it is not there. Containers of the
    /// machine's own file system see it empty. Folders that ended runtimes left are removed.
    std::string folder;
    bool offline = false;  ///< containers do not reach beyond the sandboxes
    /// At once, in containers that set no limit: so that one that forks without end ends alone.
    std::uint32_t processes = 4096;
};

class local_runtime : public container_runtime {
public:
    /// On disk, for everything that is to go with the runtime; stop() removes it.
    virtual const std::string& folder() const = 0;
};

/// The program has to call become_node_process_if_asked() first in main(). SIGPIPE is ignored from
/// then on. To be made in a thread that lives as long as the runtime.
///
/// Errors: `NoNamespaces`, with what is missing.
boost::asio::awaitable<result<std::unique_ptr<local_runtime>>> make_local_runtime(
    boost::asio::any_io_executor executor, local_options options
);

}  // namespace signalbox::op::containers
