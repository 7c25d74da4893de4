#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives real kubectl through the verbs of the API against the embedded server.

Skips with exit code 77 where no kubectl of 1.30 or later is found ($KUBECTL, $KUBEBUILDER_ASSETS, PATH).
Nothing sleeps: what must come is waited for by reading the output of a watch, or by `kubectl wait`.
"""
import argparse
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../support")]
import kubectl_pods  # noqa: E402 (found by the line above)
import kubectl_program  # noqa: E402
import skips  # noqa: E402
from expectations import Failure, equal, expect, has  # noqa: E402

DEADLINE = 200  # seconds for any one command: no more than a bound for what never comes

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {}}}\n"

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  labels: {app: web, tier: front}
spec:
  containers:
  - name: main
    image: example.org/web:1
    env: [{name: A, value: "1"}, {name: B, value: "2"}]
    ports: [{containerPort: 80}]
"""

WIDGET = """
apiVersion: test.signalbox.dev/v1beta1
kind: Widget
metadata: {name: w1}
spec:
  mode: Fast
  args: [one, two]
  template: {anything: {goes: [1, 2]}}
"""


class Server:
    """The embedded server as a child process, with a kubeconfig and caches of its own."""

    def __init__(self, program, folder, *arguments):
        self.child = subprocess.Popen(
            [program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = self.child.stdout.readline()
        if not line.startswith("ready "):
            raise Failure(f"the server did not become ready: {line!r}")
        self.port = int(line.split()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder

    def stop(self):
        self.child.stdin.close()
        self.child.wait(timeout=DEADLINE)
        self.child.stdout.close()
        if self.child.returncode != 0:
            raise Failure(f"the server ended with {self.child.returncode}")


class Kubectl:
    """Runs kubectl with nothing of the user's: own HOME, own cache, own server."""

    def __init__(self, path, server, url=None):
        self.path = path
        self.server = server
        self.url = url or server.url
        self.environment = {
            "HOME": server.folder, "PATH": os.environ.get("PATH", ""), "KUBECONFIG": "/dev/null",
            "KUBE_EDITOR": os.environ.get("KUBE_EDITOR", ""),
        }

    def command(self, *arguments):
        cache = os.path.join(self.server.folder, "cache")
        return [self.path, "--server", self.url, "--cache-dir", cache, *arguments]

    def run(self, *arguments, stdin=None, fails=False, environment=None):
        done = subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True, timeout=DEADLINE, check=False,
            env={**self.environment, **(environment or {})},
        )
        if (done.returncode != 0) != fails:
            raise Failure(
                f"kubectl {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done.stdout + done.stderr if fails else Output(done.stdout, done.stderr)

    def start(self, *arguments, stdin=None):
        return subprocess.Popen(
            self.command(*arguments), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.environment,
        )

    def get(self, *arguments):
        return json.loads(self.run("get", *arguments, "-o", "json"))


class Output(str):
    """Standard output, with standard error beside it."""

    def __new__(cls, out, err):
        self = super().__new__(cls, out)
        self.err = err
        return self


# Scenarios: each takes kubectl in a fresh namespace (k) and one that looks at all of them (root).
SCENARIOS = []


def scenario(function):
    SCENARIOS.append(function)
    return function


@scenario
def discovery(k, root):
    has(root.run("api-resources"), r"^pods\s+po\s+v1\s+true\s+Pod$", r"^widgets\s+wd\s+test.signalbox.dev/v1beta1\s+true\s+Widget$")
    has(root.run("api-versions"), r"^v1$", r"^apps/v1$", r"^test.signalbox.dev/v1beta1$")
    has(root.run("version"), r"Server Version: v1\.")
    for path in ("/healthz", "/readyz", "/livez"):
        equal(root.run("get", "--raw", path), "ok", path)


@scenario
def explain(k, root):
    text = root.run("explain", "widgets.spec")
    has(text, r"KIND:\s+Widget", r"What is wanted", r"mode\s+<string> -required-", r"enum: Fast, Slow", r"How it runs")
    has(root.run("explain", "widget.spec.parts.size"), r"<integer>")


@scenario
def pods_by_every_output(k, root):
    k.run("apply", "-f", "-", stdin=POD)
    has(k.run("get", "pods"), r"^NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE$", r"^web-0\s+0/1\s+Pending\s+0\s+\d+s$")
    has(k.run("get", "po", "-o", "wide"), r"NODE", r"web-0.*<none>\s+<none>\s+<none>\s+<none>")
    equal(k.run("get", "pod", "web-0", "-o", "name"), "pod/web-0\n", "-o name")
    has(k.run("get", "pod", "web-0", "-o", "yaml"), r"restartPolicy: Always", r"kind: Pod")
    has(root.run("get", "pods", "-A"), r"^\S+\s+web-0")
    has(k.run("get", "pods", "-l", "app=web,tier in (front,back)", "--show-labels"), r"web-0.*app=web,tier=front")
    has(k.run("get", "pods", "-l", "app!=web").err, r"No resources found")
    has(k.run("get", "pods", "--field-selector", "status.phase=Pending"), r"web-0")
    has(k.run("get", "pods", "--sort-by", ".metadata.name"), r"web-0")
    has(k.run("get", "pod", "nowhere", fails=True), r'\(NotFound\): pods "nowhere" not found')
    has(k.run("get", "all"), r"pod/web-0")


@scenario
def apply_of_a_built_in_kind(k, root):
    has(k.run("apply", "-f", "-", stdin=POD), "pod/web-0 created")
    has(k.run("apply", "-f", "-", stdin=POD), "pod/web-0 unchanged")
    has(k.run("apply", "-f", "-", stdin=POD.replace("web:1", "web:2")), "pod/web-0 configured")
    pod = k.get("pod", "web-0")
    equal(pod["spec"]["containers"][0]["image"], "example.org/web:2", "image")
    equal(pod["spec"]["containers"][0]["env"], [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "env")
    refused = k.run("apply", "-f", "-", stdin=POD.replace('value: "1"', 'value: "9"'), fails=True)
    has(refused, r"is invalid: spec: Forbidden: pod updates may not change fields")
    has(k.run("diff", "-f", "-", stdin=POD.replace("web:1", "web:3"), fails=True), r"web:3")


@scenario
def lists_merge_by_key(k, root):
    deployment = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - {name: a, image: "example.org/a:1"}
      - {name: b, image: "example.org/b:1"}
"""
    k.run("apply", "-f", "-", stdin=deployment)
    k.run("set", "image", "deployment/d", "b=example.org/b:2")
    containers = k.get("deployment", "d")["spec"]["template"]["spec"]["containers"]
    equal([c["image"] for c in containers], ["example.org/a:1", "example.org/b:2"], "images")
    lines = deployment.splitlines()
    k.run("apply", "-f", "-", stdin="\n".join(l for l in lines if "name: a," not in l))
    containers = k.get("deployment", "d")["spec"]["template"]["spec"]["containers"]
    equal([c["name"] for c in containers], ["b"], "containers after apply without one")
    k.run("scale", "deployment/d", "--replicas=5")
    equal(k.get("deployment", "d")["spec"]["replicas"], 5, "replicas")
    has(k.run("get", "deployments"), r"^d\s+0/5")


@scenario
def apply_of_a_custom_kind(k, root):
    has(k.run("apply", "-f", "-", stdin=WIDGET), "widget.test.signalbox.dev/w1 created")
    has(k.run("apply", "-f", "-", stdin=WIDGET), "unchanged")
    widget = k.get("widget", "w1")
    equal(widget["spec"]["replicas"], 1, "default")
    equal(widget["metadata"]["generation"], 1, "generation")
    has(k.run("apply", "-f", "-", stdin=WIDGET.replace("Fast", "Slow")), "configured")
    equal(k.get("wd", "w1")["metadata"]["generation"], 2, "generation after a change")
    has(k.run("get", "widgets"), r"^NAME\s+PHASE\s+READY\s+AGE$", r"^w1\s+\d+s$")
    has(k.run("get", "widgets", "-o", "wide"), r"REPLICAS")
    has(k.run("apply", "-f", "-", stdin=WIDGET.replace("Fast", "Wrong"), fails=True),
        r'spec.mode: Unsupported value: "Wrong": supported values: "Fast", "Slow"')
    has(k.run("apply", "-f", "-", stdin=WIDGET.replace("mode: Fast", "mode: Fast\n  typo: 1"), fails=True),
        r'strict decoding error: unknown field "spec.typo"')
    warned = k.run("apply", "--validate=warn", "-f", "-", stdin=WIDGET.replace("mode: Fast", "mode: Fast\n  typo: 1"))
    has(warned.err, r'Warning: unknown field "spec.typo"')
    expect("typo" not in k.get("widget", "w1")["spec"], "an unknown field was kept")


@scenario
def apply_on_the_server(k, root):
    has(k.run("apply", "--server-side", "-f", "-", stdin=WIDGET), "serverside-applied")
    has(k.run("apply", "--server-side", "-f", "-", stdin=WIDGET.replace("Fast", "Slow")), "serverside-applied")
    equal(k.get("widget", "w1")["spec"]["mode"], "Slow", "mode")
    has(k.run("apply", "--server-side", "-f", "-", stdin=POD), "pod/web-0 serverside-applied")
    has(k.run("apply", "--dry-run=server", "-f", "-", stdin=WIDGET.replace("w1", "w2")), r"created \(server dry run\)")
    has(k.run("get", "widget", "w2", fails=True), "NotFound")


@scenario
def patches(k, root):
    k.run("apply", "-f", "-", stdin=WIDGET)
    k.run("patch", "widget", "w1", "--type=merge", "-p", '{"spec":{"replicas":3,"args":null}}')
    spec = k.get("widget", "w1")["spec"]
    equal((spec["replicas"], "args" in spec), (3, False), "after the merge patch")
    k.run("patch", "widget", "w1", "--type=json", "-p",
          '[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":4}]')
    equal(k.get("widget", "w1")["spec"]["replicas"], 4, "after the JSON patch")
    has(k.run("patch", "widget", "w1", "--type=json", "-p", '[{"op":"test","path":"/spec/replicas","value":3}]', fails=True),
        "rejected our request")
    has(k.run("patch", "widget", "w1", "--type=strategic", "-p", "{}", fails=True), r"415|unknown format|not supported")
    k.run("patch", "widget", "w1", "--subresource=status", "--type=merge", "-p",
          '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}')
    has(k.run("get", "widgets"), r"^w1\s+Running\s+True\s+\d+s$")
    k.run("apply", "-f", "-", stdin=POD)
    k.run("patch", "pod", "web-0", "-p", '{"spec":{"containers":[{"name":"main","image":"example.org/web:7"}]}}')
    equal(k.get("pod", "web-0")["spec"]["containers"][0]["image"], "example.org/web:7", "image")
    has(k.run("wait", "--for=condition=Ready", "widget/w1", f"--timeout={DEADLINE}s"), "condition met")


@scenario
def scaling_a_custom_kind(k, root):
    k.run("apply", "-f", "-", stdin=WIDGET)
    has(k.run("scale", "widget/w1", "--replicas=7"), "scaled")
    equal(k.get("widget", "w1")["spec"]["replicas"], 7, "replicas")
    k.run("scale", "widget/w1", "--current-replicas=7", "--replicas=2")
    equal(k.get("widget", "w1")["spec"]["replicas"], 2, "replicas")
    has(k.run("scale", "widget/w1", "--current-replicas=7", "--replicas=3", fails=True), r"replicas to be 7")


@scenario
def labels_annotations_edit_and_replace(k, root):
    k.run("apply", "-f", "-", stdin=WIDGET)
    k.run("label", "widget", "w1", "a=b")
    k.run("annotate", "widget", "w1", "note=text")
    metadata = k.get("widget", "w1")["metadata"]
    equal((metadata["labels"]["a"], metadata["annotations"]["note"]), ("b", "text"), "label and annotation")
    has(k.run("label", "widget", "w1", "a=c", fails=True), "already has a value")
    k.run("label", "widget", "w1", "a-")
    expect("labels" not in k.get("widget", "w1")["metadata"], "the label is still there")
    k.run("edit", "widget", "w1", environment={"KUBE_EDITOR": "sed -i s/Fast/Slow/"})
    equal(k.get("widget", "w1")["spec"]["mode"], "Slow", "mode after edit")
    widget = k.get("widget", "w1")
    widget["spec"]["mode"] = "Fast"
    k.run("replace", "-f", "-", stdin=json.dumps(widget))
    has(k.run("replace", "-f", "-", stdin=json.dumps(widget), fails=True), r"\(Conflict\).*the object has been modified")
    widget["metadata"].pop("resourceVersion")
    k.run("replace", "--force", "-f", "-", stdin=json.dumps(widget))


@scenario
def creating(k, root):
    k.run("create", "-f", "-", stdin=WIDGET)
    has(k.run("create", "-f", "-", stdin=WIDGET, fails=True), r'\(AlreadyExists\).*widgets.test.signalbox.dev "w1" already exists')
    k.run("create", "configmap", "cm", "--from-literal=a=b")
    k.run("create", "secret", "generic", "s", "--from-literal=a=b")
    equal(k.get("secret", "s")["data"], {"a": "Yg=="}, "secret")
    has(k.run("get", "configmap,secret"), r"configmap/cm\s+1", r"secret/s\s+Opaque\s+1")
    has(k.run("create", "-f", "-", stdin="apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec: {containers: [{name: a, image: b}]}"),
        r"pod/p-[a-z0-9]{5} created")
    k.run("run", "one", "--image=example.org/x")
    k.run("create", "service", "clusterip", "svc", "--tcp=80:8080")
    has(k.run("get", "svc"), r"^svc\s+ClusterIP\s+10\.\S+\s+<none>\s+80/TCP\s+\d+s$")


@scenario
def deleting(k, root):
    for name in ("w1", "w2", "w3"):
        k.run("apply", "-f", "-", stdin=WIDGET.replace("w1", name))
    has(k.run("delete", "widget", "w1"), "deleted")
    has(k.run("get", "widget", "w1", fails=True), "NotFound")
    has(k.run("delete", "-f", "-", stdin=WIDGET.replace("w1", "w2")), "deleted")
    has(k.run("delete", "widgets", "--all"), '"w3" deleted')
    has(k.run("delete", "widget", "w3", fails=True), "NotFound")
    k.run("delete", "widget", "w3", "--ignore-not-found")
    k.run("apply", "-f", "-", stdin=POD)
    has(k.run("delete", "pod", "web-0"), "deleted")


@scenario
def deleting_a_scheduled_pod(k, root):
    k.run("apply", "-f", "-", stdin=POD)
    k.run("create", "-f", "-", "--raw", f"/api/v1/namespaces/{k.namespace}/pods/web-0/binding",
          stdin='{"apiVersion":"v1","kind":"Binding","metadata":{"name":"web-0"},"target":{"kind":"Node","name":"n1"}}')
    has(k.run("get", "pods", "-o", "wide"), r"web-0.*\bn1\b")
    k.run("delete", "pod", "web-0", "--wait=false")
    has(k.run("get", "pods"), r"^web-0\s+0/1\s+Terminating")
    has(k.run("delete", "pod", "web-0", "--grace-period=0", "--force"), "force deleted")
    has(k.run("get", "pod", "web-0", fails=True), "NotFound")


@scenario
def cascades(k, root):
    for policy in ("background", "foreground", "orphan"):
        k.run("apply", "-f", "-", stdin=WIDGET)
        uid = k.get("widget", "w1")["metadata"]["uid"]
        owner = {"apiVersion": "test.signalbox.dev/v1beta1", "kind": "Widget", "name": "w1", "uid": uid,
                 "controller": True, "blockOwnerDeletion": True}
        child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child", "ownerReferences": [owner]}}
        k.run("apply", "-f", "-", stdin=json.dumps(child))
        k.run("delete", "widget", "w1", f"--cascade={policy}")
        has(k.run("get", "widget", "w1", fails=True), "NotFound")
        if policy == "orphan":
            k.run("wait", "--for=jsonpath={.metadata.name}=child", "configmap/child", f"--timeout={DEADLINE}s")
            expect("ownerReferences" not in k.get("configmap", "child")["metadata"], "the owner reference is still there")
        else:
            k.run("wait", "--for=delete", "configmap/child", f"--timeout={DEADLINE}s")


@scenario
def describing(k, root):
    k.run("apply", "-f", "-", stdin=POD)
    k.run("apply", "-f", "-", stdin=WIDGET)
    for kind, name, version in (("Pod", "web-0", "v1"), ("Widget", "w1", "test.signalbox.dev/v1beta1")):
        uid = k.get(kind.lower(), name)["metadata"]["uid"]
        event = {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.1"}, "type": "Warning",
            "reason": "BackOff", "message": f"about {name}", "count": 3, "source": {"component": "tests"},
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
            "involvedObject": {"apiVersion": version, "kind": kind, "name": name, "namespace": k.namespace, "uid": uid},
        }
        k.run("create", "-f", "-", stdin=json.dumps(event))
    has(k.run("describe", "pod", "web-0"), r"^Name:\s+web-0", r"Image:\s+example.org/web:1", r"Warning\s+BackOff.*about web-0")
    has(k.run("describe", "widget", "w1"), r"^Kind:\s+Widget", r"Mode:\s+Fast", r"Warning\s+BackOff.*about w1")
    has(k.run("get", "events"), r"LAST SEEN\s+TYPE\s+REASON\s+OBJECT\s+MESSAGE", r"Warning\s+BackOff\s+pod/web-0\s+about web-0")
    has(k.run("events", "--for", "widget/w1"), "about w1")
    has(root.run("describe", "namespace", k.namespace), r"Status:\s+Active")


@scenario
def watching(k, root):
    k.run("apply", "-f", "-", stdin=WIDGET)
    child = k.start("get", "widgets", "-w")
    try:
        lines = [child.stdout.readline(), child.stdout.readline()]
        has(lines[0], r"^NAME\s+PHASE")
        has(lines[1], r"^w1")
        k.run("patch", "widget", "w1", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Done"}}')
        has(child.stdout.readline(), r"^w1\s+Done")
        k.run("apply", "-f", "-", stdin=WIDGET.replace("w1", "w2"))
        has(child.stdout.readline(), r"^w2")
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    child = k.start("get", "pods", "-w", "--output-watch-events", "-o", "name")
    try:
        k.run("apply", "-f", "-", stdin=POD)
        has(child.stdout.readline(), r"pod/web-0|ADDED")
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@scenario
def definitions_by_a_client(k, root):
    with open(os.path.join(HERE, "widget_crd.json"), encoding="utf-8") as f:
        crd = json.load(f)
    name = f"gadgets.{k.namespace}.dev"
    crd["metadata"]["name"] = name
    crd["spec"]["group"] = f"{k.namespace}.dev"
    crd["spec"]["names"] = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"}
    has(root.run("apply", "-f", "-", stdin=json.dumps(crd)), "created")
    has(root.run("wait", "--for=condition=Established", f"crd/{name}", f"--timeout={DEADLINE}s"), "condition met")
    gadget = WIDGET.replace("test.signalbox.dev", f"{k.namespace}.dev").replace("Widget", "Gadget")
    has(k.run("apply", "-f", "-", stdin=gadget), "created")
    has(k.run("get", "gadgets"), r"^w1")
    has(root.run("get", "crd"), name)
    has(root.run("delete", "crd", name), "deleted")
    has(k.run("get", f"gadgets.{k.namespace}.dev", fails=True), r"doesn't have a resource type|could not find")


@scenario
def namespaces(k, root):
    name = k.namespace + "-gone"
    root.run("create", "namespace", name)
    has(root.run("get", "ns"), rf"^{name}\s+Active")
    root.run("-n", name, "apply", "-f", "-", stdin=POD)
    has(root.run("delete", "namespace", name), "deleted")
    has(root.run("-n", name, "apply", "-f", "-", stdin=POD, fails=True), rf'namespaces "{name}" not found')


@scenario
def a_token_needs_tls(k, root):
    server = Server(root.program, root.server.folder, "--token", "secret-of-the-tests", "--pods", root.server.folder)
    try:
        client = Kubectl(root.path, server, server.url.replace("http:", "https:"))
        unknown = "--insecure-skip-tls-verify"
        has(client.run(unknown, "--token", "secret-of-the-tests", "get", "ns"), "default")
        for token in ("wrong", "secret-of-the-test", "secret-of-the-tests1"):
            has(client.run(unknown, "--token", token, "get", "ns", fails=True), r"[Uu]nauthorized|provide credentials|logged in")
        has(client.run("--token", "secret-of-the-tests", "get", "ns", fails=True), "certificate")
        client.command = lambda *a, plain=client.command: plain(unknown, "--token", "secret-of-the-tests", *a)
        kubectl_pods.over_tls(client)
        with urllib.request.urlopen(client.url + "/healthz", timeout=DEADLINE, context=ssl._create_unverified_context()) as health:
            equal(health.read(), b"ok", "a health check without a token")
        try:
            urllib.request.urlopen(server.url + "/healthz", timeout=DEADLINE)
            raise Failure("a request without TLS was answered")
        except OSError:
            pass  # the connection is closed
    finally:
        server.stop()


@scenario
def creating_by_command(k, root):
    """Each kind that kubectl sends in protobuf arrives whole."""
    k.run("create", "deployment", "web", "--image=example.org/web:1", "--replicas=2", "--port=80", "--", "serve", "-v")
    spec = k.get("deployment", "web")["spec"]
    container = spec["template"]["spec"]["containers"][0]
    equal((spec["replicas"], spec["selector"], container["image"], container["command"], container["ports"][0]["containerPort"]),
          (2, {"matchLabels": {"app": "web"}}, "example.org/web:1", ["serve", "-v"], 80), "the Deployment")
    expect("stdin" not in container and "hostNetwork" not in spec["template"]["spec"], "zeros were kept", spec)
    k.run("create", "pdb", "p", "--selector=a=b", "--min-available=30%")
    equal(k.get("pdb", "p")["spec"], {"minAvailable": "30%", "selector": {"matchLabels": {"a": "b"}}}, "the budget")
    root.run("create", "priorityclass", f"{k.namespace}-pc", "--value=7", "--description=d")
    equal(root.get("priorityclass", f"{k.namespace}-pc")["value"], 7, "the priority")
    k.run("create", "service", "clusterip", "s", "--tcp=80:8080")
    equal(k.get("service", "s")["spec"]["ports"][0]["targetPort"], 8080, "the port")
    k.run("create", "serviceaccount", "robot")
    k.run("create", "role", "r", "--verb=get", "--resource=pods")
    k.run("create", "rolebinding", "rb", "--role=r", "--serviceaccount=x:robot")
    equal(k.get("rolebinding", "rb")["subjects"][0]["name"], "robot", "the subject")
    k.run("create", "quota", "q", "--hard=pods=9")
    k.run("create", "secret", "generic", "g", "--from-literal=a=b")
    k.run("create", "configmap", "c", "--from-literal=a=b")


def protobuf(*fields):
    """A message of texts and messages: (number, bytes)."""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

    return b"".join(varint(number << 3 | 2) + varint(len(data)) + data for number, data in fields)


@scenario
def a_field_that_is_not_read_is_refused(k, root):
    kind = protobuf((1, protobuf((1, b"apps/v1"), (2, b"Deployment"))))
    pod_spec = protobuf((2, protobuf((1, b"main"), (2, b"image"))), (18, protobuf((1, b"x"))))  # affinity
    body = protobuf((1, protobuf((1, b"d"))), (2, protobuf((3, protobuf((2, pod_spec))))))
    request = urllib.request.Request(
        f"{root.url}/apis/apps/v1/namespaces/{k.namespace}/deployments", b"k8s\0" + kind + protobuf((2, body)),
        {"Content-Type": "application/vnd.kubernetes.protobuf"})
    try:
        urllib.request.urlopen(request, timeout=DEADLINE)
        raise Failure("a Deployment with an affinity was taken without it")
    except urllib.error.HTTPError as error:
        equal(error.code, 415, "status")
        has(error.read().decode(), r"Deployment spec\.template\.spec, field 18")


@scenario
def events_of_the_newer_group(k, root):
    event = {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Normal", "reason": "Began",
        "note": "about a", "action": "Begin", "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "x.dev/y",
        "reportingInstance": "y-0", "regarding": {"kind": "Pod", "name": "a", "namespace": k.namespace},
    }
    k.run("create", "-f", "-", stdin=json.dumps(event))
    for kind in ("events", "events.events.k8s.io"):
        has(k.run("get", kind), r"OBJECT\s+MESSAGE", r"Normal\s+Began\s+pod/a\s+about a")
    equal(k.get("events.events.k8s.io", "e")["note"], "about a", "note")
    equal(k.get("events", "e")["message"], "about a", "message")


@scenario
def raw_paths(k, root):
    has(root.run("get", "--raw", "/apis/test.signalbox.dev/v1beta1"), '"name":"widgets"')
    has(root.run("get", "--raw", "/metrics", fails=True), r"\(NotFound\): the server could not find the requested resource")


@scenario
def tokens_of_service_accounts(k, root):
    token = root.run("create", "token", "default", "--audience", "someone").strip()
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token, "audiences": ["someone"]}}
    review = json.loads(root.run("create", "-f", "-", "-o", "json", stdin=json.dumps(asked)))
    equal(review["status"]["user"]["username"], "system:serviceaccount:default:default", "user")
    has(root.run("create", "token", "default", "--duration", "1m", fails=True), "less than 10 minutes")


@scenario
def web_pages_are_refused(k, root):
    for header, value in (("Origin", "https://example.org"), ("Host", "example.org")):
        request = urllib.request.Request(root.url + "/api/v1/pods", headers={header: value})
        try:
            urllib.request.urlopen(request, timeout=DEADLINE)
            raise Failure(f"a request with {header} was answered")
        except urllib.error.HTTPError as error:
            equal(error.code, 403, header)


def run_all(kubectl_path, program, only):
    failures = []
    with tempfile.TemporaryDirectory(prefix="signalbox-kubectl-") as folder:
        server = Server(program, folder, "--pods", folder, os.path.join(HERE, "widget_crd.json"))
        try:
            root = Kubectl(kubectl_path, server)
            root.program = program
            for number, function in enumerate(SCENARIOS + kubectl_pods.SCENARIOS):
                if only and function.__name__ not in only:
                    continue
                namespace = f"t{number}"
                root.run("create", "-f", "-", stdin=NAMESPACE.format(namespace))
                k = Kubectl(kubectl_path, server)
                k.namespace = namespace
                plain_command = k.command
                k.command = lambda *a, plain=plain_command, ns=namespace: plain("--namespace", ns, *a)
                started = time.monotonic()
                try:
                    function(k, root)
                    print(f"ok      {function.__name__} ({time.monotonic() - started:.1f} s)", flush=True)
                except (Failure, subprocess.TimeoutExpired, KeyError) as error:
                    failures.append(function.__name__)
                    print(f"FAILED  {function.__name__}: {error}", flush=True)
        finally:
            server.stop()
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, help="the program k8sio_serve")
    parser.add_argument("only", nargs="*", help="names of scenarios; all if none")
    arguments = parser.parse_args()
    path, why = kubectl_program.find()
    if path is None:
        skips.skip_suite("k8sio_kubectl", why)
    if shutil.which(arguments.server) is None:
        print(f"{arguments.server} is no program")
        return 1
    failures = run_all(path, arguments.server, arguments.only)
    print(f"{len(failures)} failed" if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
