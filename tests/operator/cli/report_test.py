# SPDX-License-Identifier: Apache-2.0
"""`signalbox report`: of recorded statuses what it tells in each form, and of a running `signalbox dev`."""
import copy
import html.parser
import json
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import jobs
import program

NOW = "2026-01-31T12:00:00Z"
CONTROLS = "\x00\x07\x1b\x7f\x9b\u202e\u2028\ufeff"


def condition(kind, message, status="True"):
    return {"type": kind, "status": status, "reason": "R", "message": message, "lastTransitionTime": NOW}


# Of 76 h in all: 3 attempts have ended, and the fourth has stood still since 10:20.
STATUS = {
    "phase": "Running", "reason": "Stalled", "attempt": 4, "backoffCount": 2, "ready": "4/4",
    "attemptStartTime": "2026-01-30T21:00:00Z",
    "conditions": [condition("Stalled", "no progress for 1800 s: step 41200 of 60000; rank 3 stood still first, at step 41190")],
    "timeSeconds": {"queued": 7200, "starting": 600, "running": 201600, "restarting": 5400, "paused": 14400, "lost": 38400,
                    "unsaved": 1200, "state": "Stalled", "since": "2026-01-31T10:20:00Z"},
    "attemptHistory": [
        {"attempt": 1, "startTime": "2026-01-28T10:00:00Z", "endTime": "2026-01-29T02:11:00Z", "reason": "PodFailed",
         "message": "uncorrectable ECC error encountered", "pod": "mnist-1a2b3-worker-1", "node": "gpu-07", "rank": 1, "step": 14100},
        {"attempt": 2, "startTime": "2026-01-29T02:14:00Z", "endTime": "2026-01-30T08:00:00Z", "reason": "Paused", "step": 33000},
        {"attempt": 3, "startTime": "2026-01-30T12:00:00Z", "endTime": "2026-01-30T20:57:00Z", "reason": "Stalled", "step": 37500}],
    "avoidedNodes": [{"node": "gpu-07", "rule": "default/EccError", "time": "2026-01-29T02:11:00Z", "count": 1}],
    "progress": {"attempt": 4, "rank": 0, "currentStep": 41200, "totalSteps": 60000, "progressPercentage": 68,
                 "lastUpdatedTime": "2026-01-31T10:25:00Z", "lastProgressTime": "2026-01-31T10:20:00Z", "checkpointStep": 41000,
                 "metrics": [{"name": "loss", "value": "2.31"}, {"name": "grad_norm", "value": "0.8"}],
                 "slowest": {"rank": 3, "step": 41190, "behind": 10, "time": "2026-01-31T10:19:00Z"}},
}


def recorded(name="mnist", ns="team-a", kind=jobs.pytorch, **status):
    body = kind(name)
    body["metadata"].update(namespace=ns, uid=f"uid-{ns}-{name}", creationTimestamp="2026-01-28T08:00:00Z", generation=1)
    body["status"] = {**copy.deepcopy(STATUS), **status}
    return body


def spent(state="", **seconds):
    """`timeSeconds` of a job; the record ends now."""
    return {**seconds, "state": state, "since": NOW}


def report(objects, *arguments, now=NOW, code=0):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": objects}, file)
        file.flush()
        result = program.run("report", "-f", file.name, *(("--now", now) if now else ()), *arguments)
    assert result.code == code, (result.code, result.out, result.err)
    return result


def line_in(page, name):
    """The points of the line in the picture of that name, and what stands beside its axis of values, from below."""
    svg = xml.etree.ElementTree.fromstring(next(
        source for source in re.findall(r"<svg xmlns.*?</svg>", page, re.S) if f'aria-label="{name}"' in source))
    drawn = svg.find("{http://www.w3.org/2000/svg}polyline").attrib["points"]
    marks = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}text") if t.attrib["x"] == "84.0"]
    return [tuple(map(float, pair.split(","))) for pair in drawn.split()], marks


class Page(html.parser.HTMLParser):
    """What a page consists of."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        self.text.append(data)


FIXED = {"phase", "type", "status", "state", "startTime", "endTime", "attemptStartTime", "time", "since", "lastUpdatedTime",
         "lastProgressTime", "lastTransitionTime"}


def hostile(value, text, places, key=""):
    """The value with `text` before each of its strings that may be any; these are added to `places`."""
    if isinstance(value, dict):
        return {k: hostile(v, text, places, k) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(v, text, places, key) for v in value]
    if not isinstance(value, str) or key in FIXED:
        return value
    places.append(f"{text}{len(places):02}")
    return places[-1]


class OneJob(unittest.TestCase):
    def test_text(self):
        self.assertEqual(report([recorded()]).out, """\
PyTorchTrainingJob team-a/mnist, at 2026-01-31T12:00:00Z

Running (Stalled): no progress for 1800 s: step 41200 of 60000; rank 3 stood still first, at step 41190
Training: step 41200 of 60000 (68 %), loss 2.31, grad_norm 0.8; last report 95 min ago
Furthest behind: rank 3, at step 41190, 10 behind
Last checkpoint: step 41000

Where the time went: 3 d 4 h in all; goodput 80 %
  running      201600 s   2 d 8 h       74 %   ##################
  lost         38400 s    10 h 40 min   14 %   ###
  stalled      6000 s     100 min       2 %
  restarting   5400 s     90 min        2 %
  starting     600 s      10 min        0 %
  queued       7200 s     2 h           3 %
  paused       14400 s    4 h           5 %    #

Attempts
  ATTEMPT   BEGAN                  TOOK          ENDED BY    STEP    POD                    NODE     RANK   MESSAGE
  1         2026-01-28T10:00:00Z   16 h 11 min   PodFailed   14100   mnist-1a2b3-worker-1   gpu-07   1      uncorrectable ECC error encountered
  2         2026-01-29T02:14:00Z   29 h 46 min   Paused      33000   -                      -        -      -
  3         2026-01-30T12:00:00Z   8 h 57 min    Stalled     37500   -                      -        -      -
  4         2026-01-30T21:00:00Z   15 h          (goes on)   41200   -                      -        -      -

Metrics, as reported last
  loss        2.31
  grad_norm   0.8

Nodes avoided
  NODE     INCIDENTS   LAST                   RULE
  gpu-07   1           2026-01-29T02:11:00Z   default/EccError
""")

    def test_json_adds_up_to_the_wall_time(self):
        [job] = json.loads(report([recorded()], "-o", "json").out)["jobs"]
        times = job["timeSeconds"]
        self.assertEqual(times.pop("total"), sum(times.values()))
        self.assertEqual(sum(times.values()), 76 * 3600)
        self.assertEqual(times["stalled"], 6000)
        held = sum(times.values()) - times["queued"] - times["paused"]
        self.assertEqual(job["wastedSeconds"], held - times["running"])
        self.assertAlmostEqual(job["goodput"], times["running"] / held)
        self.assertEqual([a["attempt"] for a in job["attempts"]], [1, 2, 3, 4])
        self.assertEqual(job["attempts"][0], {**STATUS["attemptHistory"][0], "seconds": 58260})
        self.assertEqual(job["attempts"][3], {"attempt": 4, "startTime": "2026-01-30T21:00:00Z", "seconds": 54000, "step": 41200})
        self.assertEqual(job["avoidedNodes"], STATUS["avoidedNodes"])
        self.assertEqual(job["progress"]["metrics"], STATUS["progress"]["metrics"])

    def test_a_job_of_an_older_version(self):
        old = recorded(phase="Succeeded", reason="", progress=None, attemptHistory=None, avoidedNodes=None, timeSeconds=None,
                       conditions=[])
        self.assertEqual(report([old]).out, """\
PyTorchTrainingJob team-a/mnist, at 2026-01-31T12:00:00Z

Succeeded

Where the time went is not on record yet.
""")
        for form in ("json", "html"):
            report([old], "-o", form)
        [job] = json.loads(report([old], "-o", "json").out)["jobs"]
        self.assertNotIn("goodput", job)
        bare = recorded()
        del bare["status"]
        self.assertIn("\nNew\n", report([bare]).out)

    def test_why_it_ended(self):
        failed = recorded(phase="Failed", reason="NoProgress", conditions=[condition("Completed", "3 restarts, never past step 1200")])
        self.assertIn("\nFailed (NoProgress): 3 restarts, never past step 1200\n", report([failed]).out)

    def test_a_recording_without_its_time_says_so(self):
        self.assertIn("  note: Times are judged as of now; --now TIME takes the time of the recording.", report([recorded()], now=None).out)


class Html(unittest.TestCase):
    def test_one_file_without_network(self):
        text = report([recorded()], "-o", "html").out
        page = Page(text)
        self.assertFalse({"script", "link", "img", "iframe", "object", "base", "form"} & set(page.tags))
        for _, name, value in page.attributes:
            self.assertFalse(name.startswith("on") or name in ("src", "style"), name)
            if name == "href":
                self.assertRegex(value, r"^#job-\d+$")
        self.assertNotIn("url(", text)
        self.assertNotIn("@import", text)
        policy = next(value for tag, name, value in page.attributes if tag == "meta" and name == "content")
        self.assertEqual(policy, "default-src 'none'; style-src 'unsafe-inline'")

    def test_pictures_show_what_the_status_has(self):
        text = report([recorded()], "-o", "html").out
        pictures = {}
        for source in re.findall(r"<svg xmlns.*?</svg>", text, re.S):
            svg = xml.etree.ElementTree.fromstring(source)
            pictures[svg.attrib["aria-label"]] = svg
        self.assertEqual(set(pictures), {"Where the time went", "Attempts over time", "Steps by attempt"})

        def bars(name):
            return [(r.attrib["class"], float(r.attrib["x"]), float(r.attrib["width"]), float(r.attrib["height"]))
                    for r in pictures[name].iter("{http://www.w3.org/2000/svg}rect")]

        time = bars("Where the time went")
        self.assertEqual([bar[0] for bar in time], ["running", "lost", "stalled", "restarting", "starting", "queued", "paused"])
        self.assertAlmostEqual(time[0][2], 760 * 201600 / (76 * 3600), delta=0.1)
        self.assertAlmostEqual(time[-1][1] + time[-1][2], 760, delta=0.2)
        attempts = bars("Attempts over time")
        self.assertEqual([bar[0] for bar in attempts], ["failed", "quiet", "failed", "stalled"])
        # 76 h are 550 wide; the first attempt began after two of them.
        self.assertAlmostEqual(attempts[0][1], 210 + 550 * 2 / 76, delta=0.1)
        self.assertAlmostEqual(attempts[3][1] + attempts[3][2], 760, delta=0.1)
        heights = [bar[3] for bar in bars("Steps by attempt")]
        self.assertAlmostEqual(heights[0], 162 * 14100 / 60000, delta=0.1)
        self.assertEqual(heights, sorted(heights))
        marks = [t.text for t in pictures["Steps by attempt"].iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("all 60000", marks)
        self.assertIn("checkpoint 41000", marks)

    def test_the_course_of_steps_and_loss(self):
        points = [("2026-01-31T10:00:00Z", 100, "4.0"), ("2026-01-31T10:10:00Z", 300, "nan"), ("2026-01-31T10:20:00Z", 200, "2.0")]
        course = [{"time": time, "step": step, "loss": loss} for time, step, loss in points]
        progress = {**STATUS["progress"], "course": course}
        text = report([recorded(progress=progress)], "-o", "html").out
        # The last point is what was reported last: step 41200, loss 2.31, at 10:25; what is no number has none. 25 min are 670 wide.
        steps, marks = line_in(text, "Steps over time")
        self.assertEqual([x for x, _ in steps], [90.0, 358.0, 626.0, 760.0])
        self.assertEqual([marks[0], marks[-1]], ["0", "50000"])
        height = lambda step: 8 + 152 * (1 - step / 50000)
        for (_, y), step in zip(steps, (100, 300, 200, 41200)):
            self.assertAlmostEqual(y, height(step), delta=0.1)
        losses, marks = line_in(text, "Loss over time")
        self.assertEqual([x for x, _ in losses], [90.0, 626.0, 760.0])
        self.assertEqual(marks[-5:], ["2", "2.5", "3", "3.5", "4"])
        self.assertEqual([y for _, y in losses][:2], [8.0, 160.0])
        self.assertEqual(json.loads(report([recorded(progress=progress)], "-o", "json").out)["jobs"][0]["progress"]["course"], course)

    def test_a_course_may_be_any(self):
        for time, step, loss in (("x", -1, ""), ("2026-01-31T10:30:00Z", 2**63 - 1, "1e308"), ("0000-01-01T00:00:00Z", 0, "-1e308"),
                                 ("9999-12-31T23:59:59Z", 41200, f"a{CONTROLS}b")):
            progress = {**STATUS["progress"], "course": [{"time": time, "step": step, "loss": loss}] * 2}
            for form in ("text", "html", "json"):
                self.assertFalse(set(CONTROLS) & set(report([recorded(progress=progress)], "-o", form).out), form)

    def test_losses_that_hardly_differ(self):
        for losses in (("0", "5e-324"), ("1e-300", "2e-300"), ("100000000000.00001", "100000000000.00003"), ("-7", "-7")):
            course = [{"time": f"2026-01-31T10:0{at}:00Z", "step": at, "loss": loss} for at, loss in enumerate(losses)]
            progress = {**STATUS["progress"], "metrics": [], "course": course}
            line, marks = line_in(report([recorded(progress=progress)], "-o", "html").out, "Loss over time")
            self.assertTrue(all(8 <= y <= 160 for _, y in line), (losses, line))
            self.assertEqual(len(set(marks)), len(marks), losses)

    def test_marks_that_would_cover_each_other_share_a_text(self):
        for checkpoint, marks in ((60000, ["all 60000, checkpoint 60000"]), (57000, ["all 60000, checkpoint 57000"]),
                                  (50000, ["all 60000", "checkpoint 50000"]), (70000, ["all 60000", "checkpoint 70000"])):
            progress = {**STATUS["progress"], "checkpointStep": checkpoint}
            page = Page(report([recorded(progress=progress)], "-o", "html").out)
            self.assertEqual([text for text in page.text if text.startswith(("all ", "checkpoint "))], marks)

    def test_no_text_is_markup(self):
        plain = Page(report([recorded()], "-o", "html").out)
        evil = "\"'><script>alert(1)</script><b onload=x>&lt;"
        places = []
        status = hostile(STATUS, evil, places)
        page = Page(report([{**recorded(), "status": status}], "-o", "html").out)
        self.assertEqual(page.tags, plain.tags)
        self.assertEqual([a[:2] for a in page.attributes], [a[:2] for a in plain.attributes])
        shown = " ".join(page.text)
        # Neither the counts of replicas nor the reason of a condition are part of a report.
        unseen = [status["ready"], status["conditions"][0]["reason"]]
        self.assertGreater(len(places), 12)
        self.assertEqual([text for text in places if text not in shown], unseen)
        for key in ("name", "namespace"):
            job = recorded()
            job["metadata"][key] = evil
            page = Page(report([job], "-o", "html").out)
            self.assertEqual(page.tags, plain.tags)
            self.assertIn(evil, " ".join(page.text))

    def test_a_terminal_obeys_nothing(self):
        for form in ("text", "html", "json"):
            status = hostile(STATUS, f"a{CONTROLS}b", [])
            out = report([{**recorded(), "status": status}], "-o", form).out
            self.assertFalse(set(CONTROLS) & set(out), form)
            self.assertEqual(len(out.splitlines()), len(report([recorded()], "-o", form).out.splitlines()), form)

    def test_numbers_may_be_any(self):
        most = 2**63 - 1
        for number in (0, 1, most):
            status = copy.deepcopy(STATUS)
            for attempt in status["attemptHistory"]:
                attempt["step"] = number
            status["progress"].update(currentStep=number, totalSteps=number, checkpointStep=number, estimatedRemainingSeconds=number)
            for form in ("text", "html", "json"):
                report([{**recorded(), "status": status}], "-o", form)
        far = recorded(attemptStartTime="0000-01-01T00:00:00Z", completionTime="9999-12-31T23:59:59Z")
        far["metadata"]["creationTimestamp"] = "9999-01-01T00:00:00Z"
        for form in ("text", "html", "json"):
            report([far], "-o", form)


class ManyJobs(unittest.TestCase):
    JOBS = [
        recorded("good", timeSeconds=spent(running=9000, starting=1000), phase="Succeeded", reason="", attempt=1, attemptHistory=[]),
        recorded("worst", timeSeconds=spent("Queued", running=1000, lost=4000, queued=50000), phase="Pending", reason="Unschedulable"),
        recorded("bad", ns="team-b", timeSeconds=spent(restarting=2000), phase="Failed", completionTime="2026-01-20T00:00:00Z"),
    ]

    def test_sums_by_kind_and_the_worst_first(self):
        out = report(self.JOBS).out
        self.assertEqual(out, """\
3 jobs, at 2026-01-31T12:00:00Z

  KIND                 JOBS   GOODPUT   RUNNING   LOST   STALLED   RESTARTING   STARTING   QUEUED   PAUSED
  PyTorchTrainingJob   3      58 %      166m      66m    -         33m          16m        13h      -
  all                  3      58 %      166m      66m    -         33m          16m        13h      -

Jobs, those that wasted most first
  NAMESPACE   JOB        PHASE                     WASTED   GOODPUT   RUNNING   LOST   STALLED   RESTARTING   STARTING   QUEUED   PAUSED   ATTEMPTS   LAST END
  team-a      pj/worst   Pending (Unschedulable)   66m      20 %      16m       66m    -         -            -          13h      -        4          Stalled
  team-b      pj/bad     Failed (Stalled)          33m      0 %       -         -      -         33m          -          -        -        4          Stalled
  team-a      pj/good    Succeeded                 16m      90 %      150m      -      -         -            16m        -        -        1          -
""")
        told = json.loads(report(self.JOBS, "-o", "json").out)
        self.assertEqual([job["name"] for job in told["jobs"]], ["worst", "bad", "good"])
        [kind] = told["kinds"]
        self.assertEqual((kind["kind"], kind["jobs"]), ("PyTorchTrainingJob", 3))
        for name in kind["timeSeconds"]:
            self.assertEqual(kind["timeSeconds"][name], sum(job["timeSeconds"][name] for job in told["jobs"]))
        self.assertAlmostEqual(kind["goodput"], 10000 / 17000)

    def test_the_page_has_all_of_them(self):
        page = Page(report(self.JOBS, "-o", "html").out)
        self.assertEqual([value for tag, name, value in page.attributes if tag == "h2"], ["job-1", "job-2", "job-3"])
        self.assertIn("Jobs over time", [value for _, name, value in page.attributes if name == "aria-label"])

    def test_what_is_meant(self):
        def names(*arguments):
            return [job["name"] for job in json.loads(report(self.JOBS, "-o", "json", *arguments).out)["jobs"]]

        self.assertEqual(names("bad"), ["bad"])
        self.assertEqual(names("pj/bad"), ["bad"])
        self.assertEqual(names("-n", "team-a"), ["worst", "good"])
        self.assertEqual(names("--since", "7d"), ["worst", "good"])
        self.assertEqual(names("--since", "365d"), ["worst", "bad", "good"])
        self.assertIn("Attempts", report(self.JOBS, "bad").out)
        # As a namespace of a cluster may have none.
        self.assertEqual(names("-n", "empty"), [])
        self.assertIn("There are no training jobs", report(self.JOBS, "-n", "empty").err)
        for arguments, why in ((["dj/bad"], "the files have no training job dj/bad"), (["pods/x"], "NAME or KIND/NAME is expected"),
                               (["--since", "x"], "--since: `x` is no time"), (["--now", "x"], "--now: `x` is no RFC 3339 time")):
            result = report(self.JOBS, *arguments, now=None, code=2)
            self.assertIn(why, result.err)
            self.assertEqual(result.out, "")


class Cluster(unittest.TestCase):
    def setUp(self):
        self.dev = program.Dev("--speed", "10")
        self.addCleanup(self.dev.stop)

    def run_command(self, *arguments):
        return program.run(*arguments, "--kubeconfig", self.dev.kubeconfig)

    def test_one_job_and_a_namespace(self):
        empty = self.run_command("report")
        self.assertEqual((empty.code, empty.out, empty.err), (0, "", "There are no training jobs in namespace default.\n"))
        for body in (jobs.pytorch("bad", "1s", {"exit_code": "3"}, runPolicy={"backoffLimit": 1}), jobs.pytorch("mnist")):
            self.dev.open("POST", jobs.collection(body), body).close()
        self.assertEqual(self.run_command("wait", "bad", "--for", "Failed").code, 0)
        self.assertEqual(self.run_command("wait", "mnist", "--for", "Running").code, 0)
        result = self.run_command("report", "bad")
        self.assertEqual(result.code, 0, result.err)
        self.assertRegex(result.out, r"^PyTorchTrainingJob default/bad, at ")
        self.assertRegex(result.out, r"\nFailed \(BackoffLimitExceeded\): .*exited with 3")
        self.assertRegex(result.out, r"\n  1 .* PodFailed .*\n  2 .* BackoffLimitExceeded ")
        with self.dev.open("GET", f"{jobs.collection(jobs.pytorch('bad'))}/bad") as answer:
            recorded_times = json.load(answer)["status"]["timeSeconds"]
        [told] = json.loads(self.run_command("report", "bad", "-o", "json").out)["jobs"]
        for state in ("running", "lost", "restarting", "queued"):
            self.assertEqual(told["timeSeconds"][state], recorded_times.get(state, 0))

        every = self.run_command("report", "-n", "default")
        self.assertEqual(every.code, 0, every.err)
        self.assertRegex(every.out, r"^2 jobs in namespace default, at ")
        self.assertRegex(every.out, r"pj/mnist\s+Running")
        self.assertRegex(self.run_command("report", "-A", "-o", "html").out, "<title>2 jobs in all namespaces</title>")

    def test_what_is_refused(self):
        for arguments, why in ((["report", "nobody"], "namespace default has no training job nobody"),
                               (["report", "--now", NOW], "--now is for recordings: a cluster has its own time")):
            result = self.run_command(*arguments)
            self.assertEqual((result.code, result.out), (2, ""))
            self.assertEqual(result.err, f"signalbox report: {why}\n")
        result = self.run_command("report", "-f", "-")
        self.assertEqual((result.code, result.out), (2, ""))
        self.assertIn("--filename excludes --kubeconfig", result.err)
        result = program.run("report", "--kubeconfig", "/no/such/file")
        self.assertEqual(result.code, 2)
        self.assertIn("/no/such/file", result.err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
