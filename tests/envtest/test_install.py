# SPDX-License-Identifier: Apache-2.0
"""[behaviour I17] [behaviour 2.10] [behaviour 2.11] operator/deploy by `kubectl apply -k`: each overlay's permissions are enough for
what its Deployment asks of the program, and no more."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.error

import cluster
import deployed
from cluster import ROOT, eventually, job, pods, ssh_job

FULL = "--full" in sys.argv
only_full = unittest.skipUnless(FULL, "with --full")
DEPLOY = ROOT / "operator" / "deploy"
SYSTEM = deployed.SYSTEM
PROBES = ("livenessProbe", "readinessProbe")
# Whether the operator may create these in a namespace that no overlay names.
ALLOWED = {
    "cluster": {"pods": True, "secrets": True, "configmaps": True},
    "no-ssh": {"pods": True, "secrets": False, "configmaps": False},
    "namespaced": {"pods": False, "secrets": False, "configmaps": False},
    "ha": {"pods": True, "secrets": True, "configmaps": True},
    "logs": {"pods": True, "secrets": True, "configmaps": True},
}
LOGS = ("get", "pods/log")
# What a stolen token of no overlay gives (operator/SECURITY.md).
NEVER = [
    *[(verb, "secrets") for verb in ("list", "watch", "patch", "update")],
    ("create", "pods/exec"), LOGS, ("create", "pods/binding"), ("create", "serviceaccounts/token"),
    ("create", "roles.rbac.authorization.k8s.io"), ("create", "rolebindings.rbac.authorization.k8s.io"),
    ("impersonate", "users"), ("get", "nodes"), ("create", "namespaces"), ("get", "namespaces"),
    ("patch", "customresourcedefinitions.apiextensions.k8s.io"), ("create", "pytorchtrainingjobs.batch.tensorstack.dev"),
]


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = cluster.Cluster()
        cls.plane = cls.c.plane
        cls.addClassCleanup(cls.c.stop)
        cls.plane.start()

    def install(self, folder):
        """Applies the folder, by default of overlays/, twice, as an upgrade does, and runs the program as its Deployment says.
        It is uninstalled at the end of the test."""
        self.processes = []
        folder = DEPLOY / "overlays" / folder
        self.addCleanup(self.uninstall, folder)
        for _ in range(2):
            self.plane.kubectl("apply", "--server-side", "-k", folder)
        self.plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        self.plane.start_controllers()
        self.c.start_kubelet()
        deployment = self.plane.object("deployment", "signalbox", SYSTEM)
        eventually("the pods run", lambda: self.ready() == deployment["spec"]["replicas"])
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        self.flags = deployed.flags(container, metrics=self.plane.folder / "metrics")
        self.c.operator = self.start_operator(self._testMethodName)
        return deployment

    def start_operator(self, name):
        self.processes.append(self.c.operator_process(name, self.plane.operator_kubeconfig, *self.flags))
        return self.processes[-1]

    def ready(self):
        return self.plane.object("deployment", "signalbox", SYSTEM)["status"].get("readyReplicas", 0)

    def may(self, verb, resource, namespace="default"):
        return self.plane.may(f"system:serviceaccount:{SYSTEM}:signalbox", verb, resource, namespace)

    def check_permissions(self, overlay, *served):
        for resource, allowed in ALLOWED[overlay].items():
            self.assertEqual(self.may("create", resource), allowed, resource)
        for namespace in ("default", *served):
            for verb, resource in NEVER:
                allowed = overlay == "logs" and (verb, resource) == LOGS
                self.assertEqual(self.may(verb, resource, namespace), allowed, (verb, resource, namespace))

    def uninstall(self, folder):
        """Nothing of it is left, and the jobs go with their kinds, and their pods with them."""
        for each in self.processes:
            each.kill()
        self.plane.kubectl("delete", "-k", folder, "--wait=true", "--timeout=300s")
        kinds = "clusterroles,clusterrolebindings,priorityclasses,crds"
        left = self.plane.kubectl("get", kinds, "-l", "app.kubernetes.io/name=signalbox", "-o", "name").stdout
        self.assertEqual(left, "")
        self.assertEqual(self.plane.kubectl("get", "crds", "-o", "name").stdout, "")
        eventually("pods go", lambda: not self.plane.objects("pods", None))
        self.c.kubelet.kill()
        # The next one finds the kinds that there are then.
        self.plane.controllers_process.kill()

    @only_full
    def test_cluster(self):
        self.install("cluster")
        self.check_permissions("cluster")
        self.c.apply(job("mnist", {"worker": pods(2, duration="1s")}), ssh_job("DeepSpeedJob", "cifar", 2))
        self.c.wait_phase("mnist", "Succeeded")
        self.c.wait_phase("cifar", "Succeeded", kind="deepspeedjob")
        self.assertNotIn("forbidden", self.c.operator.log.read_text())

    @only_full
    def test_logs(self):
        """[behaviour 3.13] The right to read logs is one that has to be asked for."""
        self.install("logs")
        self.check_permissions("logs")
        self.assertIn("--with=logs", self.flags)

    @only_full
    def test_no_ssh(self):
        self.install("no-ssh")
        self.check_permissions("no-ssh")
        alone = ssh_job("DeepSpeedJob", "alone", 2, simulation={"duration": "1s"})
        alone["spec"]["config"]["otherArgs"] = ["--no_ssh"]
        self.c.apply(job("mnist", {"worker": pods(2, duration="1s")}), ssh_job("DeepSpeedJob", "cifar", 2), alone)
        self.c.wait_phase("mnist", "Succeeded")
        self.c.wait_phase("alone", "Succeeded", kind="deepspeedjob")
        status = self.c.wait("cifar", "it is refused", lambda s: s.get("reason") == "ObjectRefused", kind="deepspeedjob")
        self.assertIn("runs without ssh", str(status))
        self.assertEqual(self.c.pods_of("cifar"), [])
        log = self.c.operator.log.read_text()
        self.assertIn("running without ssh: ", log)
        self.assertNotIn("secrets is forbidden", log)

    def test_namespaced(self):
        self.install("namespaced")
        self.check_permissions("namespaced", "training")
        self.assertTrue(self.may("create", "pods", "training"))
        for resource in ("secrets", "configmaps"):
            self.assertFalse(self.may("get", resource, "training"), resource)
        self.c.apply(
            job("elsewhere", {"worker": pods(1, duration="1s")}),
            job("mnist", {"worker": pods(2, duration="1s")}, namespace="training"),
            ssh_job("DeepSpeedJob", "cifar", 2, namespace="training"))
        self.c.wait_phase("mnist", "Succeeded", namespace="training")
        self.c.wait(
            "cifar", "it is refused", lambda s: s.get("reason") == "ObjectRefused", namespace="training", kind="deepspeedjob")
        self.assertEqual(self.c.status("elsewhere"), {})
        self.assertNotIn("forbidden", self.c.operator.log.read_text())

    @only_full
    def test_namespaces_of_ones_own(self):
        """The lines of operator/deploy/README.md, "One namespace or all"."""
        section = (DEPLOY / "README.md").read_text().split("## One namespace or all\n")[1].split("\n## ")[0]
        _, own = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
        clone = self.plane.folder / "clone"
        shutil.copytree(DEPLOY, clone / "operator" / "deploy")
        env = {**os.environ, "KUBECONFIG": str(self.plane.admin_kubeconfig),
               "PATH": f"{self.plane.assets}:{cluster.BINARY.parent}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-euo", "pipefail", "-c", own], cwd=clone, env=env, check=True, capture_output=True)
        self.install(clone / "my-teams")
        teams = ("team-a", "team-b")
        self.check_permissions("namespaced", *teams)
        self.c.apply(job("elsewhere", {"worker": pods(1, duration="1s")}))
        for team in teams:
            self.c.apply(job("mnist", {"worker": pods(2, duration="1s")}, namespace=team))
            self.c.apply(ssh_job("DeepSpeedJob", "cifar", 2, namespace=team, simulation={"duration": "1s"}))
        for team in teams:
            self.c.wait_phase("mnist", "Succeeded", namespace=team)
            self.c.wait_phase("cifar", "Succeeded", namespace=team, kind="deepspeedjob")
        self.assertEqual(self.c.status("elsewhere"), {})
        self.assertNotIn("forbidden", self.c.operator.log.read_text())

    def answers(self, process, path):
        try:
            return deployed.get(process, path, "health") == "ok"
        except urllib.error.HTTPError:
            return False

    def with_components(self, overlay, *components):
        """A folder of one's own, with an overlay and components of operator/deploy."""
        folder = self.plane.folder / "own"
        folder.mkdir()
        deploy = os.path.relpath(DEPLOY, os.path.realpath(folder))
        own = {"resources": [f"{deploy}/overlays/{overlay}"], "components": [f"{deploy}/{each}" for each in components]}
        (folder / "kustomization.yaml").write_text(json.dumps(own))
        return folder

    def test_ha_with_metrics(self):
        secured = deployed.secrets(self.plane.folder / "metrics")
        deployment = self.install(self.with_components("ha", "components/metrics-secured", "observability"))
        self.check_permissions("ha")
        self.assertEqual(deployment["spec"]["replicas"], 2)
        budget = self.plane.object("poddisruptionbudget", "signalbox", SYSTEM)
        self.assertEqual(budget["spec"]["selector"], deployment["spec"]["selector"])
        pods_there = self.plane.objects("pods", SYSTEM)
        self.assertEqual({pod["spec"]["priority"] for pod in pods_there}, {1000000})
        selector = deployment["spec"]["selector"]
        [apart] = deployment["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"][
            "preferredDuringSchedulingIgnoredDuringExecution"]
        self.assertEqual(apart["podAffinityTerm"], {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector})
        [spread] = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
        self.assertEqual((spread["topologyKey"], spread["labelSelector"]), ("topology.kubernetes.io/zone", selector))
        first = self.c.operator
        eventually("one leads", lambda: "leading: " in first.log.read_text())
        second = self.start_operator("second")
        self.c.apply(job("mnist", {"worker": pods(2, duration="1s")}))
        self.c.wait_phase("mnist", "Succeeded")
        eventually("the other one follows", lambda: "another replica leads" in second.log.read_text())
        for process, leads in ((first, 1), (second, 0)):
            # As the probes ask, and as Prometheus does: by TLS, with the token.
            for probe in PROBES:
                path = deployment["spec"]["template"]["spec"]["containers"][0][probe]["httpGet"]["path"]
                eventually(probe, lambda: self.answers(process, path))
            text = deployed.get(process, "/metrics", secured=secured)
            self.assertIn(f'leader_election_master_status{{name="signalbox"}} {leads}\n', text)
            self.assertIn('signalbox_jobs{kind="PyTorchTrainingJob",phase="Succeeded"} 1\n', text)
        metrics = self.plane.object("service", "signalbox-metrics", SYSTEM)["spec"]
        self.assertEqual(metrics["selector"], deployment["spec"]["selector"]["matchLabels"])
        for name, file, source in (("dashboard", "signalbox.json", "dashboard.json"), ("alerts", "signalbox.yaml", "rules.yaml")):
            held = self.plane.object("configmap", f"signalbox-{name}", SYSTEM)["data"]
            self.assertEqual(held[file], (DEPLOY / "observability" / source).read_text())
        first.child.terminate()
        eventually("it leads", lambda: "leading: " in second.log.read_text())
        self.c.apply(job("next", {"worker": pods(2, duration="1s")}))
        self.c.wait_phase("next", "Succeeded")


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--full"]
    cluster.main("envtest_install_full" if FULL else "envtest_install")
