# SPDX-License-Identifier: Apache-2.0
"""The controller of examples/k8sio against the embedded server: what is made, changed and deleted is replicated.

Usage: config_map_replicator_test.py <the program> <k8sio_serve>
"""

import sys

import served

FROM = "/api/v1/namespaces/default/configmaps"
TO = "/api/v1/namespaces/copies/configmaps"


def config_map(name, data, labels):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": data}


with served.Server(sys.argv[2]) as server:
    def data_of(name):
        status, answer = server.ask("GET", f"{TO}/{name}")
        return answer["data"] if status == 200 else None

    def copied(name, data):
        served.wait_for(f"{name} with {data}", lambda: data_of(name) == data)

    marked = {"replicate": "true"}
    server.change("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "copies"}})
    server.change("POST", FROM, config_map("early", {"a": "1"}, marked))
    server.change("POST", FROM, config_map("private", {"a": "1"}, {}))
    server.change("POST", TO, config_map("orphan", {"a": "1"}, {"replica-of": "default"}))
    with served.Program(server, sys.argv[1], "default", "copies") as replicator:
        copied("early", {"a": "1"})
        copied("orphan", None)
        server.change("POST", FROM, config_map("late", {"b": "1", "c": "2"}, marked))
        copied("late", {"b": "1", "c": "2"})
        server.change("PATCH", f"{FROM}/late", {"data": {"b": "3", "c": None}})
        copied("late", {"b": "3"})
        # Somebody works against it.
        server.change("PATCH", f"{TO}/late", {"data": {"b": "4"}})
        copied("late", {"b": "3"})
        server.change("DELETE", f"{TO}/early")
        copied("early", {"a": "1"})
        # What is not selected any more is as gone.
        server.change("PATCH", f"{FROM}/early", {"metadata": {"labels": {"replicate": "no"}}})
        copied("early", None)
        server.change("DELETE", f"{FROM}/late")
        copied("late", None)
        assert data_of("private") is None
        assert replicator.end() == 0
