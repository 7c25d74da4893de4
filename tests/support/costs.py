# SPDX-License-Identifier: Apache-2.0
"""What the suites of a run have cost, as a table in Markdown: `python3 -B tests/support/costs.py build/run/costs`."""

import pathlib
import sys

COSTLY = 3  # seconds; cheaper suites are one row


def main():
    costs = {file.stem: list(map(float, file.read_text().split())) for file in pathlib.Path(sys.argv[1]).glob("*.txt")}
    print("| suite | seconds | of the processors | MB at most |\n|---|---|---|---|")
    rest = [0, 0.0, 0.0, 0.0]
    for name, (wall, cpu, peak) in sorted(costs.items(), key=lambda one: -one[1][1]):
        if cpu >= COSTLY:
            print(f"| {name} | {wall:.0f} | {cpu:.0f} | {peak:.0f} |")
        else:
            rest = [rest[0] + 1, rest[1] + wall, rest[2] + cpu, max(rest[3], peak)]
    print(f"| {rest[0]} others | {rest[1]:.0f} | {rest[2]:.0f} | {rest[3]:.0f} |")
    print(f"| all | {sum(one[0] for one in costs.values()):.0f} | {sum(one[1] for one in costs.values()):.0f} | |")


if __name__ == "__main__":
    main()
