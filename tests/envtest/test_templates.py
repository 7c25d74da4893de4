# SPDX-License-Identifier: Apache-2.0
"""Pod templates: who refuses what. The tables of fields against the server's OpenAPI; then mutated templates of the
examples, half of them good, and a table of probes (template_probes.json), one or more for each rule: library, command
line and embedded server against the real one (api 6.6).

SIGNALBOX_TEMPLATE_SEED=7 SIGNALBOX_TEMPLATE_CASES=4000 looks further; what differs is printed with its mutation.
"""

import collections
import copy
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

import cluster
import kubernetes_fields
import mutations
import verdicts

SEED = int(os.environ.get("SIGNALBOX_TEMPLATE_SEED", "1"))
CASES = int(os.environ.get("SIGNALBOX_TEMPLATE_CASES", "1200"))

# Where the verdicts differ on purpose: what the real server says, or the place that we name, and why.
KNOWN = {
    "fqdn": (
        re.compile(r"setHostnameAsFQDN"),
        "launchers rely on the short host name: library and command line refuse it (api 1.10)",
    ),
    "training container": (
        re.compile(r"Which of these containers trains\?"),
        "a job needs one that trains: library and command line refuse a template that leaves it open (api 1.13)",
    ),
    "token": (
        re.compile(r"must not be specified when serviceAccountName is not set"),
        "in a cluster the admission of service accounts, which is off in this test, sets the name",
    ),
    "fraction": (
        re.compile(r"cannot unmarshal number \d+\.0 "),
        "a server writes 30.0 in a custom resource as 30: the pods of the job are accepted",
    ),
    "priority": (
        re.compile(r"no PriorityClass with name|priority admission controller computed"),
        "what a PriorityClass says is the cluster's",
    ),
    "runtime": (
        re.compile(r"RuntimeClass"),
        "what a RuntimeClass says is the cluster's",
    ),
    "windows": (
        re.compile(r"hostProcess containers"),
        "the rules of pods of Windows are not kept",
    ),
}


def templates_in(value):
    """Whole pod templates, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from templates_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "template" and isinstance(item, dict) and item.get("spec", {}).get("containers"):
                yield item
            else:
                yield from templates_in(item)


def objects_in(text):
    """The objects of what `kubectl -o json` prints, one after the other."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        yield from value.get("items", [value])
        at = end + len(text[end:]) - len(text[end:].lstrip())


def changed(path, value, template):
    """Sets what is at `path`, names and numbers with `/` between; lists and objects on the way are made."""
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    place = template
    for parent in parents:
        place = place[parent] if isinstance(place, list) else place.setdefault(parent, {})
    place[last] = value


def probes():
    """One template for each row of the table: what it changes, and the template."""
    for changes in json.loads((cluster.servers.HERE / "template_probes.json").read_text()):
        template = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        for path, value in changes:
            changed(path, value, template)
        yield json.dumps(changes), template


def pod_of(template):
    pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(template)}
    if pod.get("metadata") is None:
        pod["metadata"] = {}
    if isinstance(pod["metadata"], dict):
        pod["metadata"]["name"] = "tried"
    return pod


def job_of(template, number):
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": f"job-{number}", "namespace": "default"},
        "spec": {"replicaSpecs": [{"type": "master", "replicas": 1, "template": template}]},
    }


class Fields(unittest.TestCase):
    def test_tables_are_those_of_this_server(self):
        with cluster.servers.ControlPlane() as plane:
            for path, text in kubernetes_fields.tables(plane.get).items():
                self.assertGreater(text.count("\n"), 400)
                self.assertEqual(path.read_text(), text, f"{path.name}: run kubernetes_fields.py --write")


class Verdicts(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.plane = cluster.servers.ControlPlane().started(cls.addClassCleanup)
        cls.plane.serve_kinds("-", stdin=cluster.signalbox("crds").stdout)
        cls.real = verdicts.real_server(cls.plane)
        cls.embedded = verdicts.embedded_server(cls.plane, cls.addClassCleanup)
        cls.cases = cls.make_cases()

    @classmethod
    def make_cases(cls):
        """Mutations with the real server's verdict: as many accepted as refused."""
        folder = cluster.ROOT / "examples" / "manifests"
        printed = cls.plane.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", folder).stdout
        templates = []
        for template in templates_in(list(objects_in(printed))):
            if template not in templates:
                templates.append(template)
        assert len(templates) >= 15, len(templates)
        mutator, dice = mutations.Mutator(SEED, "PodTemplateSpec"), random.Random(SEED)
        cases, counts = [], collections.Counter()
        while len(cases) < CASES:
            what, template = mutator.mutate(dice.choice(templates))
            verdict = cls.real.refuses(pod_of(template))
            accepted = verdict["code"] == 201
            if counts[accepted] < CASES / 2:
                counts[accepted] += 1
                cases.append((what, template, verdict))
        return cases + [(what, template, cls.real.refuses(pod_of(template))) for what, template in probes()]

    def differences(self, answers):
        """Those that no row of KNOWN explains, as text. `answers`: for each case a code and a text."""
        told = []
        for (what, _, real), (code, text) in zip(self.cases, answers):
            if code != real["code"] and not any(p.search(text + real["message"]) for p, _ in KNOWN.values()):
                told.append(f"{what}\n  real server {real['code']}: {real['message'][:300]}\n  here {code}: {text[:300]}")
        print(f"{len(self.cases)} templates, {len(told)} verdicts differ")
        return "\n".join(told)

    def classes(self, refused):
        """Accepted or refused is all that a finding says."""
        return [
            (real["code"] if bool(text) == (real["code"] != 201) else 422 if text else 201, text)
            for (_, _, real), text in zip(self.cases, refused)
        ]

    def test_there_are_as_many_good_ones(self):
        codes = collections.Counter(real["code"] for _, _, real in self.cases[:CASES])
        self.assertEqual(codes[201] * 2, CASES)
        self.assertGreater(codes[400], CASES / 20)
        self.assertGreater(codes[422], CASES / 20)
        self.assertEqual(set(codes), {201, 400, 422})
        self.assertGreater(len(self.cases), CASES + 300)

    def test_embedded_server(self):
        answers = [self.embedded.refuses(pod_of(template)) for _, template, _ in self.cases]
        self.assertEqual(self.differences([(answer["code"], answer["message"]) for answer in answers]), "")
        refused = [(real, answer) for (_, _, real), answer in zip(self.cases, answers) if real["code"] != 201]
        same_places = sum(real["places"] == answer["places"] for real, answer in refused)
        same_texts = sum(real["message"] == answer["message"] for real, answer in refused)
        print(f"{len(refused)} refused: {same_places} with the same causes, {same_texts} with the same text")
        self.assertGreater(same_places, 0.9 * len(refused))
        self.assertGreater(same_texts, 0.7 * len(refused))

    def test_library(self):
        program = cluster.BINARY.parent / "text_call_lines"
        lines = ""
        for number, (_, template, _) in enumerate(self.cases):
            request = {"apiVersion": "text.jobcore/v1", "operation": "validate", "job": job_of(template, number)}
            lines += json.dumps(request) + "\n"
        done = subprocess.run([program], input=lines, capture_output=True, text=True, timeout=300, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(self.cases))
        refused = []
        for answer in answers:
            errors = [finding for finding in answer["findings"] if finding["level"] == "error"]
            self.assertEqual(answer["valid"], not errors)
            refused.append("; ".join(f"{finding['pointer']}: {finding['message']}" for finding in errors))
        self.assertEqual(self.differences(self.classes(refused)), "")

    def test_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, (_, template, _) in enumerate(self.cases):
                pathlib.Path(folder, f"{number:05}.yaml").write_text(json.dumps(job_of(template, number)))
            done = cluster.signalbox("validate", "--output", "json", folder, check=False)
        self.assertEqual(done.returncode, 2)
        refused = [""] * len(self.cases)
        for finding in json.loads(done.stdout)["findings"]:
            if finding["level"] == "error":
                number = int(pathlib.Path(finding["file"]).stem)
                refused[number] += f"{finding['pointer']}: {finding['message']}; "
        self.assertEqual(self.differences(self.classes(refused)), "")

    def test_plan_refuses_as_validate_does(self):
        for wanted in (201, 400, 422):
            what, template, _ = next(case for case in self.cases if case[2]["code"] == wanted)
            if "setHostnameAsFQDN" in json.dumps(template):
                continue
            with self.subTest(what), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                json.dump(job_of(template, 0), file)
                file.flush()
                done = cluster.signalbox("plan", "-f", file.name, check=False)
                self.assertEqual(done.returncode, 0 if wanted == 201 else 2, done.stderr)


if __name__ == "__main__":
    cluster.main("envtest_templates")
