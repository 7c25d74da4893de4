// SPDX-License-Identifier: Apache-2.0
#include "containers/container_runtime.hpp"

#include "containers/unix.hpp"

#include <boost/throw_exception.hpp>

#include <stdexcept>

namespace signalbox::op::containers {

void throw_exception_from_error(const container_error& e, const boost::source_location& at) {
    boost::throw_exception(std::runtime_error(e.reason + ": " + e.message), at);
}

boost::asio::awaitable<void> container_runtime::remove_files(std::string folder) {
    [[maybe_unused]] const int failed = remove_tree(folder);
    co_return;
}

}  // namespace signalbox::op::containers
