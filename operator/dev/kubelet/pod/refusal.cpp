// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/refusal.hpp"

#include <boost/throw_exception.hpp>

#include <ostream>
#include <stdexcept>

namespace signalbox::op::kubelet {

void throw_exception_from_error(const refusal& r, const boost::source_location& at) {
    boost::throw_exception(std::runtime_error(r.reason + ": " + r.message), at);
}

std::ostream& operator<<(std::ostream& out, const refusal& r) {
    return out << r.reason << ": " << r.message;
}

}  // namespace signalbox::op::kubelet
