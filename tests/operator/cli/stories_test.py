# SPDX-License-Identifier: Apache-2.0
"""`signalbox test`: the stories of the repository, and what is said of those that are wrong."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import program

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
STORIES = os.path.join(ROOT, "examples", "stories")
OFFLINE = os.path.join(ROOT, "examples", "offline", "stories")
RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recordings")

# An expectation of one value on one line: what it says is changed.
VALUE = re.compile(r"\b(phase|reason|retries|attempt|disruptions|count|in): (\w+)")
OTHER = {"phase": "Unknown", "reason": "SomethingElse", "in": "77777s"}

STORY = """apiVersion: story.signalbox/v1
kind: Story
story: A worker that fails
manifest: jobs/plain.yaml
steps:
- run
- fails: {pod: worker-1, code: 1, message: "CUDA error"}  # as it does
  expect:
    reason: Restarting   # of the status
    retries: 1
"""


def names(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".yaml"))


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def changed(text):
    """The story once for each value that it expects, with another one. Values of steps and of objects stay."""
    for match in VALUE.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        before = text[:match.start()]
        if "fails:" in line or "refuse:" in line or "refuse:" in before.rsplit("\n- ", 1)[-1].split("expect", 1)[0]:
            continue
        rest = text[match.end():].split("}", 1)[0]
        if match[1] == "reason" and "count: 0" in rest:  # that there is none of another one is true too
            continue
        if "cannotStart" in line or "expect" not in before.rsplit("\n- ", 1)[-1] or "status:" in line:
            continue
        key, value = match.groups()
        other = OTHER.get(key) or str(int(value) + 7)
        yield match[0], text[:match.start(2)] + other + text[match.end(2):]


class Stories(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(os.path.join(STORIES, "jobs"), os.path.join(self.folder, "jobs"))
        shutil.copytree(os.path.join(OFFLINE, "job"), os.path.join(self.folder, "job"))

    def write(self, text, name="story.yaml"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_all_are_as_expected(self):
        result = program.run("test", STORIES, OFFLINE)
        self.assertEqual(result.code, 0, result.out + result.err)
        count = len(names(STORIES)) + len(names(OFFLINE))
        self.assertGreaterEqual(count, 60)
        self.assertIn(f"{count} stories, {count} as expected, 0 not\n", result.out)

    def test_the_whole_operator_does_the_same(self):
        result = program.run("test", "--operator", STORIES, OFFLINE)
        self.assertEqual(result.code, 0, result.out + result.err)
        alone = [name for name in names(STORIES) if "only: engine" in read(STORIES, name)]
        self.assertLess(len(alone), 8)
        self.assertEqual(re.findall(r"(?m)^skipped .*/(\S+)  ", result.out), alone)
        self.assertIn(f"0 not, {len(alone)} for the engine alone\n", result.out)
        path = self.write(STORY.replace("retries: 1", "retries: 3"))
        result = program.run("test", "--operator", path)
        self.assertEqual(result.code, 1)
        self.assertIn("    expected  3\n    found     1\n", result.out)

    def test_what_each_expects_is_looked_at(self):
        """Every value that a story expects, changed alone, fails it."""
        wanted = {}
        for folder in (STORIES, OFFLINE):
            for name in names(folder):
                for number, (what, text) in enumerate(changed(read(folder, name))):
                    wanted[self.write(text, f"{name[:-5]}-{number}.yaml")] = what
        self.assertGreater(len(wanted), 150)
        result = program.run("test", *wanted)
        self.assertEqual(result.code, 1, result.err[:2000])
        for line in result.out.splitlines():
            match = re.match(r"ok +(\S+)", line)
            self.assertFalse(match, f"{line}: {wanted.get(match and match[1])} may be anything")
        self.assertEqual(len(re.findall(r"(?m)^FAILED ", result.out)), len(wanted))

    def test_every_type_of_condition_can_be_expected(self):
        for wanted, code in (("null", 0), ("true", 1)):
            path = self.write(STORY.replace("retries: 1", f"retries: 1\n    conditions: {{Stalled: {wanted}}}"))
            result = program.run("test", path)
            self.assertEqual(result.code, code, result.out + result.err)
        self.assertIn("/steps/1/expect/conditions/Stalled\n    expected  true\n    found     no such condition\n", result.out)

    def test_a_difference_is_shown_with_what_happened_and_why(self):
        path = self.write(STORY.replace("retries: 1", "retries: 3"))
        result = program.run("test", path)
        self.assertEqual(result.code, 1)
        self.assertIn(f"{path}:10:5: /steps/1/expect/retries\n    expected  3\n    found     1\n", result.out)
        self.assertRegex(result.out, r"0:00:01  worker-1 exits with 1\n.*the job is Pending \(Restarting\)\n")
        self.assertRegex(result.out, r"delete Pod train-\w+-worker-0: .* \(behaviour 5\.7\)")
        self.assertRegex(result.out, r"What the job does, and why\n.*is Pending \(Restarting\)")
        self.assertIn("1 of 3 restarts counted, 2 left", result.out)
        self.assertIn("1 story, 0 as expected, 1 not\n", result.out)

    def test_mistakes_are_told_at_once_with_their_lines(self):
        path = self.write("""apiVersion: story.signalbox/v2
kind: Story
storey: A typo
manifest: jobs/plain.yaml
rules: ["5.99"]
settings: {policy: {setle: 5s}, startAfter: soon}
steps:
- runn
- fails: {pod: worker-7, code: zero}
- expect: {retrys: 1, pods: [master-0], conditions: {Runing: true}}
- {wait: 5s, run: 1m}
- refuse: {kind: Pot}
- starts: worker-0
  refused: never
""")
        result = program.run("test", path)
        self.assertEqual(result.code, 2)
        for place, said in (
                (r"1:1: /apiVersion", "`story.signalbox/v1` is meant"),
                (r"3:1: /storey", "`story` is meant"),
                (r"5:9: /rules/0", "5.99"),
                (r"6:21: /settings/policy/setle", "`settle` is meant"),
                (r"6:33: /settings/startAfter", "`never`"),
                (r"8:3: /steps/0", "`run` is meant"),
                (r"9:3: /steps/1/fails", "no replica `worker-7`; there are: worker-0 to worker-1"),
                (r"9:26: /steps/1/fails/code", "a whole number"),
                (r"10:12: /steps/2/expect/retrys", "`retries` is meant"),
                (r"10:30: /steps/2/expect/pods/0", "no replica `master-0`"),
                (r"10:54: /steps/2/expect/conditions/Runing", "`Running` is meant"),
                (r"11:4: /steps/3/wait", "a step of its own"),
                (r"12:12: /steps/4/refuse/kind", "`Pod` is meant"),
                (r"14:3: /steps/5/refused", "for an `edit`")):
            with self.subTest(place):
                self.assertRegex(result.err, re.escape(f"{path}:") + re.escape(place) + ": .*" + re.escape(said))
        self.assertNotIn("ok ", result.out)

    def test_a_job_that_is_refused_is_a_mistake_of_the_story(self):
        path = self.write(STORY.replace("manifest: jobs/plain.yaml", """job:
  apiVersion: batch.tensorstack.dev/v1beta1
  kind: PyTorchTrainingJob
  metadata: {name: train}
  spec:
    replicaSpecs: [{type: worker, replicas: -2}]"""))
        result = program.run("test", path)
        self.assertEqual(result.code, 2)
        self.assertIn(f"{path}:9:35: /job/spec/replicaSpecs/0/replicas: ", result.err)
        self.assertEqual(program.run("test", self.write(STORY.replace("plain", "missing"))).code, 2)

    def test_update_writes_what_was_found_and_leaves_the_rest(self):
        path = self.write(STORY.replace("Restarting ", "Wrong ").replace("retries: 1", "retries: 0"))
        result = program.run("test", "--update", path)
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(read(path), STORY)
        for old, new in (("pods: [worker-0]", "pods: [worker-0, worker-1]"),
                         ("nextTransition: {reason: Never, in: 9h}", "nextTransition: null"),
                         ('phase: "Running"  # quoted', "phase: Pending  # quoted"),
                         ("status: {attempt: 9, phase: X}", None)):
            with self.subTest(old):
                path = self.write(STORY + f"    {old}\n")
                result = program.run("test", "--update", path)
                if new:
                    self.assertEqual((result.code, read(path)), (0, STORY + f"    {new}\n"), result.err)
                self.assertEqual(program.run("test", path).code, 0)
        # What has no single value stays, and is told.
        path = self.write(STORY + "    explain: nothing of the kind\n")
        result = program.run("test", "--update", path)
        self.assertEqual(result.code, 1)
        self.assertIn(":11:5: /steps/1/expect/explain", result.err)
        self.assertEqual(read(path), STORY + "    explain: nothing of the kind\n")

    def test_results_for_other_programs(self):
        good, bad = self.write(STORY, "good.yaml"), self.write(STORY.replace("retries: 1", "retries: 2"), "bad.yaml")
        stopped = self.write(STORY.replace("- run\n", "- run\n- fails: worker-1\n"), "stopped.yaml")
        junit = os.path.join(self.folder, "junit.xml")
        result = program.run("test", good, bad, stopped, "--tap", "--junit", junit)
        self.assertEqual(result.code, 1)
        lines = result.out.splitlines()
        self.assertEqual(lines[:3], ["TAP version 13", "1..3", f"ok 1 - {good}: A worker that fails"])
        self.assertIn(f"not ok 2 - {bad}: A worker that fails", lines)
        self.assertTrue(all(re.match(r"(not )?ok \d|# |TAP|1\.\.", line) for line in lines))
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual([suite.get(key) for key in ("tests", "failures", "errors")], ["3", "1", "1"])
        cases = {case.get("classname"): case for case in suite}
        self.assertEqual(len(cases[good]), 0)
        self.assertIn("expected 2, found 1", cases[bad].find("failure").get("message"))
        self.assertIn("What happened", cases[bad].find("failure").text)
        self.assertIn("does not run", cases[stopped].find("error").get("message"))

    def test_a_recording_becomes_a_story(self):
        """Each recording of a cluster gives a story that can be read and played."""
        for name in names(RECORDINGS):
            with self.subTest(name):
                result = program.run("test", "--record", os.path.join(RECORDINGS, name))
                self.assertEqual(result.code, 0, result.err)
                path = self.write(result.out)
                self.assertIn(program.run("test", path).code, (0, 1), program.run("test", path).err)
        result = program.run("test", "--record", os.path.join(RECORDINGS, "backoff-used-up.yaml"))
        path = self.write(result.out)
        again = program.run("test", path)
        self.assertEqual(again.code, 0, again.out + result.out)
        self.assertIn("BackoffLimitExceeded", result.out)
        self.assertIn("ValueError: checkpoint", result.out)

    def test_hostile_files_are_refused_or_played(self):
        rng = random.Random(7)
        texts = [read(STORIES, name) for name in names(STORIES)]
        paths = []
        for number in range(300):
            text = rng.choice(texts)
            for _ in range(rng.randint(1, 6)):
                at = rng.randrange(len(text))
                cut = rng.choice([0, 1, rng.randint(2, 40)])
                text = text[:at] + rng.choice(["", "{", "]", ": ", "\n- ", "null", "-1", "99999999999", "\x1b[2J", "é"]) + text[at + cut:]
            paths.append(self.write(text, f"hostile-{number}.yaml"))
        codes = set()
        for start in range(0, len(paths), 10):
            for group in (paths[start:start + 10], paths[start:start + 1]):
                result = program.run("test", *group)
                codes.add(result.code)
                self.assertNotIn("\x1b", result.out + result.err)
        self.assertLessEqual(codes, {0, 1, 2})
        self.assertIn(2, codes)

    def test_the_program_for_a_cluster_plays_on_the_engine_alone(self):
        cluster = os.path.join(os.path.dirname(program.binary()), "signalbox-operator")
        path = self.write(STORY)
        for arguments, code in (([path], 0), (["--operator", path], 2)):
            done = subprocess.run([cluster, "test", *arguments], capture_output=True, text=True, timeout=program.PATIENCE)
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn("no API server of its own", done.stderr)

    def test_the_command_line(self):
        self.assertEqual(program.run("test").code, 2)
        self.assertEqual(program.run("test", "--record", "/nowhere").code, 2)
        self.assertEqual(program.run("test", os.path.join(STORIES, "jobs")).code, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
