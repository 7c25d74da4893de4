# SPDX-License-Identifier: Apache-2.0
"""`signalbox dev` with pods that are processes, through its API: pods, jobs, and waits that end with what they wait for."""
import json
import urllib.error

import jobs
import program

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"


class PodsOfDev(program.Dev):
    def __init__(self, *arguments, prefix=()):
        super().__init__("--pods", "process", "--offline", *arguments, prefix=prefix)

    def get(self, path):
        with self.open("GET", path) as answer:
            return json.load(answer)

    def post(self, path, body):
        with self.open("POST", path, body) as answer:
            return json.load(answer)

    def delete(self, path, **options):
        with self.open("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", **options}) as answer:
            return json.load(answer)

    def create(self, name, command, container=None, **spec):
        """A pod of one container `c` that runs a script of sh."""
        one = {"name": "c", "image": "machine", "command": ["sh", "-c", command], **(container or {})}
        self.post(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 2, "containers": [one], **spec}})

    def patch(self, path, change):
        with self.open("PATCH", path, change, kind="application/merge-patch+json") as answer:
            return json.load(answer)

    def apply(self, job):
        self.post(jobs.collection(job), job)

    def until(self, collection, name, holds):
        """The object once `holds(object)`, None if it is gone and `holds(None)`. What it was last is in the error."""
        try:
            seen = self.get(f"{collection}/{name}")
        except urllib.error.HTTPError as error:
            if error.code != 404 or not holds(None):
                raise
            return None
        if holds(seen):
            return seen
        version = seen["metadata"]["resourceVersion"]
        query = f"?watch=1&fieldSelector=metadata.name={name}&resourceVersion={version}&timeoutSeconds={program.PATIENCE}"
        with self.open("GET", collection + query) as changes:
            for line in changes:
                change = json.loads(line)
                seen = None if change["type"] == "DELETED" else change["object"]
                if holds(seen):
                    return seen
        raise AssertionError(f"{name} has not come so far: {json.dumps(seen, indent=1)}")

    def until_pod(self, name, holds):
        return self.until(PODS, name, holds)

    def until_ended(self, name):
        """How the container of the pod has ended."""
        over = lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed")
        return self.until_pod(name, over)["status"]["containerStatuses"][0]["state"]["terminated"]

    def until_job(self, job, holds):
        return self.until(jobs.collection(job), job["metadata"]["name"], lambda seen: holds(seen.get("status", {})))["status"]

    def log_of(self, name, query=""):
        with self.open("GET", f"{PODS}/{name}/log{query}") as answer:
            return answer.read().decode(errors="replace")

    def events(self, name):
        """`reason: message` of the events about an object of that name."""
        found = self.get(f"{EVENTS}?fieldSelector=involvedObject.name={name}")
        return [event_text(event) for event in found["items"]]

    def until_event(self, name, words):
        """Waits for an event about an object of that name that says this, in any case."""
        found = self.get(EVENTS)
        query = f"?watch=1&resourceVersion={found['metadata']['resourceVersion']}&timeoutSeconds={program.PATIENCE}"
        ours = lambda event: event["involvedObject"]["name"] == name and words.lower() in event_text(event).lower()
        if any(map(ours, found["items"])):
            return
        with self.open("GET", EVENTS + query) as changes:
            if not any(ours(json.loads(line)["object"]) for line in changes):
                raise AssertionError(f"no event about {name} says: {words}")


def event_text(event):
    return f"{event['reason']}: {event['message']}"


def state_of(pod):
    """Of its container, e.g. ("waiting", {...}); ("", {}) where it says nothing yet."""
    statuses = pod["status"].get("containerStatuses")
    return next(iter(statuses[0]["state"].items()), ("", {})) if statuses else ("", {})


def waits_for(reason):
    return lambda pod: state_of(pod)[0] == "waiting" and state_of(pod)[1].get("reason") == reason


def training(name, command, replicas=1, container=None, meta=None, **spec):
    """A PyTorchTrainingJob whose pods run a script of sh. `spec`: of the pod; `meta`: of the template."""
    one = {"name": "pytorch", "image": "machine", "command": ["sh", "-c", command], **(container or {})}
    job = jobs.pytorch(name)
    role = job["spec"]["replicaSpecs"][0]
    role.update(replicas=replicas, template={"metadata": meta or {}, "spec": {"containers": [one], **spec}})
    return job
