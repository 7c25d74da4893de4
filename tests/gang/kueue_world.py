# SPDX-License-Identifier: Apache-2.0
"""Kueue's manager on a real API server, and words for its objects.

Its webhooks are there as in a cluster: the conversion of its kinds between their versions, and the checks of its own kinds; not
those for pods and jobs of others. Quota is given to Workloads, whatever their pods do: these are bound by the simulated kubelet,
which minds no node selector.
"""

import base64
import copy
import subprocess
import urllib.request
from datetime import datetime, timezone

import world
from world import eventually, servers

GROUP = "kueue.x-k8s.io"
API = f"{GROUP}/v1beta2"
CONVERTED = ("workloads", "clusterqueues", "localqueues", "cohorts", "multikueueclusters")
# Where Kueue looks for the certificate of its metrics, whatever it is told.
METRICS_CERTIFICATES = "/etc/kueue/metrics/certs"


class Kueue(world.World):
    """`configuration`: further members of Kueue's Configuration."""

    set_name = "kueue"
    kubelet_flags = ("--create-nodes",)
    configuration = {}

    def install_scheduler(self):
        self.certificates = self.plane.folder / "kueue-certificates"
        self.certificates.mkdir()
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
             "subjectAltName=IP:127.0.0.1", "-keyout", self.certificates / "tls.key", "-out", self.certificates / "tls.crt"],
            check=True, capture_output=True)
        self.authority = base64.b64encode((self.certificates / "tls.crt").read_bytes()).decode()
        # All ports at once: two calls might give the same.
        self.webhook_port, self.health_port, self.metrics_port = servers.free_ports(3)
        self.plane.serve_kinds(self.programs / "files" / "bases", "--server-side")
        for name in CONVERTED:
            webhook = {"conversionReviewVersions": ["v1"], "clientConfig": self.client("/convert")}
            self.patch("customresourcedefinition", f"{name}.{GROUP}", {
                "spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}})
        self.plane.kubectl("create", "namespace", "kueue-system")

    def client(self, path):
        """How the API server calls a webhook of Kueue."""
        return {"url": f"https://127.0.0.1:{self.webhook_port}{path}", "caBundle": self.authority}

    def scheduler_command(self):
        configuration = self.write("kueue.yaml", {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": "kueue-system",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health_port}"},
            "metrics": {"bindAddress": f"127.0.0.1:{self.metrics_port}"},
            "webhook": {"port": self.webhook_port, "host": "127.0.0.1", "certDir": str(self.certificates)},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            "clientConnection": {"qps": 200, "burst": 400},
            "integrations": {"frameworks": ["batch/job"]},
            "featureGates": {"VisibilityOnDemand": False, "MultiKueue": False},
            **self.configuration,
        })
        # It sees its certificates there without anybody writing to the machine's /etc.
        own_etc = ["--tmpfs", "/etc", "--ro-bind", self.certificates, METRICS_CERTIFICATES]
        yield ("kueue", "bwrap", "--dev-bind", "/", "/", *own_etc, "--die-with-parent", "--setenv", "KUBECONFIG",
               self.plane.admin_kubeconfig, "--", self.programs / "kueue", f"--config={configuration}", "--zap-log-level=2")

    def start_scheduler(self):
        """Returns when it is ready."""
        super().start_scheduler()
        kueue, = self.scheduler

        def ready():
            if not kueue.running():
                raise servers.ServerFailed(f"Kueue ended with {kueue.child.returncode}:\n{kueue.tail()}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.health_port}/readyz", timeout=servers.REQUEST_TIMEOUT) as answer:
                    return answer.status == 200
            except OSError:
                return False

        eventually(lambda: f"Kueue is ready:\n{kueue.tail()}", ready)
        self.install_webhooks()

    def install_webhooks(self):
        """Those of Kueue's own kinds."""
        for manifest in self.read_manifests(self.programs / "files" / "manifests.yaml"):
            own = [each for each in manifest["webhooks"] if "-kueue-x-k8s-io-" in each["clientConfig"]["service"]["path"]]
            for each in own:
                each["clientConfig"] = self.client(each["clientConfig"]["service"]["path"])
            metadata = {"name": f"kueue-{manifest['metadata']['name']}"}
            self.plane.apply({**manifest, "metadata": metadata, "webhooks": own})

    def settle(self):
        """Returns when Kueue has admitted a Workload of another queue that came now, and a second one, after the first has given
        its quota back."""
        if not self.find("clusterqueue", "settle"):
            self.create(flavor("settle"), cluster_queue("settle", {"settle": 1}), local_queue("settle"))
        for _ in range(2):
            name = f"settle-{next(self.numbers)}"
            self.create(workload(name, "settle", 1))
            eventually(
                lambda: f"Kueue admits {name}: {self.plane.object('workload', name).get('status')}\n{self.tails()}",
                lambda: world.told(self.plane.object("workload", name), "Admitted")[0] == "True",
            )
            self.delete("workload", name)
            eventually(f"{name} is gone", lambda: not self.find("workload", name))


def thing(kind, name, spec, **more):
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec, **more}


def flavor(name, labels=None, tolerations=()):
    """`labels`: of the nodes that it stands for."""
    return thing("ResourceFlavor", name, {"nodeLabels": labels or {}, "tolerations": list(tolerations)})


def cluster_queue(name, quota, **spec):
    """`quota`: of CPUs by flavour, in the order that they are tried in."""
    flavors = [{"name": each, "resources": [{"name": "cpu", "nominalQuota": count}]} for each, count in quota.items()]
    return thing("ClusterQueue", name, {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "preemption": {"withinClusterQueue": "LowerPriority"},
        **spec,
    })


def local_queue(name, into=None):
    return thing("LocalQueue", name, {"clusterQueue": into or name})


def priority_class(name, value):
    return {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}


def workload(name, queue, *counts, minimum=None, priority=None, owner=None, finalizers=(), **spec):
    """A Workload of pods of one CPU: a pod set for each of the counts, named `main`, `set-1`, and so on. `minimum`: of the first
    one; `priority`: a name of a WorkloadPriorityClass and its value."""
    container = {"name": "main", "image": "example.com/train:2", "resources": {"requests": {"cpu": "1"}}}
    pod_sets = [{
        "name": f"set-{number}" if number else "main",
        "count": count,
        "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
    } for number, count in enumerate(counts)]
    if minimum is not None:
        pod_sets[0]["minCount"] = minimum
    made = thing("Workload", name, {"queueName": queue, "podSets": pod_sets, **spec})
    made["metadata"]["finalizers"] = list(finalizers)
    if priority:
        of_class, value = priority
        made["spec"]["priorityClassRef"] = {"group": GROUP, "kind": "WorkloadPriorityClass", "name": of_class}
        made["spec"]["priority"] = value
    if owner:
        made["metadata"]["ownerReferences"] = [world.owner_reference(owner)]
    return made


def with_conditions(found, **statuses):
    """The conditions of an object with others put in: (status, reason) by type. For a merge patch, which replaces lists."""
    at = now()
    conditions = [copy.deepcopy(each) for each in found.get("status", {}).get("conditions", []) if each["type"] not in statuses]
    return conditions + [{
        "type": kind, "status": status, "reason": reason, "message": "by the test", "lastTransitionTime": at,
        "observedGeneration": found["metadata"].get("generation", 0),
    } for kind, (status, reason) in statuses.items()]


def release(found):
    """The patch of a Workload's status that gives its quota back and queues it again."""
    return {
        "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
        "status": {
            "admission": None,
            "reclaimablePods": None,
            "conditions": with_conditions(found, QuotaReserved=("False", "Pending"), Admitted=("False", "NoReservation")),
        },
    }


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
