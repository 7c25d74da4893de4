// SPDX-License-Identifier: Apache-2.0
//
// Which line of a log names the cause. The wordings are those of torch 2.1 to 2.5 and NCCL 2.18
// to 2.21.
#include "engine/facts/error_lines.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox::core::engine;

namespace {

constexpr const char* consequences[] = {
    "torch.distributed.DistBackendError: NCCL error in: "
    "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, remote process exited or there was "
    "a "
    "network error, NCCL version 2.20.5",
    "torch.distributed.DistBackendError: NCCL error in: "
    "../torch/csrc/distributed/c10d/NCCLUtils.hpp:219, unhandled system error (run with "
    "NCCL_DEBUG=INFO for details), NCCL version 2.18.1",
    "torch.distributed.DistBackendError: NCCL communicator was aborted on rank 1.",
    "torch.distributed.DistBackendError: [1] is setting up NCCL communicator and retrieving "
    "ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: "
    "Connection reset by peer",
    "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while "
    "trying "
    "to connect to (bert-worker-0, 29500).",
    "torch.distributed.DistNetworkError: The client socket has failed to connect to any network "
    "address of (bert-worker-0, 29500). The client socket has failed to connect to "
    "bert-worker-0:29500 (errno: 111 - Connection refused).",
    "torch.distributed.DistNetworkError: Connection reset by peer",
    "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely "
    "closed. "
    "Did the remote server shutdown or crash?",
    "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 1/2 "
    "clients "
    "joined.",
    "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError",
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 17 got signal: 15",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
    "[10.0.0.3]:41923",
    "RuntimeError: Socket Timeout",
    "RuntimeError: [1]: ncclSystemError: System call (e.g. socket, malloc) or external library "
    "call "
    "failed or device error. Last error: socketProgress: Connection closed by remote peer "
    "bert-worker-1<43210>",
};

constexpr const char* causes[] = {
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "torch.distributed.DistBackendError: NCCL error in: "
    "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, unhandled cuda error (run with "
    "NCCL_DEBUG=INFO for details), NCCL version 2.20.5",
    "torch.distributed.DistBackendError: NCCL error in: "
    "../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, invalid usage (run with NCCL_DEBUG=WARN for "
    "details), NCCL version 2.21.5",
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
    "network "
    "address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in "
    "use).",
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 17 got signal: 2",
    "KeyError: 'labels'",
};

}  // namespace

TEST_CASE("[behaviour 3.9] an error that follows from another loses against it, before or behind") {
    for (const std::string consequence : consequences) {
        for (const std::string cause : causes) {
            INFO(consequence << "\n" << cause);
            CHECK(is_secondary(consequence));
            CHECK_FALSE(is_secondary(cause));
            const std::string early = "[rank1]: " + consequence + "\n",
                              late = "[rank0]: " + cause + "\n";
            for (const std::string& log : {early + late, late + early}) {
                const auto found = find_error_line(log);
                REQUIRE(found);
                CHECK(found->text == cause);
                CHECK(found->rank == 0);
            }
        }
    }
}

TEST_CASE("[behaviour 3.9] an error that follows from another is told where there is no other") {
    for (const std::string consequence : consequences) {
        const std::string log = "[rank1]: " + consequence + "\n";
        const auto found = find_error_line(log);
        REQUIRE(found);
        CHECK(found->text == consequence);
    }
}
