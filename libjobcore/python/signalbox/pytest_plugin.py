# SPDX-License-Identifier: Apache-2.0
"""For pytest, which finds it by itself: the fixture `story`, and an explanation below each test that fails with a story."""

from __future__ import annotations

from typing import Callable, Iterator, List

import pytest

from .story import Story

_stories = pytest.StashKey[List[Story]]()


@pytest.fixture
def story(request: pytest.FixtureRequest) -> Callable[..., Story]:
    """`story(job, ...)` begins a Story; if the test fails, whatever fails it, the story is explained."""
    begun: List[Story] = request.node.stash.setdefault(_stories, [])

    def begin(*arguments: object, **options: object) -> Story:
        begun.append(Story(*arguments, **options))  # type: ignore[arg-type]
        return begun[-1]

    return begin


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """What the engine says of each story of a test that has failed, and what has happened in it."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
    if not report.failed:
        return
    begun: List[Story] = item.stash.get(_stories, [])
    stories = list(begun)
    told = getattr(call.excinfo.value, "story", None) if call.excinfo else None
    if isinstance(told, Story) and told not in stories:
        stories.append(told)
    for each in stories:
        report.sections.append((f"signalbox explain {each.name}", f"{each.explain()}\n\n{each.format_timeline()}"))
