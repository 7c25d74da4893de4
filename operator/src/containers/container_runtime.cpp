// SPDX-License-Identifier: Apache-2.0
#include "containers/container_runtime.hpp"

#include <boost/throw_exception.hpp>

#include <stdexcept>

namespace signalbox::op::containers {

void throw_exception_from_error(const container_error& e, const boost::source_location& at) {
    boost::throw_exception(std::runtime_error(e.reason + ": " + e.message), at);
}

}  // namespace signalbox::op::containers
