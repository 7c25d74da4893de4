# SPDX-License-Identifier: Apache-2.0
"""Prometheus scrapes the operator while jobs run, restart and end: every query of the dashboard and every alert is answered."""

import json
import math
import re
import shutil
import subprocess
import sys
import unittest

import cluster
import deployed
from cluster import eventually, job, pods, skip_suite
from prometheus import OBSERVABILITY, Prometheus

sys.path.insert(0, str(cluster.ROOT / "tests" / "support"))
import skips  # noqa: E402 (from the folder above)

SUITE = "envtest_metrics"
# It is held through an outage of the API server, however slow this machine is.
ELECTION = ["--leader-elect", "--leader-elect-resource-namespace", deployed.SYSTEM]
ELECTION += ["--leader-elect-lease-duration", "1200s", "--leader-elect-renew-deadline", "600s"]


class Metrics(unittest.TestCase):
    def setUp(self):
        self.c = cluster.Cluster().started(self.addCleanup)
        self.c.operator = self.c.operator_process(
            "operator", self.c.plane.operator_kubeconfig, *ELECTION, "--metrics-bind-address", "127.0.0.1:0")
        self.prometheus = Prometheus(self.c.plane.folder / "prometheus", [deployed.address(self.c.operator)])
        self.addCleanup(self.prometheus.kill)

    def answered(self, expression, value=lambda value: True):
        """The series, once there is one whose value is a number and as wanted."""
        def found():
            return [each for each in self.prometheus.query(expression) if math.isfinite(each[1]) and value(each[1])]

        return eventually(lambda: f"{expression}: {self.prometheus.query(expression)}\n{self.prometheus.tail()}", found)

    def test_dashboard_and_alerts(self):
        # What is counted grows from the first scrape on.
        self.answered('up{job="signalbox"} == 1')
        self.answered('signalbox_view_synced{resource="pods"} == 1')
        # A restart within a second of the server's clock costs no time.
        fails = pods(2, start_after="1200ms", fail_at="500ms", fail_times=1, only_index=1, duration="never")
        self.c.apply(job("whole", {"worker": pods(2, duration="1s")}), job("restarted", {"worker": fails}))
        self.c.wait_phase("whole", "Succeeded")
        self.c.wait("restarted", "it runs again", lambda s: s.get("phase") == "Running" and s.get("backoffCount") == 1)
        # What is still to be written when the server comes back may be refused: it has not read its roles.
        told = lambda: self.c.plane.objects("events", fields="involvedObject.name=restarted,reason=Running")
        eventually("the last of it is told", lambda: [event["count"] for event in told()] == [2])
        self.c.plane.kill_apiserver()
        self.answered('rest_client_requests_total{code="<error>"} > 0')
        self.c.plane.start_apiserver()
        for panel in json.loads((OBSERVABILITY / "dashboard.json").read_text())["panels"]:
            for target in panel["targets"]:
                with self.subTest(panel["title"]):
                    self.answered(target["expr"])
        self.answered('sum(signalbox_jobs{phase="Running"})', lambda value: value == 1)
        [(labels, _)] = self.answered("signalbox_job_restarts_total > 0", lambda value: value == 1)
        self.assertEqual((labels["kind"], labels["reason"]), ("PyTorchTrainingJob", "PodFailed"))
        self.answered("signalbox_job_time_lost_to_restarts_seconds_total > 0")
        # What alerts compare is there, on both sides of each operator.
        rules = self.prometheus.rules()
        self.assertGreater(len(rules), 8)
        for name, rule in rules.items():
            self.assertEqual(rule.get("lastError", ""), "", name)
            if name != "SignalboxDown":
                with self.subTest(name):
                    self.answered(re.sub(r"(==|>) ", r"\1 bool ", rule["query"]))
        # None has lasted long enough to fire.
        self.assertEqual({name for name, rule in rules.items() if rule["state"] == "firing"}, set())
        self.assertEqual(rules["SignalboxDown"]["state"], "inactive")
        self.draw()
        self.c.operator.kill()
        eventually("the alert is pending", lambda: self.prometheus.rules()["SignalboxDown"]["state"] == "pending")

    def draw(self):
        # Debian's has its packages, whichever runs this.
        has = lambda python: subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0
        python = next(filter(has, (sys.executable, "/usr/bin/python3")), None)
        if not python:
            skips.note(SUITE, "no matplotlib: nothing was drawn")
            return
        picture = self.c.plane.folder / "panels.png"
        command = [python, "-B", OBSERVABILITY / "plot.py", "--panels", "1-6", "--minutes", "1", self.prometheus.url, picture]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")


if __name__ == "__main__":
    if not shutil.which("prometheus"):
        skip_suite(SUITE, "prometheus is not installed")
    cluster.main(SUITE)
