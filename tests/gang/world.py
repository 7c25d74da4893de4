# SPDX-License-Identifier: Apache-2.0
"""A real API server with a real scheduler of gangs or queues: what the suites of this folder share.

    class Gangs(world.Facts):
        world_of = kubernetes.Kubernetes        # started once; each test has a namespace and nodes of its own

        def test_it(self):
            self.nodes(2, cpu=5)
            self.create(kubernetes.group("g", 2), self.pod("a", group="g"), self.pod("b", group="g"))
            self.wait_running("a", "b")

Nodes are objects. Pods live from when the scheduler has bound them, by the simulated kubelet of `signalbox pods`; without a
setting they run until the test ends them (Facts.end_pod) or deletes them.

Nothing here waits for time to pass. That something does *not* happen is looked at after `World.settle()`: by then the scheduler
has worked through all that it knew before, twice.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import time
import unittest
import urllib.error

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "envtest"))
import cluster  # noqa: E402 (from the folder beside)
import servers  # noqa: E402
from cluster import eventually  # noqa: E402
from waiting import PATIENCE  # noqa: E402

PROGRAMS = HERE / "programs.sh"
MERGE_PATCH = "application/merge-patch+json"
POOL = "signalbox.test/pool"  # label of nodes
# Delays of the operator that no test is about, in milliseconds: who has ended waits for no peers.
SOON = {"exit_barrier": 500, "finish_barrier": 500, "quota_retry": 500}


def programs(name):
    """The folder of a set of programs.sh. Never builds: AssetsMissing."""
    found = subprocess.run(["bash", str(PROGRAMS), "--cached", name], capture_output=True, text=True)
    if found.returncode != 0:
        raise servers.AssetsMissing(found.stderr.strip().splitlines()[-1])
    return pathlib.Path(found.stdout.strip().splitlines()[-1])


class Refused(Exception):
    """What the API server says no to: `code` of HTTP, `reason` and `message` of its Status."""

    def __init__(self, failure):
        self.code, text = failure.code, failure.read().decode(errors="replace")
        try:
            status = json.loads(text)
        except ValueError:
            status = {}
        self.reason, self.message = status.get("reason", ""), status.get("message", text)
        super().__init__(f"{self.code} {self.reason}: {self.message}")


class World(cluster.Cluster):
    """A cluster whose pods a scheduler binds. Which one, subclasses say: `set_name` of programs.sh, `install_scheduler`,
    `scheduler_command`. `jobs`: with the kinds of Signalbox from the start, for operator_on()."""

    set_name = None
    jobs = False
    kubelet_flags = ("--bound-only",)
    scheduler_name = "default-scheduler"

    def __init__(self, policy=None, apiserver_arguments=(), **plane):
        self.programs = programs(self.set_name)
        # Nodes are ready from the start: no one is there who would take the taint off.
        ready = "--disable-admission-plugins=TaintNodesByCondition"
        super().__init__({**SOON, **(policy or {})}, apiserver_arguments=[ready, *apiserver_arguments], **plane)
        self.scheduler, self.numbers = None, itertools.count()

    def start(self):
        self.plane.start()
        self.install_scheduler()
        if self.jobs:
            self.install_kinds()
        # After the kinds: the collector of garbage looks for new ones every 30 s.
        self.plane.start_controllers()
        self.start_kubelet()
        self.start_scheduler()
        self.settle()
        return self

    def stop(self):
        self.stop_scheduler()
        super().stop()

    def install_scheduler(self):
        """Kinds and objects that the scheduler needs."""

    def scheduler_command(self):
        """Programs of the scheduler: a name, then the words of the command, for each."""
        raise NotImplementedError

    def start_scheduler(self):
        """Starts it (again)."""
        self.scheduler = [
            servers.Process(name, command, self.plane.folder / f"{name}.log", servers.GO_ENVIRONMENT)
            for name, *command in self.scheduler_command()
        ]

    def stop_scheduler(self):
        """Ends it at once. Harmless if there is none."""
        for process in self.scheduler or ():
            process.kill()
        self.scheduler = None

    def write(self, name, content):
        """A file of configuration, and gives its path. JSON is YAML."""
        path = self.plane.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return path

    def read_manifests(self, path):
        """Objects of a file as YAML."""
        text = self.plane.kubectl("create", "--dry-run=client", "-o", "json", "-f", path).stdout
        decoder, at, found = json.JSONDecoder(), 0, []
        while text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip())
            each, at = decoder.raw_decode(text, at)
            found += each["items"] if each["kind"] == "List" else [each]
        return found

    def request(self, method, path, body=None, content_type="application/json"):
        """The object that the API server answers. Raises Refused."""
        headers = {"Content-Type": content_type}
        try:
            return json.loads(self.plane.connection().send(path, body, method, **headers))
        except urllib.error.HTTPError as failure:
            raise Refused(failure) from None

    def create(self, *objects):
        """Creates objects, one after the other; gives the last one as the server has it."""
        made = None
        for each in objects:
            path = self.plane.reader.path(each["kind"].lower(), None, each["metadata"].get("namespace", "default"))
            made = self.request("POST", path, each)
        return made

    def patch(self, kind, name, body, namespace="default", subresource=""):
        """By a merge patch; gives the object."""
        path = self.plane.reader.path(kind, name, namespace) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, body, MERGE_PATCH)

    def delete(self, kind, name, namespace="default", grace=None):
        """`grace`: in seconds, in place of the object's own."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        return self.request("DELETE", self.plane.reader.path(kind, name, namespace), options)

    def find(self, kind, name, namespace="default"):
        """The object, or None if there is none."""
        try:
            return self.request("GET", self.plane.reader.path(kind, name, namespace))
        except Refused as refusal:
            if refusal.code != 404:
                raise
            return None

    def settle(self):
        """Returns when the scheduler has worked through what it knew before, and once more after a pod has left: it tries again
        then what had no place."""
        if not self.find("node", "settle-0"):
            self.create(*node_objects("settle", 1, cpu=1))
        for _ in range(2):
            name = f"settle-{next(self.numbers)}"
            self.create(pod(name, "settle", scheduler=self.scheduler_name))
            eventually(
                lambda: f"the scheduler binds {name}:\n{self.tails()}",
                lambda: self.plane.object("pod", name)["spec"].get("nodeName"),
            )
            self.delete("pod", name, grace=0)
            eventually(f"{name} is gone", lambda: not self.find("pod", name))

    def tails(self):
        return "\n".join(f"{each.name}:\n{each.tail(12)}" for each in self.scheduler or ())


def operator_on(world, *scope):
    """Starts `signalbox run` on a world with `jobs`, with the rights that `signalbox rbac` prints for this scope, as
    `--scheduler kueue`; it is `world.operator` then, and ends with the world."""
    world.plane.kubectl("apply", "-f", "-", stdin=cluster.signalbox("rbac", *scope).stdout)
    world.scope = scope
    return operator_again(world)


def operator_again(world):
    """After its death."""
    world.operator = world.operator_process("operator", world.plane.operator_kubeconfig, *world.scope)
    return world.operator


def node_objects(pool, count, cpu, labels=None):
    """Nodes of a pool. `labels`: of each node by its number."""
    room = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
    return [{
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"{pool}-{number}",
            "labels": {POOL: pool, "kubernetes.io/hostname": f"{pool}-{number}", **(labels(number) if labels else {})},
        },
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Simulated"}],
        },
    } for number in range(count)]


def pod(name, pool, namespace="default", cpu=1, scheduler=None, labels=None, annotations=None, owner=None, simulation=None, **spec):
    """A pod for the nodes of a pool. `simulation`: settings of the simulated kubelet; `spec`: further fields."""
    settings = {"duration": "never", **(simulation or {})}
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": labels or {},
        "annotations": {**{cluster.SIMULATION + key: value for key, value in settings.items()}, **(annotations or {})},
    }
    if owner:
        metadata["ownerReferences"] = [owner_reference(owner)]
    container = {"name": "main", "image": "example.com/train:2", "resources": {"requests": {"cpu": str(cpu)}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "containers": [container],
            "restartPolicy": "Never",
            "nodeSelector": {POOL: pool},
            **({"schedulerName": scheduler} if scheduler else {}),
            **spec,
        },
    }


def priority_class(name, value):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def owner_reference(owner):
    metadata = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"], "controller": True}


def condition(thing, kind):
    """One of an object's conditions; empty if it has none of this type."""
    conditions = (thing.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def told(thing, kind):
    """Status and reason of a condition."""
    found = condition(thing, kind)
    return found.get("status"), found.get("reason")


STARTED = {}  # worlds by their class: classes of tests may share one
FIGURES = []  # (test, what, value), in the order of the tests


class Facts(unittest.TestCase):
    """Tests on one world, each in a namespace and a pool of nodes named after it."""

    world_of = None

    @classmethod
    def setUpClass(cls):
        if cls.world_of not in STARTED:
            STARTED[cls.world_of] = cls.world_of().started(unittest.addModuleCleanup)
        cls.world = STARTED[cls.world_of]

    def setUp(self):
        self.here = self._testMethodName.removeprefix("test_").replace("_", "-")[:50].strip("-")
        self.world.plane.kubectl("create", "namespace", self.here)

    def run(self, result=None):
        """With the ends of the scheduler's logs where a test fails."""
        before = len(result.failures) + len(result.errors) if result else 0
        done = super().run(result)
        if result and len(result.failures) + len(result.errors) > before:
            print(f"{self.id()}:\n{self.world.tails()}", file=sys.stderr)
        return done

    def nodes(self, count, cpu, labels=None):
        self.world.create(*node_objects(self.here, count, cpu, labels))

    def pod(self, name, **more):
        return pod(name, self.here, self.here, scheduler=more.pop("scheduler", self.world.scheduler_name), **more)

    def create(self, *objects):
        """In the namespace of the test."""
        for each in objects:
            if "/namespaces/" in self.world.plane.reader.path(each["kind"].lower()):
                each["metadata"].setdefault("namespace", self.here)
        return self.world.create(*objects)

    def get(self, kind, name):
        return self.world.plane.object(kind, name, self.here)

    def pods(self):
        """Those of the test by name."""
        return {each["metadata"]["name"]: each for each in self.world.plane.objects("pods", self.here)}

    def running(self):
        """Names of the pods that run and are not being deleted."""
        return {
            name for name, each in self.pods().items()
            if each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"]
        }

    def bound(self):
        """Names of the pods that have a node."""
        return {name for name, each in self.pods().items() if each["spec"].get("nodeName")}

    patience = PATIENCE

    def wait_running(self, *names, figure=None):
        """Until these run. `figure`: what the time until then is a figure of."""
        began = time.monotonic()
        eventually(
            lambda: f"{sorted(set(names) - self.running())} run:\n{self.world.tails()}",
            lambda: set(names) <= self.running(),
            interval=0.03,
            patience=self.patience,
        )
        if figure:
            self.figure(figure, time.monotonic() - began)

    def wait_gone(self, kind, *names):
        eventually(lambda: f"{kind} {names} go", lambda: not any(self.world.find(kind, name, self.here) for name in names), interval=0.03)

    def wait_told(self, kind, name, type_, status, reason=None):
        """The object, once its condition says this."""
        return eventually(
            lambda: f"{kind} {name} says {type_}={status}/{reason}: {self.get(kind, name).get('status')}\n{self.world.tails()}",
            lambda: next((found for found in [self.get(kind, name)]
                          if told(found, type_)[0] == status and reason in (None, told(found, type_)[1])), None),
            interval=0.03,
        )

    def assert_held_silently(self, *names):
        """They have no node, and nothing says so, once the scheduler has looked at them."""
        self.world.settle()
        for name in names:
            each = self.pods()[name]
            self.assertNotIn("nodeName", each["spec"], name)
            self.assertEqual(each["status"].get("conditions", []), [], name)

    def end_pod(self, name, code=0):
        """A pod that runs ends by itself with this exit code."""
        self.world.finish_pod(self.get("pod", name), code)

    def remove_pods(self, *names):
        """Deletes them and waits until they are gone."""
        for name in names:
            self.world.delete("pod", name, self.here)
        self.wait_gone("pod", *names)

    def refused(self, *codes):
        """`with self.refused(422) as caught:`; then caught.exception."""
        return _Refusal(self, codes)

    def figure(self, what, seconds):
        FIGURES.append((f"{type(self).__name__}.{self._testMethodName}", what, f"{seconds:.2f} s"))

    def words(self, what, text):
        """What a scheduler says, for people to compare."""
        FIGURES.append((f"{type(self).__name__}.{self._testMethodName}", what, text))


class _Refusal:
    def __init__(self, test, codes):
        self.test, self.codes, self.exception = test, codes, None

    def __enter__(self):
        return self

    def __exit__(self, kind, failure, _):
        if kind is None:
            self.test.fail(f"not refused with any of {self.codes}")
        if not isinstance(failure, Refused):
            return False
        self.test.assertIn(failure.code, self.codes, str(failure))
        self.exception = failure
        return True


def main(suite, *sets):
    """Ends a suite: runs its tests and prints the figures, or skips it where programs are missing."""
    try:
        servers.find_assets()
        for name in sets:
            programs(name)
    except servers.AssetsMissing as missing:
        servers.skip_suite(suite, missing)
    done = unittest.main(verbosity=2, exit=False)
    print("\nFigures, of this machine as busy as it was:")
    for test, what, value in FIGURES:
        print(f"  {value:>8}  {what}  ({test})")
    sys.exit(not done.result.wasSuccessful())
