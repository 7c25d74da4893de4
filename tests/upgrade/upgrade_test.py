# SPDX-License-Identifier: Apache-2.0
"""Objects as older versions wrote them, read by this one (README.md): nothing of a status is lost, nothing is asked for but
what expected.json says, and `explain` names the recorded phase.

Usage: upgrade_test.py SIGNALBOX TEXT_CALL_LINES STATUS_LINES
"""
import json
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SIGNALBOX, TEXT_CALL_LINES, STATUS_LINES = map(str, map(pathlib.Path.absolute, map(pathlib.Path, sys.argv[1:4])))
KINDS = ("PyTorchTrainingJob", "DeepSpeedJob", "ColossalAIJob")
PHASES = ("Pending", "Running", "Paused", "Resuming", "Succeeded", "Failed", "Unknown")
CHILDREN = ("Pod", "Service", "Secret", "ConfigMap", "PodGroup", "TensorBoard", "Deployment")
TIMES = ("/timeSeconds/", "/attemptStartTime", "/attemptHistory/")


class Recorded:
    """One recording and what is expected of it."""

    def __init__(self, path, expected):
        self.path, self.expected = path, expected
        self.name = f"{path.parent.name}/{path.stem}"
        self.items = json.loads(path.read_text())["items"]
        [self.job] = [item for item in self.items if item["kind"] == expected["kind"]]
        self.children = [item for item in self.items if item["kind"] in CHILDREN]

    def run(self, *arguments):
        done = subprocess.run([SIGNALBOX, *arguments, "--now", self.expected["at"]], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise AssertionError(f"{self.name}: signalbox {' '.join(arguments)}: {done.stderr}")
        return done.stdout


def lines_of(program, values):
    """What a program prints for these, one in each line."""
    text = "".join(json.dumps(value) + "\n" for value in values)
    done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=300, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def flat(value, at=""):
    """{JSON pointer: scalar} of all of it; empty lists and objects count as scalars."""
    if isinstance(value, dict) and value:
        parts = value.items()
    elif isinstance(value, list) and value:
        parts = enumerate(value)
    else:
        return {at: value}
    return {pointer: leaf for key, child in parts for pointer, leaf in flat(child, f"{at}/{key}").items()}


def changes(before, after):
    """{JSON pointer: new value, None if it is gone} of what differs."""
    old, new = flat(before), flat(after)
    return {pointer: new.get(pointer) for pointer in old.keys() | new.keys() if old.get(pointer) != new.get(pointer)}


class Upgrade(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recorded = []
        for file in sorted(HERE.glob("*/expected.json")):
            expected = json.loads(file.read_text())
            names = sorted(path.stem for path in file.parent.glob("*.json") if path != file)
            assert names == sorted(expected), f"{file} and the recordings beside it name different ones"
            cls.recorded += [Recorded(file.with_name(f"{name}.json"), expected[name]) for name in names]

    def each(self, answers, check):
        """Calls `check` with each recording and what a program answered about it."""
        self.assertEqual(len(answers), len(self.recorded))
        for recorded, answer in zip(self.recorded, answers):
            with self.subTest(recorded.name):
                check(recorded, answer)

    def test_the_first_version_has_every_phase_of_every_kind(self):
        first = [each for each in self.recorded if each.path.parent.name == "0.1"]
        found = {(each.expected["kind"], each.expected["phase"]) for each in first}
        self.assertEqual({(kind, phase) for kind in KINDS for phase in PHASES} - found, set())
        self.assertEqual(set(CHILDREN) - {child["kind"] for each in first for child in each.children}, set())

    def test_nothing_of_a_status_is_lost(self):
        def check(recorded, understood):
            if "status" in recorded.job:
                self.assertEqual(changes(recorded.job["status"], understood), recorded.expected.get("understood", {}))

        self.each(lines_of(STATUS_LINES, [each.job for each in self.recorded]), check)

    def test_nothing_is_asked_for_but_what_is_expected(self):
        def request(recorded):
            return {
                "apiVersion": "text.jobcore/v1", "operation": "decide", "job": recorded.job, "children": recorded.children,
                "now": recorded.expected["at"], "capabilities": recorded.expected["served"],
            }

        def check(recorded, decided):
            self.assertNotIn("errors", decided)
            status = recorded.job.get("status", {})
            changed = changes(status, decided["status"] or status)
            # Where the time goes is recorded from the next status on that is written for another reason.
            others = {pointer: value for pointer, value in changed.items() if not pointer.startswith(TIMES)}
            self.assertEqual(others, recorded.expected["status"])
            goes_on = recorded.expected["phase"] not in ("Succeeded", "Failed")
            self.assertEqual(any(pointer.startswith(TIMES) for pointer in changed), bool(others) and goes_on)
            actions = [f"{action['verb']} {action['kind']}" for stage in decided["stages"] for action in stage]
            self.assertEqual(actions, recorded.expected["actions"])

        self.each(lines_of(TEXT_CALL_LINES, map(request, self.recorded)), check)

    def test_plan_says_so(self):
        def check(recorded, said):
            self.assertEqual("\n# the status stays as it is\n" in said, not recorded.expected["status"], said)
            stages = [line.split(": ")[1].split(" ") for line in said.splitlines() if line.startswith("# stage ")]
            self.assertEqual([f"{verb} {kind}" for verb, kind, *_ in stages], recorded.expected["actions"])

        self.each([each.run("plan", "--at", str(each.path)) for each in self.recorded], check)

    def test_explain_names_the_recorded_phase(self):
        def check(recorded, said):
            [job] = json.loads(said)["jobs"]
            meta, status, expected = recorded.job["metadata"], recorded.job.get("status", {}), recorded.expected
            self.assertEqual((job["kind"], job["name"], job["uid"]), (recorded.job["kind"], meta["name"], meta["uid"]))
            self.assertEqual((status.get("phase"), status.get("reason")), (expected["phase"], expected["reason"]))
            first = next(line["sentence"] for line in job["lines"] if line["section"] == "phase")
            self.assertRegex(first, expected["explained"])

        self.each([each.run("explain", "-f", str(each.path), "--output", "json") for each in self.recorded], check)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
