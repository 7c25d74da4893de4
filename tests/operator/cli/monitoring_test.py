# SPDX-License-Identifier: Apache-2.0
"""What `signalbox run` shows of itself over HTTP: health, metrics, explanations, the level of its log. `promtool` judges the metrics."""
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import jobs
import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import skips  # noqa: E402 (from the folder above)
from waiting import eventually  # noqa: E402

OBSERVABILITY = os.path.join(program.source_dir(), "operator/deploy/observability")
SERVED = re.compile(r"serving (metrics and health|health): address=(\S+?)(?:\"|\s|$)")


class Operator:
    """`signalbox run` against a running `signalbox dev`, whose own operator does the work."""

    def __init__(self, dev, *arguments, servers=1):
        self.child = subprocess.Popen(
            [program.binary(), "run", "--kubeconfig", dev.kubeconfig, *arguments], stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.address = {}
        while len(self.address) < servers:
            found = SERVED.search(self.line())
            if found:
                self.address[found[1]] = found[2]

    def line(self):
        text = self.child.stderr.readline()
        if not text:
            raise EOFError("".join(self.lines))
        self.lines.append(text)
        return text

    def wait_for_line(self, part):
        while part not in "".join(self.lines):
            self.line()

    def ask(self, path, method="GET", body=None, token=None, server="metrics and health", trust=None):
        """(status, text)"""
        scheme = "https" if trust else "http"
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(
            f"{scheme}://{self.address[server]}{path}", None if body is None else body.encode(), headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=program.PATIENCE, context=trust) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        self.child.communicate(timeout=program.PATIENCE)
        return self.child.returncode


class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dev = program.Dev("--speed", "10")
        cls.addClassCleanup(cls.dev.stop)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def operator(self, *arguments, **more):
        out = Operator(self.dev, *arguments, **more)
        self.addCleanup(out.child.stderr.close)
        self.addCleanup(lambda: out.child.poll() is None and out.stop())
        return out

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_health_metrics_and_explanations(self):
        body = jobs.pytorch("seen")
        self.dev.open("POST", jobs.collection(body), body).close()
        waited = program.run("wait", "seen", "--for", "Running", "--kubeconfig", self.dev.kubeconfig)
        self.assertEqual(waited.code, 0, waited.err)
        run = self.operator("--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "localhost:0", servers=2)
        run.wait_for_line("views are complete")
        # The server for probes says what was so a second ago at most.
        eventually("probes know it", lambda: run.ask("/readyz", server="health") == (200, "ok"))
        for server in ("metrics and health", "health"):
            self.assertEqual(run.ask("/livez", server=server), (200, "ok"))
            self.assertEqual(run.ask("/readyz", server=server), (200, "ok"))
            self.assertEqual(run.ask("/livez?verbose", server=server),
                             (200, "[+]ping ok\n[+]passes ok\n[+]views ok\n[+]loop ok\nlivez check passed\n"))
            self.assertEqual(run.ask("/readyz/views-complete", server=server), (200, "ok"))
            self.assertEqual(run.ask("/readyz/nothing", server=server)[0], 404)
            self.assertEqual(run.ask("/livez", "PUT", "", server=server)[0], 405)
        for path in ("/metrics", "/debug/jobs/default/seen", "/debug/log-level"):
            self.assertEqual(run.ask(path, server="health")[0], 404, path)
        status, text = run.ask("/metrics")
        self.assertEqual(status, 200)
        self.assertIn('signalbox_jobs{kind="PyTorchTrainingJob",phase="Running"} 1\n', text)
        self.assertRegex(text, r'(?m)^rest_client_requests_total\{code="200",host="127\.0\.0\.1:\d+",method="GET"\} [1-9]')
        for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"):
            self.assertRegex(text, rf"(?m)^{name} (?!0$)\d")
        self.assertLess(abs(float(re.search(r"(?m)^process_start_time_seconds (\S+)", text)[1])
                            - os.stat(f"/proc/{run.child.pid}").st_ctime), 60)
        status, text = run.ask("/debug/jobs/default/seen")
        self.assertEqual(status, 200)
        self.assertTrue(text.startswith("PyTorchTrainingJob default/seen, at "), text)
        self.assertRegex(text, r"(?m)^What it is, and why\n  - PyTorchTrainingJob default/seen is Running since ")
        self.assertEqual(run.ask("/debug/jobs/default/nobody")[0], 404)
        self.assertEqual(run.ask("/debug/jobs/default")[0], 404)
        self.assertEqual(run.ask("/debug/jobs/a/b/c")[0], 404)
        self.assertEqual(run.stop(), 0)

    def test_promtool_takes_the_metrics(self):
        run = self.operator("--metrics-bind-address", "127.0.0.1:0")
        run.wait_for_line("views are complete")
        text = run.ask("/metrics")[1]
        if not shutil.which("promtool"):
            skips.note("monitoring", "no promtool: metrics, rules and dashboard were not checked by it")
            self.skipTest("no promtool")
        child = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=program.PATIENCE)
        self.assertEqual((child.returncode, child.stdout + child.stderr), (0, ""))

    def test_single_jobs_have_series_where_they_are_asked_for(self):
        body = jobs.run_by_another("told")
        self.dev.open("POST", jobs.collection(body), body).close()
        jobs.write_status(self.dev.open_text, body, phase="Running", attempt=1,
                          progress={"attempt": 1, "rank": 0, "currentStep": 1200, "progressPercentage": 24,
                                    "metrics": [{"name": "loss", "value": "2.5"}]})
        series = '{kind="PyTorchTrainingJob",name="told",namespace="default"}'
        for flags, found in (([], False), (["--metrics-of-jobs"], True)):
            run = self.operator("--metrics-bind-address", "127.0.0.1:0", *flags)
            run.wait_for_line("views are complete")
            text = run.ask("/metrics")[1]
            for line in (f"signalbox_single_job_progress_ratio{series} 0.24", f"signalbox_single_job_step{series} 1200",
                         f"signalbox_single_job_loss{series} 2.5"):
                self.assertEqual(f"\n{line}\n" in text, found, line)
            self.assertEqual("told" in text, found)
        if not shutil.which("promtool"):
            skips.note("monitoring", "no promtool: metrics, rules and dashboard were not checked by it")
            self.skipTest("no promtool")
        child = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=program.PATIENCE)
        self.assertEqual((child.returncode, child.stdout + child.stderr), (0, ""))

    def test_alerts_and_dashboard_ask_for_metrics_that_there_are(self):
        run = self.operator("--metrics-bind-address", "127.0.0.1:0", "--leader-elect", "--leader-elect-resource-namespace", "default")
        run.wait_for_line("views are complete")  # with requests, of which some metrics are
        text = run.ask("/metrics")[1]
        served = set(re.findall(r"(?m)^(\w+?)(?:_bucket|_sum|_count)?[{ ]", text)) | set(re.findall(r"(?m)^(\w+)[{ ]", text)) | {"up"}
        with open(os.path.join(OBSERVABILITY, "dashboard.json"), encoding="utf-8") as file:
            asked = [target["expr"] for panel in json.load(file)["panels"] for target in panel["targets"]]
        self.assertGreater(len(asked), 10)
        with open(os.path.join(OBSERVABILITY, "rules.yaml"), encoding="utf-8") as file:
            rules = file.read()
        prefixes = "signalbox|workqueue|controller_runtime|rest_client|leader_election|process"
        # An error that is counted from 1 on is no increase.
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            for code in ("<error>", "500", "503", "504"):
                self.assertRegex(text, rf'rest_client_requests_total\{{code="{code}",host="[^"]*",method="{method}"\}} \d+')
        names = set(re.findall(rf"\b(?:{prefixes})_\w+", "\n".join(asked) + re.sub(r"(?s)annotations:.*?(?=- alert|$)", "", rules)))
        # What is counted by code and method is there with the first request of that kind.
        self.assertEqual(names - served, set())
        if not shutil.which("promtool"):
            skips.note("monitoring", "no promtool: metrics, rules and dashboard were not checked by it")
            self.skipTest("no promtool")
        queries = self.file("queries.yaml", json.dumps({"groups": [{"name": "dashboard", "rules": [
            {"record": f"panel:{number}", "expr": query} for number, query in enumerate(asked)]}]}))
        for command in (["check", "rules", queries], ["check", "rules", "rules.yaml"], ["test", "rules", "rules_test.yaml"]):
            child = subprocess.run(["promtool", *command], cwd=OBSERVABILITY, capture_output=True, text=True, timeout=program.PATIENCE)
            self.assertEqual(child.returncode, 0, child.stdout + child.stderr)
        with open(os.path.join(OBSERVABILITY, "rules_test.yaml"), encoding="utf-8") as file:
            tested = file.read()
        for alert in re.findall(r"alert: (\w+)", rules):
            self.assertRegex(tested, rf"alertname: {alert}\n", "it needs a case in rules_test.yaml: firing")
            self.assertRegex(tested, rf"alertname: {alert}, eval_time", "and another: not firing")

    def test_the_level_of_the_log_changes_while_it_runs(self):
        run = self.operator("--metrics-bind-address", "127.0.0.1:0", "--log-format", "json")
        self.assertEqual(run.ask("/debug/log-level"), (200, "info\n"))
        self.assertEqual(run.ask("/debug/log-level", "PUT", "loud")[0], 400)
        self.assertEqual(run.ask("/debug/log-level", "PUT", "debug\n"), (200, "the log level is debug now\n"))
        self.assertEqual(run.ask("/debug/log-level"), (200, "debug\n"))
        self.assertEqual(run.ask("/debug/log-level", "DELETE")[0], 405)

    def test_lines_of_the_log_have_fields(self):
        with program.Dev("--speed", "10", "--log-format", "json", "--log-level", "debug") as dev:
            body = jobs.pytorch("logged", "1s")
            dev.open("POST", jobs.collection(body), body).close()
            self.assertEqual(program.run("wait", "logged", "--kubeconfig", dev.kubeconfig).code, 0)
            lines = [json.loads(line, object_pairs_hook=list) for line in dev.errors().splitlines()]
        for line in lines:
            self.assertEqual([key for key, _ in line][:3], ["time", "level", "message"])
        about = [[key for key, _ in line] + [dict(line)["message"]] for line in lines if ["job", "default/logged"] in map(list, line)]
        common = ["time", "level", "message", "job", "uid"]
        self.assertIn([*common, "rule", "verb", "kind", "name", "actions", "why", "acting"], about)
        self.assertIn([*common, "rule", "verb", "kind", "name", "why", "action"], about)
        phases = [dict(line)["phase"] for line in lines if dict(line)["message"] == "status written"]
        self.assertEqual([phase for n, phase in enumerate(phases) if phases[:n][-1:] != [phase]], ["Pending", "Running", "Succeeded"])

    def test_token_and_tls(self):
        cert, key = (os.path.join(self.folder.name, name) for name in ("tls.crt", "tls.key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=signalbox", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                       check=True, capture_output=True)
        token = self.file("token", "sesame\n")
        run = self.operator("--metrics-bind-address", "127.0.0.1:0", "--metrics-tls-cert-file", cert, "--metrics-tls-key-file", key,
                            "--metrics-token-file", token)
        trust = ssl.create_default_context(cafile=cert)
        self.assertEqual(run.ask("/livez", trust=trust), (200, "ok"))
        for path in ("/metrics", "/debug/jobs/default/x", "/debug/log-level"):
            for wrong in (None, "sesam", "sesame2"):
                self.assertEqual(run.ask(path, trust=trust, token=wrong)[0], 401, (path, wrong))
        self.assertEqual(run.ask("/metrics", trust=trust, token="sesame")[0], 200)
        self.file("token", "another one, longer")
        self.assertEqual(run.ask("/metrics", trust=trust, token="sesame")[0], 401)
        self.assertEqual(run.ask("/metrics", trust=trust, token="another one, longer")[0], 200)
        with self.assertRaises((urllib.error.URLError, ConnectionError)):
            run.ask("/livez")  # plain HTTP
        self.assertEqual(run.stop(), 0)

    def test_without_a_token_others_learn_nothing_of_jobs(self):
        run = self.operator("--metrics-bind-address", "0.0.0.0:0")
        run.address["metrics and health"] = run.address["metrics and health"].replace("0.0.0.0", "127.0.0.1")
        self.assertEqual(run.ask("/metrics")[0], 200)
        for path, method in (("/debug/jobs/default/x", "GET"), ("/debug/log-level", "GET"), ("/debug/log-level", "PUT")):
            self.assertEqual(run.ask(path, method, "debug" if method == "PUT" else None)[0], 403, path)

    def test_settings_that_cannot_be(self):
        empty = self.file("empty", "\n")
        address = ["--metrics-bind-address", "127.0.0.1:0"]
        for arguments, why in ((["--metrics-bind-address", "nowhere"], "metrics: `nowhere` is not ADDRESS:PORT"),
                               (["--health-probe-bind-address", "127.0.0.1:x"], "health: `127.0.0.1:x` is not ADDRESS:PORT"),
                               ([*address, "--metrics-tls-cert-file", "/no/such"], "a certificate and its key belong together"),
                               ([*address, "--metrics-token-file", "/no/such"], "/no/such: No such file or directory"),
                               ([*address, "--metrics-token-file", empty], "there is no token in it"),
                               ([*address, "--metrics-tls-cert-file", empty, "--metrics-tls-key-file", empty], "no certificate")):
            with self.subTest(arguments):
                result = program.run("run", "--kubeconfig", self.dev.kubeconfig, *arguments)
                self.assertEqual(result.code, 2, result.err)
                self.assertIn(why, result.err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
