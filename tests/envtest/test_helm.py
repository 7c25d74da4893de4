# SPDX-License-Identifier: Apache-2.0
"""[behaviour I17] The chart of operator/deploy/chart by the real Helm: what it renders, and its life on a real API server.

--full builds Helm if it is not there yet; without, the suite is skipped then."""

import json
import subprocess
import sys
import unittest

import cluster
import servers
from cluster import ROOT, eventually, job, pods, skip_suite, ssh_job

FULL = "--full" in sys.argv
SUITE = "envtest_helm_full" if FULL else "envtest_helm"
CHART = ROOT / "operator" / "deploy" / "chart"
SYSTEM = "signalbox-system"
# Values of the chart, and the flags of the program that mean the same.
SCOPES = {
    "all": ([], []),
    "no-ssh": (["features.ssh=false"], ["--without", "ssh"]),
    "least": (
        ["features.ssh=false", "features.gang=false", "features.tensorboard=false", "features.events=false", "kinds={pj}"],
        ["--without", "ssh,gang,tensorboard,events", "--kind", "pj"],
    ),
    "namespaced": (["namespaces={team-a,team-b}"], ["-n", "team-a", "-n", "team-b"]),
    "colossalai": (["kinds={caij}"], ["--kind", "caij"]),
}
HELM = None


def helm(*arguments, check=True, env=None):
    done = subprocess.run([HELM, *map(str, arguments)], capture_output=True, text=True, timeout=servers.PATIENCE, env=env, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"helm {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done


def sets(values):
    return [word for value in values for word in ("--set", value)]


def objects(plane, text):
    """The objects of YAML documents. kubectl reads them, without asking the server what they are."""
    shown = plane.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=text).stdout
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(shown.rstrip()):
        value, end = decoder.raw_decode(shown, at)
        found += value.get("items", [value])
        at = end + 1
    return found


def documents(text):
    """Of YAML, without comments, in the order of their texts."""
    plain = "".join(line for line in text.splitlines(True) if not line.startswith("#"))
    return sorted(part.strip() for part in plain.split("---\n") if part.strip())


def granted(all_objects):
    """(kind, namespace) of every role: its rules, as sets of (group, resource, verb, names)."""
    out = {}
    for each in all_objects:
        if each["kind"] in ("Role", "ClusterRole") and "-jobs-" not in each["metadata"]["name"]:
            out[each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]] = {
                (group, resource, verb, tuple(rule.get("resourceNames", [])))
                for rule in each["rules"]
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for verb in rule["verbs"]
            }
    return out


class Chart(unittest.TestCase):
    def test_lint(self):
        for values, _ in SCOPES.values():
            self.assertIn("0 chart(s) failed", helm("lint", "--strict", CHART, *sets(values)).stdout)

    def test_wrong_values_are_refused_by_the_schema(self):
        for value, why in (
            ("replicas=two", "replicas"),
            ("features.rdma=true", "rdma"),
            ("kinds={job}", "kinds"),
            ("namespaces={Team}", "namespaces"),
            ("image.digest=sha256:1", "digest"),
            ("log.level=loud", "level"),
            ("replicaCount=2", "replicaCount"),
        ):
            refused = helm("template", "x", CHART, "--set", value, check=False)
            self.assertNotEqual(refused.returncode, 0, value)
            self.assertIn(why, refused.stderr)
        refused = helm("template", "x", CHART, *sets(["replicas=2", "leaderElection=false"]), check=False)
        self.assertIn("leaderElection", refused.stderr)

    def test_the_definitions_are_those_of_the_program(self):
        crds = cluster.signalbox("crds").stdout
        rendered = helm("template", "x", CHART, "--set", "crds.keep=false", "-s", "templates/crds.yaml").stdout
        # Texts of hundreds of kilobytes: not to be printed.
        self.assertTrue(documents(rendered) == documents(crds), "the chart's definitions are not those of the program")
        kept = helm("template", "x", CHART, "-s", "templates/crds.yaml").stdout
        self.assertEqual(kept.count("helm.sh/resource-policy: keep"), crds.count("\nkind: CustomResourceDefinition\n"))


class Life(unittest.TestCase):
    def setUp(self):
        self.c = cluster.Cluster()
        self.plane = self.c.plane
        self.addCleanup(self.c.stop)
        self.plane.start()
        self.plane.kubectl("apply", "-f", ROOT / "operator" / "deploy" / "base" / "namespace.yaml")

    def helm(self, *arguments, **options):
        return helm(*arguments, "--kubeconfig", self.plane.admin_kubeconfig, "-n", SYSTEM, **options)

    def left(self):
        kinds = "deploy,sa,role,rolebinding,clusterrole,clusterrolebinding,pdb,networkpolicy,priorityclass,crd"
        labelled = self.plane.kubectl("get", kinds, "-A", "-l", "app.kubernetes.io/name=signalbox", "-o", "name").stdout.split()
        return [each for each in labelled if not each.startswith("namespace")]

    def crds(self):
        return self.plane.kubectl("get", "crd", "-o", "name").stdout.split()

    def test_its_roles_are_those_that_rbac_prints(self):
        for name, (values, flags) in SCOPES.items():
            with self.subTest(name):
                rendered = helm("template", "signalbox", CHART, "-n", SYSTEM, *sets(values), "-s", "templates/rbac.yaml").stdout
                printed = cluster.signalbox("rbac", "--leader-elect", *flags).stdout
                self.assertEqual(granted(objects(self.plane, rendered)), granted(objects(self.plane, printed)))

    def test_from_install_to_uninstall(self):
        self.helm("install", "signalbox", CHART)
        self.plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        self.plane.start_controller_manager()
        self.c.start_kubelet()
        self.addCleanup(self.c.kubelet.kill)
        self.run_program()
        self.c.apply(job("mnist", {"worker": pods(2, duration="1s")}), ssh_job("DeepSpeedJob", "cifar", 2))
        self.c.wait_phase("mnist", "Succeeded")
        self.c.wait_phase("cifar", "Succeeded", kind="deepspeedjob")
        # To several replicas, and less permission, while a job runs.
        self.c.apply(job("long", {"worker": pods(2, duration="never")}))
        self.c.wait_phase("long", "Running")
        several = ["replicas=2", "features.ssh=false", "priorityClass.create=true"]
        self.helm("upgrade", "signalbox", CHART, *sets(several))
        self.assertEqual(self.ready(2)["spec"]["replicas"], 2)
        self.assertEqual(self.plane.kubectl_json("get", "pdb", "signalbox", "-n", SYSTEM)["spec"]["maxUnavailable"], 1)
        account = f"--as=system:serviceaccount:{SYSTEM}:signalbox"
        asked = self.plane.kubectl("auth", "can-i", "create", "secrets", account, check=False)
        self.assertEqual(asked.stdout.strip(), "no")
        self.run_program()
        self.c.wait_phase("long", "Running")
        self.assertEqual(self.c.status("long")["attempt"], 1)
        for replica in ("worker-0", "worker-1"):
            self.c.finish("long", replica)
        self.c.wait_phase("long", "Succeeded")
        # Back.
        self.helm("rollback", "signalbox", "1")
        self.ready(1)
        asked = self.plane.kubectl("auth", "can-i", "create", "secrets", account, check=False)
        self.assertEqual(asked.stdout.strip(), "yes")
        self.c.operator.kill()
        self.helm("uninstall", "signalbox", "--wait")
        self.assertEqual(self.left(), [])
        self.assertEqual(len(self.crds()), 3)  # kept, and the jobs with them
        self.assertEqual(self.c.status("mnist")["phase"], "Succeeded")
        # Taken over again, and this time not kept.
        self.helm("install", "signalbox", CHART, "--set", "crds.keep=false", "--take-ownership")
        self.helm("uninstall", "signalbox", "--wait")
        self.assertEqual(self.left(), [])
        eventually("the kinds are gone", lambda: self.crds() == [])

    def ready(self, replicas):
        def look():
            found = self.plane.kubectl_json("get", "deployment", "signalbox", "-n", SYSTEM)
            status = found["status"]
            settled = status.get("observedGeneration") == found["metadata"]["generation"]
            same = status.get("readyReplicas") == status.get("updatedReplicas") == status.get("replicas") == replicas
            return settled and same and found

        return eventually(f"{replicas} pods run", look)

    def run_program(self):
        """The program as the Deployment says, in place of the one that runs."""
        if self.c.operator:
            self.c.operator.child.terminate()
            self.c.operator.child.wait()
        [container] = self.ready(self.replicas())["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["args"][0], "run")
        flags = [*container["args"][1:], f"--leader-elect-resource-namespace={SYSTEM}"]
        self.c.operator = self.c.operator_process("operator", self.plane.operator_kubeconfig, *flags)
        self.addCleanup(self.c.operator.kill)

    def replicas(self):
        return self.plane.kubectl_json("get", "deployment", "signalbox", "-n", SYSTEM)["spec"]["replicas"]


def main():
    global HELM
    command = [servers.HERE / "helm.sh", *([] if FULL else ["--cached"])]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        skip_suite(SUITE, found.stderr.strip().splitlines()[-1])
    HELM = found.stdout.strip().splitlines()[-1]
    sys.argv = [word for word in sys.argv if word != "--full"]
    cluster.main(SUITE)


if __name__ == "__main__":
    main()
