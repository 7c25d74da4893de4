# SPDX-License-Identifier: Apache-2.0
"""Looks on from outside: what no operator may do, whatever befalls it."""

import json
import ssl
import threading
import urllib.request


class PodAuditor(threading.Thread):
    """Watches all pods, as the server tells them, and remembers every moment at which an index had two."""

    def __init__(self, plane):
        super().__init__(daemon=True)
        self.plane, self.doubles, self.pods, self.created = plane, [], {}, 0
        self.ready = threading.Event()

    def run(self):
        context = ssl.create_default_context(cafile=str(self.plane.ca_file))
        request = urllib.request.Request(
            f"{self.plane.url}/api/v1/pods?watch=1&labelSelector=app.kubernetes.io%2Fmanaged-by%3Dsignalbox",
            headers={"Authorization": f"Bearer {self.plane.admin_token}"},
        )
        try:
            with urllib.request.urlopen(request, context=context) as stream:
                self.ready.set()
                for line in stream:
                    self.note(json.loads(line))
        except (OSError, ValueError):
            pass  # the servers end with the test

    def note(self, event):
        meta = event["object"]["metadata"]
        labels = meta["labels"]
        index = tuple(labels[key] for key in ("batch.tensorstack.dev/job-uid", "replica-type", "replica-index"))
        here = self.pods.setdefault(index, {})
        if event["type"] == "DELETED":
            here.pop(meta["uid"], None)
            return
        self.created += event["type"] == "ADDED"
        here[meta["uid"]] = meta["name"]
        if len(here) > 1:
            self.doubles.append((index, sorted(here.values())))
