# SPDX-License-Identifier: Apache-2.0
"""The package for Python: typed answers, errors, threads, and stories over the real engine. Usage: story_test.py LIBRARY"""

import datetime
import os
import pathlib
import sys
import threading
import unittest
from xml.etree import ElementTree

os.environ["SIGNALBOX_JOBCORE_LIBRARY"] = sys.argv[1]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "libjobcore/python"))
import signalbox  # noqa: E402 (from the folder above)

NOW = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc)


def job(replicas=2, kind="PyTorchTrainingJob", **spec):
    """With a UID, as a server gives it."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i", "command": ["train.py"]}]}}
    made = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind,
            "metadata": {"name": "mnist", "namespace": "lab", "uid": "u", "generation": 1}, "spec": spec}
    if kind == "PyTorchTrainingJob":
        spec.setdefault("replicaSpecs", [{"type": "worker", "replicas": replicas, "template": template}])
    return made


def workers(replicas):
    return {"replicas": replicas, "template": {"spec": {"containers": [{"name": "worker", "image": "i"}]}}}


def deepspeed(replicas=1):
    return job(kind="DeepSpeedJob", config={"run": {"python": ["train.py"]}}, worker=workers(replicas))


class Answers(unittest.TestCase):
    def test_validate(self):
        self.assertTrue(signalbox.validate(job()))
        wrong = signalbox.validate(job(runPolicy={"backoffLimit": -1}))
        self.assertFalse(wrong)
        self.assertEqual([(f.level, f.pointer) for f in wrong.findings], [("error", "/spec/runPolicy/backoffLimit")])
        change = signalbox.validate(job(3), job(2))
        self.assertEqual([f.pointer for f in change.findings], ["/spec/replicaSpecs"])

    def test_plan(self):
        kinds = [each.object["kind"] for each in signalbox.plan(job()).objects]
        self.assertEqual(kinds, ["Service", "Service", "Pod", "Pod"])
        [secret] = [each for each in signalbox.plan(deepspeed()).objects if each.object["kind"] == "Secret"]
        self.assertIn("privatePem", [slot.form for slot in secret.key_slots])

    def test_decide_and_explain(self):
        first = signalbox.decide(job(), NOW)
        self.assertEqual(first.status["phase"], "Pending")
        self.assertEqual(first.events[0].reason, "Created")
        second = signalbox.decide({**job(), "status": first.status}, NOW)
        self.assertEqual([a.verb for a in second.actions], ["create"] * 2)
        self.assertEqual(second.actions[0].kind, "Service")
        refusal = {"kind": "Service", "name": second.actions[0].name, "httpCode": 403, "last": signalbox.engine.format_time(NOW)}
        held = signalbox.decide({**job(), "status": first.status}, NOW, refusals=[refusal], policy={"quota_retry": 60000})
        self.assertGreater(held.actions[0].not_before, NOW)
        self.assertGreater(held.wake_up, NOW)
        lines = signalbox.explain({**job(), "status": first.status}, NOW).lines
        self.assertEqual(lines[0].section, "phase")
        self.assertIn("mnist", str(signalbox.explain(job(), NOW)))

    def test_jobs_that_name_no_scheduler_get_the_default(self):
        chosen = signalbox.decide(job(), NOW, policy={"default_scheduler": "koordinator"})
        self.assertEqual(chosen.status["scheduler"], "koordinator")
        self.assertNotIn("scheduler", signalbox.decide(job(), NOW).status)
        with self.assertRaises(signalbox.RequestError) as raised:
            signalbox.decide(job(), NOW, policy={"default_scheduler": "kueue"})
        self.assertEqual([pointer for pointer, _ in raised.exception.errors], ["/policy/default_scheduler"])

    def test_a_wrong_request_says_where(self):
        with self.assertRaises(signalbox.RequestError) as raised:
            signalbox.decide(job(), "noon", policy={"speed": 1})
        self.assertEqual([pointer for pointer, _ in raised.exception.errors], ["/now", "/policy/speed"])
        with self.assertRaises(ValueError):
            signalbox.decide(job(), datetime.datetime(2026, 1, 1))

    def test_an_engine_answers_as_single_questions_and_is_closed(self):
        with signalbox.Engine() as engine:
            for _ in range(2):
                self.assertEqual(engine.decide(job(), NOW), signalbox.decide(job(), NOW))
        with self.assertRaises(ValueError):
            engine.plan(job())
        engine.close()

    def test_from_any_thread(self):
        engine, right, wrong = signalbox.Engine(), signalbox.plan(job()), []

        def ask():
            for _ in range(20):
                if engine.plan(job()) != right or signalbox.plan(job()) != right:
                    wrong.append(1)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Stories(unittest.TestCase):
    def test_a_job_from_its_creation_to_its_end(self):
        story = signalbox.Story(job())
        self.assertEqual(story.phase, "Pending")
        story.run()
        self.assertEqual((story.phase, story.active), ("Running", ["worker-0", "worker-1"]))
        story.pod("worker-0").succeeds()
        story.expect.phase("Succeeded", within=60)
        story.expect.pods(within=120)
        self.assertIn("the job is Succeeded", story.format_timeline())

    def test_the_manifest_is_not_touched(self):
        manifest = job()
        signalbox.Story(manifest).run()
        self.assertEqual(manifest, job())

    def test_restarts_wait_longer_each_time(self):
        story, waited = signalbox.Story(job(runPolicy={"backoffLimit": 5})).run(), []
        for _ in range(3):
            begun = story.now
            story.pod("worker-1").fails(1)
            story.run()
            waited.append(story.now - begun)
        self.assertLess(waited[0], waited[1])
        self.assertLess(waited[1], waited[2])
        self.assertEqual(story.retries, 3)

    def test_a_pod_that_vanishes_is_made_anew(self):
        story = signalbox.Story(job()).run()
        story.pod("worker-1").vanishes()
        story.run()
        self.assertEqual(story.active, ["worker-0", "worker-1"])

    def test_pods_start_when_the_test_says_so(self):
        story = signalbox.Story(job(), start_after=None)
        story.wait(3600)
        self.assertEqual(story.pod("worker-0").phase, "Pending")
        with self.assertRaises(signalbox.StoryError):
            story.run(within=60)
        story.pod("worker-0").starts()
        story.pod("worker-1").starts()
        story.expect.phase("Running")

    def test_the_other_kinds_run(self):
        story = signalbox.Story(deepspeed(2)).run()
        self.assertEqual(story.active, ["worker-0", "worker-1"])
        story.pod("worker-0").fails(1)
        story.expect.reason("Restarting")
        story.run().pod("worker-0").succeeds()
        story.expect.phase("Succeeded", within=60)
        story = signalbox.Story(job(kind="ColossalAIJob", worker={**workers(2), "command": ["train.py"]})).run()
        self.assertEqual(story.active, ["launcher-0", "worker-0", "worker-1"])
        story.pod("launcher-0").fails(3)
        story.expect.phase("Failed", within=60)

    def test_an_edit_is_checked(self):
        story = signalbox.Story(job()).run()
        with self.assertRaises(ValueError):
            story.edit({"replicaSpecs": []})
        with self.assertRaises(ValueError):
            story.edit({"runPolicy": {"backoffLimit": -1}})
        story.edit({"runPolicy": {"backoffLimit": 0}})
        story.pod("worker-1").fails(1)
        story.expect.reason("BackoffLimitExceeded")

    def test_time_passes_along_the_wake_ups(self):
        story = signalbox.Story(job(runPolicy={"activeDeadlineSeconds": 600})).run()
        self.assertFalse(story.until(lambda s: s.phase == "Failed", 590))
        story.expect.phase("Failed", within=20)
        self.assertEqual((story.now - signalbox.story.START).total_seconds(), 600)

    def test_an_unmet_expectation_tells_what_is(self):
        story = signalbox.Story(job()).run()
        with self.assertRaises(signalbox.ExpectationError) as raised:
            story.expect.phase("Failed", within=30)
        self.assertEqual(str(raised.exception), "expected phase Failed within 0:00:30, but the job is Running")
        self.assertIs(raised.exception.story, story)
        with self.assertRaises(signalbox.ExpectationError):
            story.expect.retries(1)
        with self.assertRaises(signalbox.ExpectationError):
            story.expect.event("Restarting")
        with self.assertRaises(signalbox.ExpectationError):
            story.expect.pods("worker-0")
        with self.assertRaises(signalbox.StoryError):
            story.pod("worker-7")

    def test_a_notebook_shows_tables_and_a_timeline(self):
        story = signalbox.Story(job(runPolicy={"backoffLimit": 1})).run()
        story.wait(10).pod("worker-1").fails(1, message="<script>")
        story.wait(60)
        svg = ElementTree.fromstring(story.to_svg())
        bars = [title.text for title in svg.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(bars[:3], [
            "mnist: Pending, 0:00:00 to 0:00:01", "mnist: Running, 0:00:01 to 0:00:11", "mnist: Pending, 0:00:11 to 0:00:12"])
        self.assertIn("worker-1: Running, 0:00:12 to 0:01:11", bars)
        ends = [float(bar.get("x")) + float(bar.get("width")) for bar in svg.iter("{http://www.w3.org/2000/svg}rect")]
        self.assertEqual(max(ends), 750)
        page = story._repr_html_()
        self.assertIn("<td style=\"text-align:left\">worker-1</td>", page)
        self.assertNotIn("<script>", page + story.explain()._repr_html_())
        decision = signalbox.decide(job(), NOW)
        self.assertIn("The job was accepted", decision._repr_html_())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
