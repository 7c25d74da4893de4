# SPDX-License-Identifier: Apache-2.0
"""What validators are held against: the cases of tests/jobcore/api/rules*.json, one list per kind, and what the program
`jobcore_tests` prints: the CRDs, objects and updates with one changed field, and the library's verdicts on them.
"""

import copy
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile

API = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import skips  # noqa: E402, F401 (from the folder above; for the suites too)

RULES = {
    rules["base"]["kind"]: rules
    for rules in (
        json.loads((ROOT / "tests/jobcore/api" / f"{name}.json").read_text())
        for name in ("rules", "rules_deepspeed", "rules_colossalai")
    )
}


def corpus(binary):
    """{"crds": [...], "mutations": [{"rule", "object", "valid"}], "updates": [{"rule", "before", "after", "finds"}]}, from
    `jobcore_tests` beside the program `binary`, or from the file that $SIGNALBOX_CORPUS_FILE names. None without either.
    """
    if os.environ.get("SIGNALBOX_CORPUS_FILE"):
        return json.loads(pathlib.Path(os.environ["SIGNALBOX_CORPUS_FILE"]).read_text())
    program = pathlib.Path(binary).with_name("jobcore_tests")
    if not os.access(program, os.X_OK):
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "corpus.json")
        environment = dict(os.environ, SIGNALBOX_CORPUS=str(file))
        subprocess.run([program, "[corpus]"], check=True, capture_output=True, env=environment)
        return json.loads(file.read_text())


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


def made_from_base(base, changes, removed=()):
    made = copy.deepcopy(base)
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


def created(rules, case):
    """The object of a case of `create`."""
    return made_from_base(rules["base"], case.get("set", {}), case.get("remove", ()))


def path_of(kind, name=""):
    return f"{API}/{kind.lower()}s" + (f"/{name}" if name else "")


def request(connection, verb, path, body=None, token=None):
    """(status, answer) of one request, as a user may send it: with null, which kubectl apply would drop."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    connection.request(verb, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


class EmbeddedServer:
    """The embedded API server with these CRDs, from the program `k8sio_serve` beside `binary`."""

    def __init__(self, binary, crds):
        self.folder = tempfile.TemporaryDirectory()
        files = []
        for number, crd in enumerate(crds):
            files.append(pathlib.Path(self.folder.name, f"{number}.json"))
            files[-1].write_text(json.dumps(crd))
        self.child = subprocess.Popen(
            [pathlib.Path(binary).with_name("k8sio_serve"), *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        port = self.child.stdout.readline().split()[1]
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=300)

    def call(self, verb, path, body=None):
        return request(self.connection, verb, path, body)

    def stop(self):
        self.connection.close()
        self.child.communicate()
        self.folder.cleanup()


class ServerRules:
    """What each server is held against. A suite gives `corpus`, and `call` for a request with a body: (status, answer)."""

    def tearDown(self):
        for kind in RULES:  # whatever a failed test left
            self.call("DELETE", path_of(kind))

    def refusal(self, verb, body, path=None, dry=False):
        """The server's message if it refused, empty if it accepted. With `dry` nothing is stored."""
        answer = self.answer(verb, body, path or path_of(body["kind"]), dry)
        return answer["message"] if answer["kind"] == "Status" else ""

    def answer(self, verb, body, path, dry=False):
        status, answer = self.call(verb, path + ("?dryRun=All" if dry else ""), body)
        self.assertIn(status, (200, 201, 400, 422), answer)
        return answer

    def delete(self, name, kind="PyTorchTrainingJob"):
        self.assertEqual(self.call("DELETE", path_of(kind, name))[0], 200)

    def disagree(self, cases):
        """Fails with every disagreement, if there is any: [(rule, what)]."""
        for rule, what in cases:
            print(f"DISAGREEMENT {rule}: {what}")
        self.assertEqual(len(cases), 0, f"{len(cases)} disagreements, printed above")

    def test_creation_agrees_with_the_library(self):
        """[api 6.1] marked S: refused by both; marked L or without: accepted by the server."""
        wrong = []
        for rules in RULES.values():
            for case in rules["create"]:
                if case.get("skip_server"):
                    continue
                body = created(rules, case)
                refusal = self.refusal("POST", body, dry=True)
                expected = case.get("mark") == "S" or case.get("server") == "refuse"
                if bool(refusal) != expected:
                    wrong.append((case["rule"], refusal or "accepted"))
        self.disagree(wrong)

    def test_one_changed_field_is_judged_as_by_the_library(self):
        """[api 6.1] by types, bounds, values and old names."""
        wrong = []
        for case in self.corpus["mutations"]:
            refusal = self.refusal("POST", case["object"], dry=True)
            if bool(refusal) == case["valid"]:
                wrong.append((case["rule"], refusal or "accepted"))
        self.assertGreater(len(self.corpus["mutations"]), 1000)
        self.disagree(wrong)

    def test_updates_agree_with_the_library(self):
        """[api 7.2] [api 7.3] [api 7.1] [api 7.4] by CEL as by the library."""
        wrong = []
        for kind, rules in RULES.items():
            name = rules["base"]["metadata"]["name"]
            for case in rules["update"]:
                before = made_from_base(rules["base"], case["before"])
                status, current = self.call("POST", path_of(kind), before)
                self.assertEqual(status, 201, (case["rule"], current))
                body = made_from_base(rules["base"], case["after"])
                body["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
                answer = self.answer("PUT", body, path_of(kind, name))
                self.delete(name, kind)
                # One rule per field: as many are broken as the library finds fields.
                causes = answer.get("details", {}).get("causes", [])
                same_words = case.get("says", "") in answer.get("message", "")
                if len(causes) != len(case["finds"]) or not same_words:
                    wrong.append((case["rule"], answer.get("message", "accepted")))
        self.disagree(wrong)

    def test_one_changed_field_is_updated_as_by_the_library(self):
        """[api 7.2] [api 7.3] [api 7.1] each field, of a running and of a paused job."""
        wrong, stored = [], {}
        for case in self.corpus["updates"]:
            before = json.dumps(case["before"])
            kind, name = case["before"]["kind"], f"base-{list(stored).index(before) if before in stored else len(stored)}"
            if before not in stored:
                body = dict(case["before"], metadata={"name": name})
                status, stored[before] = self.call("POST", path_of(kind), body)
                self.assertEqual(status, 201, stored[before])
            version = stored[before]["metadata"]["resourceVersion"]
            body = dict(case["after"], metadata={"name": name, "resourceVersion": version})
            answer = self.answer("PUT", body, path_of(kind, name), dry=True)
            causes = answer.get("details", {}).get("causes", [])
            if len(causes) != case["finds"]:
                wrong.append((case["rule"], answer.get("message", "accepted")))
        self.assertGreater(len(self.corpus["updates"]), 500)
        self.disagree(wrong)
