# SPDX-License-Identifier: Apache-2.0
"""[behaviour 12.12] The operator on definitions that are older and newer than it: what the log says, that jobs run, and that a
newer status keeps what this version does not know."""

import json
import unittest
import urllib.error

import cluster
from cluster import job, pods

CRD = "pytorchtrainingjobs.batch.tensorstack.dev"
SCHEMA = "/spec/versions/0/schema/openAPIV3Schema/properties"


class Versions(unittest.TestCase):
    def start(self, *patch):
        """The operator on definitions that were changed by this JSON patch."""
        c = cluster.Cluster()
        c.start()
        self.addCleanup(c.stop)
        c.plane.kubectl("patch", "crd", CRD, "--type=json", "-p", json.dumps(patch))
        wanted = "future" in json.dumps(patch)

        def published():
            try:
                text = c.plane.get("/openapi/v3/apis/batch.tensorstack.dev/v1beta1").decode()
            except urllib.error.HTTPError:  # 404 while the server writes the document anew
                return False
            [schema] = [v for k, v in json.loads(text)["components"]["schemas"].items() if k.endswith(".PyTorchTrainingJob")]
            status = schema["properties"]["status"]["properties"]
            return "future" in status if wanted else "told" not in status

        cluster.eventually("the server says so", published)
        c.start_operator()
        return c

    def log(self, c):
        return c.operator.log.read_text()

    def test_the_own_version_is_nothing_to_tell(self):
        with cluster.Cluster() as c:
            c.start_operator()
            c.apply(job("mnist", {"worker": pods(2, duration="1s")}))
            c.wait_phase("mnist", "Succeeded")
            self.assertNotIn("than this program", self.log(c))

    def test_older_definitions(self):
        c = self.start({"op": "remove", "path": f"{SCHEMA}/status/properties/told"})
        c.apply(job("mnist", {"worker": pods(2, duration="1s")}))
        c.wait_phase("mnist", "Succeeded")
        told = "the CustomResourceDefinition of PyTorchTrainingJob is older than this program: the server drops status.told."
        self.assertIn(told, self.log(c))
        self.assertNotIn("of DeepSpeedJob is", self.log(c))

    def test_a_newer_status_is_not_destroyed(self):
        texts = {"type": "object", "properties": {"a": {"type": "string"}}}
        c = self.start(
            {"op": "add", "path": f"{SCHEMA}/status/properties/future", "value": texts},
            {"op": "add", "path": f"{SCHEMA}/status/properties/restarts/properties/future", "value": texts},
            {"op": "add", "path": f"{SCHEMA}/spec/properties/future", "value": texts},
        )
        c.apply(job("mnist", {"worker": pods(2, duration="never")}))
        c.wait_phase("mnist", "Running")
        self.assertIn("of PyTorchTrainingJob is newer than this program: it does not know spec.future, status.", self.log(c))
        # As a newer version has written it, before the operator went back to this one.
        newer = {"status": {"future": {"a": "x"}, "restarts": {"future": {"a": "y"}}}}
        c.plane.kubectl("patch", "pj", "mnist", "--subresource=status", "--type=merge", "-p", json.dumps(newer))
        for replica in ("worker-0", "worker-1"):
            c.finish("mnist", replica)
        status = c.wait_phase("mnist", "Succeeded")
        self.assertEqual(status["future"], {"a": "x"})
        self.assertEqual(status["restarts"]["future"], {"a": "y"})


if __name__ == "__main__":
    cluster.main("envtest_versions")
