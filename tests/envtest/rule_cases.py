# SPDX-License-Identifier: Apache-2.0
"""What validators are held against: the cases of tests/jobcore/api/rules*.json, one list per kind, and what the program
`jobcore_tests` prints: the CRDs, objects and updates with one changed field, and the library's verdicts on them.
"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

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
