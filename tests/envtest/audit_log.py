# SPDX-License-Identifier: Apache-2.0
"""What a server was asked for, by its own audit log."""

import json
import pathlib
import shutil
import tempfile


class AuditLog:
    """Of the requests with these verbs. Give `arguments` to kube-apiserver. `clean_up`: addCleanup of the test, or
    addClassCleanup; the log goes with it."""

    def __init__(self, clean_up, verbs):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-audit-"))
        clean_up(shutil.rmtree, folder, True)
        self.file = folder / "audit.log"
        policy = folder / "policy.json"
        policy.write_text(json.dumps({
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived", "ResponseStarted"],
            "rules": [{"level": "Metadata", "verbs": verbs}, {"level": "None"}],
        }))
        self.arguments = [f"--audit-policy-file={policy}", f"--audit-log-path={self.file}"]

    def entries(self):
        """So far, as dictionaries. What stands behind the last end of a line is being written."""
        return [json.loads(line) for line in self.file.read_text().split("\n")[:-1]]
