# SPDX-License-Identifier: Apache-2.0
"""Reports of progress as the pods of jobs send them, for suites whose pods run nothing."""
import json
import urllib.request

from servers import PATIENCE

AUDIENCE = "progress.batch.tensorstack.dev"


def token_of(plane, pod):
    """A token that the API server binds to this pod, as its kubelet gets it."""
    meta = pod["metadata"]
    account = pod["spec"].get("serviceAccountName", "default")
    path = f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{account}/token"
    bound = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
    return json.loads(plane.connection().send(path, {"spec": {"audiences": [AUDIENCE], "boundObjectRef": bound}}))["status"]["token"]


def send(address, job, token, trust, **metrics):
    """A report of the PyTorchTrainingJob of that name, by a connection of its own. Raises OSError where it is not taken."""
    said = [{"name": name, "value": str(value)} for name, value in metrics.items()]
    request = urllib.request.Request(
        f"https://{address}/namespaces/default/pytorchtrainingjobs/{job}",
        json.dumps({"trainerStatus": {"metrics": said}}).encode(), {"Authorization": f"Bearer {token}"})
    urllib.request.urlopen(request, timeout=PATIENCE, context=trust).close()
