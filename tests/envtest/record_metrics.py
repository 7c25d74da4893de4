#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of operator/deploy/observability: two operators on a real API server, jobs that come, report, stand still,
restart and end, a leader that is told to stop, and an API server that is away for half a minute, as a real Prometheus saw it.

Usage: record_metrics.py [--minutes N] FOLDER    FOLDER: where jobs.png, operator.png and training.png go
"""

import argparse
import itertools
import pathlib
import re
import ssl
import subprocess
import sys
import threading
import time

import cluster
import deployed
import reports
from cluster import job, pods, ssh_job
from prometheus import OBSERVABILITY, Prometheus
from reports import with_account

EVERY = 4  # seconds from one job to the next
FLAGS = ["--leader-elect", "--leader-elect-resource-namespace", deployed.SYSTEM, "--metrics-bind-address", "127.0.0.1:0"]
# Panels of the dashboard in each picture. No Kueue is there, which is what the last panel is about.
PICTURES = {"jobs": "1-6", "operator": "7-15", "training": "16-21"}
WATCHED = {"progress": {"stallAfterSeconds": 20}}
STEPS = 100
STANDS_STILL = 30  # of some jobs, behind this step


def one(number):
    """A job: most end as they should, others restart by one cause or another."""
    name = f"job-{number}"
    return [
        lambda: job(name, {"worker": with_account(pods(4, duration="45s"))}, runPolicy=WATCHED),
        lambda: ssh_job("DeepSpeedJob", name, 3, simulation={"duration": "60s"}),
        lambda: job(name, {"worker": pods(4, fail_at="15s", fail_times=1, only_index=1, duration="40s")}),
        lambda: job(
            name, {"worker": with_account(pods(2, duration="90s", unschedulable="20s", only_index=1))}, runPolicy=WATCHED),
        lambda: job(name, {"worker": pods(4, oom_at="20s", fail_times=1, only_index=2, duration="40s")}),
        lambda: job(name, {"worker": pods(3, "Never", evict_at="10s", fail_times=1, only_index=0, duration="30s")}),
        lambda: ssh_job("ColossalAIJob", name, 2, simulation={"duration": "30s"}),
        lambda: job(name, {"worker": pods(1, fail_at="5s", duration="30s")}, runPolicy={"backoffLimit": 1}),
    ][number % 8]()


def stands_still(name):
    """Of a job of one()."""
    return int(name.removeprefix("job-")) % 8 == 3


class Trainings(threading.Thread):
    """What the jobs of one() that run and are watched report, of one pod each."""

    def __init__(self, recording, trust):
        super().__init__(daemon=True)
        self.recording, self.trust, self.over, self.steps, self.tokens = recording, trust, threading.Event(), {}, {}

    def run(self):
        while not self.over.wait(1):
            try:
                self.report_all()
            except (AssertionError, OSError):
                pass  # the API server is away, or no operator leads

    def report_all(self):
        c, leader = self.recording.c, self.recording.leader()
        if not leader:
            return
        address = re.search(r"receiving reports of progress: address=(\S+)", leader.log.read_text())[1]
        for name, status in c.statuses().items():
            if status.get("phase") != "Running" or int(name.removeprefix("job-")) % 8 not in (0, 3):
                continue
            if name not in self.tokens:
                self.tokens[name] = reports.token_of(c.plane, c.pods_of(name)[0])
            last = STANDS_STILL if stands_still(name) else STEPS
            self.steps[name] = min(self.steps.get(name, 0) + 1, last)
            reports.send(address, name, self.tokens[name], self.trust, current_step=self.steps[name], total_steps=STEPS)


class Recording:
    def __init__(self, c):
        self.c, self.names, self.running = c, itertools.count(1), []
        self.prometheus = Prometheus(c.plane.folder / "prometheus", interval="5s")
        reports.permit(c.plane)
        secrets = deployed.secrets(c.plane.folder / "secrets")
        self.flags = [*FLAGS, *deployed.receiver_flags(secrets, "127.0.0.1:0", "https://progress.example.org")]
        self.trainings = Trainings(self, ssl.create_default_context(cafile=str(secrets / "tls.crt")))

    def keep_two_operators(self):
        """As a Deployment would: whichever has ended is started again."""
        alive = [each for each in self.running if each.running()]
        if len(alive) == 2:
            return
        while len(alive) < 2:
            name = f"operator-{next(self.names)}"
            alive.append(self.c.operator_process(name, self.c.plane.operator_kubeconfig, *self.flags))
        self.running = alive
        self.prometheus.scrape(*map(deployed.address, alive))

    def leader(self):
        return next((each for each in self.running if "leading: " in each.log.read_text() and each.running()), None)

    def run(self, minutes):
        start, jobs, away_until, happened = time.monotonic(), itertools.count(), None, set()
        next_job = start
        self.trainings.start()
        while time.monotonic() < start + 60 * minutes:
            now = time.monotonic()
            self.keep_two_operators()
            part = (now - start) / (60 * minutes)
            if part > 0.4 and "leader" not in happened and self.leader():
                happened.add("leader")
                self.leader().child.terminate()
            if part > 0.7 and "server" not in happened:
                happened.add("server")
                self.c.plane.kill_apiserver()
                away_until = now + 30
            if away_until and now > away_until:
                away_until = None
                self.c.plane.start_apiserver()
            # No new ones at the end.
            if not away_until and now > next_job and part < 0.9:
                next_job = now + EVERY
                self.c.apply(one(next(jobs)))
            time.sleep(0.5)

    def stop(self):
        self.trainings.over.set()
        for each in (*self.running, self.prometheus):
            each.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    # What it lacks it says before all the minutes, and not after them.
    subprocess.run([sys.executable, "-B", OBSERVABILITY / "plot.py", "--help"], check=True, stdout=subprocess.DEVNULL)
    with cluster.Cluster() as c:
        recording = Recording(c)
        try:
            recording.run(arguments.minutes)
            for name, panels in PICTURES.items():
                command = [OBSERVABILITY / "plot.py", "--panels", panels, "--minutes", str(arguments.minutes)]
                picture = arguments.folder / f"{name}.png"
                subprocess.run([sys.executable, "-B", *command, recording.prometheus.url, picture], check=True)
                print(f"{picture}: {picture.stat().st_size} bytes")
        finally:
            recording.stop()


if __name__ == "__main__":
    main()
