# SPDX-License-Identifier: Apache-2.0
"""How a suite in Python says that it, or a part of it, cannot run here (tests/README.md). For Catch2: signalbox_test/skip.hpp.

    sys.path.insert(0, str(ROOT / "tests" / "support"))
    import skips
"""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # CTest counts this exit code as skipped

# Manifests that others published for this API. They are no part of the repository: where a copy lies beside it, it is tested.
PUBLISHED_MANIFESTS = ROOT.parent / "shared" / "manifests"


def note(suite, why):
    """Says what `suite` leaves out; tests/run.sh repeats the line after CTest's summary."""
    line = f"{suite}: {why}"
    print(line, flush=True)
    folder = os.environ.get("SIGNALBOX_SKIP_DIR")
    if folder:
        pathlib.Path(folder, f"{suite}.txt").write_text(line + "\n")


def skip_suite(suite, why):
    """Ends the program: nothing of `suite` can run here."""
    note(suite, why)
    sys.exit(SKIPPED)


def published_manifests(suite):
    """The published manifests in order of their names. Empty, and noted, where there is no copy of them."""
    if not PUBLISHED_MANIFESTS.is_dir():
        note(suite, f"published manifests are not tested: no folder {PUBLISHED_MANIFESTS}")
        return []
    return sorted(PUBLISHED_MANIFESTS.glob("*.yaml"))
