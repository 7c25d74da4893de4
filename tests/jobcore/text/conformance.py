# SPDX-License-Identifier: Apache-2.0
"""The conformance set of the text API: a door answers what is recorded, byte for byte.

conformance.jsonl has a case a line: `name`, `request` (a text, as it is sent) and `answer` (a text). Usage:

    conformance.py PROGRAM [ARGUMENT...]    PROGRAM answers requests, a line in and a line out
    SIGNALBOX_REWRITE=1 conformance.py ...  writes the answers anew
"""

import json
import os
import pathlib
import subprocess
import sys

CASES = pathlib.Path(__file__).with_name("conformance.jsonl")


def read():
    return [json.loads(line) for line in CASES.read_text().splitlines()]


def answers(command, requests):
    lines = "".join(request + "\n" for request in requests)
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}"
    return done.stdout.splitlines()


def differences(command):
    """What the door says otherwise, for people; empty if nothing."""
    cases, out = read(), []
    found = answers(command, [case["request"] for case in cases])
    if len(found) != len(cases):
        return [f"{len(cases)} requests have {len(found)} answers"]
    for case, answer in zip(cases, found):
        if answer != case["answer"]:
            out.append(f"{case['name']}:\n  expected {case['answer'][:1000]}\n  answered {answer[:1000]}")
    return out


def main(command):
    if os.environ.get("SIGNALBOX_REWRITE"):
        cases = read()
        for case, answer in zip(cases, answers(command, [case["request"] for case in cases])):
            case["answer"] = answer
        text = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
        print(f"{CASES.name}: {'written' if text != CASES.read_text() else 'as it was'}")
        CASES.write_text(text)
    wrong = differences(command)
    print("\n".join(wrong) if wrong else f"{len(read())} requests answered as recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
