// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/consequences.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace signalbox::core::engine {
namespace {

/// By the part that says so: connections and stores, gloo, NCCL, rendezvous, signals of launchers,
/// ssh, launchers whose child failed.
constexpr std::array<std::string_view, 57> secondary_signs{
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
    "successfully reached monitoredBarrier, but received errors",
    "gloo/transport",

    "NCCL communicator was aborted",
    "NCCL timeout in communicator initialization",
    "Socket recv failed while polling",
    "Some NCCL operations have failed or timed out",
    "Terminating the process after attempting to dump debug info",
    "aught collective operation timeout",
    "eartbeat monitor timed out",
    "ncclRemoteError",
    "ncclSystemError",
    "remote process exited",
    "taking the entire process down",
    "unhandled system error",
    "watchdog got stuck for",

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
    "killed by signal 6, SIGABRT",
    "exits with return code = -15",

    "client_loop: send disconnect",
    "closed by remote host",
    "kex_exchange_identification",
    "ssh exited with exit code",
    "ssh_exchange_identification",

    "Encountered a bad command exit code",
    "died with <Signals.SIGABRT",
    "died with <Signals.SIGTERM",
    "returned non-zero exit status",
    "terminated with signal SIGTERM",
};

/// Last words of NCCL for a system call that failed by itself.
constexpr std::array<std::string_view, 4> local_signs{
    "Cannot allocate memory",
    "No space left on device",
    "creating shared memory segment",
    "failed to extend /dev/shm/",
};

bool has_any(std::string_view text, std::span<const std::string_view> signs) {
    return std::ranges::any_of(signs, [&](auto sign) { return text.find(sign) != text.npos; });
}

}  // namespace

bool is_secondary(std::string_view text) {
    // Without a word it is that of a pipe whose other end is gone.
    return text == "EOFError" || has_any(text, secondary_signs);
}

bool is_secondary(std::string_view text, std::string_view last_words) {
    // Which of both it is NCCL's last words would say, if they were not cut off.
    const bool unknown = last_words.empty() && text.find("NCCL error") != text.npos &&
                         text.find("internal error") != text.npos;
    return !has_any(last_words, local_signs) &&
           (unknown || is_secondary(text) || is_secondary(last_words));
}

}  // namespace signalbox::core::engine
