// SPDX-License-Identifier: Apache-2.0
//
// What the bootstrap writes to the termination message of a log in which several ranks, of several
// nodes, say why they end.
#include "launch/ssh_job.hpp"

using namespace signalbox;
using namespace signalbox::test;

namespace {

std::string prefix(const std::string& pod, int rank) {
    return pod + "[rank" + std::to_string(rank) + "]: ";
}

/// The lines of a traceback that name the place and the error.
std::string told(const std::string& pod, int rank, int line, const std::string& error) {
    const std::string name = prefix(pod, rank);
    return name + "  File \"train.py\", line " + std::to_string(line) + ", in step\n" + name +
           error + "\n";
}

std::string raised(const std::string& pod, int rank, int line, const std::string& error) {
    return prefix(pod, rank) + "Traceback (most recent call last):\n" +
           told(pod, rank, line, error);
}

/// What torchrun says of the rank that it saw first.
std::string entry(int rank, int code) {
    return "  host      : w-0\n  rank      : " + std::to_string(rank) +
           " (local_rank: 0)\n  exitcode  : " + std::to_string(code) + " (pid: 335)\n";
}

std::string report(int rank, int code) {
    return "Root Cause (first observed failure):\n[0]:\n" + entry(rank, code) + "====\n";
}

std::string message_of(const std::string& shell, const std::string& log) {
    const pod_folder pod(cifar());
    pod.stub("deepspeed", "cat <<'END'\n" + log + "END\nexit 1\n");
    CHECK(run(pod.line(shell, "launcher")).code == 1);
    return pod.read("termination");
}

}  // namespace

TEST_CASE("[behaviour 3.9] of ranks that say the same two are kept, the lowest", "[bootstrap]") {
    const std::string pod = GENERATE("", "w-1: ");
    const auto nccl = [&](int rank) {
        return "DistBackendError: NCCL error 1" + std::to_string(rank);
    };
    const auto words = [&](int rank) {
        return prefix(pod, rank) + "Last error:\n" + prefix(pod, rank) + "words\n";
    };
    std::string log, later;
    for (const int rank : {5, 13, 7, 1, 12, 9, 2, 0, 11, 10}) {
        log += raised(pod, rank, 57, nccl(rank));
        later += words(rank);
    }
    log += later;
    log += raised(pod, 2, 58, nccl(2)) + raised(pod, 8, 57, "ValueError: 3");
    const std::string kept = told(pod, 0, 57, nccl(0)) + words(0) + told(pod, 1, 57, nccl(1)) +
                             words(1) + told(pod, 2, 58, nccl(2)) +
                             told(pod, 8, 57, "ValueError: 3");
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        CHECK(message_of(shell, log) == kept);
    }
}

TEST_CASE(
    "[behaviour 3.9] of an interpreter that crashes as it ends the error alone", "[bootstrap]"
) {
    const std::string pod = GENERATE("", "w-1: ");
    const auto crash = [&](const std::string& name, const std::string& frame) {
        return pod + "Fatal Python error: " + name + "\n" + pod +
               "Thread 0x7fb4 (most recent call first):\n" + pod + "  " + frame + "\n";
    };
    const std::string error = raised(pod, 0, 57, "ValueError: 3");
    const std::string end =
        crash("Aborted", "<no Python frame>") + crash("Segmentation fault", "<no Python frame>");
    const std::string said = told(pod, 0, 57, "ValueError: 3");
    const std::string refusal = pod + "sh: 1: trainn: not found\n";
    const std::string fatal = pod + "Fatal Python error: Aborted\n";
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        CHECK(message_of(shell, error + end) == said);
        CHECK(message_of(shell, refusal + error + end) == refusal + said);
        CHECK(message_of(shell, refusal + pod + "<no Python frame>\n" + error) == refusal + said);
        CHECK(
            message_of(shell, error + crash("Aborted", "File \"a.py\", line 3 in f")) ==
            fatal + said
        );
        CHECK(message_of(shell, crash("Aborted", "<no Python frame>")) == fatal);
    }
}

TEST_CASE("[behaviour 3.9] of a report's traceback place and error are kept", "[bootstrap]") {
    const auto frame = [](const std::string& file) {
        return "    File \"" + file + "\", line 7, in call\n      return call()\n";
    };
    const std::string head = "Root Cause (first observed failure):\n[0]:\n" + entry(1, 1) +
                             "  error_file: /tmp/e.json\n  traceback : Traceback (most recent "
                             "call last):\n";
    const std::string tail =
        "  RuntimeError: CUDA error\n  Pass CUDA_LAUNCH_BLOCKING=1.\n  \n====\n";
    const std::string library = "/usr/lib/python3/dist-packages/torch/nn.py";
    const std::string own = GENERATE("train.py", "");
    std::string frames;
    for (int i = 0; i < 40; ++i) {
        frames += frame(library + std::to_string(i));
        frames += i == 20 && !own.empty() ? frame(own) : "";
    }
    const std::string kept = own.empty() ? frame(library + "39") : frame(own);
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        CHECK(
            message_of(shell, head + frames + tail) ==
            head + kept.substr(0, kept.find('\n') + 1) + tail
        );
    }
}

TEST_CASE("[behaviour 3.9] of pods that say the same the lowest is kept", "[bootstrap]") {
    const auto died = [](int pod, int code) {
        return "w-" + std::to_string(pod) + ": [2026-11-21 14:49:3" + std::to_string(pod % 10) +
               ",000] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', 'train.py', "
               "'--local_rank=" +
               std::to_string(pod) + "'] exits with return code = " + std::to_string(code) + "\n";
    };
    const auto refused = [](int pod) {
        return "w-" + std::to_string(pod) + ": python3: can't open file '/code/trainn.py'\n";
    };
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        CHECK(message_of(shell, died(10, -4) + died(2, -4) + died(3, -4)) == died(2, -4));
        CHECK(message_of(shell, died(3, -4) + died(2, -9) + died(4, -4)) == died(3, -4));
        CHECK(message_of(shell, refused(10) + refused(2) + refused(3)) == refused(2));
        CHECK(
            message_of(shell, "python3: can't open file 'a'\n" + refused(2)) ==
            "python3: can't open file 'a'\n"
        );
    }
}

TEST_CASE("[behaviour 3.9] of reports that name the same end the lowest is kept", "[bootstrap]") {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        CHECK(message_of(shell, report(2, 1) + report(0, 1) + report(4, 1)) == report(0, 1));
        CHECK(message_of(shell, report(2, 1) + report(4, 1) + report(0, 1)) == report(0, 1));
        CHECK(message_of(shell, report(0, 0) + report(2, 1)) == report(2, 1));
    }
}

TEST_CASE("[behaviour 3.9] where a rank was that says an error is kept", "[bootstrap]") {
    for (const auto& shell : shells()) {
        CAPTURE(shell);
        const std::string error = "KeyError: 1";
        CHECK(
            message_of(
                shell,
                raised("", 0, 5, error) + raised("", 0, 6, error) + report(0, 1) + report(2, 3)
            ) ==
            told("", 0, 5, error) + told("", 0, 6, error) + entry(0, 1) + entry(2, 3) + report(2, 3)
        );
        // Lines of two reports in between each other: of no rank.
        const std::string torn = "  host      : w-1\n  host      : w-0\n" +
                                 entry(0, 1).substr(std::string("  host      : w-0\n").size());
        CHECK(
            message_of(
                shell,
                raised("", 2, 5, error) + entry(0, 1) +
                    "  rank      : 2 (local_rank: 0)\n"
                    "  exitcode  : 1 (pid: 335)\n"
            ) == told("", 2, 5, error)
        );
        CHECK(
            message_of(shell, raised("", 0, 5, error) + torn) == told("", 0, 5, error) + entry(0, 1)
        );

        // Errors go before: the message has no more than 4,000 bytes.
        const std::string far = std::string(240, 'w') + ": ";
        std::string much;
        for (int rank = 0; rank < 6; ++rank) {
            const std::string one = "KeyError: " + std::string(60, static_cast<char>('a' + rank));
            much += raised(far, rank, 5, one) + report(rank, 1);
        }
        const std::string kept = message_of(shell, much);
        CHECK(kept.starts_with(prefix(far, 0) + "  File"));
        CHECK(kept.size() > 3'600);
    }
}
