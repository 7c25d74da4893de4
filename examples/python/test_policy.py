# SPDX-License-Identifier: Apache-2.0
"""What our platform promises its users, pinned: whoever changes the template or updates Signalbox sees what changes for them."""

import pytest
import signalbox

TEMPLATE = {
    "apiVersion": "batch.tensorstack.dev/v1beta1",
    "kind": "PyTorchTrainingJob",
    "metadata": {"name": "train"},
    "spec": {
        "runPolicy": {"backoffLimit": 2, "cleanUpPolicy": "Unfinished", "activeDeadlineSeconds": 6 * 3600},
        "replicaSpecs": [
            {
                "type": "worker",
                "replicas": 2,
                "restartPolicy": "OnFailure",
                "template": {"spec": {"containers": [{"name": "pytorch", "image": "train:1", "command": ["train.py"]}]}},
            }
        ],
    },
}


@pytest.fixture
def job(story):
    """Our template, running."""
    return story(TEMPLATE).run()


def test_the_template_has_neither_errors_nor_warnings():
    assert signalbox.validate(TEMPLATE).findings == ()


def test_a_failure_restarts_all_workers_and_costs_a_retry(job):
    job.pod("worker-1").fails(1)
    job.expect.reason("Restarting")
    job.expect.retries(1)
    job.run().expect.pods("worker-0", "worker-1")


def test_the_third_failure_ends_the_job(job):
    for _ in range(2):
        job.pod("worker-0").fails(1)
        job.run()
    job.pod("worker-0").fails(1, message="CUDA out of memory")
    job.expect.phase("Failed")
    job.expect.reason("BackoffLimitExceeded")
    assert "CUDA out of memory" in str(job.explain())


def test_a_drained_node_costs_nothing(job):
    job.pod("worker-1").is_evicted()
    job.run().expect.retries(0)
    job.expect.event("Restarting")


def test_nothing_trains_longer_than_six_hours(job):
    job.expect.phase("Failed", within=6 * 3600)
    job.expect.reason("DeadlineExceeded")


def test_a_pause_frees_the_nodes_and_a_resume_takes_them_back(job):
    job.edit({"runMode": {"pause": {"enabled": True}}})
    job.expect.phase("Paused")
    job.expect.pods()
    job.edit({"runMode": {"pause": {"enabled": False}}}).run()
    job.expect.pods("worker-0", "worker-1")


def test_the_end_of_the_first_worker_is_the_end_of_the_job(job):
    job.pod("worker-0").succeeds()
    job.expect.phase("Succeeded", within=60)


def test_no_gpu_is_asked_for_by_default():
    job = {**TEMPLATE, "metadata": {"name": "train", "uid": "any"}}
    pods = [each.object for each in signalbox.plan(job).objects if each.object["kind"] == "Pod"]
    assert len(pods) == 2
    assert all("resources" not in container for pod in pods for container in pod["spec"]["containers"])
