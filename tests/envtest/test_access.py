# SPDX-License-Identifier: Apache-2.0
"""[requirement C7] [requirement C5] Kubeconfigs as clouds write them: `run`, `pods` and `explain` with a credential program, and
in another's name."""

import json
import unittest

import cluster
from cluster import eventually, job, pods

V1 = "client.authentication.k8s.io/v1"


class Access(unittest.TestCase):
    def write(self, c, name, user):
        """A kubeconfig like the administrator's with another user entry."""
        config = json.loads(c.plane.admin_kubeconfig.read_text())
        config["users"][0]["user"] = user
        path = c.plane.folder / name
        path.write_text(json.dumps(config))
        return path

    def program(self, c, name, script):
        path = c.plane.folder / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o700)
        return {"apiVersion": V1, "command": f"./{name}", "interactiveMode": "Never", "installHint": "make one"}

    def credential(self, token, lasts):
        """A script that gives the token, with an end that many seconds from then on, and counts."""
        return (
            f'echo run >> "$0.count"\n'
            f'end=$(date -u -d "+{lasts} seconds" +%Y-%m-%dT%H:%M:%SZ)\n'
            f'echo \'{{"apiVersion":"{V1}","kind":"ExecCredential","status":\'\n'
            f'echo "{{\\"token\\":\\"{token}\\",\\"expirationTimestamp\\":\\"$end\\"}}}}"\n'
        )

    def test_run_pods_and_explain(self):
        with cluster.Cluster() as c:
            plane = c.plane
            admin = self.program(c, "admin-login", self.credential(plane.admin_token, 3600))
            admin_config = self.write(c, "admin.exec", {"exec": admin})
            operator = self.program(c, "operator-login", self.credential(plane.operator_token, 20))
            plane.operator_kubeconfig.write_text(self.write(c, "operator.exec", {"exec": operator}).read_text())
            c.kubelet.kill()
            c.kubelet = cluster.servers.Process(
                "simulated kubelet",
                [cluster.BINARY, "pods", "--kubeconfig", admin_config, "--create-nodes"],
                plane.folder / "pods.log",
            )
            c.start_operator()
            c.apply(job("first", {"master": pods(1, duration="1s")}))
            c.wait_phase("first", "Succeeded")
            runs = lambda name: (plane.folder / f"{name}.count").read_text().count("run")
            self.assertEqual(runs("admin-login"), 1)
            eventually("the operator's credential is renewed twice", lambda: runs("operator-login") >= 3)
            c.apply(job("second", {"master": pods(1, duration="1s")}))
            c.wait_phase("second", "Succeeded")
            self.assertNotIn(plane.operator_token, c.operator.log.read_text())

            said = cluster.signalbox("explain", "second", "-n", "default", "--kubeconfig", admin_config).stdout
            self.assertIn("is Succeeded", said)
            self.assertEqual(runs("admin-login"), 2)

            broken = self.program(c, "broken-login", "echo 'log in first' >&2; exit 3\n")
            config = self.write(c, "broken.exec", {"exec": broken})
            refused = cluster.signalbox("explain", "second", "-n", "default", "--kubeconfig", config, check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("ended with code 3: log in first", refused.stderr)
            missing = {**broken, "command": "./no-such-login"}
            config = self.write(c, "missing.exec", {"exec": missing})
            refused = cluster.signalbox("explain", "second", "-n", "default", "--kubeconfig", config, check=False)
            self.assertIn("No such file or directory: make one", refused.stderr)

            # In another's name: one who may, and one who may not.
            user = {"token": plane.admin_token, "as": plane.operator_user, "as-groups": ["system:authenticated"]}
            config = self.write(c, "as.kubeconfig", user)
            said = cluster.signalbox("explain", "second", "-n", "default", "--kubeconfig", config).stdout
            self.assertIn("is Succeeded", said)
            config = self.write(c, "nobody.kubeconfig", {"token": plane.admin_token, "as": "jane"})
            refused = cluster.signalbox("explain", "second", "-n", "default", "--kubeconfig", config, check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn('User "jane" cannot', refused.stderr)


if __name__ == "__main__":
    cluster.main("envtest_access")
