# SPDX-License-Identifier: Apache-2.0
"""All three kinds on a real API server: the examples, stages, sizes, gangs and TensorBoards."""

import json
import signal
import unittest

import cluster
import skips
from cluster import eventually, job, pods, servers, ssh_job

EXAMPLES = cluster.ROOT / "examples" / "manifests"
STARTERS = cluster.ROOT / "operator" / "cli" / "starters"
PLURALS = "pytorchtrainingjobs,deepspeedjobs,colossalaijobs"


class Watch:
    """The objects of a namespace as one watch shows them, in the order of the server's changes."""

    def __init__(self, plane, what, namespace):
        program = plane.assets / "kubectl"
        self.log = plane.folder / f"watch-{what}-{namespace}.json"
        self.process = servers.Process(
            f"watch of {what} in {namespace}",
            [
                program if program.exists() else "kubectl",
                f"--kubeconfig={plane.admin_kubeconfig}",
                "get", what, "-n", namespace, "--watch", "--output-watch-events", "-o", "json",
            ],
            self.log,
        )

    def events(self):
        """Pairs of type and object."""
        text, decoder, at, found = self.log.read_text(), json.JSONDecoder(), 0, []
        while text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip())
            try:
                event, at = decoder.raw_decode(text, at)
            except json.JSONDecodeError:
                break  # the last one is being written
            found.append((event["type"], event["object"]))
        return found

    def made(self, prefix):
        """Names of the objects that came, as often as they came."""
        names = [each["metadata"]["name"] for kind, each in self.events() if kind == "ADDED"]
        return [name for name in names if name.startswith(prefix)]


def is_ready(pod):
    conditions = pod.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        servers_of = cluster.Cluster(policy={"capability_retry": 1000}, controllers=["disruption-controller"])
        cls.cluster = servers_of.started(cls.addClassCleanup)
        cls.cluster.start_operator()
        cls.plane = cls.cluster.plane

    def start(self, path, namespace):
        """Applies a manifest in a namespace of its own; gives kind, name and namespace of its job."""
        self.cluster.create_namespace(namespace)
        self.plane.kubectl("apply", "-n", namespace, "-f", path)
        [made] = self.plane.objects(PLURALS, namespace)
        return made["kind"].lower(), made["metadata"]["name"], namespace

    def count(self, what, namespace):
        return len(self.plane.objects(what, namespace))

    def test_manifests(self):
        """[behaviour 8.4] [behaviour 9.1] Examples, what `init` writes and published ones, before PodGroup and TensorBoard are served and after."""
        jobs = {path.stem: self.start(path, f"example-{path.stem}") for path in sorted(EXAMPLES.glob("*.yaml"))}
        jobs.update({f"init {path.stem}": self.start(path, f"init-{path.stem}") for path in sorted(STARTERS.glob("*.yaml"))})
        published = skips.published_manifests("envtest_kinds")
        others = [p for p in published if "kind: PyTorch" not in p.read_text()]
        self.assertEqual(len(others), 3 if published else 0)
        jobs.update({p.stem: self.start(p, p.stem.replace("_", "-")) for p in others})

        kind, name, namespace = jobs["gang"]
        waits = lambda status: status.get("reason") == "WaitingForPodGroup"
        self.cluster.wait(name, "reason WaitingForPodGroup", waits, namespace, kind=kind)
        self.assertEqual(self.cluster.pods_of(name, namespace), [])

        kind, name, namespace = jobs["tensorboard"]
        board = self.cluster.wait(
            name, "a TensorBoard that is ready", lambda s: s.get("tensorboard", {}).get("ready"), namespace, kind=kind
        )["tensorboard"]
        self.assertEqual(board["type"], "Deployment")
        self.plane.kubectl("get", f"deployment/{board['name']}", f"service/{board['name']}", "-n", namespace)

        self.plane.serve_kinds(cluster.CRDS)
        for kind in ("podgroups", "tensorboards"):
            line = f"the server serves {kind}."
            eventually(f"the operator says: {line}", lambda: line in self.cluster.operator.log.read_text())
        for name, (kind, job_name, namespace) in jobs.items():
            with self.subTest(manifest=name):
                self.follow(kind, job_name, namespace)

        kind, name, namespace = self.start(EXAMPLES / "tensorboard.yaml", "board-served")
        eventually("a TensorBoard object", lambda: self.count("tensorboards", namespace) == 1)
        self.assertEqual(self.count("deployments", namespace), 0)
        self.cluster.wait_phase(name, "Succeeded", namespace, kind=kind)

        self.cluster.create_namespace("group")
        endless = pods(3, duration="never")
        self.cluster.apply(job("gang", {"worker": endless}, "group", scheduler={"t9kScheduler": {"queue": "q"}}))
        self.cluster.wait_phase("gang", "Running", "group")
        [group] = self.plane.objects("podgroups", "group")
        self.assertEqual(group["spec"], {"minMember": 3, "queue": "q", "priority": 10})
        self.cluster.finish("gang", "worker-0", "group")
        self.cluster.wait_phase("gang", "Succeeded", "group")
        eventually("the PodGroup is gone", lambda: self.count("podgroups", "group") == 0)

    def follow(self, kind, name, namespace):
        """To the end that the manifest asks for: debug mode idles, what was created paused is resumed."""
        spec = self.cluster.get(name, namespace, kind)["spec"]
        mode = spec.get("runMode", {})
        enabled = lambda part: mode.get(part, {}).get("enabled") or mode.get(part, {}).get("enable")
        if enabled("pause"):
            self.cluster.wait_phase(name, "Paused", namespace, kind=kind)
            resume = {"spec": {"runMode": {"pause": {"enabled": False}}}}
            self.plane.kubectl("patch", kind, name, "-n", namespace, "--type=merge", "-p", json.dumps(resume))
        if enabled("debug"):
            self.cluster.wait_phase(name, "Running", namespace, kind=kind)
            uid = self.cluster.get(name, namespace, kind)["metadata"]["uid"]
            self.plane.kubectl("delete", kind, name, "-n", namespace, "--wait=false")
            eventually("no child is left", lambda: not self.cluster.children_of(uid, namespace))
        else:
            self.cluster.wait_phase(name, "Succeeded", namespace, kind=kind)

    def test_colossalai_stages(self):
        """[behaviour 2.3] The launcher is created after every worker is Ready, as one watch shows."""
        self.cluster.create_namespace("stages")
        watch = Watch(self.plane, "pods", "stages")
        self.plane.kubectl("run", "marker", "-n", "stages", "--image=example.com/marker:1")
        eventually("the watch runs", watch.events)
        self.cluster.apply(ssh_job("ColossalAIJob", "palm", 3, "stages", {"ready-after": "1s"}))
        self.cluster.wait_phase("palm", "Succeeded", "stages", kind="colossalaijob")
        eventually("the watch has all", lambda: any(t == "ADDED" and "launcher" in p["metadata"]["name"] for t, p in watch.events()))
        ready, unready = {}, set()
        for _, pod in watch.events():
            kind, name = pod["metadata"]["labels"].get("replica-type"), pod["metadata"]["name"]
            if kind == "launcher":
                break
            if kind == "worker":
                ready[name] = is_ready(pod)
                unready |= {name} - {n for n, state in ready.items() if state}
        self.assertEqual(list(ready.values()), [True, True, True])
        self.assertEqual(unready, set(ready))  # the watch saw them before
        watch.process.kill()

    def test_colossalai_loses_a_worker(self):
        """[behaviour 5.11] A worker is deleted under a running launcher."""
        self.cluster.apply(ssh_job("ColossalAIJob", "lost-endless", 2))
        launchers = lambda: [p for p in self.cluster.pods_of("lost-endless") if p["metadata"]["labels"]["replica-type"] == "launcher"]
        eventually("the launcher runs", lambda: [p for p in launchers() if p["status"]["phase"] == "Running"])
        worker = "replica-type=worker,replica-index=1,tensorstack.dev/owner-name=lost-endless"
        self.plane.kubectl("delete", "pod", "-l", worker, "--wait=false")
        status = self.cluster.wait_phase("lost-endless", "Failed", kind="colossalaijob")
        self.assertEqual(status["reason"], "ReplicaLost")
        eventually("the launcher is gone", lambda: not launchers())

    def test_deepspeed_restarts_with_the_same_keys(self):
        """[behaviour 5.7] A new ConfigMap for the new attempt, one Secret for the job."""
        once = {"fail-at": "1500ms", "fail-times": 1, "only-index": 1, "exit-code": 1, "duration": "never"}
        self.cluster.create_namespace("keys")
        maps, secrets = Watch(self.plane, "configmaps", "keys"), Watch(self.plane, "secrets", "keys")
        for what in ("configmap", "secret generic"):
            self.plane.kubectl("create", *what.split(), "marker", "-n", "keys")
        eventually("the watches run", lambda: maps.made("marker") and secrets.made("marker"))
        self.cluster.apply(ssh_job("DeepSpeedJob", "cifar", 2, "keys", once))
        again = lambda s: (s.get("attempt"), s.get("ready")) == (2, "2/2")
        self.cluster.wait("cifar", "a second attempt", again, "keys", kind="deepspeedjob")
        self.cluster.finish("cifar", "worker-0", "keys", "deepspeedjob")
        status = self.cluster.wait_phase("cifar", "Succeeded", "keys", kind="deepspeedjob")
        self.assertEqual((status["attempt"], status["backoffCount"]), (2, 1))
        eventually("the watch has both", lambda: [name[-2:] for name in maps.made("cifar")] == ["-1", "-2"])
        eventually("the watch has it", lambda: secrets.made("cifar"))
        self.plane.kubectl("create", "secret", "generic", "last", "-n", "keys")
        eventually("the watch has all before", lambda: secrets.made("last"))
        self.assertEqual(len(secrets.made("cifar")), 1)
        [secret] = [each for _, each in secrets.events() if each["metadata"]["name"].startswith("cifar")][:1]
        self.assertEqual(secret["type"], "kubernetes.io/ssh-auth")
        maps.process.kill()
        secrets.process.kill()

    def test_scale(self):
        """[behaviour 7.2] [behaviour 7.3] [behaviour 7.5] kubectl scale, up and down: torchrun in place, DeepSpeed anew."""
        elastic = {"enabled": True, "minReplicas": 1, "maxReplicas": 4}
        self.cluster.apply(
            job("bert", {"node": pods(2, duration="never")}, torchrunConfig={"enabled": True}, elastic=elastic),
            ssh_job("DeepSpeedJob", "zero", 2, simulation={"duration": "never"}, elastic=elastic),
        )
        for kind, name, attempts in (("pytorchtrainingjob", "bert", (1, 1)), ("deepspeedjob", "zero", (2, 3))):
            with self.subTest(kind):
                self.cluster.wait_phase(name, "Running", kind=kind)
                self.assertEqual(self.cluster.get(name, kind=kind)["spec"]["elastic"]["expectedReplicas"], 2)
                for size, attempt in zip((4, 1), attempts):
                    self.plane.kubectl("scale", kind, name, f"--replicas={size}")
                    at_size = lambda s: (s.get("replicas"), s.get("attempt"), s.get("phase")) == (size, attempt, "Running")
                    status = self.cluster.wait(name, f"{size} replicas in attempt {attempt}", at_size, kind=kind)
                    eventually(f"{size} pods", lambda: len(self.cluster.pods_of(name)) == size)
                self.assertEqual(status.get("backoffCount", 0), 0)
                refused = self.plane.kubectl("scale", kind, name, "--replicas=5", check=False)
                self.assertNotEqual(refused.returncode, 0)
                eventually("the event is there", lambda: "Scaled" in self.cluster.events_of(name))

    def evict(self, pod):
        """As `kubectl drain` does it: 0, or the server's words."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
        asked = self.plane.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(body), check=False)
        return asked.stderr if asked.returncode else ""

    def check_budget(self, name, words, expected, allowed):
        """Gives the budget of a job another form, and waits until it counts."""
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "drains"},
            "spec": {"selector": {"matchLabels": {"tensorstack.dev/owner-name": name}}, **words},
        }
        self.cluster.apply(budget)
        numbers = {}

        def counted():
            found = self.plane.object("poddisruptionbudget", name, "drains")
            numbers.update(found.get("status", {}))
            current = numbers.get("observedGeneration") == found["metadata"]["generation"]
            return current and (numbers["expectedPods"], numbers["disruptionsAllowed"]) == (expected, allowed)

        eventually(f"{words} of {name} is {expected} pods, {allowed} of which may go", counted)

    def test_disruption_budgets(self):
        """[behaviour 7.1] [behaviour 7.5] [api 7.1] Budgets count the pods of jobs that are not elastic, and scale is refused."""
        self.cluster.create_namespace("drains")
        never = {"duration": "never"}
        self.cluster.apply(
            job("plain", {"master": pods(1, **never), "worker": pods(3, **never)}, "drains"),
            ssh_job("DeepSpeedJob", "zero", 4, "drains", never),
            ssh_job("ColossalAIJob", "palm-endless", 3, "drains", never),
        )
        jobs = {"plain": "pytorchtrainingjob", "zero": "deepspeedjob", "palm-endless": "colossalaijob"}
        for name, kind in jobs.items():
            with self.subTest(kind):
                self.cluster.wait_phase(name, "Running", "drains", kind=kind)
                for words, allowed in (({"minAvailable": 3}, 1), ({"minAvailable": "50%"}, 2), ({"maxUnavailable": 1}, 1)):
                    self.check_budget(name, words, 4, allowed)
                self.plane.kubectl("scale", kind, name, "--replicas=4", "-n", "drains")
                refused = self.plane.kubectl("scale", kind, name, "--replicas=9", "-n", "drains", check=False)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("of a job that is not elastic must be its size", refused.stderr)
        # No one makes good what is evicted until the operator goes on.
        self.cluster.operator.child.send_signal(signal.SIGSTOP)
        self.addCleanup(self.cluster.operator.child.send_signal, signal.SIGCONT)
        for name, kind in jobs.items():
            with self.subTest(kind):
                first, second = self.cluster.pods_of(name, "drains")[-2:]
                self.assertEqual(self.evict(first), "")
                self.assertIn("Cannot evict pod as it would violate the pod's disruption budget", self.evict(second))


if __name__ == "__main__":
    cluster.main("envtest_kinds")
