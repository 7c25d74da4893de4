// SPDX-License-Identifier: Apache-2.0
#include "containers/netlink.hpp"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace signalbox::op::containers {

std::uint32_t parse_address(const std::string& text) {
    in_addr address = {};
    ::inet_pton(AF_INET, text.c_str(), &address);
    return address.s_addr;
}

/// One message, built front to back.
class netlink::request {
public:
    request(std::uint16_t type, std::uint16_t flags) {
        nlmsghdr& header = add<nlmsghdr>();
        header.nlmsg_type = type;
        header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    }

    template <class T>
    T& add() {
        T* place = reinterpret_cast<T*>(bytes_.data() + size_);
        size_ += NLMSG_ALIGN(sizeof(T));
        return *place;
    }
    void attribute(std::uint16_t type, const void* data, std::size_t size) {
        rtattr& header = add<rtattr>();
        header.rta_type = type;
        header.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size));
        std::memcpy(bytes_.data() + size_, data, size);
        size_ += RTA_ALIGN(size);
    }
    template <class T>
    void attribute(std::uint16_t type, const T& value) {
        attribute(type, &value, sizeof value);
    }
    void text(std::uint16_t type, const std::string& value) {
        attribute(type, value.c_str(), value.size() + 1);
    }
    /// Opens an attribute that holds attributes; close() takes what this gives.
    std::size_t open(std::uint16_t type) {
        const std::size_t at = size_;
        add<rtattr>().rta_type = type;
        return at;
    }
    void close(std::size_t at) {
        reinterpret_cast<rtattr*>(bytes_.data() + at)->rta_len =
            static_cast<std::uint16_t>(size_ - at);
    }

    int send(int socket) {
        reinterpret_cast<nlmsghdr*>(bytes_.data())->nlmsg_len = static_cast<std::uint32_t>(size_);
        if (::send(socket, bytes_.data(), size_, 0) < 0) {
            return errno;
        }
        const ssize_t size = ::recv(socket, bytes_.data(), bytes_.size(), 0);
        if (size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) {
            return size < 0 ? errno : EPROTO;
        }
        nlmsgerr answer = {};
        std::memcpy(&answer, bytes_.data() + NLMSG_HDRLEN, sizeof answer);
        return -answer.error;
    }

private:
    alignas(nlmsghdr) std::array<char, 1024> bytes_ = {};
    std::size_t size_ = 0;
};

netlink::netlink() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}

int netlink::make_bridge(const std::string& name) {
    request r(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    r.add<ifinfomsg>();
    r.text(IFLA_IFNAME, name);
    // Else a bridge takes the least address of its ports, and changes it as pods come and go.
    constexpr std::array<unsigned char, 6> hardware{0x0a, 0x58, 0x0a, 0xf4, 0x00, 0x01};
    r.attribute(IFLA_ADDRESS, hardware);
    const std::size_t info = r.open(IFLA_LINKINFO);
    r.text(IFLA_INFO_KIND, "bridge");
    r.close(info);
    return r.send(socket_.get());
}

int netlink::make_pair(const std::string& name, const std::string& peer, int peer_namespace) {
    request r(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    r.add<ifinfomsg>().ifi_index = 2;
    r.text(IFLA_IFNAME, name);
    const std::size_t info = r.open(IFLA_LINKINFO);
    r.text(IFLA_INFO_KIND, "veth");
    const std::size_t data = r.open(IFLA_INFO_DATA);
    const std::size_t other = r.open(VETH_INFO_PEER);
    r.add<ifinfomsg>();
    r.text(IFLA_IFNAME, peer);
    r.attribute(IFLA_NET_NS_FD, peer_namespace);
    r.close(other);
    r.close(data);
    r.close(info);
    return r.send(socket_.get());
}

int netlink::join(const std::string& link, int bridge) {
    request r(RTM_NEWLINK, 0);
    ifinfomsg& header = r.add<ifinfomsg>();
    header.ifi_flags = IFF_UP;
    header.ifi_change = IFF_UP;
    r.text(IFLA_IFNAME, link);
    r.attribute(IFLA_MASTER, bridge);
    return r.send(socket_.get());
}

int netlink::set_up(int index, bool up) {
    request r(RTM_NEWLINK, 0);
    ifinfomsg& header = r.add<ifinfomsg>();
    header.ifi_index = index;
    header.ifi_flags = up ? IFF_UP : 0;
    header.ifi_change = IFF_UP;
    return r.send(socket_.get());
}

int netlink::set_up(const std::string& link, bool up) {
    request r(RTM_NEWLINK, 0);
    ifinfomsg& header = r.add<ifinfomsg>();
    header.ifi_flags = up ? IFF_UP : 0;
    header.ifi_change = IFF_UP;
    r.text(IFLA_IFNAME, link);
    return r.send(socket_.get());
}

int netlink::add_address(int index, std::uint32_t address, std::uint8_t prefix) {
    request r(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    ifaddrmsg& header = r.add<ifaddrmsg>();
    header.ifa_family = AF_INET;
    header.ifa_prefixlen = prefix;
    header.ifa_index = static_cast<unsigned>(index);
    r.attribute(IFA_LOCAL, address);
    r.attribute(IFA_ADDRESS, address);
    return r.send(socket_.get());
}

int netlink::answer_for_others_at_once(int index) {
    request r(RTM_SETNEIGHTBL, 0);
    r.add<ndtmsg>().ndtm_family = AF_INET;
    r.text(NDTA_NAME, "arp_cache");
    const std::size_t parameters = r.open(NDTA_PARMS);
    r.attribute(NDTPA_IFINDEX, static_cast<std::uint32_t>(index));
    r.attribute(NDTPA_PROXY_DELAY, std::uint64_t{0});
    r.close(parameters);
    return r.send(socket_.get());
}

int netlink::add_default_route(std::uint32_t gateway) {
    request r(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
    rtmsg& header = r.add<rtmsg>();
    header.rtm_family = AF_INET;
    header.rtm_table = RT_TABLE_MAIN;
    header.rtm_protocol = RTPROT_BOOT;
    header.rtm_scope = RT_SCOPE_UNIVERSE;
    header.rtm_type = RTN_UNICAST;
    r.attribute(RTA_GATEWAY, gateway);
    return r.send(socket_.get());
}

}  // namespace signalbox::op::containers
