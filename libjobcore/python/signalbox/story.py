# SPDX-License-Identifier: Apache-2.0
"""A job in virtual time: what happens to its pods is said by the test, what is done about it by the engine.

    story = Story(job).run()
    story.pod("worker-1").fails(1)
    story.expect.reason("Restarting")

A story has no cluster: each write succeeds at once, nothing is scheduled, and a pod starts a second after it is made, or
when the test says so (`start_after`). Its clock begins at 2026-01-01T00:00:00Z and moves only where the test lets time pass.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from . import _picture
from .engine import Action, Decision, Engine, Event, Explanation, Json, Policy, format_time

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
Span = Union[datetime.timedelta, float]
_DAY = datetime.timedelta(days=1)
_FINAL = ("Succeeded", "Failed")
# More decisions at one instant than any story needs.
_MOST_STEPS = 10_000


class StoryError(Exception):
    """A story that cannot go on as its test says: a pod that is not there, a job that never runs."""

    def __init__(self, story: Story, message: str) -> None:
        super().__init__(message)
        self.story = story


class ExpectationError(AssertionError):
    """What was expected did not come. The pytest plugin explains the job of `story`."""

    def __init__(self, story: Story, message: str) -> None:
        super().__init__(message)
        self.story = story


def _span(of: Span) -> datetime.timedelta:
    return of if isinstance(of, datetime.timedelta) else datetime.timedelta(seconds=of)


def _merge(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    merged: Json = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged


class Pod:
    """One pod of a story, by its replica: `worker-1`. Each change is followed by what the engine does about it at once."""

    def __init__(self, story: Story, replica: str, name: str) -> None:
        self._story, self.replica, self.name = story, replica, name

    @property
    def object(self) -> Json:
        """As the API server shows it. A StoryError if it is gone."""
        found = self._story.children.get(("Pod", self.name))
        if found is None:
            raise StoryError(self._story, f"the pod of {self.replica} is gone: {self.name}")
        return found

    @property
    def phase(self) -> str:
        """The pod's, or `` if it is gone."""
        found = self._story.children.get(("Pod", self.name))
        return str(found["status"]["phase"]) if found else ""

    def starts(self) -> None:
        """Its containers run, and it is Ready."""
        self._story._happens(f"{self.replica} starts")
        self._story._start(self.object)
        self._story.settle()

    def fails(self, exit_code: int = 1, *, reason: str = "Error", message: str = "") -> None:
        """Its containers end with this code; `message` is what they leave in /dev/termination-log."""
        self._end(exit_code, reason, message)

    def succeeds(self) -> None:
        """Its containers end with 0."""
        self._end(0, "Completed", "")

    def is_evicted(self) -> None:
        """Its node is drained: a disruption, which costs no retry (BEHAVIOUR.md 5.4)."""
        pod = self.object
        pod["status"].setdefault("conditions", []).append(
            {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        )
        self._end(137, "Error", "")

    def vanishes(self) -> None:
        """It is deleted by somebody, and gone."""
        self._story._happens(f"{self.replica} is deleted")
        del self._story.children["Pod", self.object["metadata"]["name"]]
        self._story.settle()

    def _end(self, code: int, reason: str, message: str) -> None:
        pod = self.object
        if pod["status"]["phase"] != "Running":
            raise StoryError(self._story, f"the pod of {self.replica} does not run: it is {pod['status']['phase']}")
        self._story._happens(f"{self.replica} exits with {code}")
        pod["status"]["phase"] = "Succeeded" if code == 0 else "Failed"
        for condition in pod["status"]["conditions"]:
            if condition["type"] == "Ready":
                condition["status"] = "False"
        for container in pod["status"]["containerStatuses"]:
            ended = {"exitCode": code, "reason": reason, "finishedAt": self._story._second()}
            ended["startedAt"] = container["state"]["running"]["startedAt"]
            container["state"] = {"terminated": {**ended, "message": message} if message else ended}
            container["ready"] = False
        self._story.settle()


class Expect:
    """What a test expects of a story. What is not there yet may still come: time goes on, at most for `within` (seconds or
    a timedelta, by default not at all), until it does. Each raises ExpectationError.
    """

    def __init__(self, story: Story) -> None:
        self._story = story

    def that(self, holds: Callable[[Story], object], what: str, within: Span = 0) -> None:
        """Anything that a function says of the story; `what` is for the message."""
        story = self._story
        if not story.until(lambda _: bool(holds(story)), within):
            waited = f" within {_span(within)}" if within else ""
            raise ExpectationError(story, f"expected {what}{waited}, but the job is {story.summary}")

    def phase(self, phase: str, within: Span = 0) -> None:
        """`Running`, `Failed` ... (BEHAVIOUR.md 4)."""
        self.that(lambda story: story.phase == phase, f"phase {phase}", within)

    def reason(self, reason: str, within: Span = 0) -> None:
        """Of the status: `Restarting`, `BackoffLimitExceeded` ..."""
        self.that(lambda story: story.reason == reason, f"reason {reason}", within)

    def event(self, reason: str, within: Span = 0) -> None:
        """An event of this reason was sent (BEHAVIOUR.md 11)."""
        self.that(lambda story: any(event.reason == reason for _, event in story.events), f"an event {reason}", within)

    def retries(self, count: int, within: Span = 0) -> None:
        """So many of `backoffLimit` were used (BEHAVIOUR.md 5.5)."""
        self._equal(lambda story: story.retries, count, "retries used", within)

    def pods(self, *replicas: str, within: Span = 0) -> None:
        """Exactly these replicas have pods that have not ended."""
        self._equal(lambda story: story.active, sorted(replicas), "pods", within)

    def _equal(self, found: Callable[[Story], object], wanted: object, what: str, within: Span) -> None:
        story = self._story
        if not story.until(lambda _: found(story) == wanted, within):
            raise ExpectationError(story, f"expected {what} {wanted}, found {found(story)}; the job is {story.summary}")


class Story:
    """A job from its creation on.

    `job` is a manifest as a dictionary; a UID, a namespace and a generation are added where they are missing. `policy` and
    `capabilities` are those of decide(); without `capabilities` no optional kind is served. A pod starts so long after it
    was made (seconds or a timedelta); with None, when the test says `pod(...).starts()`.
    """

    def __init__(
        self,
        job: Mapping[str, Any],
        *,
        policy: Optional[Policy] = None,
        capabilities: Optional[Mapping[str, str]] = None,
        start_after: Optional[Span] = 1,
    ) -> None:
        self.now = START
        self.job: Json = copy.deepcopy(dict(job))
        metadata = self.job.setdefault("metadata", {})
        for key, value in {"namespace": "default", "uid": "story", "generation": 1}.items():
            metadata.setdefault(key, value)
        self._start_after = start_after
        #: What there is, as the API server shows it, by kind and name.
        self.children: Dict[Tuple[str, str], Json] = {}
        self.events: List[Tuple[datetime.datetime, Event]] = []
        #: (when, what): what happened, was done and told.
        self.timeline: List[Tuple[datetime.datetime, str]] = []
        self.expect = Expect(self)
        self._policy = policy
        self._capabilities = capabilities or {"podGroup": "no", "tensorBoard": "no"}
        self._absences: List[Json] = []
        self._engine = Engine()
        self._wake_up: Optional[datetime.datetime] = None
        self._made = 0
        self._replicas: Dict[str, str] = {}
        #: The job, then its replicas, for the picture.
        self._lanes: Dict[str, _picture.Lane] = {}
        #: When pods will start, by name.
        self._starts: Dict[str, datetime.datetime] = {}
        self.settle()

    # What there is.

    @property
    def status(self) -> Json:
        """The job's."""
        found: Json = self.job.get("status", {})
        return found

    @property
    def name(self) -> str:
        """The job's."""
        return str(self.job["metadata"].get("name", ""))

    @property
    def phase(self) -> str:
        """Of the status (BEHAVIOUR.md 4)."""
        return str(self.status.get("phase", ""))

    @property
    def reason(self) -> str:
        """Of the status."""
        return str(self.status.get("reason", ""))

    @property
    def retries(self) -> int:
        """How many of `backoffLimit` were used."""
        return int(self.status.get("backoffCount", 0))

    @property
    def summary(self) -> str:
        """Phase, reason and message in a line."""
        message = self.status.get("message", "")
        return self.phase + (f" ({self.reason})" if self.reason else "") + (f": {message}" if message else "")

    @property
    def active(self) -> List[str]:
        """The replicas whose pods have not ended."""
        pods = [Pod(self, replica, name) for replica, name in self._replicas.items()]
        return sorted(pod.replica for pod in pods if pod.phase in ("Pending", "Running"))

    def pod(self, replica: str) -> Pod:
        """The newest pod of a replica, by `worker-1`. A StoryError if it never had one."""
        if replica not in self._replicas:
            raise StoryError(self, f"no pod of {replica}; there are: {', '.join(sorted(self._replicas)) or 'none'}")
        return Pod(self, replica, self._replicas[replica])

    def explain(self) -> Explanation:
        """What the job does and why, in sentences."""
        return self._engine.explain(self.job, self.now, **self._seen())

    def format_timeline(self) -> str:
        """What happened, was done and told, a line each, by the time since the beginning."""
        return "\n".join(f"{str(when - START):>15}  {what}" for when, what in self.timeline)

    def to_svg(self) -> str:
        """A picture of the job and its replicas: their phases, by the time since the beginning."""
        job = self._lanes.get("", _picture.Lane(""))
        replicas = [self._lanes[name] for name in sorted(self._lanes) if name]
        return _picture.timeline([dataclasses.replace(job, name=self.name), *replicas], START, self.now)

    def _repr_html_(self) -> str:
        """What a notebook shows: the job, its replicas, the timeline."""
        pods = [Pod(self, replica, name) for replica, name in sorted(self._replicas.items())]
        rows = [(pod.replica, pod.name, pod.phase or "gone") for pod in pods]
        head = _picture.table(("job", "state", "time"), [(self.name, self.summary, format_time(self.now))])
        return head + _picture.table(("replica", "pod", "phase"), rows) + self.to_svg()

    def __repr__(self) -> str:
        return f"<Story of {self.name}, {format_time(self.now)}: {self.summary}>"

    # What happens.

    def run(self, within: Span = _DAY) -> Story:
        """Until all pods run, or the job has ended. A StoryError if that does not come."""
        def runs(_: Story) -> bool:
            return self.phase in _FINAL or (self.phase == "Running" and self._is_complete())

        if not self.until(runs, within):
            raise StoryError(self, f"the job does not run: it is {self.summary}")
        return self

    def wait(self, span: Span) -> Story:
        """So much time passes."""
        self.until(lambda _: False, span)
        return self

    def edit(self, patch: Mapping[str, Any]) -> Story:
        """The user changes the specification, by a merge patch of it: `{"runMode": {"pause": {"enabled": True}}}`. What may not be
        changed is a ValueError, as a server with the webhook refuses it (BEHAVIOUR.md api 7).
        """
        changed = copy.deepcopy(self.job)
        changed["spec"] = _merge(changed["spec"], patch)
        found = self._engine.validate(changed).findings + self._engine.validate(changed, self.job).findings
        errors = [f"{finding.pointer}: {finding.message}" for finding in found if finding.level == "error"]
        if errors:
            raise ValueError("; ".join(errors))
        changed["metadata"]["generation"] += 1
        self.job = changed
        self._happens("the specification is changed")
        self.settle()
        return self

    def until(self, holds: Callable[[Story], bool], within: Span = _DAY) -> bool:
        """Time goes on until that holds, from one wake-up of the engine or start of a pod to the next, for at most so long."""
        end = self.now + _span(within)
        while True:
            if holds(self):
                return True
            coming = [*self._starts.values(), *([self._wake_up] if self._wake_up else [])]
            if not coming or min(coming) > end:
                self.now = end
                self.settle()
                return holds(self)
            self.now = max(min(coming), self.now + datetime.timedelta(milliseconds=1))
            self._start_due()
            self.settle()

    def settle(self) -> None:
        """All that the engine does at this instant."""
        for _ in range(_MOST_STEPS):
            if not self._step():
                return
        raise StoryError(self, f"no end of decisions at {format_time(self.now)}")

    # How it is done.

    def _seen(self) -> Dict[str, Any]:
        return {
            "children": list(self.children.values()),
            "absences": self._absences,
            "capabilities": self._capabilities,
            "policy": self._policy,
        }

    def _is_complete(self) -> bool:
        pods = [child for (kind, _), child in self.children.items() if kind == "Pod"]
        started = [pod for pod in pods if pod["status"]["phase"] != "Pending"]
        return len(started) >= sum(int(task.get("wanted", 0)) for task in self.status.get("tasks", ()))

    def _second(self) -> str:
        """Now, as Kubernetes writes it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _happens(self, what: str) -> None:
        self.timeline.append((self.now, what))

    def _step(self) -> bool:
        """Decides, and does it. False if nothing was to be done."""
        decision = self._engine.decide(self.job, self.now, **self._seen())
        self._wake_up = decision.wake_up
        before = self.summary
        if decision.status is not None:
            self.job["status"] = decision.status
            if self.summary != before:
                self._happens(f"the job is {self.summary}")
        for event in decision.events:
            self.events.append((self.now, event))
            self._happens(f"event {event.reason}: {event.message}")
        acted = self._carry_out(decision)
        self._draw()
        return acted or decision.status is not None

    def _draw(self) -> None:
        """Notes what there is now, for the picture."""
        found: Dict[str, Optional[str]] = {"": self.phase or None}
        for replica, name in self._replicas.items():
            found[replica] = Pod(self, replica, name).phase or None
        for name, phase in found.items():
            self._lanes.setdefault(name, _picture.Lane(name)).becomes(self.now, phase)

    def _carry_out(self, decision: Decision) -> bool:
        """By stages (BEHAVIOUR.md 12.4)."""
        if not any(action.verb == "confirm" for action in decision.actions):
            self._absences = []
        acted = False
        for stage in decision.stages:
            due = [action for action in stage if action.not_before is None or action.not_before <= self.now]
            for action in due:
                self._perform(action)
            acted = acted or bool(due)
            if len(due) < len(stage):
                break
        return acted

    def _perform(self, action: Action) -> None:
        self._happens(f"{action.verb} {action.kind} {action.name}: {action.why}")
        place = (action.kind, action.name)
        if action.verb == "create":
            self._create(place, action)
        elif action.verb == "delete":
            self.children.pop(place, None)
        elif action.verb == "confirm":
            self._absences.append({"kind": action.kind, "name": action.name})
        elif action.kind == self.job.get("kind"):
            changed = _merge(self.job, action.patch)
            changed["metadata"]["generation"] += changed["spec"] != self.job["spec"]
            self.job = changed
        else:
            self.children[place] = _merge(self.children[place], action.patch)

    def _create(self, place: Tuple[str, str], action: Action) -> None:
        made = copy.deepcopy(action.object) or {}
        self._made += 1
        made["metadata"].update(uid=f"object-{self._made}", creationTimestamp=self._second())
        if action.replica is not None:
            made["status"] = {"phase": "Pending"}
            self._replicas[f"{action.replica.type}-{action.replica.index}"] = action.name
            if self._start_after is not None:
                self._starts[action.name] = self.now + _span(self._start_after)
        self.children[place] = made

    def _start_due(self) -> None:
        for name in [name for name, when in self._starts.items() if when <= self.now]:
            del self._starts[name]
            pod = self.children.get(("Pod", name))
            if pod is not None and pod["status"]["phase"] == "Pending":
                self._start(pod)

    def _start(self, pod: Json) -> None:
        since = self._second()
        pod["status"] = {
            "phase": "Running",
            "conditions": [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Initialized", "Ready")],
            "containerStatuses": [
                {
                    "name": container["name"],
                    "ready": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": since}},
                }
                for container in pod["spec"]["containers"]
            ],
        }
