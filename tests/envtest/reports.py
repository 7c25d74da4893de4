# SPDX-License-Identifier: Apache-2.0
"""Reports of progress as the pods of jobs send them, for suites whose pods run nothing."""
import json
import urllib.request

from cluster import ROOT
from servers import PATIENCE

AUDIENCE = "progress.batch.tensorstack.dev"
ACCOUNT = "trainer"


def permit(plane):
    """The account of the pods that report, and the operator's right to look at their tokens. These servers give pods no account."""
    plane.kubectl("apply", "-f", ROOT / "operator" / "deploy" / "components" / "progress" / "rbac.yaml")
    plane.kubectl("create", "serviceaccount", ACCOUNT)


def with_account(pods):
    """One replica type, as cluster.pods() gives it, whose pods can report."""
    pods["template"]["spec"]["serviceAccountName"] = ACCOUNT
    return pods


def token_of(plane, pod):
    """A token that the API server binds to this pod, as its kubelet gets it."""
    meta = pod["metadata"]
    path = f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{ACCOUNT}/token"
    bound = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
    return json.loads(plane.connection().send(path, {"spec": {"audiences": [AUDIENCE], "boundObjectRef": bound}}))["status"]["token"]


def send(address, job, token, trust, **metrics):
    """A report of the PyTorchTrainingJob of that name, by a connection of its own. Raises OSError where it is not taken."""
    said = [{"name": name, "value": str(value)} for name, value in metrics.items()]
    request = urllib.request.Request(
        f"https://{address}/namespaces/default/pytorchtrainingjobs/{job}",
        json.dumps({"trainerStatus": {"metrics": said}}).encode(), {"Authorization": f"Bearer {token}"})
    urllib.request.urlopen(request, timeout=PATIENCE, context=trust).close()
