// SPDX-License-Identifier: Apache-2.0
//
// Which line of a log names the cause. The wordings are those of torch 1.8 to 2.9 and NCCL 2.14
// to 2.26.
#include "engine/facts/error_lines.hpp"

#include "engine/facts/termination.hpp"

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
    "torch.distributed.DistBackendError: NCCL communicator was aborted on rank 1.  Original reason "
    "for failure was: NCCL error: unhandled cuda error, NCCL version 2.14.3",
    "torch.distributed.DistBackendError: NCCL timeout in communicator initialization.",
    "RuntimeError: [Rank 1] Caught collective operation timeout: WorkNCCL(OpType=BROADCAST, "
    "TensorShape=[1], Timeout(ms)=1800000) ran for 1808493 milliseconds before timing out.",
    "RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors while waiting "
    "for send/recv from rank 0. Please check rank 0 logs for faulty rank.",
    "RuntimeError: [Rank 0]: Ranks 1 failed to pass monitoredBarrier in 10000 ms",
    "RuntimeError: NCCL Error 6: remote process exited or there was a network error",
};

constexpr const char* causes[] = {
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
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

TEST_CASE("[behaviour 3.9] NCCL's own last words tell whether an error of it is a consequence") {
    struct words {
        std::string error, kind, last;
        bool secondary;
    };
    const words row = GENERATE(values<words>(
        {{"unhandled system error (run with NCCL_DEBUG=INFO for details)",
          "ncclSystemError: System call (e.g. socket, malloc) or external library call failed "
          "or device error. ",
          "socketStartConnect: Connect to 10.0.0.2<45763> failed : Software caused connection "
          "abort",
          true},
         {"unhandled system error",
          "ncclSystemError: System call (socket, malloc, munmap, etc) failed.",
          "Call to posix_fallocate failed : No space left on device",
          false},
         {"unhandled system error",
          "ncclSystemError: System call (e.g. socket, malloc) or external library call failed "
          "or device error. It can be also caused by unexpected exit of a remote peer.",
          "Error: failed to extend /dev/shm/nccl-fjwOOB to 5967876 bytes",
          false},
         {"unhandled system error",
          "ncclSystemError: System call (e.g. socket, malloc) or external library call failed "
          "or device error. ",
          "Call to ibv_reg_mr failed with error Cannot allocate memory",
          false},
         {"internal error",
          "ncclInternalError: Internal check failed.",
          "Net : Connection closed by remote peer node2<58355>",
          true},
         {"internal error",
          "ncclInternalError: Internal check failed.",
          "Duplicate GPU detected : rank 0 and rank 4 both on CUDA device 7000",
          false},
         {"unhandled cuda error",
          "ncclUnhandledCudaError: Call to CUDA function failed.",
          "Cuda failure 1 'invalid argument'",
          false}}
    ));
    const std::string prefix = GENERATE(as<std::string>(), "", "[rank2]: ", "w-1: [rank2]: ");
    const std::string error =
        "torch.distributed.DistBackendError: NCCL error in: "
        "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, " +
        row.error + ", NCCL version 2.20.5";
    std::string log = "w-0: words\n";
    for (const std::string& line : std::initializer_list<std::string>{
             "Traceback (most recent call last):",
             "  File \"a.py\", line 2, in f",
             error,
             row.kind,
             "Last error:",
             row.last}) {
        log += prefix + line + "\nw-0: words\n";
    }
    for (const std::string& behind : std::initializer_list<std::string>{
             "", "ValueError", "[rank2]:[E1 10:00:00 x.cpp:1] words"}) {
        const std::string whole = log + behind;
        INFO(whole);
        const auto found = find_error_line(whole);
        REQUIRE(found);
        const bool beside_a_rank = prefix == "[rank2]: ";
        if (behind == "ValueError" && (prefix.empty() || (row.secondary && !beside_a_rank))) {
            CHECK(found->text == behind);
            continue;
        }
        CHECK(to_text(*found) == error + ": " + row.last + " (a.py:2, in f)");
        CHECK(found->secondary == row.secondary);
        CHECK(found->last_line == prefix + row.last);
    }
}

TEST_CASE("[behaviour 3.9] an error of NCCL without last words, or cut in front") {
    const std::string error =
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, "
        "unhandled cuda error, NCCL version 2.7.8";
    const std::string kind = "ncclUnhandledCudaError: Call to CUDA function failed.";
    const auto told = [](const std::string& log) { return to_text(*find_error_line(log)); };
    CHECK(told(error + "\n") == error);
    CHECK(told(error + "\n" + kind + "\n") == error);
    CHECK(told(error + "\n" + kind + "\nLast error:\n") == error);
    CHECK(told(error + "\n" + kind + "\nLast error:\n\nwords\n") == error);
    CHECK(told(error + "\n" + kind + "\nLast error: Unknown NCCL Error\nwords\n") == error);
    CHECK(told(kind + "\nLast error:\nCuda failure 'x'\n") == kind + ": Cuda failure 'x'");
    CHECK(told(error + "\nKeyError: 1\n") == "KeyError: 1");
    const std::string aborted =
        "terminate called after throwing an instance of 'c10::Error'\n"
        "  what():  NCCL error: unhandled system error\n"
        "ncclSystemError: System call failed.\n"
        "Last error:\n";
    CHECK(find_error_line(aborted + "Call failed : No space left on device\n")->secondary == false);
    CHECK(find_error_line(aborted + "Connect to x failed\n")->secondary);
}

TEST_CASE("[behaviour 3.9] an error that follows from another is told where there is no other") {
    for (const std::string consequence : consequences) {
        const std::string log = "[rank1]: " + consequence + "\n";
        const auto found = find_error_line(log);
        REQUIRE(found);
        CHECK(found->text == consequence);
    }
}

namespace {

const std::string begin = "Traceback (most recent call last):\n";
const std::string own = "  File \"/code/train.py\", line 57, in step\n    loss.check()\n";
const std::string library =
    "  File \"/usr/lib/python3.11/site-packages/torch/nn/module.py\", line 1501, in _call_impl\n"
    "    return forward_call(*args, **kwargs)\n"
    "  File \"<frozen importlib._bootstrap>\", line 241, in _call_with_frames_removed\n";

std::string place_in(const std::string& log) {
    const auto found = find_error_line(log);
    return found ? to_text(found->place) : "no error";
}

}  // namespace

TEST_CASE("[behaviour 3.9] an error has the place in the user's own files where it was raised") {
    const std::string place = " (/code/train.py:57, in step)";
    CHECK(place_in(begin + own + "ValueError: x\n") == place);
    CHECK(place_in(begin + own + library + "ValueError: x\n") == place);
    CHECK(place_in(begin + library + own + own + "ValueError: x\nlast words\n") == place);
    // In a library alone: where that is.
    CHECK_THAT(place_in(begin + library + "ValueError: x\n"), Catch::Contains("_bootstrap>:241"));
    CHECK(
        place_in("  File \"a.py\", line 2\n    if x\n       ^\nSyntaxError: expected ':'\n") ==
        " (a.py:2)"
    );
    CHECK(
        place_in(
            "[rank1]: " + begin + "[rank0]: x\n[rank1]: " + own.substr(0, own.find('\n')) +
            "\n[rank1]: KeyError\n"
        ) == place
    );
    // It begins behind what somebody else had not ended.
    const std::string behind = "step 12: loss 0." + begin + own + "ValueError: x\n";
    const auto torn = find_error_line(behind);
    CHECK(to_text(torn->place) == place);
    CHECK(std::string(torn->first_line) + "\n" == begin);
    // What is raised while another error is handled has its own.
    CHECK(
        place_in(
            begin + own +
            "KeyError: 1\n\nDuring handling of the above exception, another exception "
            "occurred:\n\n" +
            begin + "  File \"b.py\", line 3, in <module>\nValueError: 2\n"
        ) == " (b.py:3, in <module>)"
    );
    // Two that lie in between each other: whose a line is cannot be said.
    const std::string two = begin + own + begin + "  File \"b.py\", line 3, in f\nKeyError: 1\n";
    CHECK(place_in(two + "ValueError: 2\n").empty());
    CHECK(place_in(two + "ValueError: 2\n" + begin + own + "OSError: 3\n") == place);
    // Unless all are the same.
    const std::string lib = library.substr(0, library.find('\n') + 1);
    CHECK(place_in(begin + begin + own + own + lib + lib + "KeyError: 1\nKeyError: 2\n") == place);
    CHECK(place_in(begin + own + begin + "KeyError: 1\n" + own + "KeyError: 2\n") == place);
    CHECK(place_in(begin + begin + own + own + lib + "KeyError: 1\nKeyError: 2\n").empty());
    CHECK(place_in(begin + begin + own + own + "KeyError: 1\nKeyError: x\n").empty());
    CHECK(place_in(begin + begin + own + own + "KeyError: 1\n").empty());
    const std::string syntax = "  File \"a.py\", line 2\nSyntaxError: x\n";
    CHECK(place_in(two + "ValueError: 2\n" + syntax) == " (a.py:2)");
    // A place of before says nothing of an error without a traceback.
    CHECK(
        place_in("[rank0]:   File \"a.py\", line 2, in f\n[rank0]: words\n[rank0]: ValueError: x\n")
            .empty()
    );
    for (const char* line :
         {"  File \"\", line 2, in f",
          "  File \"a",
          "  File \"a\", line x",
          "  File \"a\", line "}) {
        CHECK(to_text(find_place(line)).empty());
    }
}

TEST_CASE("[behaviour 3.9] an exception whose name is that of no error ends its traceback too") {
    const std::string other = begin + "  File \"/code/a.py\", line 3\nstopped: by the user\n";
    const std::string log = other + begin + own + "ValueError\n";
    const auto found = find_error_line(log);
    REQUIRE(found);
    CHECK(found->text == "ValueError");
    CHECK(to_text(found->place) == " (/code/train.py:57, in step)");
}

TEST_CASE(
    "[behaviour 3.9] what a program says that cannot start is an error where there is no other"
) {
    const std::string line = GENERATE(
        as<std::string>(),
        "python3: can't open file '/code/trainn.py': [Errno 2] No such file or directory",
        "train.py: error: unrecognized arguments: --lrr",
        "my-train.py: error: the following arguments are required: --data",
        "Fatal Python error: Segmentation fault",
        "bash: line 1: trainn: command not found",
        "sh: 1: trainn: not found",
        "bash: /code/train.sh: No such file or directory",
        "/usr/bin/env: 'pythonn': No such file or directory"
    );
    INFO(line);
    const auto found = [](const std::string& log) { return find_error_line(log)->text; };
    CHECK(found("usage: train.py [-h]\n" + line + "\n[INFO] the launcher ends\n") == line);
    CHECK(found("w-1: " + line + "\n") == line);
    CHECK(found(line + "\nothers.py: error: x\n") == line);
    CHECK(found(line + "\n[rank0]: RuntimeError: Connection closed by peer\n") == line);
    CHECK(found(line + "\n[rank0]: ValueError: x\n") == "ValueError: x");
    CHECK(found(begin + own + "ValueError: x\n" + line + "\n") == "ValueError: x");
}

TEST_CASE("[behaviour 3.9] an interpreter that crashes as it ends says nothing of why it ends") {
    const auto crash = [](const std::string& name, const std::string& frame) {
        return "Fatal Python error: " + name +
               "\n\nThread 0x00007fb48da52040 (most recent call first):\n" + frame + "\n\n";
    };
    const std::string indent = GENERATE("", "  ");
    const std::string none = indent + "<no Python frame>";
    const std::string at_end = "terminate called without an active exception\n" +
                               crash("Aborted", none) + crash("Segmentation fault", none);
    const auto found = [](const std::string& log) { return *find_error_line(log); };
    for (const std::string prefix : {"", "w-1: "}) {
        const auto of_pod = [&](std::string text) {
            for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
                text.insert(at, prefix);
            }
            return text;
        };
        const std::string error = prefix + "[rank0]: ValueError: x\n";
        CHECK(found(error + of_pod(at_end)).text == "ValueError: x");
        CHECK(found(error + of_pod(at_end)).raised);
        CHECK_FALSE(found(error + of_pod(crash("Aborted", "  File \"a.py\", line 3 in f"))).raised);
        CHECK_FALSE(found(error + of_pod("sh: 1: trainn: not found\n" + none + "\n")).raised);
        CHECK(found(of_pod(at_end)).text == "Fatal Python error: Aborted");
        CHECK_FALSE(found(of_pod(at_end)).raised);
    }
}

TEST_CASE("[behaviour 3.9] beside errors with ranks one without ended no rank, but a thread's") {
    const std::string timeout = begin + own + "requests.exceptions.ReadTimeout: read timed out\n";
    const std::string closed = "[rank0]: RuntimeError: Connection closed by peer\n";
    const auto found = [](const std::string& log) { return *find_error_line(log); };
    CHECK(found(timeout + "step 20\n" + closed).rank == 0);
    CHECK(found(timeout + "step 20\n" + closed).secondary);
    CHECK(found("w-0: " + closed + timeout).text.starts_with("requests"));  // another pod
    for (const std::string head : {"Exception in thread Thread-1 (f):\n", "Process Process-3:\n"}) {
        CHECK(found(head + timeout + closed).text.starts_with("requests"));
        CHECK_FALSE(found(head + timeout + closed).secondary);
    }
    CHECK(found(timeout + "[rank1]: KeyError: 1\n").rank == 1);
    CHECK(found(timeout).text.starts_with("requests"));
}

TEST_CASE("[behaviour 3.9] words of others are no refusal") {
    for (const char* line :
         {"step 3: error: 0.2",
          ": error: x",
          "the page was not found",
          "a: error:",
          "[launch.py:325:sigkill_handler] ['python3', 'train.py'] exits with return code = -15",
          "[launch.py:325:sigkill_handler] ['python3', 'train.py'] exits with return code = -3",
          "kernel.cu(3): error: x y"}) {
        INFO(line);
        CHECK(
            find_error_line(std::string(line) + "\n").has_value() ==
            (std::string(line).front() == 'k')
        );
    }
}

TEST_CASE(
    "[behaviour 3.9] of pods whose ranks end in the same way the lowest is told", "[engine]"
) {
    const auto ends = [](int pod, const std::string& code) {
        return "worker-" + std::to_string(pod) +
               ": [2026-11-21 14:49:36,000] [ERROR] [launch.py:325:sigkill_handler] "
               "['python3', 'train.py'] exits with return code = " +
               code + "\n";
    };
    const auto said = [](const std::string& log) { return read_termination_message(log).text; };
    CHECK(
        said(ends(10, "3") + ends(2, "3") + ends(4, "3")) ==
        "on worker-2: a rank failed: return code = 3"
    );
    CHECK(said(ends(4, "3") + ends(2, "5")) == "on worker-4: a rank failed: return code = 3");
    CHECK(
        said(ends(10, "-4") + ends(2, "-4") + ends(4, "-4")) ==
        "on worker-2: a rank was killed by signal 4, SIGILL"
    );
    // Whoever suffers says so, and ends with 1 or is aborted.
    const std::string closed = "worker-1: [rank1]: RuntimeError: Connection closed by peer\n";
    CHECK(said(closed + ends(1, "3")) == "on worker-1: a rank failed: return code = 3");
    CHECK(said(closed + ends(1, "-9")) == "on worker-1: a rank was killed by signal 9, SIGKILL");
    const std::string suffered = "rank 1 on worker-1: RuntimeError: Connection closed by peer";
    CHECK(said(closed + ends(1, "1")) == suffered);
    CHECK(said(closed + ends(1, "-6")) == suffered);
    // Whose pod named an error says nothing by its code.
    CHECK(
        said("worker-1: KeyError: 'x'\n" + ends(4, "3") + ends(1, "3")) ==
        "on worker-1: KeyError: 'x'"
    );
}
