// SPDX-License-Identifier: Apache-2.0
//
// What is read from a termination message. The reports have the form in which torch 2.6 prints
// them; a kubelet keeps the last 2,048 bytes of the log.
#include "engine/facts/termination.hpp"

#include "engine/facts/pod_facts.hpp"

#include <catch2/catch.hpp>

#include <limits>
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
    CHECK(
        note.text ==
        "rank 2 on mnist-9414c-worker-1: RuntimeError: no checkpoint (/workspace/train.py:21, in "
        "main)"
    );
    CHECK(note.error_code == 3);
}

TEST_CASE("[behaviour 3.9] torchrun's report: a signal is 128 and its number", "[engine]") {
    const auto note =
        read_termination_message(report("-9", "Signal 9 (SIGKILL) received by PID 45"));
    CHECK(note.text == "rank 2 on mnist-9414c-worker-1: killed by signal 9, SIGKILL");
    CHECK(note.error_code == 137);
}

TEST_CASE("[behaviour 3.9] torchrun's report without a traceback", "[engine]") {
    const auto note = read_termination_message(
        report("9", "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html")
    );
    CHECK(note.text == "rank 2 on mnist-9414c-worker-1 failed; its log says why");
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
    CHECK(read_termination_message(whole.substr(0, whole.find("  exitcode"))).text.size() <= 1024);
    const auto later = read_termination_message("Root Cause (first observed failure):\n" + whole);
    CHECK(later.error_code == 9);
}

TEST_CASE(
    "[behaviour 3.9] torchrun's report without a traceback: the log above it has one", "[engine]"
) {
    const std::string none = report("1", "To enable traceback see: https://pytorch.org/docs/");
    const std::string own = "[rank2]:   File \"a.py\", line 12\n[rank2]: ValueError: loss is nan\n";
    auto note = read_termination_message("[rank0]: KeyError: 'x'\n" + own + none);
    CHECK(note.text == "rank 2 on mnist-9414c-worker-1: ValueError: loss is nan (a.py:12)");
    CHECK(note.error_code == 1);
    CHECK(
        read_termination_message(own + none, "mnist-9414c-worker-1").text ==
        "rank 2: ValueError: loss is nan (a.py:12)"
    );
    // Another rank's error is not this one's, and torchrun's own traceback names nothing. One that
    // says nothing and ends as victims do may have been stopped because of the other.
    const std::string other =
        "[rank0]: KeyError: 'x'\nTraceback (most recent call last):\n  File \"run.py\"\n";
    note = read_termination_message(
        other + report("3", "To enable traceback see: https://pytorch.org/docs/")
    );
    CHECK(note.text == "rank 2 on mnist-9414c-worker-1 failed; its log says why");
    CHECK_FALSE(note.secondary);
    for (const std::string code : {"1", "143", "134", "-6", "250"}) {
        CAPTURE(code);
        note = read_termination_message(other + report(code, "To enable traceback see: https://"));
        CHECK(note.text == "rank 0: KeyError: 'x'");
        CHECK_FALSE(note.secondary);
    }
    CHECK(read_termination_message("Connection closed by peer [10.0.0.4]:1\n" + none).secondary);
    // The log of a launcher of two nodes: the report of the one that suffered comes last.
    const std::string suffered = "[rank2]: RuntimeError: Connection closed by peer [10.0.0.4]:1\n";
    note = read_termination_message(
        "[rank3]: KeyError: 'x'\n" + report("1", "KeyError: 'x'") + suffered + none
    );
    CHECK(note.text == "rank 3: KeyError: 'x'");
    CHECK_FALSE(note.secondary);
    // Whose a line without a rank is cannot be said where there are several.
    const std::string one = "Traceback (most recent call last):\n  File \"a.py\", line 12\n";
    note = read_termination_message(one + "ValueError: loss is nan\n" + none);
    CHECK(note.text == "rank 2 on mnist-9414c-worker-1: ValueError: loss is nan (a.py:12)");
    note = read_termination_message(one + "KeyError: 'x'\n" + one + "ValueError: loss\n" + none);
    CHECK(note.text == "ValueError: loss (a.py:12)");
    CHECK_FALSE(note.rank);
}

TEST_CASE("[behaviour 3.9] whose an error is that a report beside it does not tell", "[engine]") {
    const auto said = [](const std::string& log) { return read_termination_message(log).text; };
    const std::string silent = "To enable traceback see: https://pytorch.org/docs/";
    const std::string none = report("1", silent);
    // A victim's words are not those of the rank that the report names.
    const auto note =
        read_termination_message("[rank0]: RuntimeError: Connection closed by peer\n" + none);
    CHECK(note.text == "rank 2 on mnist-9414c-worker-1 failed; its log says why");
    CHECK_FALSE(note.secondary);
    // Nor is it less that rank's error because a lower one says it too.
    const std::string both =
        "[rank0]:   File \"a.py\", line 12\n[rank0]: ValueError: loss is nan\n"
        "[rank2]:   File \"a.py\", line 12\n[rank2]: ValueError: loss is nan\n";
    CHECK(said(both + report("3", silent)) == "rank 0: ValueError: loss is nan (a.py:12)");
    // The pod of the line goes before that of the report.
    const std::string pdsh = "w-1: Traceback (most recent call last):\nw-1: KeyError: 'x'\n";
    CHECK(said(pdsh + none) == "rank 2 on w-1: KeyError: 'x'");
    // Lines of another report in between: no rank.
    const std::string one =
        "Traceback (most recent call last):\n  File \"a.py\", line 12\nKeyError: 1\n";
    CHECK(said(one + none) == "rank 2 on mnist-9414c-worker-1: KeyError: 1 (a.py:12)");
    CHECK(said(one + "  host      : w-9\n" + none) == "KeyError: 1 (a.py:12)");
    // A report that is cut says where a rank was.
    const std::string listed =
        "  host      : w-9\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 335)\n";
    CHECK(said(both + listed) == "rank 0 on w-9: ValueError: loss is nan (a.py:12)");
}

TEST_CASE("[behaviour 3.9] who is silent where the others tell what they suffered") {
    const std::string suffered = "[rank0]: RuntimeError: Connection closed by peer\n";
    const std::string one = report("1", "To enable traceback see: https://");
    const std::string two =
        "  rank      : 3 (local_rank: 1)\n  exitcode  : 1 (pid: 51)\n  traceback : x\n" + one;
    const auto said = [](const std::string& log) { return read_termination_message(log); };
    CHECK_FALSE(said(suffered + one).secondary);
    CHECK(said(suffered + two).secondary);
    CHECK_FALSE(said(suffered + "[rank3]: RuntimeError: Broken pipe\n" + two).secondary);
    // Whose a code is cannot be said where another entry begins in between.
    CHECK(said(suffered + "  rank      : 5 (local_rank: 1)\n" + one).secondary);
    // What is cut off may have been its words.
    CHECK(said(std::string(2048, 'x') + "\n" + suffered + one).secondary);
    CHECK(said(std::string(80, '\n') + suffered + one).secondary);
}

TEST_CASE("[behaviour 3.9] a rank that is aborted without an error suffers from no other") {
    const std::string aborted = report("-6", "Signal 6 (SIGABRT) received by PID 45");
    const auto said = [](const std::string& log) { return read_termination_message(log); };
    const auto note = said("no shard\n" + aborted);
    CHECK(note.text == "rank 2 on mnist-9414c-worker-1 failed; its log says why");
    CHECK(note.error_code == 134);
    CHECK(note.silent);
    CHECK_FALSE(note.secondary);
    CHECK(said(std::string(2048, 'x') + "\n" + aborted).secondary);
    CHECK(said(report("-6", "x") + aborted).secondary);
    CHECK_FALSE(said("[rank0]: RuntimeError: Connection closed by peer\n" + aborted).secondary);
    const std::string head = "Traceback (most recent call last):\n  File a\nRuntimeError: ";
    CHECK(said(head + "Broken pipe\n" + head + "Connection closed by peer\n" + aborted).secondary);
    CHECK(said(report("-15", "Signal 15 (SIGTERM) received by PID 45")).secondary);
    // The words of C++ at such an end are not told.
    const auto end = said("no shard\nterminate called without an active exception\n");
    CHECK(end.text == "no shard");
    CHECK(end.last_line == "no shard");
}

TEST_CASE("[behaviour 3.9] a rank that was killed is told by a report that is cut too") {
    const std::string whole = report("-9", "Signal 9 (SIGKILL) received by PID 45");
    const std::string cut = whole.substr(whole.find("  rank"));
    const auto note =
        read_termination_message("[rank0]: RuntimeError: Connection closed by peer\n" + cut);
    CHECK(note.text == "rank 2: killed by signal 9, SIGKILL");
    CHECK(note.error_code == 137);
    CHECK_FALSE(note.secondary);
}

TEST_CASE("[behaviour 3.9] errors of ranks in a log", "[engine]") {
    const auto said = [](const std::string& log) { return read_termination_message(log).text; };
    CHECK(
        said("step 1\n[rank3]: Traceback (most recent call last):\n[rank3]:   File x\n"
             "step 2\n[rank3]: my.ValueError: no\n[rank1]: KeyError: 'k'\nbye\n"
        ) == "rank 3: my.ValueError: no"
    );
    CHECK(
        said("w-0: step\nw-1: [rank3]: ValueError: a: b\nw-0: late\n") ==
        "rank 3 on w-1: ValueError: a: b"
    );
    CHECK(
        said("w-1: Traceback (most recent call last):\nw-0: x\nw-1:   File\nw-1: KeyError\nend") ==
        "on w-1: KeyError"
    );
    CHECK(
        said("Traceback (most recent call last):\n  File a\nKeyError: 1\n\nDuring handling of the "
             "above\n\nTraceback (most recent call last):\n  File b\nValueError: 2\nbye\n"
        ) == "ValueError: 2"
    );
    // Ranks without a prefix: their tracebacks lie in between each other and others' lines.
    const std::string two = "Traceback (most recent call last):\n";
    CHECK(
        said(
            two + "  File a\n" + two + "  File b\nRuntimeError: Connection closed by peer\n" +
            "step 8\nValueError: 2\nbye\n"
        ) == "ValueError: 2"
    );
    // A traceback that has ended lets no later word be an error.
    CHECK(said(two + "  File a\nmy.Own: 1\nSomeError: of the data set\nlast") == "my.Own: 1");
    CHECK(
        said(two + "  File a\nKeyError: 1\nstep 8\nSomeError: of the data set\nlast") ==
        "KeyError: 1"
    );
    // A word that looks like an error in the middle of a log is none.
    CHECK(
        said("reading\nSomeError: of the data set\nlast") ==
        "reading SomeError: of the data set last"
    );
}

TEST_CASE("[behaviour 3.9] what follows from others' ends comes last", "[engine]") {
    const std::string closed =
        "RuntimeError: [gloo/transport/tcp/pair.cc:5] Connection closed by peer";
    const std::string log = "[rank0]: " + closed + "\n[rank1]: ValueError: loss is nan\n";
    CHECK(read_termination_message(log).text == "rank 1: ValueError: loss is nan");
    CHECK_FALSE(read_termination_message(log).secondary);
    const auto only = read_termination_message("[rank0]: " + closed + "\n");
    CHECK(only.text == "rank 0: " + closed);
    CHECK(only.secondary);
    CHECK(read_termination_message("x\nSocket Timeout\n").secondary);
    CHECK_FALSE(read_termination_message("").secondary);
}

TEST_CASE("[behaviour 3.9] a code that stands for a signal is told as one", "[engine]") {
    using namespace signalbox::core;
    pod_record pod;
    pod.name = "w-1";
    container_record& ended = pod.containers.emplace_back();
    ended.name = "main";
    ended.state = container_state::terminated;
    const auto said = [&](std::int32_t code, const std::string& reason, const std::string& message
                      ) {
        ended.exit_code = code;
        ended.reason = reason;
        ended.message = message;
        const std::string text = engine::describe_failure(pod, "main");
        const std::string head = "pod w-1, container main exited with ";
        REQUIRE(text.starts_with(head));
        return text.substr(head.size());
    };
    CHECK(
        said(137, "Error", "step 600") ==
        "137 (killed by signal 9, SIGKILL; the kubelet reports no OOM kill): step 600"
    );
    CHECK(said(137, "OOMKilled", "step 600") == "137 (OOMKilled): step 600");
    CHECK(said(139, "Error", "") == "139 (killed by signal 11, SIGSEGV)");
    CHECK(said(134, "", "") == "134 (killed by signal 6, SIGABRT)");
    CHECK(said(247, "Error", "") == "247 (a process of it killed by signal 9, SIGKILL)");
    CHECK(said(245, "Error", "") == "245 (a process of it killed by signal 11, SIGSEGV)");
    CHECK(said(250, "Error", "") == "250 (a process of it killed by signal 6, SIGABRT)");
    // Of a rank's end the kubelet knows nothing.
    CHECK_THAT(
        said(1, "Error", report("137", "Traceback (most recent call last):\n    OSError: gone")),
        Catch::StartsWith("137 (killed by signal 9, SIGKILL): rank 2")
    );
    constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
    for (const std::int32_t code : {1, 2, 9, 128, 129, 130, 255, 254, 256, -9, least}) {
        CHECK(said(code, "Error", "") == std::to_string(code));
    }
    // The rank's own code says nothing of its container's memory; what is told already is not told
    // twice.
    CHECK(
        said(1, "Error", report("-9", "Signal 9 (SIGKILL) received by PID 45")) ==
        "137: rank 2 on mnist-9414c-worker-1: killed by signal 9, SIGKILL"
    );
    CHECK(
        said(1, "Error", report("-9", "To enable traceback see: x")) ==
        "137: rank 2 on mnist-9414c-worker-1: killed by signal 9, SIGKILL"
    );
}
