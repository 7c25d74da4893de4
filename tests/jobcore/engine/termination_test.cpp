// SPDX-License-Identifier: Apache-2.0
//
// What is read from a termination message. The reports have the form in which torch 2.6 prints
// them; a kubelet keeps the last 2,048 bytes of the log.
#include "engine/facts/termination.hpp"

#include <catch2/catch.hpp>

#include <string>

using signalbox::core::engine::read_termination_message;

namespace {

std::string report(const std::string& code, const std::string& traceback) {
    return "    raise ChildFailedError(\n"
           "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
           "============================================================\n"
           "train.py FAILED\n"
           "------------------------------------------------------------\n"
           "Failures:\n"
           "  <NO_OTHER_FAILURES>\n"
           "------------------------------------------------------------\n"
           "Root Cause (first observed failure):\n"
           "[0]:\n"
           "  time      : 2026-11-21_14:49:35\n"
           "  host      : mnist-9414c-worker-1\n"
           "  rank      : 2 (local_rank: 0)\n"
           "  exitcode  : " +
           code +
           " (pid: 50)\n"
           "  error_file: <N/A>\n"
           "  traceback : " +
           traceback + "\n============================================================\n";
}

}  // namespace

TEST_CASE("[behaviour 3.9] torchrun's report: the rank, its code, the last line", "[engine]") {
    const auto note = read_termination_message(report(
        "3",
        "Traceback (most recent call last):\n"
        "    File \"/workspace/train.py\", line 21, in main\n"
        "      raise RuntimeError('no checkpoint')\n"
        "  RuntimeError: no checkpoint\n  "
    ));
    CHECK(note.text == "rank 2: RuntimeError: no checkpoint");
    CHECK(note.error_code == 3);
}

TEST_CASE("[behaviour 3.9] torchrun's report: a signal is 128 and its number", "[engine]") {
    const auto note =
        read_termination_message(report("-9", "Signal 9 (SIGKILL) received by PID 45"));
    CHECK(note.text == "rank 2: Signal 9 (SIGKILL) received by PID 45");
    CHECK(note.error_code == 137);
}

TEST_CASE("[behaviour 3.9] torchrun's report without a traceback", "[engine]") {
    const auto note = read_termination_message(
        report("9", "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html")
    );
    CHECK(note.text == "rank 2 failed; its log says why");
    CHECK(note.error_code == 9);
}

TEST_CASE("[behaviour 3.9] a report that is cut or strange is quoted as it is", "[engine]") {
    const std::string whole = report("9", "ValueError: x");
    const std::size_t head = whole.find("Root Cause");
    CHECK_FALSE(read_termination_message(whole.substr(head + 1)).error_code.has_value());
    CHECK(read_termination_message(whole.substr(head)).error_code == 9);
    for (const std::string code : {"", "x", "99999999999", "- 9"}) {
        CAPTURE(code);
        const auto note = read_termination_message(report(code, "ValueError: x"));
        CHECK_FALSE(note.error_code.has_value());
        CHECK(note.text.find("ValueError: x") != std::string::npos);
    }
    CHECK(read_termination_message(whole.substr(0, whole.find("  exitcode"))).text.size() <= 512);
    const auto later = read_termination_message("Root Cause (first observed failure):\n" + whole);
    CHECK(later.error_code == 9);
}
