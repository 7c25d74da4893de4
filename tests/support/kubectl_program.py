# SPDX-License-Identifier: Apache-2.0
"""Finds kubectl for the suites that drive it: $KUBECTL, $KUBEBUILDER_ASSETS, PATH."""
import os
import re
import subprocess

MINIMUM_MINOR = 30


def find():
    """Path of a kubectl that is new enough, or a sentence that says why there is none."""
    candidates = [os.environ.get("KUBECTL")]
    if os.environ.get("KUBEBUILDER_ASSETS"):
        candidates.append(os.path.join(os.environ["KUBEBUILDER_ASSETS"], "kubectl"))
    candidates += [os.path.join(folder, "kubectl") for folder in os.environ.get("PATH", "").split(os.pathsep)]
    seen = []
    for path in candidates:
        if not path or not os.access(path, os.X_OK):
            continue
        out = subprocess.run([path, "version", "--client"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"v1\.(\d+)", out)
        if found and int(found.group(1)) >= MINIMUM_MINOR:
            return path, None
        seen.append(f"{path} is {'v1.' + found.group(1) if found else 'unknown'}")
    return None, f"no kubectl >= 1.{MINIMUM_MINOR} (" + ("; ".join(seen) or "none found") + ")"
