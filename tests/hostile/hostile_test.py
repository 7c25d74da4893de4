# SPDX-License-Identifier: Apache-2.0
"""Hostile input to the program's commands, as data: what comes in, and what must come out (README.md)."""
import collections
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "operator", "cli"))
import jobs  # noqa: E402
import program  # noqa: E402


def data(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return json.load(file)


TEXTS = data("texts.json")


def _characters():
    for part in TEXTS["characters"]:
        first, _, last = part.partition("-")
        yield from map(chr, range(int(first, 16), int(last or first, 16) + 1))


CHARACTERS = "".join(_characters())
# All characters at once, and what they are used for.
ALL = {"characters": f"x{CHARACTERS}y", **TEXTS["sequences"]}
FORBIDDEN = re.compile("[\0" + re.escape(CHARACTERS.replace("\n", "")) + "]")


def places(value, path=()):
    """Of each text and each name of a member in the object its path; of a name with True."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield (*path, key), True
            yield from places(member, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))
    elif isinstance(value, str):
        yield path, False


def replaced(whole, path, is_name, text):
    out = copy.deepcopy(whole)
    parent = out
    for step in path[:-1]:
        parent = parent[step]
    if is_name:
        parent[text] = copy.deepcopy(parent[path[-1]])
    else:
        parent[path[-1]] = text
    return out


def put(job, pointer, value):
    """Sets what is at the place; what is missing on the way is made."""
    *way, last = pointer.strip("/").split("/")
    for step in way:
        job = job[int(step)] if isinstance(job, list) else job.setdefault(step, {})
    job[int(last) if isinstance(job, list) else last] = value


def base_job():
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
        "metadata": {"name": "mnist", "namespace": "lab"},
        "spec": {"replicaSpecs": [{"type": "worker", "template": {"metadata": {}, "spec": {"containers": [
            {"name": "pytorch", "image": "i", "command": ["a.py"]}]}}}]}}


Result = collections.namedtuple("Result", "code out err")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, value, name="input.json"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(value if isinstance(value, str) else json.dumps(value))
        return path

    def check(self, output, *about):
        for found in FORBIDDEN.finditer(output):
            line = output[output.rfind("\n", 0, found.start()) + 1:].split("\n")[0]
            self.fail(f"U+{ord(found[0]):04X} in {line!r} of {about}")
        for line in output.splitlines():
            self.assertFalse(line.startswith("error: all is lost"), f"a forged line of {about}")

    def run_clean(self, command, *about):
        result = subprocess.run(
            [program.binary(), *command], env={**os.environ, "KUBECONFIG": "/nowhere"}, cwd=self.folder,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=program.PATIENCE)
        out, err = result.stdout.decode(), result.stderr.decode()  # they are UTF-8
        self.assertIn(result.returncode, (0, 1, 2), (about, err))
        self.check(out, command, *about)
        self.check(err, command, *about)
        return Result(result.returncode, out, err)


class Files(Case):
    """[behaviour 11.4] whatever is in a file, a terminal obeys nothing of it"""

    def whole(self, case):
        whole = case["input"]
        if isinstance(whole, str):
            with open(os.path.join(program.source_dir(), whole), encoding="utf-8") as file:
                whole = json.load(file)
            items = []
            for member in case["of"]:
                items += whole[member] if isinstance(whole[member], list) else [whole[member]]
            whole = {"apiVersion": "v1", "kind": "List", "items": items}
        return whole

    @staticmethod
    def distinct_places(items):
        """Of equal places one stands for all: of the items of a list, and of what differs in that alone."""
        seen = set()
        for path, is_name in places(items):
            kind = (items[path[0]]["kind"], *[step for step in path[1:] if not isinstance(step, int)], is_name)
            if kind not in seen:
                seen.add(kind)
                yield path, is_name

    def run_on(self, commands, items, *about):
        file = self.write({"apiVersion": "v1", "kind": "List", "items": items})
        for command in commands:
            result = self.run_clean([word.replace("@", file) for word in command], *about)
            if "json" in command and result.code != 2:
                json.loads(result.out)

    def test_files(self):
        for case in data("files.json"):
            items = self.whole(case)["items"]
            found = list(self.distinct_places(items))
            self.assertGreater(len(found), 100)
            for name, text in ALL.items():
                self.run_on(case["of many"], [replaced(items, *place, text)[place[0][0]] for place in found], name)
            for number, place in enumerate(found):
                # All characters, and in each third place one of the sequences.
                name = list(ALL)[number // 3 % len(ALL) if number % 3 == 0 else 0]
                self.run_on(case["of one"], replaced(items, *place, ALL[name]), place, name)


class Arguments(Case):
    """[behaviour 11.4] whatever is in a command line, neither"""

    def test_arguments(self):
        for number, command in enumerate(data("arguments.json")):
            for name in ("characters", list(ALL)[1 + number % (len(ALL) - 1)]):
                with self.subTest(command=command, text=name):
                    self.run_clean([word.replace("@", ALL[name]) for word in command])


class Shown(Case):
    """[behaviour 11.4] names are shown with what is in them"""

    def test_shown(self):
        for case in data("shown.json"):
            with self.subTest(case["name"]):
                job = base_job()
                place = case["at"]
                value = case["value"]
                if "member" in case:
                    target = job
                    for step in place.strip("/").split("/"):
                        target = target[step]
                    target[case["member"]] = value
                else:
                    put(job, place, value)
                result = self.run_clean([word.replace("@", self.write(job)) for word in case["command"]])
                self.assertEqual(result.code, case["code"], result.out + result.err)
                self.assertIn(case["says"], result.out)


class Pods(Case):
    """[behaviour 11.4] whatever pods say, `dev`, its log and the commands about jobs stay in their lines"""

    def check_commands(self, dev, name, phase):
        at = ["--kubeconfig", dev.kubeconfig]
        if phase:
            result = self.run_clean(["wait", name, "--for", phase, *at], name)
            self.assertIn(f"pytorchtrainingjob/{name}: {phase}", result.out + result.err)
        for command in (["explain", name], ["explain", name, "--output", "json"], ["top"]):
            self.assertIn(name, self.run_clean([*command, *at], name).out)
        self.run_clean(["logs", name, "--tail", "0", *at], name)

    def test_pods(self):
        with program.Dev("--speed", "10", "--log-level", "debug") as dev:
            for case in data("pods.json"):
                for number, text in enumerate(ALL.values()):
                    name = f"{case['name']}-{number}"
                    sim = {key: value.replace("@", text) for key, value in case["sim"].items()}
                    job = jobs.pytorch(name, "1s", sim=sim, runPolicy={"backoffLimit": 0})
                    dev.open("POST", jobs.collection(job), job).close()
                    if number % 3 == 0:
                        self.check_commands(dev, name, case["until"])
            log = dev.errors()
            with open(dev.output, encoding="utf-8") as output:
                printed = output.read()
            self.check(log, "the log of dev")
            self.check(printed, "what dev prints")
            self.assertIn("exits-0", printed)


class Growth(Case):
    """[api 6.9] a byte of a large file costs what one of a small file does"""

    SMALL, LARGE = 150_000, 1_200_000
    MOST = 3

    def text(self, case, size):
        job = {
            "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "ColossalAIJob", "metadata": {"name": "big"},
            "spec": {"launcher": {"env": []}, "worker": {"command": ["a.py"], "template": {
                "metadata": {}, "spec": {"containers": [{"name": "worker", "image": "i"}]}}}}}
        put(job, case["at"], "@here@")
        out, between = [], case.get("between", "")
        length = 0
        while length < size:
            out.append(case["unit"].replace("#", str(len(out))))
            length += len(out[-1]) + len(between)
        return json.dumps(job).replace('"@here@"', case["open"] + between.join(out) + case["close"])

    def seconds(self, command, text):
        file = self.write(text)
        result = program.run(*command, file)
        self.assertIn(result.code, (0, 1, 2), result.err)
        return result.seconds

    def ratio(self, command, case):
        """Of the costs of a byte."""
        nothing = self.seconds(command, self.text(case, 1))
        small, large = (max(self.seconds(command, self.text(case, size)) - nothing, 0.005) / size
                        for size in (self.SMALL, self.LARGE))
        return large / small

    @unittest.skipIf(program.sanitized(), "sanitizers multiply time")
    def test_growth(self):
        for case in data("growth.json"):
            for command in (["validate"], ["plan", "-f"]):
                ratio = self.ratio(command, case)
                for _ in range(3):  # the processor is not ours alone
                    ratio = ratio if ratio <= self.MOST else self.ratio(command, case)
                self.assertLessEqual(ratio, self.MOST, (command, case["at"], case["unit"]))


class Measured:
    """What a process has used since this was made. Its greatest memory counts anew from here."""

    def __init__(self, pid):
        self.pid = pid
        with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
        self.first = self._seconds()
        self.memory = self.megabytes("VmRSS")

    def _seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            user, system = file.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def seconds(self):
        return self._seconds() - self.first

    def megabytes(self, what):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"{what}:\s+(\d+) kB", file.read())[1]) / 1024


@unittest.skipIf(program.sanitized(), "sanitizers multiply time and memory")
class Requests(Case):
    """[requirement H7] [requirement H8] no request takes the API server's time or memory from others"""

    KILOBYTES = 2_000_000  # of addresses: a bomb ends the server, not the machine
    SECONDS, MEGABYTES = 3, 150
    AT_REST = 100  # more than at the start, in the end: what history may hold, and a little

    @staticmethod
    def filled(text):
        """`@TEXT COUNT@`: the text so often, each time with another number in the place of `#`."""
        def repeat(found):
            return "".join(found[1].replace("#", str(i)) for i in range(int(found[2])))
        return re.sub(r"@([^@]*?)(\d+)@", lambda m: repeat(m) if m[1] else "x" * int(m[2]), text)

    def body(self, case):
        if "open" not in case:
            return None
        units = (case["unit"].replace("#", str(i)) for i in range(case["times"])) if "unit" in case else ()
        return self.filled(case["open"]) + case.get("between", ", ").join(units) + case.get("close", "")

    def send(self, dev, method, path, body, kind="json"):
        try:
            with dev.open_text(method, path, body, f"application/{kind}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def test_requests(self):
        limited = ["sh", "-c", f'ulimit -v {self.KILOBYTES}; exec "$0" "$@"']
        with program.Dev(prefix=limited) as dev:
            at_rest = Measured(dev.child.pid)
            for case in data("requests.json"):
                with self.subTest(case["name"]):
                    for method, path, text, *kind in case.get("before", ()):
                        self.assertIn(self.send(dev, method, path, self.filled(text), *kind)[0], (200, 201))
                    method, path, *kind = case["request"]
                    body = self.body(case)
                    used = Measured(dev.child.pid)
                    for number in range(case.get("again", 1)):
                        text = body and body.replace("#", str(number))
                        status, said = self.send(dev, method, path, text, *kind)
                    self.assertEqual(status, case["status"], said[:500])
                    self.assertIn(case["says"], said)
                    self.assertLess(used.seconds(), case.get("seconds", self.SECONDS))
                    self.assertLess(used.megabytes("VmHWM") - used.memory, case.get("megabytes", self.MEGABYTES))
            for kind in ("fours", "texts", "wides", "mades"):
                self.send(dev, "DELETE", f"/apis/x.dev/v1/namespaces/default/{kind}", None)
            self.send(dev, "DELETE", "/api/v1/namespaces/default/configmaps", None)
            until = time.monotonic() + program.PATIENCE
            while at_rest.megabytes("VmRSS") - at_rest.memory > self.AT_REST and time.monotonic() < until:
                time.sleep(0.1)
            self.assertLessEqual(at_rest.megabytes("VmRSS") - at_rest.memory, self.AT_REST)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
