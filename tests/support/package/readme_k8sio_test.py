# SPDX-License-Identifier: Apache-2.0
"""The watch that libk8sio's README shows tells at once what happens to pods.

Usage: readme_k8sio_test.py <the program> <k8sio_serve>
"""

import signal
import sys

import served

PODS = "/api/v1/namespaces/default/pods"


def pod(name):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "main", "image": "example.org/web:1"}]}}


def expect(program, line):
    told = program.line()
    assert told == line, f"expected {line!r}, told {told!r}"


with served.Server(sys.argv[2]) as server:
    server.change("POST", PODS, pod("there"))
    with served.Program(server, sys.argv[1]) as watch:
        expect(watch, "Pod default/there: added")
        server.change("POST", PODS, pod("new"))
        expect(watch, "Pod default/new: added")
        server.change("PATCH", f"{PODS}/there", {"metadata": {"labels": {"a": "b"}}})
        expect(watch, "Pod default/there: modified")
        server.change("DELETE", f"{PODS}/new?gracePeriodSeconds=0")
        expect(watch, "Pod default/new: modified")  # it is marked, and then goes
        expect(watch, "Pod default/new: deleted")
        assert watch.end() == -signal.SIGTERM
