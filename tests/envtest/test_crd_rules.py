# SPDX-License-Identifier: Apache-2.0
"""The CRD against a real API server: it accepts and refuses what tests/jobcore/api/rules.json says (rules marked S, and
what the library alone refuses, L, is accepted), and its transition rules agree with the library's.

The CRDs come from `$SIGNALBOX_BINARY crds`, or from the JSON file that $SIGNALBOX_CRDS names.
"""

import copy
import json
import os
import pathlib
import subprocess
import time
import unittest

import servers

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = json.loads((ROOT / "tests/jobcore/api/rules.json").read_text())
MANIFESTS = ROOT.parent / "shared/manifests"
PATH = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"


def crds():
    """The CRDs as text that kubectl reads."""
    if os.environ.get("SIGNALBOX_CRDS"):
        return pathlib.Path(os.environ["SIGNALBOX_CRDS"]).read_text()
    binary = os.environ.get("SIGNALBOX_BINARY", "")
    if not os.access(binary, os.X_OK):
        servers.skip_suite("envtest_crd_rules", f"no program to ask for the CRDs: SIGNALBOX_BINARY={binary}")
    return subprocess.run([binary, "crds"], check=True, capture_output=True, text=True).stdout


def expand(value):
    """The same as `expand` of tests/jobcore/api/json_cases.hpp."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$repeat" not in value:
        return {key: expand(item) for key, item in value.items()}
    if isinstance(value["$repeat"], str):
        return value["$repeat"] * value["times"]
    items = [expand(copy.deepcopy(value["$repeat"][0])) for _ in range(value["times"])]
    if "number" in value:
        for i, item in enumerate(items):
            item[value["number"]] += str(i)
    return items


def parent(target, pointer):
    *path, last = [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]
    for token in path:
        target = target[int(token)] if isinstance(target, list) else target.setdefault(token, {})
    return target, int(last) if isinstance(target, list) else last


def made_from_base(changes, removed=()):
    made = copy.deepcopy(RULES["base"])
    for pointer, value in changes.items():
        target, last = parent(made, pointer)
        if isinstance(target, list) and last == len(target):
            target.append(expand(value))
        else:
            target[last] = expand(value)
    for pointer in removed:
        target, last = parent(made, pointer)
        del target[last]
    return made


class CrdRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = servers.ControlPlane()
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.start()
        cls.kubectl("apply", "-f", "-", stdin=cls.crds)
        deadline = time.monotonic() + 30
        while cls.kubectl("get", "pj", check=False).returncode != 0:
            assert time.monotonic() < deadline, "the kind is not served"
            time.sleep(0.1)

    @classmethod
    def kubectl(cls, *arguments, **options):
        return cls.plane.kubectl(*arguments, **options)

    def send(self, verb, body, path=PATH):
        """The server's error text, empty if it accepted. `create --raw` sends null, which apply would drop."""
        result = self.kubectl(verb, "--raw", path, "-f", "-", stdin=json.dumps(body), check=False)
        return "" if result.returncode == 0 else result.stderr or "refused"

    def delete(self, name):
        self.kubectl("delete", "--raw", f"{PATH}/{name}")

    def test_creation_agrees_with_the_library(self):
        for case in RULES["create"]:
            if case.get("skip_server"):
                continue
            with self.subTest(case["rule"]):
                body = made_from_base(case.get("set", {}), case.get("remove", ()))
                refusal = self.send("create", body)
                if not refusal and "generateName" not in body["metadata"]:
                    self.delete(body["metadata"]["name"])
                if case.get("mark") == "S" or case.get("server") == "refuse":
                    self.assertTrue(refusal, "accepted")
                else:
                    self.assertEqual(refusal, "")

    def test_updates_agree_with_the_library(self):
        for case in RULES["update"]:
            with self.subTest(case["rule"]):
                self.assertEqual(self.send("create", made_from_base(case["before"])), "")
                try:
                    current = json.loads(self.kubectl("get", "--raw", f"{PATH}/mnist").stdout)
                    body = made_from_base(case["after"])
                    body["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
                    refusal = self.send("replace", body, f"{PATH}/mnist")
                finally:
                    self.delete("mnist")
                self.assertEqual(bool(refusal), bool(case["finds"]), refusal)

    def test_a_refusal_says_what_would_be_right(self):
        body = made_from_base({"/spec/replicaSpecs/0/replicas": 0})
        self.assertIn("the job needs at least one replica", self.send("create", body))
        self.assertEqual(self.send("create", made_from_base({})), "")
        patched = self.kubectl(
            "patch", "pj", "mnist", "--type=merge", "-p", '{"spec":{"managedBy":"other"}}', check=False
        )
        self.assertIn("`managedBy` cannot be changed", patched.stderr)
        self.delete("mnist")

    def test_a_third_party_may_pause_a_job_without_run_mode(self):
        self.assertEqual(self.send("create", made_from_base({})), "")
        patch = '{"spec":{"runMode":{"pause":{"enabled":true}}}}'
        self.kubectl("patch", "pj", "mnist", "--type=merge", "-p", patch)
        self.delete("mnist")

    def test_templates_and_aliases_are_kept_and_unknown_fields_pruned(self):
        body = made_from_base(
            {"/spec/torchrunConfig": {"enable": True, "bogus": 1}, "/spec/replicaSpecs/0/template/spec/bogus": {"x": [1]}}
        )
        self.assertEqual(self.send("create", body), "")
        spec = json.loads(self.kubectl("get", "pj", "mnist", "-o", "json").stdout)["spec"]
        self.assertEqual(spec["torchrunConfig"], {"enable": True})
        self.assertEqual(spec["replicaSpecs"][0]["template"]["spec"]["bogus"], {"x": [1]})
        self.assertEqual(set(spec), {"torchrunConfig", "replicaSpecs"})
        self.delete("mnist")

    def test_columns_category_and_short_name(self):
        body = made_from_base({"/spec/scheduler": {"t9kScheduler": {"queue": "q1"}}})
        self.assertEqual(self.send("create", body), "")
        status = {"phase": "Running", "ready": "3/4", "backoffCount": 2, "reason": "R", "duration": "1m"}
        patch = json.dumps({"status": status})
        self.kubectl("patch", "pj", "mnist", "--type=merge", "--subresource=status", "-p", patch)
        header, row = self.kubectl("get", "training").stdout.splitlines()
        self.assertEqual(header.split(), ["NAME", "PHASE", "READY", "RESTARTS", "REASON", "AGE"])
        self.assertEqual(row.split()[:5], ["mnist", "Running", "3/4", "2", "R"])
        header, row = self.kubectl("get", "pj", "-o", "wide").stdout.splitlines()
        self.assertEqual(header.split()[6:], ["QUEUE", "STARTED", "DURATION"])
        self.assertIn("q1", row)
        self.delete("mnist")

    def test_scale_writes_expected_replicas(self):
        changes = {"/spec/elastic": {"enabled": True, "maxReplicas": 4}, "/spec/torchrunConfig": {"enabled": True}}
        self.assertEqual(self.send("create", made_from_base(changes)), "")
        self.kubectl("scale", "pj/mnist", "--replicas=3")
        spec = json.loads(self.kubectl("get", "pj", "mnist", "-o", "json").stdout)["spec"]
        self.assertEqual(spec["elastic"]["expectedReplicas"], 3)
        self.assertNotEqual(self.kubectl("scale", "pj/mnist", "--replicas=5", check=False).returncode, 0)
        self.delete("mnist")

    def test_published_manifests_are_accepted(self):
        if not MANIFESTS.is_dir():
            self.skipTest(f"no folder {MANIFESTS}")
        accepted = 0
        for manifest in sorted(MANIFESTS.glob("*.yaml")):
            if "kind: PyTorchTrainingJob" in manifest.read_text():
                with self.subTest(manifest.name):
                    self.kubectl("create", "--validate=strict", "-f", manifest)
                    self.kubectl("delete", "-f", manifest)
                    accepted += 1
        self.assertGreaterEqual(accepted, 8)


if __name__ == "__main__":
    CrdRules.crds = crds()
    try:
        servers.find_assets()
    except servers.AssetsMissing as missing:
        servers.skip_suite("envtest_crd_rules", str(missing))
    unittest.main()
