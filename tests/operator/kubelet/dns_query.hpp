// SPDX-License-Identifier: Apache-2.0
//
// DNS messages, as the two ends of the name server make and read them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

#include <array>
#include <string>
#include <vector>

namespace signalbox::op::test {

/// Any port.
inline boost::asio::ip::udp::endpoint loopback() {
    return {boost::asio::ip::make_address_v4("127.0.0.1"), 0};
}

/// A query for one name, as a resolver sends it.
inline std::string query_for(const std::string& name, char type = 1) {
    std::string out("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
    std::string label;
    for (const char c : name + ".") {
        if (c != '.') {
            label += c;
            continue;
        }
        out += static_cast<char>(label.size());
        out += label;
        label.clear();
    }
    out += '\0';
    out += std::string("\x00", 1) + type + std::string("\x00\x01", 2);
    return out;
}

inline int code_of(const std::string& message) {
    return message[3] & 0x0F;
}
inline int answers_of(const std::string& message) {
    return message[7];
}

/// A socket of somebody else.
class peer {
public:
    explicit peer(boost::asio::io_context& loop) : socket_(loop, loopback()) { listen(); }
    boost::asio::ip::udp::endpoint address() const { return socket_.local_endpoint(); }
    void send(const std::string& message, const boost::asio::ip::udp::endpoint& to) {
        socket_.send_to(boost::asio::buffer(message), to);
    }

    std::vector<std::string> heard;
    boost::asio::ip::udp::endpoint from;  ///< of the last one

private:
    void listen() {
        socket_.async_receive_from(
            boost::asio::buffer(buffer_),
            from,
            [this](const boost::system::error_code& failed, std::size_t size) {
                if (!failed) {
                    heard.emplace_back(buffer_.data(), size);
                    listen();
                }
            }
        );
    }
    std::array<char, 2000> buffer_{};
    boost::asio::ip::udp::socket socket_;
};

}  // namespace signalbox::op::test
