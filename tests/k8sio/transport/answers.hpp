// SPDX-License-Identifier: Apache-2.0
//
// Bytes that servers answer with.
#pragma once

#include <string>

namespace signalbox::k8sio::test {

inline const std::string ok_answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
inline const std::string refusal_answer = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
/// Chunks of a watch follow.
inline const std::string watch_head =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n";

inline const std::string exec_api_version = "client.authentication.k8s.io/v1";

}  // namespace signalbox::k8sio::test
