# SPDX-License-Identifier: Apache-2.0
"""[behaviour I17] The chart of operator/deploy/chart by the real Helm: what it renders, and its life on a real API server.

--full builds Helm if it is not there yet; without, the suite is skipped then."""

import json
import re
import shutil
import subprocess
import sys
import unittest

import cluster
import deployed
import servers
from cluster import ROOT, eventually, job, pods, skip_suite, ssh_job

FULL = "--full" in sys.argv
SUITE = "envtest_helm_full" if FULL else "envtest_helm"
CHART = ROOT / "operator" / "deploy" / "chart"
SYSTEM = deployed.SYSTEM
OBSERVABILITY = ROOT / "operator" / "deploy" / "observability"
# Values of the chart, and the flags of the program that mean the same.
SCOPES = {
    "all": ([], []),
    "no-ssh": (["features.ssh=false"], ["--without", "ssh"]),
    "logs": (["features.logs=true"], ["--with", "logs"]),
    "least": (
        ["features.ssh=false", "features.gang=false", "features.tensorboard=false", "features.events=false", "kinds={pj}"],
        ["--without", "ssh,gang,tensorboard,events", "--kind", "pj"],
    ),
    "progress": (["progress.enabled=true", "progress.tls.secretName=certificate"], ["--with", "progress"]),
    "schedulers": (["schedulers.kubernetes=true", "schedulers.volcano=true"], ["--scheduler", "kubernetes,volcano"]),
    "kueue": (["schedulers.kueue=true", "namespaces={team-a}"], ["--scheduler", "kueue", "-n", "team-a"]),
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
            ("metrics.port=80", "port"),
            ("metrics.monitor.kind=Monitor", "kind"),
            ("metrics.monitor.interval=often", "interval"),
            ("metrics.token.key=a/b", "key"),
            ("progress.port=80", "port"),
            ("alerts.kind=Rule", "kind"),
            ("dashboard.labels.a=1", "labels"),
        ):
            refused = helm("template", "x", CHART, "--set", value, check=False)
            self.assertNotEqual(refused.returncode, 0, value)
            self.assertIn(why, refused.stderr)
        for values, why in (
            (["replicas=2", "leaderElection=false"], "leaderElection"),
            (["progress.enabled=true"], "progress.tls.secretName"),
            (["metrics.enabled=false", "metrics.monitor.kind=PodMonitor"], "kind"),
        ):
            refused = helm("template", "x", CHART, *sets(values), check=False)
            self.assertNotEqual(refused.returncode, 0, values)
            self.assertIn(why, refused.stderr)

    def test_the_definitions_are_those_of_the_program(self):
        crds = cluster.signalbox("crds").stdout
        rendered = helm("template", "x", CHART, "--set", "crds.keep=false", "-s", "templates/crds.yaml").stdout
        # Texts of hundreds of kilobytes: not to be printed.
        self.assertTrue(documents(rendered) == documents(crds), "the chart's definitions are not those of the program")
        kept = helm("template", "x", CHART, "-s", "templates/crds.yaml").stdout
        self.assertEqual(kept.count("helm.sh/resource-policy: keep"), crds.count("\nkind: CustomResourceDefinition\n"))


# Of the Prometheus Operator's kinds what the chart sets, as its definitions of v0.79.2 have it: the server drops other fields.
TEXT, TEXTS = "string", {"*": "string"}
KEY = {"name": TEXT, "key": TEXT}
SCRAPED = {
    "port": TEXT, "interval": TEXT, "scheme": TEXT, "authorization": {"credentials": KEY},
    "tlsConfig": {"ca": {"secret": KEY}, "serverName": TEXT},
}
SELECTED = {"jobLabel": TEXT, "selector": {"matchLabels": TEXTS}}
MONITORING = {
    "PodMonitor": {**SELECTED, "podMetricsEndpoints": [SCRAPED]},
    "ServiceMonitor": {**SELECTED, "endpoints": [SCRAPED]},
    "PrometheusRule": {
        "groups": [{"name": TEXT, "rules": [{"alert": TEXT, "expr": TEXT, "for": TEXT, "labels": TEXTS, "annotations": TEXTS}]}]
    },
}


def schema(of):
    if isinstance(of, list):
        return {"type": "array", "items": schema(of[0])}
    if isinstance(of, dict):
        if "*" in of:
            return {"type": "object", "additionalProperties": schema(of["*"])}
        return {"type": "object", "properties": {name: schema(each) for name, each in of.items()}}
    return {"type": of}


def definition(kind, spec):
    plural = f"{kind.lower()}s"
    served = {"type": "object", "properties": {"spec": schema(spec)}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": served}}],
        },
    }


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
        kinds = "deploy,sa,role,rolebinding,clusterrole,clusterrolebinding,pdb,networkpolicy,priorityclass,service,configmap,crd"
        labelled = self.plane.kubectl("get", kinds, "-A", "-l", "app.kubernetes.io/name=signalbox", "-o", "name").stdout.split()
        return [each for each in labelled if not each.startswith("namespace")]

    def crds(self):
        return self.plane.kubectl("get", "crd", "-o", "name").stdout.split()

    def test_its_roles_are_those_that_rbac_prints(self):
        for name, (values, flags) in SCOPES.items():
            with self.subTest(name):
                rendered = helm("template", "signalbox", CHART, "-n", SYSTEM, *sets(values)).stdout
                printed = cluster.signalbox("rbac", "--leader-elect", *flags).stdout
                self.assertEqual(granted(deployed.objects(self.plane, rendered)), granted(deployed.objects(self.plane, printed)))

    def test_metrics_as_its_values_say(self):
        for kind, spec in MONITORING.items():
            self.plane.serve_kinds("-", stdin=json.dumps(definition(kind, spec)))
        secured = deployed.secrets(self.plane.folder / "metrics")
        for name, files in (("certificate", ("tls.crt", "tls.key")), ("scraper", ("token",))):
            self.plane.kubectl("create", "secret", "generic", name, "-n", SYSTEM, *(f"--from-file={secured / each}" for each in files))
        values = [
            "metrics.port=9090", "health.port=9091", "metrics.tls.secretName=certificate", "metrics.token.secretName=scraper",
            "metrics.monitor.labels.release=prometheus", "metrics.service.annotations.why=for-tests", "alerts.kind=PrometheusRule",
            "dashboard.create=true",
        ]
        self.helm("install", "signalbox", CHART, *sets([*values, "metrics.monitor.kind=PodMonitor"]))
        scraped = {
            "port": "metrics", "interval": "30s", "scheme": "https",
            "authorization": {"credentials": {"name": "scraper", "key": "token"}},
            "tlsConfig": {
                "ca": {"secret": {"name": "certificate", "key": "ca.crt"}}, "serverName": f"signalbox-metrics.{SYSTEM}.svc",
            },
        }
        selector = {"app.kubernetes.io/name": "signalbox", "app.kubernetes.io/instance": "signalbox"}
        monitor = self.get("podmonitor", "signalbox-metrics")
        self.assertEqual(monitor["metadata"]["labels"]["release"], "prometheus")
        selects = {"jobLabel": "app.kubernetes.io/name", "selector": {"matchLabels": selector}}
        self.assertEqual(monitor["spec"], {**selects, "podMetricsEndpoints": [scraped]})
        service = self.get("service", "signalbox-metrics")
        self.assertEqual(service["spec"]["selector"], selector)
        self.assertEqual(service["metadata"]["annotations"]["why"], "for-tests")
        [rule] = self.get("networkpolicy", "signalbox-metrics")["spec"]["ingress"]
        self.assertEqual(rule["from"], [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}])
        self.assertEqual([port["port"] for port in rule["ports"]], ["metrics"])
        # The same alerts and dashboard as the files have.
        rules = self.plane.folder / "rules.json"
        rules.write_text(json.dumps(self.get("prometheusrule", "signalbox-alerts")["spec"]))
        alerts = re.findall(r"(?m)- alert: (\w+)$", (OBSERVABILITY / "rules.yaml").read_text())
        self.assertEqual([each["alert"] for each in json.loads(rules.read_text())["groups"][0]["rules"]], alerts)
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "rules", rules], check=True, capture_output=True)
        dashboard = self.get("configmap", "signalbox-dashboard")
        self.assertEqual(dashboard["metadata"]["labels"]["grafana_dashboard"], "1")
        self.assertEqual(dashboard["data"]["signalbox.json"], (OBSERVABILITY / "dashboard.json").read_text())
        # The program as the pod would run it, with the Secrets where they are mounted.
        [container] = self.get("deployment", "signalbox")["spec"]["template"]["spec"]["containers"]
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        self.assertEqual(ports, {"metrics": 9090, "health": 9091})
        for name, port in (("metrics", 9090), ("health-probe", 9091)):
            self.assertIn(f"--{name}-bind-address=:{port}", container["args"])
        flags = deployed.flags(container, metrics_tls=secured, metrics_token=secured)
        self.c.operator = self.c.operator_process("operator", self.plane.operator_kubeconfig, *flags)
        self.addCleanup(self.c.operator.kill)
        self.assertIn("signalbox_build_info", deployed.get(self.c.operator, "/metrics", secured=secured))
        self.assertEqual(deployed.get(self.c.operator, container["livenessProbe"]["httpGet"]["path"], "health"), "ok")
        # Another monitor in its place, a file of rules, and then none of it.
        values[values.index("alerts.kind=PrometheusRule")] = "alerts.kind=ConfigMap"
        self.helm("upgrade", "signalbox", CHART, *sets([*values, "metrics.monitor.kind=ServiceMonitor"]))
        self.assertEqual(self.get("servicemonitor", "signalbox-metrics")["spec"], {**selects, "endpoints": [scraped]})
        self.assertEqual(self.plane.kubectl("get", "podmonitor,prometheusrule", "-A", "-o", "name").stdout, "")
        held = self.get("configmap", "signalbox-alerts")["data"]["signalbox.yaml"]
        self.assertEqual(held, (OBSERVABILITY / "rules.yaml").read_text())
        self.helm("upgrade", "signalbox", CHART, "--set", "metrics.enabled=false")
        names = "service,networkpolicy,configmap,servicemonitor"
        left = self.plane.kubectl("get", names, "-n", SYSTEM, "-l", "app.kubernetes.io/name=signalbox", "-o", "name").stdout
        self.assertEqual(left.split(), ["networkpolicy.networking.k8s.io/signalbox"])
        [container] = self.get("deployment", "signalbox")["spec"]["template"]["spec"]["containers"]
        self.assertNotIn("metrics", json.dumps(container))

    def get(self, kind, name):
        return self.plane.object(kind, name, SYSTEM)

    def test_from_install_to_uninstall(self):
        self.helm("install", "signalbox", CHART)
        self.plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        self.plane.start_controllers()
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
        self.assertEqual(self.plane.object("pdb", "signalbox", SYSTEM)["spec"]["maxUnavailable"], 1)
        account = f"system:serviceaccount:{SYSTEM}:signalbox"
        self.assertFalse(self.plane.may(account, "create", "secrets"))
        self.run_program()
        self.c.wait_phase("long", "Running")
        self.assertEqual(self.c.status("long")["attempt"], 1)
        for replica in ("worker-0", "worker-1"):
            self.c.finish("long", replica)
        self.c.wait_phase("long", "Succeeded")
        # Back.
        self.helm("rollback", "signalbox", "1")
        self.ready(1)
        self.assertTrue(self.plane.may(account, "create", "secrets"))
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
            found = self.plane.object("deployment", "signalbox", SYSTEM)
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
        self.c.operator = self.c.operator_process("operator", self.plane.operator_kubeconfig, *deployed.flags(container))
        self.addCleanup(self.c.operator.kill)

    def replicas(self):
        return self.plane.object("deployment", "signalbox", SYSTEM)["spec"]["replicas"]


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
