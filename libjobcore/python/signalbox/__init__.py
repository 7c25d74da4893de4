# SPDX-License-Identifier: Apache-2.0
"""What Signalbox does with distributed training jobs: asked from Python, without a cluster.

    validate, plan, decide, explain    the operations of the engine; Engine has them for one job, asked again and again
    Story                              a job in virtual time, for tests of a platform
"""

from ._library import API_VERSION, VERSION as __version__, call
from .engine import (
    Action,
    Decision,
    Engine,
    Event,
    Explanation,
    Finding,
    KeySlot,
    Line,
    Plan,
    PlannedObject,
    Replica,
    RequestError,
    Validation,
    decide,
    explain,
    plan,
    validate,
)
from .story import Expect, ExpectationError, Pod, Story, StoryError

__all__ = [
    "API_VERSION",
    "Action",
    "Decision",
    "Engine",
    "Event",
    "Expect",
    "ExpectationError",
    "Explanation",
    "Finding",
    "KeySlot",
    "Line",
    "Plan",
    "PlannedObject",
    "Pod",
    "Replica",
    "RequestError",
    "Story",
    "StoryError",
    "Validation",
    "__version__",
    "call",
    "decide",
    "explain",
    "plan",
    "validate",
]
