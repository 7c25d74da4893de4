# SPDX-License-Identifier: Apache-2.0
"""The servers that the other suites of this folder rely on."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import unittest

import servers
from servers import PATIENCE, eventually


def alive(pid):
    """Is the process there, and not merely unreaped?"""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class RunningPlane(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = servers.ControlPlane().started(cls.addClassCleanup)

    def config_map(self, name, owner=None):
        metadata = {"name": name, "namespace": "default"}
        if owner:
            metadata["ownerReferences"] = [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
            ]
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    def exists(self, name):
        return self.plane.kubectl("get", "configmap", name, check=False).returncode == 0

    def test_the_version_is_one_that_clients_can_read(self):
        self.assertRegex(json.loads(self.plane.get("/version"))["gitVersion"], r"^v1\.\d+\.\d+$")

    def test_the_operator_has_only_the_rights_it_is_given(self):
        def may_list_pods():
            result = self.plane.kubectl("get", "pods", check=False, kubeconfig=self.plane.operator_kubeconfig)
            self.assertTrue(result.returncode == 0 or "Forbidden" in result.stderr, result.stderr)
            return result.returncode == 0

        self.assertFalse(may_list_pods())
        _, _, namespace, name = self.plane.operator_user.split(":")
        self.plane.kubectl("create", "clusterrole", "pod-reader", "--verb=list", "--resource=pods")
        self.plane.kubectl(
            "create", "clusterrolebinding", "pod-reader", "--clusterrole=pod-reader",
            f"--serviceaccount={namespace}:{name}",
        )
        eventually("the right works", may_list_pods)

    def test_a_restarted_server_has_the_port_and_the_objects_of_the_one_before(self):
        self.plane.apply(self.config_map("kept"))
        self.plane.kill_apiserver()
        with self.assertRaises(OSError):
            self.plane.get("/readyz")
        self.plane.start_apiserver()
        self.assertTrue(self.exists("kept"))

    def test_garbage_is_collected_and_namespaces_end(self):
        self.plane.start_controllers()
        self.addCleanup(self.plane.controllers_process.kill)
        self.plane.apply(self.config_map("owner"))
        owner = self.plane.object("configmap", "owner")
        self.plane.apply(self.config_map("owned", owner))
        self.plane.kubectl("create", "namespace", "short-lived")
        self.plane.kubectl("delete", "configmap", "owner")
        self.plane.kubectl("delete", "namespace", "short-lived", "--wait=false")
        eventually("the owned object goes", lambda: not self.exists("owned"))
        eventually(
            "the namespace goes",
            lambda: self.plane.kubectl("get", "namespace", "short-lived", check=False).returncode != 0,
        )


class End(unittest.TestCase):
    """Nothing stays, however the process that started the servers ends."""

    def run_and_end_by(self, number):
        script = textwrap.dedent(
            """
            import servers, signal
            with servers.ControlPlane() as plane:
                print(plane.etcd.child.pid, plane.apiserver.child.pid, plane.folder, flush=True)
                signal.pause()
            """
        )
        child = subprocess.Popen(
            [sys.executable, "-B", "-c", script], cwd=servers.HERE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        etcd, apiserver, folder = child.stdout.readline().rstrip("\n").split(" ", 2)
        self.assertTrue(alive(etcd) and alive(apiserver))
        os.kill(child.pid, number)
        child.wait(PATIENCE)
        eventually("both servers end", lambda: not alive(etcd) and not alive(apiserver))
        return pathlib.Path(folder)

    def test_by_interrupt_or_termination_without_any_file_left(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.assertFalse(self.run_and_end_by(number).exists())

    def test_by_kill(self):
        folder = self.run_and_end_by(signal.SIGKILL)
        subprocess.run(["rm", "-r", str(folder)], check=True)


if __name__ == "__main__":
    try:
        servers.find_assets()
    except servers.AssetsMissing as missing:
        servers.skip_suite("envtest_servers", missing)
    unittest.main(verbosity=2)
