# SPDX-License-Identifier: Apache-2.0
"""What a server says of an object that is tried, not made; and the embedded server to try it on."""

import json
import re
import urllib.error

import cluster
from api_reader import Connection

PODS = "/api/v1/namespaces/default/pods"

# Places of problems that a real server gives in a shorter form.
SHORT_PLACES = [
    (re.compile(r"(volumeMounts|envFrom)\[\d+\]"), r"\1"),
    (re.compile(r"(downwardAPI)\.items\[\d+\]"), r"\1"),
    (re.compile(r"(httpHeaders)\[\d+\]\.(name|value)"), r"\1"),
    (re.compile(r"(schedulingGates\[\d+\])\.name"), r"\1"),
    (re.compile(r"(resizePolicy)\[\d+\]\.\w+"), r"\1"),
    (re.compile(r"spec\.os\.name"), "spec.os"),
]


def short_place(field):
    for pattern, replacement in SHORT_PLACES:
        field = pattern.sub(replacement, field)
    return field


class Server:
    """Where objects are tried, without being made."""

    def __init__(self, plane, config):
        """`config` is a kubeconfig, which kubectl reads."""
        self.connection = Connection.of(plane.kubectl, kubeconfig=config)

    def refuses(self, thing, path=PODS):
        """The status of creating it: 201, or why not."""
        try:
            self.connection.send(f"{path}?dryRun=All&fieldValidation=Strict", thing)
            return {"code": 201, "message": "", "places": set()}
        except urllib.error.HTTPError as refusal:
            status = json.load(refusal)
            causes = status.get("details", {}).get("causes", [])
            return {
                "code": status["code"],
                "message": status["message"],
                "places": {(cause["reason"], short_place(cause["field"])) for cause in causes},
            }


def real_server(plane):
    return Server(plane, plane.admin_kubeconfig)


def embedded_server(plane, add_cleanup):
    """That of `signalbox dev`, ready for objects in the namespace default; ends with the suite."""
    config = plane.folder / "dev.kubeconfig"
    dev = cluster.servers.Process(
        "signalbox dev", [cluster.BINARY, "dev", "--kubeconfig", config], plane.folder / "dev.log"
    )
    add_cleanup(dev.kill)
    cluster.eventually(lambda: f"the embedded server is ready: {dev.tail()}", config.exists)
    server = Server(plane, config)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "first"}}
    pod["spec"] = {"containers": [{"name": "a", "image": "b"}]}

    def answers():
        try:
            return server.refuses(pod)["code"] == 201
        except OSError:
            return False

    cluster.eventually("a pod can be tried", answers)
    return server
