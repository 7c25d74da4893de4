#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of operator/deploy/observability: two operators on a real API server, jobs that come, restart and end, a
leader that is told to stop, and an API server that is away for half a minute, as a real Prometheus saw it.

Usage: record_metrics.py [--minutes N] FOLDER    FOLDER: where jobs.png and operator.png go
"""

import argparse
import itertools
import pathlib
import subprocess
import sys
import time

import cluster
import deployed
from cluster import job, pods, ssh_job
from prometheus import OBSERVABILITY, Prometheus

EVERY = 4  # seconds from one job to the next
FLAGS = ["--leader-elect", "--leader-elect-resource-namespace", deployed.SYSTEM, "--metrics-bind-address", "127.0.0.1:0"]


def one(number):
    """A job: most end as they should, others restart by one cause or another."""
    name = f"job-{number}"
    return [
        lambda: job(name, {"worker": pods(4, duration="45s")}),
        lambda: ssh_job("DeepSpeedJob", name, 3, simulation={"duration": "60s"}),
        lambda: job(name, {"worker": pods(4, fail_at="15s", fail_times=1, only_index=1, duration="40s")}),
        lambda: job(name, {"worker": pods(2, duration="90s")}),
        lambda: job(name, {"worker": pods(4, oom_at="20s", fail_times=1, only_index=2, duration="40s")}),
        lambda: job(name, {"worker": pods(3, "Never", evict_at="10s", fail_times=1, only_index=0, duration="30s")}),
        lambda: ssh_job("ColossalAIJob", name, 2, simulation={"duration": "30s"}),
        lambda: job(name, {"worker": pods(1, fail_at="5s", duration="30s")}, runPolicy={"backoffLimit": 1}),
    ][number % 8]()


class Recording:
    def __init__(self, c):
        self.c, self.names, self.running = c, itertools.count(1), []
        self.prometheus = Prometheus(c.plane.folder / "prometheus", interval="5s")

    def keep_two_operators(self):
        """As a Deployment would: whichever has ended is started again."""
        alive = [each for each in self.running if each.running()]
        if len(alive) == 2:
            return
        while len(alive) < 2:
            name = f"operator-{next(self.names)}"
            alive.append(self.c.operator_process(name, self.c.plane.operator_kubeconfig, *FLAGS))
        self.running = alive
        self.prometheus.scrape(*map(deployed.address, alive))

    def leader(self):
        return next((each for each in self.running if "leading: " in each.log.read_text() and each.running()), None)

    def run(self, minutes):
        start, jobs, away_until, happened = time.monotonic(), itertools.count(), None, set()
        next_job = start
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
        for each in (*self.running, self.prometheus):
            each.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    with cluster.Cluster() as c:
        recording = Recording(c)
        try:
            recording.run(arguments.minutes)
            for name, panels in (("jobs", "1-6"), ("operator", "7-15")):
                command = [OBSERVABILITY / "plot.py", "--panels", panels, "--minutes", str(arguments.minutes)]
                picture = arguments.folder / f"{name}.png"
                subprocess.run([sys.executable, "-B", *command, recording.prometheus.url, picture], check=True)
                print(f"{picture}: {picture.stat().st_size} bytes")
        finally:
            recording.stop()


if __name__ == "__main__":
    main()
