// SPDX-License-Identifier: Apache-2.0
//
// What launchers of several nodes write to one log comes in pieces: wherever the words of one node
// are cut and those of another lie in between, no victim is taken for the cause.
#include "jobcore/evidence.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using signalbox::core::judge_log;
using signalbox::core::log_evidence;

namespace {

const std::string closed =
    "Traceback (most recent call last):\n"
    "  File \"/code/train.py\", line 61, in main\n"
    "    dist.all_reduce(t)\n"
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
    "[10.0.0.3]:41923\n";

const std::string some_rank = "a rank failed; its log says why";
const std::string not_finite = "ValueError: loss is NaN";
const std::string missing = "KeyError: 'no such key'";

std::string raised(int rank, const std::string& error) {
    const std::string name = "[rank" + std::to_string(rank) + "]: ";
    return name + "Traceback (most recent call last):\n" + name +
           "  File \"/code/train.py\", line 57, in step\n" + name + error + "\n";
}

std::string entry(int host, int rank, int code) {
    const std::string local = std::to_string(rank % 2);
    return "[" + local + "]:\n  time      : 2026-11-25_22:07:28\n  host      : worker-" +
           std::to_string(host) +
           ".ca.default.svc.cluster.local\n  rank      : " + std::to_string(rank) +
           " (local_rank: " + local + ")\n  exitcode  : " + std::to_string(code) +
           " (pid: 333)\n  error_file: <N/A>\n  traceback : To enable traceback see: "
           "https://pytorch.org/docs/stable/elastic/errors.html\n";
}

/// What torchrun says of a node with two ranks; `root` it saw first.
std::string report(int host, int root, int root_code, int other_code) {
    const std::string line(60, '-');
    return "Traceback (most recent call last):\n  File \"/usr/local/bin/torchrun\", line 8, in "
           "<module>\n    sys.exit(main())\n"
           "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" +
           std::string(60, '=') + "\n/code/train.py FAILED\n" + line + "\nFailures:\n" +
           entry(host, root ^ 1, other_code) + line + "\nRoot Cause (first observed failure):\n" +
           entry(host, root, root_code) + std::string(60, '=') + "\n";
}

/// The same of one rank alone, whose error no one recorded.
std::string lone_report(int host, int rank) {
    return "====\nFailures:\n  <NO_OTHER_FAILURES>\n----\nRoot Cause (first observed failure):\n" +
           entry(host, rank, 1) + "====\n";
}

/// The report with this text in all of its entries.
std::string with_traceback(std::string report, const std::string& text) {
    const std::string none =
        "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
    for (std::size_t at = report.find(none); at != report.npos; at = report.find(none, at)) {
        report.replace(at, none.size(), text);
    }
    return report;
}

/// What scripts under torch's @record leave in a report.
std::string recorded(const std::string& error, const std::string& file = "train.py") {
    return "Traceback (most recent call last):\n    File \"/usr/lib/python3/dist-packages/torch/"
           "errors.py\", line 346, in wrapper\n      return f(*args)\n    File "
           "\"/code/" +
           file + "\", line 57, in step\n      raise\n  " + error + "\n  ";
}

/// Of both in turn: the words of one with those of the other at each place of it.
template <class Check>
void with_each_cut(const std::string& a, const std::string& b, Check check) {
    for (const auto& [outer, inner] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        for (std::size_t at = 0; at <= outer->size(); ++at) {
            CAPTURE(outer == &a, at);
            check(judge_log("", "launcher-0", outer->substr(0, at) + *inner + outer->substr(at)));
        }
    }
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("[behaviour 3.9] a rank that ended without a word is told, wherever its report is cut") {
    const int code = GENERATE(3, -9);
    const bool seen_first = GENERATE(true, false);
    const std::string of_cause =
        closed + (seen_first ? report(0, 1, code, 1) : report(0, 0, 1, code));
    const std::string of_victims = closed + closed + report(1, 2, 1, 1);
    int lost = 0;
    with_each_cut(of_cause, of_victims, [&](const log_evidence& said) {
        CAPTURE(said.text);
        // Within its code it is not to be read; then some rank failed.
        const bool any = said.text == some_rank && said.error_code == 1;
        const bool none = said.secondary || said.text.empty() || any;
        lost += none ? 1 : 0;
        CHECK((none || said.error_code == (code == 3 ? 3 : 137)));
        CHECK((none || !says(said.text, "Connection closed")));
        CHECK_FALSE(says(said.text, "rank 2"));
        CHECK_FALSE((says(said.text, "rank 0") && !said.secondary));
    });
    CHECK(lost < 20);
}

TEST_CASE("[behaviour 3.9] whose a code is is not said where pieces of reports take turns") {
    const std::string of_cause = report(0, 1, 3, 1), of_victims = report(1, 2, 1, 1);
    int lost = 0;
    for (std::size_t at = 0; at <= std::min(of_cause.size(), of_victims.size()); ++at) {
        const log_evidence said = judge_log(
            "",
            "launcher-0",
            of_cause.substr(0, at) + of_victims.substr(0, at) + of_cause.substr(at) +
                of_victims.substr(at)
        );
        CAPTURE(at, said.text);
        CHECK_FALSE(says(said.text, "worker-1"));
        CHECK_FALSE(says(said.text, "rank 0"));
        lost += said.error_code == 3 ? 0 : 1;
    }
    CHECK(lost < 20);
}

TEST_CASE("[behaviour 3.9] an error is told, wherever the words of others lie in between") {
    const std::string error = "ValueError: loss is NaN";
    const std::string of_cause =
        "Traceback (most recent call last):\n  File \"/code/train.py\", "
        "line 57, in step\n    loss.check()\n" +
        error + "\n" + closed + report(0, 1, 1, 1);
    const std::string of_victims = closed + closed + report(1, 2, 1, 1);
    int lost = 0;
    with_each_cut(of_cause, of_victims, [&](const log_evidence& said) {
        CAPTURE(said.text);
        lost += says(said.text, error) ? 0 : 1;
        // Within the name of the error it is not to be read; then a rank says nothing.
        const bool none = said.secondary || said.text.empty() || said.text == some_rank;
        CHECK((none || says(said.text, "loss is NaN") || says(said.text, "ValueError")));
        CHECK_FALSE((says(said.text, "Connection closed") && !said.secondary));
    });
    CHECK(lost < 40);
}

TEST_CASE("[behaviour 3.9] of ranks that say the same the lowest is told, whichever was seen first"
) {
    const int first = GENERATE(0, 1, 2, 3);
    const int root = GENERATE(0, 1);
    const int other_root = GENERATE(2, 3);
    const bool whole = GENERATE(true, false);  // else rank 0 was stopped before it came to it
    std::string log = raised(first, "ValueError: loss is NaN");
    for (int rank = whole ? 0 : 1; rank < 4; ++rank) {
        log += raised(rank, "ValueError: loss is NaN");
    }
    const std::string said =
        whole || first == 0 ? "rank 0 on worker-0: ValueError: loss is NaN (/code/train.py:57, "
                              "in step)"
                            : "rank 1 on worker-0: ValueError: loss is NaN (/code/train.py:57, "
                              "in step)";
    const std::string reports[] = {report(0, root, 1, 1), report(1, other_root, 1, 1)};
    CHECK(judge_log("", "launcher-0", log + reports[0] + reports[1]).text == said);
    CHECK(judge_log("", "launcher-0", log + reports[1] + reports[0]).text == said);
    CHECK(judge_log("", "launcher-0", log + reports[0]).text == said);
}

TEST_CASE("[behaviour 3.9] of ranks that say nothing and end in the same way the lowest is told") {
    const int code = GENERATE(1, 3, -11);
    const int root = GENERATE(0, 1);
    const int other_root = GENERATE(2, 3);
    const std::string reports[] = {report(0, root, code, code), report(1, other_root, code, code)};
    // Where no way is one's own, which rank of a node was first is all that there is to go by.
    const std::string who = "rank " + std::to_string(code == 1 ? root : 0) + " on worker-0";
    const std::string said =
        who + (code == -11 ? ": killed by signal 11, SIGSEGV" : " failed; its log says why");
    CHECK(judge_log("", "launcher-0", reports[0] + reports[1]).text == said);
    CHECK(judge_log("", "launcher-0", reports[1] + reports[0]).text == said);

    // What torchrun writes of a signal is of the report that it stands in.
    if (code == -11) {
        const std::string words = "Signal 11 (SIGSEGV) received by PID 333";
        const std::string by_signal[] = {
            with_traceback(reports[0], words), with_traceback(reports[1], words)};
        CHECK(judge_log("", "launcher-0", by_signal[0] + by_signal[1]).text == said);
        CHECK(judge_log("", "launcher-0", by_signal[1] + by_signal[0]).text == said);
    }

    // Another way is no equal.
    const std::string other = report(1, other_root, 5, 5) + report(0, root, 1, 1);
    CHECK(judge_log("", "launcher-0", other).text == "rank 2 on worker-1 failed; its log says why");
}

TEST_CASE("[behaviour 3.9] of entries with the same traceback the lowest rank is told") {
    const int root = GENERATE(0, 1);
    const int other_root = GENERATE(2, 3);
    const std::string reports[] = {
        with_traceback(report(0, root, 1, 1), recorded(not_finite)),
        with_traceback(report(1, other_root, 1, 1), recorded(not_finite))};
    const std::string place = " (/code/train.py:57, in step)";
    const auto told = [](const std::string& log) { return judge_log("", "launcher-0", log).text; };
    CHECK(told(reports[0] + reports[1]) == "rank 0 on worker-0: " + not_finite + place);
    CHECK(told(reports[1] + reports[0]) == "rank 0 on worker-0: " + not_finite + place);
    CHECK(told(reports[1]) == "rank 2 on worker-1: " + not_finite + place);
    // Lines of old versions have no rank.
    const std::string unranked =
        "Traceback (most recent call last):\n  File \"/code/train.py\", line 57, in step\n" +
        not_finite + "\n";
    CHECK(told(unranked + reports[1]) == "rank 2 on worker-1: " + not_finite + place);
    // A rank that was stopped first has no entry with one.
    CHECK(
        told(raised(3, not_finite) + raised(1, not_finite) + reports[1]) ==
        "rank 1: " + not_finite + place
    );
    CHECK(
        told(raised(3, "RuntimeError: Connection closed by peer") + reports[1] + reports[0]) ==
        "rank 0 on worker-0: " + not_finite + place
    );

    // What others say is no equal: the log above says which was first, if it has it.
    const std::string other = with_traceback(report(0, root, 1, 1), recorded(missing));
    const std::string log = raised(3, not_finite) + raised(0, missing);
    CHECK(told(other) == "rank 0 on worker-0: " + missing + place);
    CHECK(told(raised(1, missing) + reports[1]) == "rank 2 on worker-1: " + not_finite + place);
    CHECK(told(log + other + reports[1]) == "rank 3 on worker-1: " + not_finite + place);
    CHECK(told(log + reports[1] + other) == "rank 3 on worker-1: " + not_finite + place);
    const std::string three = "Failures:\n" + with_traceback(entry(0, 0, 1), recorded(missing)) +
                              with_traceback(entry(0, 1, 1), recorded(not_finite)) +
                              with_traceback(entry(0, 2, 1), recorded(missing)) +
                              "----\nRoot Cause (first observed failure):\n" +
                              with_traceback(entry(0, 3, 1), recorded(not_finite)) + "====\n";
    CHECK(told(three) == "rank 1 on worker-0: " + not_finite + place);
}

TEST_CASE("[behaviour 3.9] of a traceback in a report its error is told, and none if it is cut") {
    const std::string lines =
        "\n  CUDA kernel errors might be reported elsewhere.\n  Pass another one.";
    const std::string text = recorded("RuntimeError: CUDA error" + lines);
    const auto told = [](const std::string& recording) {
        return judge_log("", "launcher-0", with_traceback(report(0, 1, 1, 1), recording)).text;
    };
    CHECK(
        told(text) == "rank 0 on worker-0: RuntimeError: CUDA error (/code/train.py:57, in step)"
    );
    const std::string cut = text.substr(0, text.find("raise"));
    const std::string none = "rank 1 on worker-0 failed; its log says why";
    CHECK(told(cut) == none);
    const std::string first = recorded(missing) +
                              "\n  During handling of the above exception, "
                              "another exception occurred:\n  \n  ";
    CHECK(told(first + text) == told(text));
    CHECK(told(first + cut) == none);
}

TEST_CASE("[behaviour 3.9] a traceback of a report that is cut is told of no other rank") {
    const bool all = GENERATE(true, false);
    const auto say = [all](const std::string& report, const std::string& text) {
        const std::size_t from = all ? 0 : report.find("Root Cause");
        return report.substr(0, from) + with_traceback(report.substr(from), text);
    };
    const std::string one = say(report(0, 0, 1, 1), recorded(not_finite));
    const std::string other = say(report(1, 2, 1, 1), recorded(missing, "data.py"));
    int lost = 0;
    const auto check = [&](const log_evidence& said) {
        CAPTURE(said.text);
        const bool of_one = says(said.text, "rank 0") || says(said.text, "rank 1");
        const bool of_other = says(said.text, "rank 2") || says(said.text, "rank 3");
        CHECK_FALSE((of_one && says(said.text, "KeyError")));
        CHECK_FALSE((of_other && says(said.text, "ValueError")));
        CHECK_FALSE((says(said.text, "data.py") && says(said.text, "ValueError")));
        CHECK_FALSE((says(said.text, "train.py") && says(said.text, "KeyError")));
        lost += of_one || of_other ? 0 : 1;
    };
    with_each_cut(one, other, check);
    for (std::size_t at = 0; at <= std::min(one.size(), other.size()); ++at) {
        CAPTURE(at);
        const std::string ends = one.substr(at) + other.substr(at);
        check(judge_log("", "launcher-0", one.substr(0, at) + other.substr(0, at) + ends));
    }
    CHECK(lost < 3'000);
}

TEST_CASE("[behaviour 3.9] without ranks before lines their number tells that one says nothing") {
    const std::string one =
        "Traceback (most recent call last):\n  File \"/code/train.py\", line 61, in main\n"
        "RuntimeError: Connection closed by peer\n";
    const std::string chain =
        one + "\nDuring handling of the above exception, another exception occurred:\n\n";
    const std::string ends = report(0, 0, 1, 1) + report(1, 3, 1, 1);
    const auto told = [](const std::string& log) { return judge_log("", "launcher-0", log).text; };
    CHECK(told(ends) == "rank 0 on worker-0 failed; its log says why");
    CHECK(told(one + ends) == some_rank);
    CHECK(told(one + one + one + ends) == some_rank);
    CHECK(told("RuntimeError: Connection closed by peer\n" + one + one + one + ends) == some_rank);
    CHECK(told(one + chain + one + one + ends) == some_rank);
    CHECK(told(one + one + one + one + ends).empty());
    const std::string outer = report(0, 0, 1, 1), inner = report(1, 3, 1, 1);
    const std::size_t cut = outer.find("  rank ");
    CHECK(told(one + one + one + outer.substr(0, cut) + inner + outer.substr(cut)) == some_rank);
    // Who was ended by its launcher may have told before.
    const std::string stopped = report(0, 1, 1, -15) + report(1, 3, 1, 1);
    CHECK(told(one + one + stopped) == some_rank);
    CHECK(told(one + one + one + stopped) == some_rank);
    CHECK(told(one + one + one + one + stopped).empty());
    // Its launcher says so before; old ones do not list it.
    const std::string closes =
        "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 334 closing signal "
        "SIGTERM\n";
    const std::string alone = closes + closes + lone_report(0, 1) + lone_report(1, 2);
    CHECK(told(one + alone) == some_rank);
    CHECK(told(one + one + one + alone) == some_rank);
    CHECK(told(one + one + one + one + alone).empty());
    CHECK(told(one + one + lone_report(0, 1) + lone_report(1, 2)).empty());
    CHECK(told(one + one + one + one + closes + stopped).empty());
    // In the log of one node others may have been first.
    CHECK(told(one + report(0, 1, 1, 1)) == some_rank);
    CHECK(told(one + report(0, 1, 1, -15)) != some_rank);
    CHECK(told(one + one + report(0, 1, 1, 1)) != some_rank);
}

TEST_CASE("[behaviour 3.9] where only victims tell, who was stopped without a word was first") {
    const std::string lost = "RuntimeError: Connection closed by peer";
    const auto told = [](const std::string& log) { return judge_log("", "launcher-0", log); };
    const std::string victims = raised(2, lost) + raised(0, lost);
    const std::string reports[] = {report(0, 0, 1, -15), report(1, 2, 1, -15)};
    const std::string ends = reports[0] + reports[1];
    const std::string one = "rank 1 on worker-0 failed; its log says why";

    const log_evidence said = told(victims + raised(3, lost) + ends);
    CHECK(said.text == one);
    CHECK(said.error_code == 1);  // that of its launcher's signal is none of its own
    CHECK(said.silent);
    CHECK_FALSE(said.secondary);
    CHECK(told(victims + raised(3, lost) + reports[1] + reports[0]).text == one);
    CHECK(told(victims + ends).text == some_rank);
    CHECK(told(victims + raised(3, lost) + raised(1, lost) + ends)
              .text.ends_with(lost + " (/code/train.py:57, in step)"));
    CHECK(told(raised(3, not_finite) + victims + ends).text.find(not_finite) != std::string::npos);

    // Who ended by itself comes before who was stopped.
    const std::string by_itself = report(0, 0, 1, 1) + reports[1];
    CHECK(told(victims + by_itself).text == one);
    CHECK(told(raised(2, lost) + by_itself).text == some_rank);

    // Of a node that has no report it may have been any rank.
    const std::string failed = "Error: failed to run torchrun --nnodes=3 train.py on worker-";
    CHECK(told(victims + raised(3, lost) + ends + failed + "1\n" + failed + "0\n").text == one);
    CHECK(told(victims + ends + failed + "1\n" + failed + "0\n" + failed + "2\n").secondary);

    // In the log of one node others may have been first.
    CHECK(told(raised(0, lost) + reports[0]).secondary);

    // Whose an end is, mixed reports do not say.
    const std::size_t cut = reports[0].rfind("  rank ");
    const std::string mixed = reports[0].substr(0, cut) + reports[1] + reports[0].substr(cut);
    CHECK(told(victims + raised(3, lost) + mixed).text == some_rank);
}

TEST_CASE(
    "[behaviour 3.9] of ranks that say other things the first is told, whatever report is last"
) {
    const std::string log = raised(3, "ValueError: loss is NaN") + raised(0, "KeyError: 'x'");
    const std::string reports[] = {report(0, 0, 1, 1), report(1, 3, 1, 1)};
    const std::string said =
        "rank 3 on worker-1: ValueError: loss is NaN (/code/train.py:57, in step)";
    CHECK(judge_log("", "launcher-0", log + reports[0] + reports[1]).text == said);
    CHECK(judge_log("", "launcher-0", log + reports[1] + reports[0]).text == said);
}

TEST_CASE("[behaviour 3.9] where a rank is, a report of any node says") {
    const std::string error =
        "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/code/train.py\", line 57, "
        "in "
        "step\n[rank1]: ValueError: loss is NaN\n";
    const std::string of_victims = closed + report(1, 2, 1, 1);
    const int root = GENERATE(0, 1);
    const std::string of_cause = report(0, root, 1, 1);
    const std::string said =
        "rank 1 on worker-0: ValueError: loss is NaN (/code/train.py:57, in step)";
    CHECK(judge_log("", "launcher-0", error + of_cause + of_victims).text == said);
    CHECK(judge_log("", "launcher-0", error + of_victims + of_cause).text == said);
    CHECK(
        judge_log("", "worker-0", error + of_victims + of_cause).text ==
        said.substr(0, 6) + said.substr(18)
    );

    // Where words lie in between it may be unsaid, but it is never another one.
    int unsaid = 0;
    const auto check = [&](const std::string& log) {
        const log_evidence told = judge_log("", "launcher-0", error + log);
        CAPTURE(told.text);
        CHECK(says(told.text, "rank 1"));
        CHECK_FALSE(says(told.text, "worker-1"));
        unsaid += says(told.text, "worker-0") ? 0 : 1;
    };
    for (std::size_t at = 0; at <= of_cause.size(); ++at) {
        CAPTURE(at);
        check(of_cause.substr(0, at) + of_victims + of_cause.substr(at));
        const std::string other = report(1, 2, 1, 1);
        check(
            of_cause.substr(0, at) + other.substr(0, at) + of_cause.substr(at) + other.substr(at)
        );
    }
    CHECK(unsaid < 300);
}
