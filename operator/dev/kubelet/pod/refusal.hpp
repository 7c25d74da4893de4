// SPDX-License-Identifier: Apache-2.0
//
// Why a container or a volume cannot be made.
#pragma once

#include <boost/system/result.hpp>

#include <iosfwd>
#include <string>
#include <type_traits>
#include <utility>

namespace signalbox::op::kubelet {

/// `reason` as in a container's waiting state or an event; `message` in the kubelet's words.
class refusal {
public:
    refusal() = default;
    refusal(std::string why, std::string words)
        : reason(std::move(why)), message(std::move(words)) {}
    std::string reason;
    std::string message;
};
/// Called by result::value() on a refusal: throws std::runtime_error with reason and message.
[[noreturn]] void throw_exception_from_error(const refusal& r, const boost::source_location& at);

std::ostream& operator<<(std::ostream& out, const refusal& r);

/// Not for bool: a result converts to bool, and a copy of a refusal would be a success.
template <class T>
requires(!std::is_same_v<T, bool>) using outcome = boost::system::result<T, refusal>;

}  // namespace signalbox::op::kubelet
