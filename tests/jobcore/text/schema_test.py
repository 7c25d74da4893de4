# SPDX-License-Identifier: Apache-2.0
"""The text API against its JSON Schema: recorded requests and their responses fit, and what the schema refuses of a
changed request, the library refuses too. Usage: schema_test.py PROGRAM, which answers lines (call_lines.cpp)."""
import copy
import json
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
import conformance  # noqa: E402 (from the folders above)
import skips  # noqa: E402

SCHEMA = json.loads((HERE.parents[2] / "libjobcore/text-api.schema.json").read_text())
REQUESTS = {path.stem: json.loads(path.read_text()) for path in sorted((HERE / "requests").glob("*.json"))}
# Below these there are Kubernetes objects, of which the schema says only what the library looks at first.
FOREIGN = {"job", "previous", "children"}

try:
    import jsonschema
except ImportError:
    skips.skip_suite("text_api_schema", "needs a JSON Schema validator for Python (Debian: python3-jsonschema)")


def validator(name):
    return jsonschema.Draft202012Validator({"$ref": "#/$defs/" + name, "$defs": SCHEMA["$defs"]})


REQUEST, RESPONSE = validator("request"), validator("response")


def call(requests):
    """The responses, in one run of the program."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


HEAD_PLACES = ((), ("metadata",), ("kind",), ("apiVersion",), ("metadata", "name"), ("metadata", "uid"))


def head_places(value, at):
    """Of an object of Kubernetes: what identifies it, as far as it is there."""
    for place in HEAD_PLACES:
        found = value
        for key in place:
            found = found.get(key) if isinstance(found, dict) else None
        if found is not None and at + place:
            yield at + place


def places(value, at=()):
    """Paths of all members and items that the schema describes."""
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    else:
        return
    for key, child in children:
        yield at + (key,)
        if key not in FOREIGN:
            yield from places(child, at + (key,))
        elif key == "job":
            yield from head_places(child, at + (key,))
        elif key == "children":
            for i, item in enumerate(child[:3]):
                yield from head_places(item, at + (key, i))


def parent(value, path):
    for key in path[:-1]:
        value = value[key]
    return value


def variants(request):
    """[(what was done, changed request)]"""
    for path in places(request):
        name = "/".join(map(str, path))
        if not isinstance(path[-1], int):
            changed = copy.deepcopy(request)
            del parent(changed, path)[path[-1]]
            yield name + " removed", changed
        for value in (None, True, -1, 2 ** 40, 1.5, "", "x", [], {}, [[]], "2026-01-31"):
            changed = copy.deepcopy(request)
            parent(changed, path)[path[-1]] = value
            yield f"{name} = {value!r}", changed
        if path[-1] not in FOREIGN and not set(path) & FOREIGN:
            changed = copy.deepcopy(request)
            if isinstance(parent(changed, path), dict):
                parent(changed, path)["colour"] = "red"
                yield f"{name} and colour", changed


class Schema(unittest.TestCase):
    def test_the_schema_is_one(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        self.assertEqual({r["operation"] for r in REQUESTS.values()}, {"validate", "plan", "decide", "explain"})

    def test_recorded_requests_and_their_responses_fit(self):
        for (name, request), response in zip(REQUESTS.items(), call(REQUESTS.values())):
            with self.subTest(name):
                REQUEST.validate(request)
                RESPONSE.validate(response)
                self.assertNotIn("errors", response)
                self.assertEqual(response["operation"], request["operation"])

    def test_the_conformance_set_fits(self):
        for case in conformance.read():
            with self.subTest(case["name"]):
                answer = json.loads(case["answer"])
                RESPONSE.validate(answer)
                if "errors" not in answer:
                    REQUEST.validate(json.loads(case["request"]))

    def test_what_the_schema_refuses_is_refused(self):
        for name, request in REQUESTS.items():
            changed = list(variants(request))
            refused = 0
            for (what, bad), response in zip(changed, call([bad for _, bad in changed])):
                with self.subTest(name, what=what):
                    RESPONSE.validate(response)
                    if not REQUEST.is_valid(bad):
                        refused += 1
                        self.assertIn("errors", response)
            self.assertGreater(refused, 20, name)
            print(f"{name}: {len(changed)} changed requests, {refused} refused by the schema and the library")

    def test_an_unknown_member_is_named(self):
        request = dict(REQUESTS["decide-refused"], colour="red")
        request["policy"] = dict(request["policy"], settles=3)
        errors = call([request])[0]["errors"]
        self.assertEqual(sorted(e["pointer"] for e in errors), ["/colour", "/policy/settles"])
        self.assertTrue(all("unknown; there are: " in e["message"] for e in errors))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
