# SPDX-License-Identifier: Apache-2.0
"""Reads objects of an API server as `kubectl get -o json` does, without a kubectl for each question: tests ask in loops."""
import base64
import http.client
import io
import json
import ssl
import threading
import time
import urllib.error
import urllib.parse

REQUEST_TIMEOUT = 60  # seconds for one answer; starting servers are asked again
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Connection:
    """Requests to a server with a token; `authority`: its CA as PEM, if it has one. A thread's connection is kept: making one
    costs both sides more than most requests."""

    def __init__(self, url, token, authority=""):
        self.url = url
        self.authorization = {"Authorization": f"Bearer {token}"}
        self.context = ssl.create_default_context(cadata=authority) if authority else None
        self.kept = threading.local()

    @classmethod
    def of(cls, kubectl, **options):
        """As the kubeconfig says that `kubectl(*arguments, **options)` uses, which gives a CompletedProcess; with a token."""
        read = json.loads(kubectl("config", "view", "--raw", "--minify", "-o", "json", **options).stdout)
        server = read["clusters"][0]["cluster"]
        authority = base64.b64decode(server.get("certificate-authority-data", "")).decode()
        return cls(server["server"], read["users"][0]["user"]["token"], authority)

    def _open(self):
        where = urllib.parse.urlsplit(self.url)
        if where.scheme == "https":
            return http.client.HTTPSConnection(where.netloc, timeout=REQUEST_TIMEOUT, context=self.context)
        return http.client.HTTPConnection(where.netloc, timeout=REQUEST_TIMEOUT)

    def _answer(self, connection, method, path, data, headers):
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer, answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise

    def send(self, path, body=None, method=None, **headers):
        """The body of the answer to a GET, or to a POST of `body`, an object, or to another method. Raises OSError or HTTPException
        if there is no good one: urllib.error.HTTPError for a refusal."""
        headers = {"Content-Type": "application/json", **self.authorization, **headers}
        data = None if body is None else json.dumps(body).encode()
        method = method or ("GET" if data is None else "POST")
        kept = getattr(self.kept, "connection", None)
        self.kept.connection = connection = kept or self._open()
        if data is not None:
            connection.close()  # what may not be sent twice begins a new one
        try:
            answer, text = self._answer(connection, method, path, data, headers)
        except (OSError, http.client.HTTPException):
            if not kept or data is not None:
                raise
            answer, text = self._answer(connection, method, path, data, headers)  # the server may have closed it meanwhile
        if answer.status >= 300:
            raise urllib.error.HTTPError(self.url + path, answer.status, answer.reason, answer.headers, io.BytesIO(text))
        return text

    def get(self, path, accept="application/json"):
        return self.send(path, Accept=accept)

    def close(self):
        """The next request of this thread begins a new one."""
        kept = getattr(self.kept, "connection", None)
        if kept:
            kept.close()


class Reader:
    """`get(path, accept)` gives the body of an answer, and raises OSError if there is no good one (as urllib does)."""

    def __init__(self, get):
        self.get = get
        self.resources = {}

    def discover(self):
        """All that the server serves: (group, version, description of the resource), preferred versions first."""
        groups = [group for path in ("/api", "/apis") for group in json.loads(self.get(path, DISCOVERY))["items"]]
        return [
            (group["metadata"].get("name", ""), version["version"], resource)
            for group in groups for version in group["versions"] for resource in version.get("resources", [])
        ]

    def _resource(self, name):
        """(path of its group and version, plural, whether it is in namespaces) of a kind by any of its names."""
        if name not in self.resources:
            self.resources = {}
            for group, version, each in self.discover():
                where = f"/apis/{group}/{version}" if group else f"/api/{version}"
                found = (where, each["resource"], each["scope"] == "Namespaced")
                for known in (each["resource"], each.get("singularResource"), each["responseKind"]["kind"].lower(), *each.get("shortNames", [])):
                    self.resources.setdefault(known, found)
        if name not in self.resources:
            raise AssertionError(f"the server has no {name}")
        return self.resources[name]

    def path(self, kind, name=None, namespace="default"):
        """Where an object is, or all of a kind. `kind` is any name that kubectl takes; `namespace`: None for all."""
        where, plural, namespaced = self._resource(kind)
        if namespaced and namespace:
            where += f"/namespaces/{namespace}"
        return f"{where}/{plural}" + (f"/{name}" if name else "")

    def _read(self, kind, name, namespace, **selectors):
        path = self.path(kind, name, namespace)
        query = urllib.parse.urlencode({key: value for key, value in selectors.items() if value})
        for tries_left in reversed(range(10)):
            try:
                return json.loads(self.get(f"{path}?{query}" if query else path, "application/json"))
            except urllib.error.HTTPError as refusal:
                if refusal.code != 429 or not tries_left:  # as client-go: the server asks to come again
                    raise AssertionError(f"GET {path}: {refusal.code} {refusal.read().decode(errors='replace')}") from refusal
                time.sleep(float(refusal.headers.get("Retry-After", 1)))
            except http.client.HTTPException as failure:  # a busy server gives up in the middle
                if not tries_left:
                    raise AssertionError(f"GET {path}: {failure}") from failure
                time.sleep(1)
            except OSError as failure:
                raise AssertionError(f"GET {path}: {failure}") from failure

    def object(self, kind, name, namespace="default"):
        """One object. `kind` is any name that kubectl takes. AssertionError if it is not there, or the server is not."""
        return self._read(kind, name, namespace)

    def log(self, pod, namespace="default"):
        """That of a pod with one container, so far; empty while it has none."""
        try:
            return self.get(f"/api/v1/namespaces/{namespace}/pods/{pod}/log", "*/*").decode(errors="replace")
        except (OSError, http.client.HTTPException):
            return ""

    def objects(self, kinds, namespace="default", labels="", fields=""):
        """All objects of these kinds, separated by commas. `namespace`: None for all."""
        found = []
        for kind in kinds.split(","):
            those = self._read(kind, None, namespace, labelSelector=labels, fieldSelector=fields)
            said = {"apiVersion": those["apiVersion"], "kind": those["kind"].removesuffix("List")}  # items do not say it
            found += [{**said, **item} for item in those["items"]]
        return found
