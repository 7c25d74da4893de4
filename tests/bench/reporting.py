# SPDX-License-Identifier: Apache-2.0
"""What reports of progress cost the operator, on a real API server: running jobs that say nothing, and then report every five
seconds, each by a connection of its own by TLS, as `transformers` does.

CPU seconds of the operator in each second, status writes of it, its memory. Nothing is asserted; of one run these compare.

    python3 tests/bench/reporting.py --build build/bench
"""

import argparse
import re
import ssl
import threading
import time

from cold_start import ROOT, cpu_seconds, load_cluster, resident

EVERY = 5  # seconds between two reports of a job
SENDERS = 8  # threads
WRITES = re.compile(r'(?m)^apiserver_request_total\{[^}]*resource="pytorchtrainingjobs"[^}]*subresource="status"[^}]*\} (\S+)$')


class Bench:
    def __init__(self, options):
        self.options = options
        self.names = [f"bench-{number}" for number in range(options.jobs)]
        self.late = 0

    def start(self):
        reports.permit(self.plane)
        secrets = deployed.secrets(self.plane.folder / "secrets")
        self.trust = ssl.create_default_context(cafile=str(secrets / "tls.crt"))
        flags = deployed.receiver_flags(secrets, "127.0.0.1:0", "https://progress.example.org")
        self.c.operator = self.process = self.c.operator_process("operator", self.plane.operator_kubeconfig, *flags)
        words = re.compile(r"receiving reports of progress: address=(\S+)")
        self.address = cluster.eventually("it receives", lambda: words.search(self.process.log.read_text()))[1]
        policy = {"progress": {"stallAfterSeconds": 86400}}
        pods = reports.with_account(cluster.pods(1, duration="never"))
        jobs = [cluster.job(name, {"worker": pods}, runPolicy=policy) for name in self.names]
        self.c.apply(*jobs)
        run = lambda: sum(status.get("phase") == "Running" for status in self.c.statuses().values()) == len(jobs)
        cluster.eventually("all run", run, interval=1)
        self.tokens = {
            pod["metadata"]["labels"]["tensorstack.dev/owner-name"]: reports.token_of(self.plane, pod)
            for pod in self.plane.objects("pods")}

    def send_all(self, share, over):
        """Reports of these jobs, evenly over the interval."""
        begin, step = time.monotonic(), 0
        while True:
            step += 1
            for number, name in enumerate(share):
                due = begin + EVERY * (step - 1 + number / len(share))
                if over.wait(max(0.0, due - time.monotonic())):
                    return
                self.late += time.monotonic() > due + 1
                reports.send(self.address, name, self.tokens[name], self.trust, current_step=step, total_steps=100000, loss=2.31)
                self.sent += 1

    def writes(self):
        return sum(map(float, WRITES.findall(self.plane.get("/metrics", "text/plain").decode())))

    def measure(self, what):
        """Over the time of a part, behind one interval of writes: the first report of a job is written at once."""
        time.sleep(self.options.settle)
        self.sent = self.late = 0
        cpu, writes, begin = cpu_seconds(self.process.child.pid), self.writes(), time.monotonic()
        time.sleep(self.options.seconds)
        took = time.monotonic() - begin
        cpu, writes = cpu_seconds(self.process.child.pid) - cpu, self.writes() - writes
        memory = resident(self.process.child.pid)
        print(f"{what:>20}: {self.sent / took:6.1f} reports/s, {cpu / took:.3f} CPU s/s, {writes / took:5.1f} status writes/s, "
              f"{writes / took / len(self.names) * 60:.2f} a minute and job, {memory:.1f} MB; "
              f"{self.late} reports were sent late", flush=True)

    def run(self):
        with cluster.Cluster() as self.c:
            self.plane = self.c.plane
            self.start()
            print(f"{len(self.names)} jobs of a pod run", flush=True)
            for _ in range(self.options.runs):
                self.sent = 0
                self.measure("they say nothing")
                over = threading.Event()
                senders = [threading.Thread(target=self.send_all, args=(self.names[n::SENDERS], over)) for n in range(SENDERS)]
                for each in senders:
                    each.start()
                try:
                    self.measure("they report")
                finally:
                    over.set()
                    for each in senders:
                        each.join()


def main():
    global cluster, deployed, reports
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build" / "bench"), help="folder of the built programs")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60, help="of each part")
    parser.add_argument("--settle", type=float, default=20, help="seconds before each part")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    cluster = load_cluster(options.build)
    import deployed
    import reports

    Bench(options).run()


if __name__ == "__main__":
    main()
