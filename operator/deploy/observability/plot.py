#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws panels of dashboard.json from what a Prometheus answers, where there is no Grafana. Needs matplotlib, which brings PIL.

Usage: plot.py [--panels FIRST-LAST] [--end TIME] [--minutes N] PROMETHEUS_URL PICTURE.png
Exit code 1: a panel has no series.
"""

import argparse
import io
import json
import math
import pathlib
import re
import sys
import time
import urllib.parse
import urllib.request

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker  # noqa: E402 (after the choice of what draws)
from PIL import Image  # noqa: E402

DASHBOARD = pathlib.Path(__file__).resolve().parent / "dashboard.json"
POINTS = 240  # of a series
# Grafana's names: what a value is multiplied by, and what stands behind it.
UNITS = {"s": (1, " s"), "bytes": (1 / 2**20, " MiB"), "percentunit": (100, " %"), "reqps": (1, "/s"), "ops": (1, "/s"), "short": (1, "")}


def query_range(url, expression, start, end):
    """The series: (labels, times, values)."""
    step = max(1, (end - start) / POINTS)
    words = urllib.parse.urlencode({"query": expression, "start": start, "end": end, "step": step})
    with urllib.request.urlopen(f"{url}/api/v1/query_range?{words}", timeout=60) as answer:
        found = json.load(answer)["data"]["result"]
    for each in found:
        points = [(float(at), float(value)) for at, value in each["values"]]
        points = [(at, value) for at, value in points if math.isfinite(value)]
        if points:
            yield each["metric"], [at for at, _ in points], [value for _, value in points]


def name(legend, labels):
    """As Grafana fills in `{{label}}`."""
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: labels.get(found[1], ""), legend)


def draw(axes, panel, url, start, end):
    """True if there is anything in it."""
    factor, unit = UNITS[panel["fieldConfig"]["defaults"]["unit"]]
    lines = [
        (name(target["legendFormat"], labels), times, values)
        for target in panel["targets"]
        for labels, times, values in query_range(url, target["expr"], start, end)
    ]
    drawn = sorted((line for line in lines if any(line[2])), key=lambda line: line[0])
    for label, times, values in drawn or lines[:1]:
        axes.plot([(at - start) / 60 for at in times], [value * factor for value in values], label=label, linewidth=1.2)
    axes.set_title(panel["title"], fontsize=9, loc="left")
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.4g}{unit}"))
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, (end - start) / 60)
    axes.tick_params(labelsize=7)
    axes.grid(linewidth=0.3)
    if drawn:
        axes.legend(fontsize=6, loc="upper left", ncol=2 if len(drawn) > 5 else 1)
    return bool(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--panels", default="1-99", help="their numbers in the dashboard, e.g. 1-6")
    parser.add_argument("--end", type=float, default=time.time(), help="Unix time; default: now")
    parser.add_argument("--minutes", type=float, default=15, help="how many before the end")
    parser.add_argument("url", metavar="PROMETHEUS_URL")
    parser.add_argument("picture", metavar="PICTURE.png")
    arguments = parser.parse_args()
    first, last = map(int, arguments.panels.split("-"))
    panels = [each for each in json.loads(DASHBOARD.read_text())["panels"] if first <= each["id"] <= last]
    if not panels:
        parser.error(f"no panel of {DASHBOARD} has a number from {first} to {last}")
    rows = sorted({each["gridPos"]["y"] for each in panels})
    figure, grid = pyplot.subplots(len(rows), 3, figsize=(12, 2.4 * len(rows)), squeeze=False)
    for axes in grid.flat:
        axes.set_visible(False)
    empty = []
    for panel in panels:
        place = panel["gridPos"]
        axes = grid[rows.index(place["y"])][place["x"] // 8]
        axes.set_visible(True)
        start = arguments.end - 60 * arguments.minutes
        if not draw(axes, panel, arguments.url.rstrip("/"), start, arguments.end):
            empty.append(panel["title"])
    for axes in grid[-1]:
        axes.set_xlabel("minutes", fontsize=7)
    figure.tight_layout()
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=80)
    Image.open(drawn).convert("RGB").quantize(32).save(arguments.picture, optimize=True)
    for title in empty:
        print(f"no series: {title}", file=sys.stderr)
    return 1 if empty else 0


if __name__ == "__main__":
    sys.exit(main())
