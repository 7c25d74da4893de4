// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <cstdint>
#include <string>

namespace signalbox::test {

/// The status line and the body of what is at `path` of a server on this machine. Blocks.
inline std::string get(const std::string& address, const std::string& path) {
    namespace asio = boost::asio;
    asio::io_context loop;
    asio::ip::tcp::socket socket(loop);
    const std::size_t colon = address.rfind(':');
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
    socket.connect({asio::ip::make_address(address.substr(0, colon)), port});
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n\r\n";
    asio::write(socket, asio::buffer(request));
    std::string answer;
    boost::system::error_code ended;
    asio::read(socket, asio::dynamic_buffer(answer), ended);
    return answer.substr(0, answer.find("\r\n")) + ' ' + answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace signalbox::test
