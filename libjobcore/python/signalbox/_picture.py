# SPDX-License-Identifier: Apache-2.0
"""Tables and timelines of stories as HTML and SVG, for notebooks. All texts are escaped: what a job or a pod says is text."""

from __future__ import annotations

import dataclasses
import datetime
import html
from typing import Iterable, List, Optional, Sequence, Tuple

#: Of phases of pods and jobs: what succeeds, waits, runs, fails. Others are grey.
_COLOURS = {
    "Pending": "#c9a227",
    "Paused": "#7f7fbf",
    "Resuming": "#c9a227",
    "Running": "#2a7fbf",
    "Succeeded": "#2e8b57",
    "Failed": "#c0392b",
}
_OTHER = "#8a8a8a"
_NAME, _WIDE, _ROW = 130, 620, 22  # pixels: the names, the time, the height of a lane


@dataclasses.dataclass
class Lane:
    """What one thing was, and from when on; None: it was not there."""

    name: str
    changes: List[Tuple[datetime.datetime, Optional[str]]] = dataclasses.field(default_factory=list)

    def becomes(self, when: datetime.datetime, what: Optional[str]) -> None:
        """From then on. What it was at no time is left out."""
        if self.changes and self.changes[-1][1] == what:
            return
        if self.changes and self.changes[-1][0] == when:
            self.changes.pop()
        self.changes.append((when, what))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of texts."""
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align:left">{html.escape(cell)}</{tag}>' for cell in cells) + "</tr>"

    return f"<table>{line(header, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def timeline(lanes: Sequence[Lane], begin: datetime.datetime, end: datetime.datetime) -> str:
    """An SVG picture: a lane for each, a bar for each phase, by the time from `begin` to `end`."""
    length = max((end - begin).total_seconds(), 1e-3)

    def across(when: datetime.datetime) -> float:
        return _NAME + _WIDE * (when - begin).total_seconds() / length

    height = _ROW * (len(lanes) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_NAME + _WIDE + 10}" height="{height}" '
        'font-family="sans-serif" font-size="12">'
    ]
    for number, lane in enumerate(lanes):
        top = number * _ROW
        parts.append(f'<text x="0" y="{top + 15}">{html.escape(lane.name)}</text>')
        until = [when for when, _ in lane.changes[1:]] + [end]
        for (since, what), to in zip(lane.changes, until):
            if what is None:
                continue
            x, width = across(since), max(across(to) - across(since), 1)
            parts.append(
                f'<rect x="{x:.1f}" y="{top + 3}" width="{width:.1f}" height="{_ROW - 6}" fill="{_COLOURS.get(what, _OTHER)}">'
                f"<title>{html.escape(f'{lane.name}: {what}, {since - begin} to {to - begin}')}</title></rect>"
            )
    for part in range(5):
        when = begin + (end - begin) * part / 4
        anchor = ("start", "middle", "middle", "middle", "end")[part]
        text = str(datetime.timedelta(seconds=round((when - begin).total_seconds())))
        parts.append(f'<text x="{across(when):.1f}" y="{height - 6}" text-anchor="{anchor}" fill="#555">{text}</text>')
    return "".join(parts) + "</svg>"
