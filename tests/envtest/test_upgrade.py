# SPDX-License-Identifier: Apache-2.0
"""[behaviour 12.12] [behaviour I1] [behaviour I7] Upgrade and roll-back under running jobs: the manifests of two versions by
`kubectl apply -k`, replicas replaced one by one, and objects as older versions left them (tests/upgrade) on a real API server.

--full runs the former too."""

import base64
import json
import pathlib
import shutil
import sys
import tempfile
import unittest
import urllib.request

import cluster
import deployed
import servers
from auditor import PodAuditor
from cluster import ROOT, eventually, job, pods, ssh_job

FULL = "--full" in sys.argv
SUITE = "envtest_upgrade_full" if FULL else "envtest_upgrade"
RECORDED = ROOT / "tests" / "upgrade"
SYSTEM = deployed.SYSTEM
ENDLESS = {"duration": "never"}
FAILURES = 4  # of the job that restarts all the time
# In etcd, by kind.
FOLDERS = {
    "Pod": "pods", "Service": "services/specs", "Secret": "secrets", "ConfigMap": "configmaps", "Deployment": "deployments",
    "PyTorchTrainingJob": "batch.tensorstack.dev/pytorchtrainingjobs", "DeepSpeedJob": "batch.tensorstack.dev/deepspeedjobs",
    "ColossalAIJob": "batch.tensorstack.dev/colossalaijobs",
}
# Members of statuses that tell how far a job is: none of them changes because another program looks at it.
KEPT = ("phase", "reason", "attempt", "backoffCount", "restarts")
AT_REST = ("Running", "Paused", "Succeeded", "Failed")
# They waited for a time that has come since.
WAITED = ("settling", "exit-barrier")


def kept(status):
    """What is to stay of it. Of a job that is paused or has ended it is asked once what became of its pods, and then forgotten
    (behaviour 1.9)."""
    restarts = status.get("restarts") or {}
    if status.get("phase") in ("Paused", "Succeeded", "Failed"):
        restarts = {key: value for key, value in restarts.items() if key != "seen"}
    return {**{key: status.get(key) for key in KEPT}, "restarts": restarts}


@unittest.skipUnless(FULL, "only with --full")
class Manifests(unittest.TestCase):
    """Of the version before, this one and the next: they differ in their definitions and their image's tag."""

    def setUp(self):
        self.c = cluster.Cluster()
        self.plane = self.c.plane
        self.addCleanup(self.c.stop)
        self.plane.start()
        self.replicas = []
        self.addCleanup(lambda: [each.kill() for each in self.replicas])
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-upgrade-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def version(self, tag, change):
        """A folder to apply. `change` is called with the schema of each kind's status."""
        folder = self.folder / tag
        shutil.copytree(ROOT / "operator" / "deploy", folder / "deploy")
        file = folder / "deploy" / "crds" / "crds.yaml"
        definitions = deployed.objects(self.plane, file.read_text())
        for each in definitions:
            change(each["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"])
        file.write_text("\n---\n".join(map(json.dumps, definitions)))
        own = {"resources": ["deploy/overlays/ha"], "images": [{"name": "signalbox", "newTag": tag}]}
        (folder / "kustomization.yaml").write_text(json.dumps(own))
        return folder

    def apply(self, folder, *selection):
        """Applies it, and lets new replicas take the place of the old ones, as the Deployment's strategy does."""
        self.plane.kubectl("apply", "--server-side", "-k", folder, *selection)
        self.plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        deployment = self.plane.object("deployment", "signalbox", SYSTEM)
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["image"], f"signalbox:{folder.name}")
        if not self.c.kubelet:
            self.plane.start_controllers()
            self.c.start_kubelet()
        old, self.replicas = self.replicas, []
        for number in range(deployment["spec"]["replicas"]):
            name = f"{folder.name}-{number}-{len(list(self.plane.folder.glob('*.log')))}"
            flags = deployed.flags(container)
            self.replicas.append(self.c.operator_process(name, self.plane.operator_kubeconfig, *flags))
            eventually(f"{name} is ready", lambda: self.is_ready(self.replicas[-1]))
            if old:
                each = old.pop()
                each.child.terminate()
                self.assertEqual(each.child.wait(timeout=cluster.PATIENCE), 0, each.tail())
        eventually("one leads", self.leader)
        self.c.operator = self.leader()

    def is_ready(self, process):
        try:
            return deployed.get(process, "/readyz", "health") == "ok"
        except OSError:
            return False

    def leader(self):
        return next((each for each in self.replicas if "leading: " in each.log.read_text()), None)

    def uids(self, name):
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.c.pods_of(name)}

    def test_jobs_go_on(self):
        before = self.version("0.0.9", lambda status: status.pop("told"))
        now = self.version("0.1.0", lambda status: None)
        after = self.version("0.2.0", lambda status: status.update(future={"type": "string"}))
        self.apply(before)
        auditor = PodAuditor(self.plane)
        auditor.start()
        auditor.ready.wait(cluster.PATIENCE)
        restarting = pods(2, fail_at="3s", fail_times=FAILURES, only_index=1, **ENDLESS)
        self.c.apply(
            job("runs", {"master": pods(1, **ENDLESS), "worker": pods(2, **ENDLESS)}),
            ssh_job("DeepSpeedJob", "ssh", 2, simulation=ENDLESS),
            job("restarts", {"worker": restarting}, runPolicy={"backoffLimit": 2 * FAILURES}),
        )
        self.c.wait_phase("runs", "Running")
        self.c.wait_phase("ssh", "Running", kind="deepspeedjob")
        kept = {name: self.uids(name) for name in ("runs", "ssh")}
        # A job is created in the middle of each.
        for step, (folder, selection) in enumerate((
            (now, ()),
            (after, ()),
            # Back, without the definitions.
            (now, ("-l", "app.kubernetes.io/name=signalbox")),
            (before, ("-l", "app.kubernetes.io/name=signalbox")),
        )):
            self.c.apply(job(f"new-{step}", {"worker": pods(2, duration="1s")}))
            self.apply(folder, *selection)
            if folder == after:
                # As the next version would write it.
                newer = {"status": {"future": "known"}}
                self.plane.kubectl("patch", "pj", "runs", "--subresource=status", "--type=merge", "-p", json.dumps(newer))
            self.c.wait_phase(f"new-{step}", "Succeeded")
            self.assertEqual({name: self.uids(name) for name in kept}, kept)
        fields = self.plane.object("crd", "pytorchtrainingjobs.batch.tensorstack.dev")
        status = fields["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
        self.assertIn("future", status)
        self.assertIn("is newer than this program", self.leader().log.read_text())
        done = lambda s: s.get("phase") == "Running" and s.get("backoffCount") == FAILURES
        self.c.wait("restarts", "it has had its failures", done)
        for name, replicas, kind in (
            ("runs", ("master-0", "worker-0", "worker-1"), cluster.KIND), ("ssh", ("worker-0",), "deepspeedjob"),  # where its launcher is
            ("restarts", ("worker-0", "worker-1"), cluster.KIND),
        ):
            for replica in replicas:
                self.c.finish(name, replica, kind=kind)
            self.c.wait_phase(name, "Succeeded", kind=kind)
        self.assertEqual(self.c.status("runs")["future"], "known")
        self.assertEqual(self.c.status("runs")["attempt"], 1)
        self.assertEqual(self.c.status("restarts")["backoffCount"], FAILURES)
        self.assertEqual(auditor.doubles, [])


class Objects(unittest.TestCase):
    def put(self, plane, item):
        """Into etcd, as it was: with its UID, of which the names of pods were made."""
        meta = {key: value for key, value in item["metadata"].items() if key != "resourceVersion"}
        key = f"/registry/{FOLDERS[item['kind']]}/{meta['namespace']}/{meta['name']}"
        encoded = [base64.b64encode(each.encode()).decode() for each in (key, json.dumps({**item, "metadata": meta}))]
        body = json.dumps({"key": encoded[0], "value": encoded[1]}).encode()
        url = f"http://127.0.0.1:{plane.etcd_port}/v3/kv/put"
        urllib.request.urlopen(urllib.request.Request(url, body), timeout=servers.PATIENCE).close()

    def recorded(self):
        """{version/name: (job, children)} of those that were at rest, but for what kept() leaves out; of kinds that are served here."""
        out = {}
        for file in sorted(RECORDED.glob("*/expected.json")):
            for name, expected in json.loads(file.read_text()).items():
                items = json.loads((file.parent / f"{name}.json").read_text())["items"]
                [found] = [item for item in items if item["kind"] == expected["kind"]]
                children = [item for item in items if item is not found and item["kind"] in FOLDERS]
                # The size of a job that is not elastic is written into it, which its status follows (BEHAVIOUR.md 7.1).
                may = {"confirm Pod", f"patch {expected['kind']}"}
                asked = set(expected["actions"]) <= may and all(at.startswith("/restarts/seen/") for at in expected["status"])
                rest = name not in WAITED and expected["phase"] in AT_REST and asked
                foreign = {item["kind"] for item in items} - FOLDERS.keys() - {"Event", "Node", "Namespace"}
                if rest and not foreign and "deletionTimestamp" not in found["metadata"]:
                    out[f"{file.parent.name}/{name}"] = (found, children)
        return out

    def test_a_program_of_this_version_takes_them_over(self):
        recorded = self.recorded()
        self.assertGreater(len(recorded), 10)
        with cluster.Cluster() as c:
            for other in (c.kubelet, c.plane.controllers_process):
                other.kill()  # nothing but the operator shall touch them
            items = [found for found, _ in recorded.values()] + [each for _, children in recorded.values() for each in children]
            for namespace in {item["metadata"]["namespace"] for item in items}:
                c.create_namespace(namespace)
            for item in items:
                self.put(c.plane, item)
            names = [f"{item['kind'].lower()}/{item['metadata']['name']}" for item in items]
            namespace = items[0]["metadata"]["namespace"]

            def look():
                """{kind/name: UID and what is to stay} of what there is."""
                kinds = "pods,services,secrets,configmaps,deployments,pj,dj,caij"
                found = c.plane.objects(kinds, namespace)
                return {
                    f"{item['kind'].lower()}/{item['metadata']['name']}": (item["metadata"]["uid"], kept(item.get("status", {})))
                    for item in found
                }

            before = look()
            self.assertEqual(sorted(before), sorted(names))
            c.operator = c.operator_process(
                "operator", c.plane.operator_kubeconfig, "--metrics-bind-address", "127.0.0.1:0", "--log-level", "debug")
            eventually("it has looked at all of them", lambda: self.passes(c) >= len(recorded))
            # One more, behind them in the queue.
            c.apply(job("probe", {"worker": pods(1)}))
            eventually("its pod is made", lambda: c.pods_of("probe"))
            after = look()
            self.assertEqual(after, before, c.operator.tail())

    def passes(self, c):
        """How many have ended well, when none waits or is under way."""
        lines = dict(line.rsplit(" ", 1) for line in deployed.get(c.operator, "/metrics").splitlines() if not line.startswith("#"))
        waiting = float(lines['workqueue_depth{name="signalbox"}']) + float(
            lines['controller_runtime_active_workers{controller="signalbox"}'])
        results = (f'controller_runtime_reconcile_total{{controller="signalbox",result="{each}"}}' for each in
                   ("success", "requeue", "requeue_after"))
        return 0 if waiting else sum(float(lines[each]) for each in results)


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--full"]
    cluster.main(SUITE)
