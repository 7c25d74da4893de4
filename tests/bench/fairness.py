# SPDX-License-Identifier: Apache-2.0
"""What one hostile tenant costs the others on a real API server: the time from the creation of a job to its first pod.

Some tenants create a small job each in turn, at a steady rate; another one does what `TENANTS` lists. Prints the median and the
99th percentile of each run and their ratio to the run without a hostile tenant; the same of the requests that create those jobs, as all
shares this machine and the API server is slower too; memory and CPU time of the operator. Nothing is asserted. The hostile tenant has a
process of its own, so that this one measures no waiting for its own interpreter.

`--without-operator` has the same requests with no operator there: how much of their slowness is the hostile tenant's alone.

No pod runs, as what the kubelets and the scheduler of a cluster ask is no part of this: on one machine they are most of what the API
server has to do. `--run-pods` has them.

    python3 tests/bench/fairness.py --build build/bench [--only edits] [--jobs 300] [--run-pods]
"""

import argparse
import http.client
import json
import multiprocessing
import pathlib
import re
import ssl
import statistics
import threading
import time
import urllib.parse

from cold_start import ROOT, cpu_seconds, load_cluster

MEGABYTE = 1_200_000
JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/{}/{}"
MERGE = "application/merge-patch+json"


class Server:
    """Requests of one thread."""

    def __init__(self, url, authority, token):
        where = urllib.parse.urlsplit(url)
        context = ssl.create_default_context(cadata=authority)
        self.connection = http.client.HTTPSConnection(where.netloc, timeout=120, context=context)
        self.headers = {"Authorization": f"Bearer {token}"}

    def send(self, method, path, body=None, content="application/json"):
        """Status of the answer, once its body has come."""
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, {"Content-Type": content, **self.headers})
        answer = self.connection.getresponse()
        answer.read()
        return answer.status

    def lines(self, path):
        self.connection.request("GET", path, headers=self.headers)
        return self.connection.getresponse()


def large_job(name, value, **spec):
    """A DeepSpeedJob with a variable of this value."""
    out = cluster.ssh_job("DeepSpeedJob", name, 1, namespace="loud", **spec)
    out["spec"]["worker"]["template"]["spec"]["containers"][0]["env"] = [{"name": "LARGE", "value": value}]
    return out


def create(server, job):
    plural = f"{job['kind'].lower()}s"
    return server.send("POST", JOBS.format(job["metadata"]["namespace"], plural), job)


def change_costly_jobs(server, ready, ended, pause):
    """Twelve jobs of 1.2 MB, full of references to variables, whose specification changes again and again."""
    names = [f"costly-{number}" for number in range(12)]
    for name in names:
        create(server, large_job(name, "$(" * (MEGABYTE // 2)))
    ready.set()
    step = 0
    while not ended.wait(pause):
        change = {"spec": {"runPolicy": {"backoffLimit": step % 7}}}
        server.send("PATCH", JOBS.format("loud", f"deepspeedjobs/{names[step % len(names)]}"), change, MERGE)
        step += 1


def compiles(server, ready, ended):
    """Four of these changes a second."""
    change_costly_jobs(server, ready, ended, 1 / 4)


def patches(server, ready, ended):
    """As many as the server takes."""
    change_costly_jobs(server, ready, ended, 0)


def edits(server, ready, ended):
    """Twenty-four changes a second of an annotation of one job of 1.3 MB."""
    create(server, large_job("edited", "x" * 1_300_000))
    ready.set()
    step = 0
    while not ended.wait(1 / 24):
        server.send(
            "PATCH", JOBS.format("loud", "deepspeedjobs/edited"), {"metadata": {"annotations": {"step": str(step)}}}, MERGE)
        step += 1


def paused(server, ready, ended):
    """Eighty jobs of 1.2 MB that are paused and have no pods."""
    for number in range(80):
        create(server, large_job(f"paused-{number}", "x" * MEGABYTE, runMode={"pause": {"enabled": True}}))
    ready.set()
    ended.wait()


def many(server, ready, ended):
    """Jobs of one pod, as fast as the server takes them."""
    ready.set()
    number = 0
    while not ended.is_set():
        create(server, cluster.job(f"small-{number}", {"worker": cluster.pods(1)}, namespace="loud"))
        number += 1


def large(server, ready, ended):
    """Seventy jobs of 200 pods, made at once."""
    ready.set()
    for number in range(70):
        create(server, cluster.job(f"large-{number}", {"worker": cluster.pods(200)}, namespace="loud"))
    ended.wait()


TENANTS = {"edits": edits, "paused": paused, "compiles": compiles, "large": large, "many": many, "patches": patches}


def act(name, build, server, ready, ended):
    """The process of the hostile tenant."""
    global cluster
    cluster = load_cluster(build)
    TENANTS[name](Server(*server), ready, ended)


class Bench:
    def __init__(self, options):
        self.options = options

    def note_pods(self, seen, server, ended):
        """Puts the time at which the first pod of each quiet job came."""
        while not ended.is_set():
            # A server that has much to do ends watches. A new one begins with all that is there.
            try:
                for line in Server(*server).lines("/api/v1/pods?watch=1&fieldSelector=metadata.namespace!=loud"):
                    owner = json.loads(line)["object"]["metadata"].get("ownerReferences", [{}])[0].get("name")
                    seen.setdefault(owner, time.monotonic())
            except (OSError, ValueError, http.client.HTTPException):
                ended.wait(0.1)

    def run_once(self, name):
        """Of all quiet jobs the seconds of the request, and to the first pod; what the operator used."""
        with cluster.Cluster() as c:
            plane, options = c.plane, self.options
            if not options.run_pods:
                c.kubelet.kill()
            if not options.without_operator:
                c.start_operator()
                cluster.eventually("views", lambda: "views are complete" in c.operator.log.read_text())
            tenants = [f"tenant-{number}" for number in range(options.tenants)]
            server = plane.url, plane.ca_file.read_text(), plane.admin_token
            main = Server(*server)
            for each in [*tenants, "loud"]:
                main.send("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}})
            spawn = multiprocessing.get_context("spawn")
            seen, made, asked, ready, ended = {}, {}, [], spawn.Event(), spawn.Event()
            threading.Thread(target=self.note_pods, args=(seen, server, ended), daemon=True).start()
            for each in tenants:  # the server's first request in a namespace takes longer
                create(main, cluster.job(f"first-{each}", {"worker": cluster.pods(1)}, namespace=each))
            if not options.without_operator:
                cluster.eventually("first pods", lambda: all(f"first-{each}" in seen for each in tenants))
            loud = spawn.Process(target=act, args=(name, options.build, server, ready, ended), daemon=True) if name else None
            if loud:
                loud.start()
                ready.wait()
                time.sleep(options.ahead)
            begin = time.monotonic()
            for number in range(options.jobs):
                time.sleep(max(0, begin + number / options.rate - time.monotonic()))
                tenant = tenants[number % len(tenants)]
                before = time.monotonic()
                create(main, cluster.job(f"quiet-{number}", {"worker": cluster.pods(1)}, namespace=tenant))
                made[f"quiet-{number}"] = time.monotonic()
                asked.append(time.monotonic() - before)
            out, used = {"requests": asked}, []
            if not options.without_operator:
                cluster.eventually("all quiet jobs have pods", lambda: made.keys() <= seen.keys(), interval=0.5)
                out["to the first pod"] = [seen[job] - at for job, at in made.items()]
                used = [self.used(c.operator.child.pid)]
            ended.set()
            if loud:
                loud.join()
            return out, used

    @staticmethod
    def used(pid):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        memory = int(re.search(r"^VmHWM:\s+(\d+)", status, re.M)[1]) * 1024 / 1e6
        return f"operator {memory:.0f} MB at most, {cpu_seconds(pid):.1f} CPU s"

    def run(self):
        first = {}
        for name in (None, *([self.options.only] if self.options.only else TENANTS)):
            times, used = self.run_once(name)
            said = []
            for what, each in times.items():
                figures = {"median": statistics.median(each), "p99": statistics.quantiles(each, n=100)[98]}
                first.setdefault(what, figures)
                said += [f"{what} " + ", ".join(
                    f"{which} {now * 1000:6.0f} ({now / first[what][which]:5.1f}) ms" for which, now in figures.items())]
            print(f"{name or 'no one hostile':>14}: " + "; ".join([*said, *used]), flush=True)


def main():
    global cluster
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build" / "bench"), help="folder of the built programs")
    parser.add_argument("--tenants", type=int, default=19)
    parser.add_argument("--jobs", type=int, default=300, help="of all quiet tenants")
    parser.add_argument("--rate", type=float, default=5, help="of them a second")
    parser.add_argument("--ahead", type=float, default=5, help="seconds that the hostile tenant acts before, once its large jobs are made")
    parser.add_argument("--only", choices=TENANTS)
    parser.add_argument("--run-pods", action="store_true", help="with a simulated kubelet on this machine")
    parser.add_argument("--without-operator", action="store_true", help="the requests alone")
    options = parser.parse_args()
    cluster = load_cluster(options.build)

    Bench(options).run()


if __name__ == "__main__":
    main()
