# SPDX-License-Identifier: Apache-2.0
"""Where a suite in Python finds the program of a compiled suite that it starts.

    sys.path.insert(0, str(ROOT / "tests" / "support"))
    import compiled_suites
"""

import os
import pathlib


def find(program):
    """The path `program`, or the program of that name in the folder $SIGNALBOX_COMPILED_SUITES: tests/run.sh builds these
    suites in another build than the programs.
    """
    elsewhere = os.environ.get("SIGNALBOX_COMPILED_SUITES")
    return pathlib.Path(elsewhere, pathlib.Path(program).name) if elsewhere else pathlib.Path(program)
