// SPDX-License-Identifier: Apache-2.0
#include "containers/node_network.hpp"

#include "containers/protocol.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

constexpr std::size_t spares = 3;
constexpr std::uint8_t prefix_length = 16;
constexpr const char* bridge_name = "signalbox0";

unique_fd own_namespace(const char* kind) {
    return unique_fd(::open(fmt::format("/proc/self/ns/{}", kind).c_str(), O_RDONLY | O_CLOEXEC));
}

sockaddr_in internet_address(const std::string& address, std::uint16_t port) {
    sockaddr_in out = {};
    out.sin_family = AF_INET;
    out.sin_addr.s_addr = parse_address(address);
    out.sin_port = htons(port);
    return out;
}

/// A pod's programs listen on any port and may ping, as in containers elsewhere; of the network
/// that the process is in.
void open_to_programs() {
    write_text("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    write_text("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
}

container_error no_sandbox(const char* step, int number) {
    return {"FailedCreatePodSandBox", fmt::format("cannot {}: {}", step, error_words(number))};
}

}  // namespace

/// In another network for the time of a scope.
class node_network::visit {
public:
    visit(const node_network& node, int network) : node_(node) { ::setns(network, CLONE_NEWNET); }
    ~visit() { ::setns(node_.network_.get(), CLONE_NEWNET); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

private:
    const node_network& node_;
};

node_network::node_network(std::string prefix)
    : prefix_(std::move(prefix)), address_(prefix_ + ".0.1") {}

std::string node_network::start() {
    network_ = own_namespace("net");
    host_name_ = own_namespace("uts");
    ipc_ = own_namespace("ipc");
    links_ = std::make_unique<netlink>();
    if (const int failed = links_->make_bridge(bridge_name); failed != 0) {
        return fmt::format("cannot make a bridge: {}", error_words(failed));
    }
    bridge_ = static_cast<int>(::if_nametoindex(bridge_name));
    int failed = links_->add_address(bridge_, parse_address(address_), prefix_length);
    failed = failed == 0 ? links_->set_up(bridge_, true) : failed;
    failed = failed == 0 ? links_->set_up(1, true) : failed;
    if (failed != 0) {
        return fmt::format("cannot set up the node's network: {}", error_words(failed));
    }
    open_to_programs();
    // Pods reach the outside through the node. Its way out (slirp4netns) asks by ARP for the pods'
    // addresses, and the node answers for them; no address is translated.
    write_text("/proc/sys/net/ipv4/ip_forward", "1");
    write_text("/proc/sys/net/ipv4/conf/default/proxy_arp", "1");
    return "";
}

void node_network::uplink_is_there() {
    links_->answer_for_others_at_once(static_cast<int>(::if_nametoindex(uplink_name)));
}

unique_fd node_network::network() const {
    return unique_fd(::fcntl(network_.get(), F_DUPFD_CLOEXEC, 0));
}

unique_fd node_network::name_server_socket() const {
    unique_fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const sockaddr_in at = internet_address(address_, 53);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
        socket.reset();
    }
    return socket;
}

unique_fd node_network::service_socket() const {
    unique_fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_in at = internet_address(address_, 0);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        ::listen(socket.get(), SOMAXCONN) != 0) {
        socket.reset();
    }
    return socket;
}

std::string node_network::next_address() {
    constexpr std::uint32_t most = 0xfffe;
    for (std::uint32_t tries = 0; tries < most; ++tries) {
        last_ = last_ >= most ? 2 : last_ + 1;
        std::string address = fmt::format("{}.{}.{}", prefix_, last_ >> 8, last_ & 0xff);
        if (used_.insert(address).second) {
            return address;
        }
    }
    return "";
}

result<sandbox_namespaces> node_network::make_nameless(bool host_network) {
    sandbox_namespaces out;
    const int kinds = CLONE_NEWUTS | CLONE_NEWIPC | (host_network ? 0 : CLONE_NEWNET);
    if (::unshare(kinds) != 0) {
        return no_sandbox("make namespaces", errno);
    }
    out.network = own_namespace("net");
    out.host_name = own_namespace("uts");
    out.ipc = own_namespace("ipc");
    int failed = out.network && out.host_name && out.ipc ? 0 : errno;
    if (host_network) {
        out.address = address_;
    } else if (failed == 0) {
        out.address = next_address();
        out.link = fmt::format("pod{}", ++links_made_);
        open_to_programs();
        netlink inside;
        failed = out.address.empty() ? EADDRNOTAVAIL : 0;
        failed = failed == 0 ? inside.make_pair("eth0", out.link, network_.get()) : failed;
        // The cluster is IPv4. Without this each pod waits for the check of an unused address.
        write_text("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1");
        constexpr int loopback = 1;
        constexpr int eth0 = 2;
        failed = failed == 0 ? inside.set_up(loopback, true) : failed;
        failed = failed == 0 ? inside.add_address(eth0, parse_address(out.address), prefix_length)
                             : failed;
        failed = failed == 0 ? inside.set_up(eth0, true) : failed;
        failed = failed == 0 ? inside.add_default_route(parse_address(address_)) : failed;
    }
    ::setns(network_.get(), CLONE_NEWNET);
    ::setns(host_name_.get(), CLONE_NEWUTS);
    ::setns(ipc_.get(), CLONE_NEWIPC);
    if (failed == 0 && !host_network) {
        failed = links_->join(out.link, bridge_);
    }
    if (failed != 0) {
        give_back(out.address);
        return no_sandbox("set up the pod's network", failed);
    }
    return out;
}

result<sandbox_namespaces> node_network::make(const sandbox_spec& spec) {
    result<sandbox_namespaces> made = [&]() -> result<sandbox_namespaces> {
        if (spec.host_network || spare_.empty()) {
            return make_nameless(spec.host_network);
        }
        sandbox_namespaces spare = std::move(spare_.front());
        spare_.pop_front();
        return spare;
    }();
    if (made) {
        ::setns(made->host_name.get(), CLONE_NEWUTS);
        const bool named = ::sethostname(spec.hostname.data(), spec.hostname.size()) == 0;
        const int number = errno;
        ::setns(host_name_.get(), CLONE_NEWUTS);
        if (!named) {
            give_back(made->address);
            return no_sandbox("set the host name", number);
        }
    }
    return made;
}

bool node_network::make_spare() {
    if (spare_.size() >= spares) {
        return false;
    }
    result<sandbox_namespaces> made = make_nameless(false);
    if (!made) {
        return false;
    }
    spare_.push_back(std::move(*made));
    return true;
}

void node_network::cut(const sandbox_namespaces& from, bool off) {
    if (!from.link.empty()) {
        links_->set_up(from.link, !off);
    }
}

result<unique_fd> node_network::connect(
    const sandbox_namespaces& from, const std::string& address, std::uint16_t port
) {
    unique_fd socket;
    {
        // A socket stays in the network in which it was made.
        const visit there(*this, from.network.get());
        socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    }
    const sockaddr_in to = internet_address(address, port);
    if (!socket ||
        (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 &&
         errno != EINPROGRESS)) {
        return container_error{
            "ConnectError",
            fmt::format("dial tcp {}:{}: connect: {}", address, port, error_words(errno))};
    }
    return socket;
}

}  // namespace signalbox::op::containers
