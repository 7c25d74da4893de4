// SPDX-License-Identifier: Apache-2.0
//
// Messages of the Domain Name System (RFC 1035), as far as a name server of A records needs them.
// Pure: bytes in, bytes out. What comes in may be hostile.
#pragma once

#include "kubelet/names/cluster_names.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::op::kubelet {

/// What is to be done with a query.
struct dns_reply {
    enum class kind {
        send,     ///< `message` goes back to the client
        forward,  ///< `message` to another server; its answer goes back through forwarded_reply()
        drop,     ///< nothing: it is no query at all
    };
    kind what = kind::drop;
    std::string message;
    std::string alias;  ///< forward: `message` asks for this name, which the asked one stands for
};

using name_lookup = std::function<name_result(std::string_view name)>;

/// Answers for names of the cluster; a name that it does not have is NXDOMAIN at once. With
/// `offline` so is every other name, else it is for another server.
dns_reply answer_query(std::string_view query, const name_lookup& find, bool offline);

/// The answer to `query` from that of another server to the message of answer_query(). `answer`
/// empty: it has not come, which is a server failure.
std::string forwarded_reply(
    std::string_view query, const std::string& alias, std::string_view answer
);

/// The message with another number in place of its own: answers are told apart by it.
std::string with_id(std::string_view message, std::uint16_t id);
/// Nothing if it is too short to have one.
std::optional<std::uint16_t> id_of(std::string_view message);

}  // namespace signalbox::op::kubelet
