# SPDX-License-Identifier: Apache-2.0
"""What the engine says of a job: the text API with types.

Rules that docstrings name are those of libjobcore/BEHAVIOUR.md; `signalbox docs rule 12.1` shows one.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Tuple, Union

from . import _library
from ._picture import table

Json = Dict[str, Any]
Time = Union[datetime.datetime, str]
Policy = Mapping[str, Union[int, str]]


class RequestError(ValueError):
    """A request that is wrong, as a job without UID is for decide(). A job with a wrong specification is none.

    `errors` has a JSON pointer into the request and a message for each mistake.
    """

    def __init__(self, errors: Iterable[Tuple[str, str]]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{pointer}: {message}" for pointer, message in self.errors))


@dataclasses.dataclass(frozen=True)
class Finding:
    """What is wrong with a job: `level` is `error` or `warning`, `pointer` a JSON pointer into the job."""

    level: str
    pointer: str
    message: str
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class Validation:
    """True if there is no error among the findings."""

    valid: bool
    findings: Tuple[Finding, ...]

    def __bool__(self) -> bool:
        return self.valid


@dataclasses.dataclass(frozen=True)
class KeySlot:
    """A value of a Secret that whoever creates it has to make: equal `key`s are of one fresh P-256 pair."""

    data_key: str
    key: str
    form: str
    prefix: str = ""


@dataclasses.dataclass(frozen=True)
class PlannedObject:
    """An object that a job needs, as it is sent to the API server."""

    object: Json
    key_slots: Tuple[KeySlot, ...] = ()


@dataclasses.dataclass(frozen=True)
class Plan:
    """The objects of one attempt in the order of their creation; none if the specification has errors."""

    objects: Tuple[PlannedObject, ...]
    findings: Tuple[Finding, ...]


@dataclasses.dataclass(frozen=True)
class Replica:
    """Which pod: `worker` 1 of attempt 2, after so many rounds of repairs."""

    type: str
    index: int
    attempt: int
    round: int


@dataclasses.dataclass(frozen=True)
class Action:
    """Something to be done: `verb` is `create`, `patch`, `delete` or `confirm`.

    `uid` is the precondition of patch and delete. `not_before`: held, it is not to be done earlier, nor the stages after
    it. `why` is for people, `rule` is the rule that it follows from.
    """

    verb: str
    kind: str
    object_api_version: str
    name: str
    why: str
    rule: str
    uid: str = ""
    object: Optional[Json] = None
    replica: Optional[Replica] = None
    key_slots: Tuple[KeySlot, ...] = ()
    patch: Optional[Json] = None
    propagation_policy: str = ""
    not_before: Optional[datetime.datetime] = None


@dataclasses.dataclass(frozen=True)
class Event:
    """A Kubernetes event about the job (BEHAVIOUR.md 11.1); `type` is `Normal` or `Warning`."""

    type: str
    reason: str
    message: str


@dataclasses.dataclass(frozen=True)
class Decision:
    """What is to be done.

    `status`, if there is one, is written before anything else (BEHAVIOUR.md 12.3); `defer` says how long after the last write it
    may wait if it differs in counts or texts alone. A stage begins when all of the one before was acknowledged
    (BEHAVIOUR.md 12.4). `wake_up` is when to decide again though nothing has changed (BEHAVIOUR.md 12.9).
    """

    status: Optional[Json]
    defer: datetime.timedelta
    stages: Tuple[Tuple[Action, ...], ...]
    wake_up: Optional[datetime.datetime]
    events: Tuple[Event, ...]
    findings: Tuple[Finding, ...]

    @property
    def actions(self) -> Tuple[Action, ...]:
        """Those of all stages."""
        return tuple(action for stage in self.stages for action in stage)

    def _repr_html_(self) -> str:
        """What a notebook shows: the actions by stages, then the events."""
        rows = [
            (str(number), action.verb, action.kind, action.name, action.why, action.rule)
            for number, stage in enumerate(self.stages, 1)
            for action in stage
        ]
        events = [(event.type, event.reason, event.message) for event in self.events]
        actions = table(("stage", "action", "kind", "name", "why", "rule"), rows)
        return actions + table(("event", "reason", "message"), events)


@dataclasses.dataclass(frozen=True)
class Line:
    """A sentence about a job, and the rule that it follows from, if it is no mere fact."""

    section: str
    sentence: str
    rule: str = ""


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What a job does and why, what it waits for and what comes next. As text, a sentence a line."""

    lines: Tuple[Line, ...]

    def __str__(self) -> str:
        return "\n".join(f"{line.sentence} ({line.rule})" if line.rule else line.sentence for line in self.lines)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return table(("about", "sentence", "rule"), [(line.section, line.sentence, line.rule) for line in self.lines])


def format_time(time: Time) -> str:
    """RFC 3339 with milliseconds; a text as it is. A time without zone is refused."""
    if isinstance(time, str):
        return time
    if time.tzinfo is None:
        raise ValueError("signalbox: a time without zone")
    return time.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime.datetime:
    """Of a text that ends in Z."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def _findings(answer: Json) -> Tuple[Finding, ...]:
    return tuple(Finding(**finding) for finding in answer["findings"])


def _key_slots(of: Json) -> Tuple[KeySlot, ...]:
    return tuple(
        KeySlot(slot["dataKey"], slot["key"], slot["form"], slot.get("prefix", "")) for slot in of.get("keySlots", ())
    )


def _action(of: Json) -> Action:
    return Action(
        verb=of["verb"],
        kind=of["kind"],
        object_api_version=of["objectApiVersion"],
        name=of["name"],
        why=of["why"],
        rule=of["rule"],
        uid=of.get("uid", ""),
        object=of.get("object"),
        replica=Replica(**of["replica"]) if "replica" in of else None,
        key_slots=_key_slots(of),
        patch=of.get("patch"),
        propagation_policy=of.get("propagationPolicy", ""),
        not_before=parse_time(of["notBefore"]) if "notBefore" in of else None,
    )


def _observed(
    job: Mapping[str, Any],
    now: Time,
    children: Iterable[Mapping[str, Any]],
    refusals: Iterable[Mapping[str, Any]],
    absences: Iterable[Mapping[str, Any]],
    capabilities: Optional[Mapping[str, str]],
    no_room: bool,
    policy: Optional[Policy],
) -> Json:
    return {
        "job": job,
        "now": format_time(now),
        "children": list(children),
        "refusals": list(refusals),
        "absences": list(absences),
        "capabilities": capabilities or {},
        "noRoom": no_room,
        "policy": policy or {},
    }


class Questions:
    """The four operations. Each raises RequestError if the request is wrong, as with a job without name."""

    def __init__(self, call: Callable[[str], str]) -> None:
        self._call = call

    def _ask(self, operation: str, members: Mapping[str, Any]) -> Json:
        request = {"apiVersion": _library.API_VERSION, "operation": operation, **members}
        answer: Json = json.loads(self._call(json.dumps(request, allow_nan=False)))
        if "errors" in answer:
            raise RequestError((error["pointer"], error["message"]) for error in answer["errors"])
        return answer

    def validate(self, job: Mapping[str, Any], previous: Optional[Mapping[str, Any]] = None) -> Validation:
        """Checks a job; with `previous`, its change from that (BEHAVIOUR.md api 7). The job needs no UID yet."""
        members = {"job": job} if previous is None else {"job": job, "previous": previous}
        answer = self._ask("validate", members)
        return Validation(answer["valid"], _findings(answer))

    def plan(self, job: Mapping[str, Any], attempt: int = 1) -> Plan:
        """The objects that a job with a UID needs in one attempt (BEHAVIOUR.md 2, 8)."""
        answer = self._ask("plan", {"job": job, "attempt": attempt})
        objects = tuple(PlannedObject(planned["object"], _key_slots(planned)) for planned in answer["objects"])
        return Plan(objects, _findings(answer))

    def decide(
        self,
        job: Mapping[str, Any],
        now: Time,
        *,
        children: Iterable[Mapping[str, Any]] = (),
        refusals: Iterable[Mapping[str, Any]] = (),
        absences: Iterable[Mapping[str, Any]] = (),
        capabilities: Optional[Mapping[str, str]] = None,
        no_room: bool = False,
        policy: Optional[Policy] = None,
    ) -> Decision:
        """What is to be done about a job now.

        `job` is the object with its status, `children` all that belongs to it, in any order; what others own is left out
        of account. Absence is evidence: a pod that is not among `children` is to be created, or is lost (BEHAVIOUR.md 12.1,
        12.2). `now` is the API server's time (BEHAVIOUR.md 12.8). `refusals` are writes that the server refused (BEHAVIOUR.md 12.5),
        `absences` children whose absence a live read has confirmed (BEHAVIOUR.md 12.6), `capabilities` the optional kinds that it
        serves (`{"podGroup": "yes"}`), `no_room` is BEHAVIOUR.md 2.12, `policy` has constants that differ from their defaults
        (`{"restart_delay": 60000}`, milliseconds; `{"default_scheduler": "auto"}`, BEHAVIOUR.md 8.15); text-api.schema.json has the members of each. Equal arguments give
        equal decisions (BEHAVIOUR.md 12.11).
        """
        seen = _observed(job, now, children, refusals, absences, capabilities, no_room, policy)
        answer = self._ask("decide", seen)
        return Decision(
            status=answer["status"],
            defer=datetime.timedelta(milliseconds=answer["defer"]),
            stages=tuple(tuple(_action(action) for action in stage) for stage in answer["stages"]),
            wake_up=parse_time(answer["wakeUp"]) if answer["wakeUp"] else None,
            events=tuple(Event(**event) for event in answer["events"]),
            findings=_findings(answer),
        )

    def explain(
        self,
        job: Mapping[str, Any],
        now: Time,
        *,
        children: Iterable[Mapping[str, Any]] = (),
        refusals: Iterable[Mapping[str, Any]] = (),
        absences: Iterable[Mapping[str, Any]] = (),
        capabilities: Optional[Mapping[str, str]] = None,
        no_room: bool = False,
        policy: Optional[Policy] = None,
    ) -> Explanation:
        """decide() in sentences: what the job does and why, what it waits for, what comes next. Takes the same."""
        seen = _observed(job, now, children, refusals, absences, capabilities, no_room, policy)
        return Explanation(tuple(Line(**line) for line in self._ask("explain", seen)["lines"]))


class Engine(Questions):
    """The operations for one job, asked again and again: its specification is compiled once, as long as it stays the same,
    and edits are noticed (BEHAVIOUR.md 10.2). From any thread.
    """

    def __init__(self) -> None:
        self._handle = _library.Handle()
        super().__init__(self._handle.call)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives back what is kept, as garbage collection does too."""
        self._handle.close()


_single = Questions(_library.call)
validate = _single.validate
plan = _single.plan
decide = _single.decide
explain = _single.explain
