# SPDX-License-Identifier: Apache-2.0
"""`signalbox validate`: each bad manifest gives its error at file, line and field, exit code 2, cheaply."""
import glob
import json
import os
import sys
import tempfile
import unittest

import program

BAD = os.path.join(program.source_dir(), "tests/operator/manifests/bad")
EXAMPLES = os.path.join(program.source_dir(), "examples/manifests")
MIB = 1 << 20

GOOD = b"""apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: mnist}
spec:
  replicaSpecs:
    - {type: worker, template: {spec: {containers: [{name: pytorch, image: i}]}}}
"""


def expectations(path):
    with open(path, encoding="utf-8") as f:
        return [line[len("# expect: "):].rstrip("\n") for line in f if line.startswith("# expect: ")]


def hostile():
    """(name, content, what the message says)"""
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        "a%d: &a%d [%s]\n" % (i, i, ", ".join(["*a%d" % (i - 1)] * 9)) for i in range(1, 12))
    return [
        ("ten_megabytes.yaml", b"a: " + b"x" * (10 * MIB), "larger than 4 MiB"),
        ("flow_nesting.yaml", b"[" * 100000, "nested deeper"),
        ("flow_map_nesting.yaml", b"a: " + b"{a: " * 100000, "nested deeper"),
        ("closed_nesting.yaml", b"a: " + b"[" * 100000 + b"]" * 100000, "nested deeper"),
        ("sequence_nesting.yaml", b"- " * 100000, "nested deeper"),
        ("json_nesting.json", b'{"a":' * 100000, "nested deeper"),
        ("block_nesting.yaml", "".join(" " * i + "a:\n" for i in range(2500)).encode(), "nested deeper"),
        ("bomb.yaml", bomb.encode(), "aliases expand to more than"),
        ("merge_bomb.yaml", bomb.encode() + b"b: {<<: {c: *a5, d: *a4}}\n", "aliases expand to more than"),
        ("recursive_alias.yaml", b"a: &a [*a]\n", "an alias inside of what it stands for"),
        ("many_values.yaml", b"a:\n" + b"- 1\n" * 400000, "more than 100000 values"),
        ("values_in_documents.yaml", (b"a: [" + b"1," * 60 + b"]\n---\n") * 4000, "more than 100000 values"),
        ("many_documents.yaml", b"a: b\n---\n" * 400000, "more than 5000 documents"),
        ("long_line.yaml", b"a: [" + b"b, " * MIB + b"]", "a line longer than"),
        ("tokens.yaml", b"a: {" + b"b: c, " * (90 * 1024) + b"}", "duplicate key"),
        ("garbage.yaml", bytes(range(1, 256)) * 100, "not a text file"),
        ("nul.yaml", GOOD + b"\0", "7:1: not a text file: it has the byte 0x00"),
        ("latin1.yaml", GOOD.replace(b"mnist", b"mn\xefst"), "3:20: not valid UTF-8: byte 0xef"),
        ("overlong.yaml", b"a: \xc0\xaf\n", "1:4: not valid UTF-8"),
        ("utf16.yaml", GOOD.decode().encode("utf-16"), "UTF-16"),
        ("empty.yaml", b"", "empty"),
        ("blank.yaml", b" \n\n\t\n", "empty"),
        ("comments.yaml", b"# nothing here\n---\n# nor here\n", "no object in it"),
        ("quotes.yaml", b'"' * MIB, "more than 5000 documents"),
        ("broken.json", b'{"apiVersion": "v1",\n "kind": }', "2:10: not valid JSON"),
        ("number.json", b"17", "not a Kubernetes object"),
        ("not_a_number.yaml", GOOD.replace(b"name: mnist", b"name: .nan"), "a number that JSON cannot hold"),
        ("custom_tag.yaml", GOOD.replace(b"mnist", b"!ruby/object x"), "unknown tag"),
        ("complex_key.yaml", b"? [a]\n: b\n", "as a key"),
    ]


class Validate(unittest.TestCase):
    def test_each_bad_manifest_has_its_errors_at_their_lines(self):
        """[api 6.1] all errors at once, with JSON pointers, and no other."""
        files = sorted(glob.glob(BAD + "/*.yaml"))
        for kind in ("deepspeed_", "colossalai_"):
            self.assertGreaterEqual(sum(os.path.basename(path).startswith(kind) for path in files), 8)
        self.assertGreaterEqual(len(files), 50)
        for path in files:
            with self.subTest(os.path.basename(path)):
                expected = expectations(path)
                self.assertTrue(expected)
                result = program.run("validate", path)
                self.assertEqual(result.code, 2, result.out + result.err)
                for line in expected:
                    self.assertIn("%s:%s" % (path, line), result.out)
                self.assertIn(": %d error" % len(expected), result.out)

    def test_hostile_input_is_refused_cheaply(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, content, message in hostile():
                with self.subTest(name):
                    path = os.path.join(folder, name)
                    with open(path, "wb") as f:
                        f.write(content)
                    result = program.run("validate", path)
                    self.assertEqual(result.code, 2, result.out[:2000] + result.err[:2000])
                    self.assertIn(path, result.out)
                    self.assertIn(message, result.out)
                    self.assertLess(len(result.out), 20000)
                    self.assertEqual(result.err, "")
                    if not program.sanitized():
                        self.assertLess(result.seconds, 1.0)
                        self.assertLess(result.megabytes, 200)

    def test_examples_are_valid(self):
        result = program.run("validate", EXAMPLES)
        self.assertEqual(result.code, 0, result.out + result.err)
        self.assertIn(" 0 errors", result.out)

    def test_all_files_are_reported_at_once_and_other_kinds_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "other.yaml")
            with open(other, "w", encoding="utf-8") as f:
                f.write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
            result = program.run(
                "validate", "-f", BAD + "/wrong_type.yaml", "-f", BAD + "/zero_deadline.yaml", other,
                folder + "/absent.yaml")
        self.assertEqual(result.code, 2)
        self.assertIn("/wrong_type.yaml:9:7: ", result.out)
        self.assertIn("/zero_deadline.yaml:7:15: ", result.out)
        self.assertIn("skipped: ConfigMap settings", result.out)
        self.assertIn("absent.yaml: cannot be read: No such file or directory", result.out)
        self.assertIn("2 jobs: 3 errors", result.out)

    def test_standard_input_and_json_output(self):
        with open(BAD + "/wrong_type.yaml", "rb") as f:
            result = program.run("validate", "--output", "json", "-", text=f.read())
        self.assertEqual(result.code, 2)
        report = json.loads(result.out)
        self.assertFalse(report["valid"])
        self.assertEqual(report["errors"], 1)
        found = report["findings"][0]
        self.assertEqual((found["file"], found["line"], found["column"]), ("<stdin>", 9, 7))
        self.assertEqual(found["pointer"], "/spec/replicaSpecs/0/replicas")
        self.assertEqual(found["level"], "error")
        self.assertEqual(report["objects"][0]["name"], "mnist")

    def validate_update(self, before, after, *arguments):
        with tempfile.NamedTemporaryFile(suffix=".yaml") as live:
            live.write(before)
            live.flush()
            return program.run("validate", "-", "--live", live.name, *arguments, text=after)

    def test_a_live_job_makes_it_an_update(self):
        """[api 7.2] [api 7.3] at the line of the manifest; the job is found by namespace and name."""
        def live(ns):
            return GOOD.replace(b"name: mnist", b"name: mnist, namespace: " + ns)
        changed = GOOD.replace(b"spec:\n", b"spec:\n  runMode: {debug: {enabled: true}}\n").replace(b"image: i", b"image: j")
        result = self.validate_update(live(b"a"), changed)
        self.assertEqual(result.code, 2, result.out)
        self.assertEqual(result.out.splitlines(), [
            "<stdin>:5:21: /spec/runMode/debug/enabled: `runMode.debug.enabled` cannot be changed",
            "<stdin>:6:3: /spec/replicaSpecs: `replicaSpecs` can be changed only while the job is paused",
            "1 job, 1 update: 2 errors, 0 warnings"])
        two = live(b"a") + b"---\n" + live(b"b").replace(b"image: i", b"image: j")
        named = GOOD.replace(b"name: mnist", b"name: mnist, namespace: b").replace(b"image: i", b"image: j")
        self.assertEqual(self.validate_update(two, named).out, "1 job, 1 update: 0 errors, 0 warnings\n")
        result = self.validate_update(two, GOOD)
        self.assertEqual(result.code, 2)
        self.assertIn("/metadata/namespace: missing, and there are jobs of this name in several: a, b", result.out)

    def test_an_old_mistake_in_a_template_is_a_warning(self):
        """[api 6.6] the job has begun with it."""
        bad = GOOD.replace(b"image: i", b"image: i, imagePullPolcy: Always")
        self.assertEqual(program.run("validate", "-", text=bad).code, 2)
        longer = bad.replace(b"spec:\n", b"spec:\n  runPolicy: {activeDeadlineSeconds: 60}\n", 1)
        result = self.validate_update(bad, longer)
        self.assertEqual(result.code, 0, result.out)
        self.assertIn("warning: /spec/replicaSpecs/0/template/spec/containers/0/imagePullPolcy:", result.out)
        result = self.validate_update(GOOD, bad)
        self.assertEqual(result.code, 2, result.out)

    def test_a_job_that_is_not_live_is_new(self):
        """[api 7.2] holds for jobs that are there; a generateName always makes another."""
        for after in (GOOD.replace(b"mnist", b"other"), GOOD.replace(b"name: mnist", b"generateName: mnist"),
                      GOOD.replace(b"name: mnist", b"name: mnist, namespace: elsewhere")):
            after = after.replace(b"spec:\n", b"spec:\n  runMode: {debug: {enabled: true}}\n")
            result = self.validate_update(GOOD.replace(b"name: mnist", b"name: mnist, namespace: a"), after)
            self.assertEqual(result.code, 0, result.out)
            self.assertIn("is not in the cluster: checked as a new job", result.out)
            self.assertIn("1 job: 0 errors", result.out)
        result = program.run("validate", "-", "--live", "/no/such/file", text=GOOD)
        self.assertEqual(result.code, 2)
        self.assertIn("/no/such/file: cannot be read", result.out)

    def test_warnings_do_not_fail(self):
        text = GOOD.replace(b"spec:\n", b"spec:\n  colour: blue\n  torchrunConfig: {enable: true}\n", 1).replace(
            b"image: i", b"image: i, args: [train.py]")
        result = program.run("validate", "-", text=text)
        self.assertEqual(result.code, 0, result.out)
        self.assertIn("<stdin>:5:3: warning: /spec/colour: ", result.out)
        self.assertIn("<stdin>:6:20: warning: /spec/torchrunConfig/enable", result.out)
        self.assertIn("1 job: 0 errors, ", result.out)
        strict = program.run("validate", "--strict", "-", text=text)
        self.assertEqual((strict.code, strict.out), (2, result.out))
        self.assertEqual(program.run("validate", "--strict", "-", text=GOOD).code, 0)

    def test_generate_name_and_lists_and_json(self):
        job = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
               "metadata": {"generateName": "mnist-"},
               "spec": {"replicaSpecs": [{"type": "worker", "template": {"spec": {"containers": [
                   {"name": "pytorch", "image": "i", "args": ["\ud83d\ude00"]}]}}}]}}
        listed = {"apiVersion": "v1", "kind": "List", "items": [job, job]}
        for text in (json.dumps(listed), json.dumps(job, indent="\t") + "\n" + json.dumps(job)):
            result = program.run("validate", "-", text=text.encode())
            self.assertEqual(result.code, 0, result.out)
            self.assertIn("2 jobs: 0 errors", result.out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
