// SPDX-License-Identifier: Apache-2.0
#include "client/refused_stream.hpp"

#include "k8sio/client.hpp"

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

constexpr std::size_t error_body_limit = 64u << 10;

}  // namespace

asio::awaitable<api_error> read_refusal(const http_request& request, response_stream& stream) {
    http_response answer;
    answer.status = stream.status();
    for (const char* name : {"Content-Type", "Retry-After", "Audit-Id"}) {
        answer.headers.emplace_back(name, stream.header(name));
    }
    while (answer.body.size() < error_body_limit) {
        auto piece = co_await stream.read_some();
        if (piece.has_error() && piece.error().code == errc::cancelled) {
            co_return piece.error();
        }
        if (piece.has_error() || piece->empty()) {
            break;
        }
        answer.body.append(*piece);
    }
    co_return error_from_response(request, answer);
}

}  // namespace signalbox::k8sio
