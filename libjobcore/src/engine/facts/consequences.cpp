// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/consequences.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core::engine {
namespace {

/// By the part that says so: connections and stores, gloo, NCCL, rendezvous, signals of launchers,
/// ssh, launchers whose child failed.
constexpr std::array<std::string_view, 50> secondary_signs{
    "Broken pipe",
    "Connection closed by peer",
    "Connection closed by remote peer",
    "Connection reset by peer",
    "Connection was likely closed",
    "Failed to recv, got 0 bytes",
    "Socket Timeout",
    "Timed out after",
    "Timed out waiting",
    "Transport endpoint is not connected",
    "failed to connect",
    "failed to recv, got 0 bytes",
    "recvValue failed",
    "sendBytes failed",
    "socket has timed out",
    "store->get(",
    "wait timeout after",

    "Application timeout caused pair closure",
    "Gloo connectFullMesh failed",
    "failed to pass monitoredBarrier",
    "gloo/transport",
    "terminate called without an active exception",

    "NCCL communicator was aborted",
    "Some NCCL operations have failed or timed out",
    "Terminating the process after attempting to dump debug info",
    "Watchdog caught collective operation timeout",
    "eartbeat monitor timed out",
    "ncclRemoteError",
    "ncclSystemError",
    "remote process exited",
    "taking the entire process down",
    "unhandled system error",

    "RendezvousClosedError",
    "RendezvousConnectionError",
    "RendezvousGracefulExitError",
    "RendezvousTimeoutError",
    "The connection to the C10d store has failed",

    "KeyboardInterrupt",
    "Signal 1 (SIGHUP)",
    "Signal 15 (SIGTERM)",
    "Signal 6 (SIGABRT)",
    "got signal: 15",
    "exits with return code = -15",

    "client_loop: send disconnect",
    "closed by remote host",
    "kex_exchange_identification",
    "ssh exited with exit code",
    "ssh_exchange_identification",

    "Encountered a bad command exit code",
    "returned non-zero exit status",
};

}  // namespace

bool is_secondary(std::string_view text) {
    return std::ranges::any_of(secondary_signs, [&](auto sign) {
        return text.find(sign) != text.npos;
    });
}

}  // namespace signalbox::core::engine
