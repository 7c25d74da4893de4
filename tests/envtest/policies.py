# SPDX-License-Identifier: Apache-2.0
"""Admission policies of a real API server: some refuse, some change what is written."""

import json

from servers import eventually

API = "admissionregistration.k8s.io"
# Policies that change objects are beta in 1.34, and off.
ARGUMENTS = ("--feature-gates=MutatingAdmissionPolicy=true", f"--runtime-config={API}/v1beta1=true")
# What a policy is tried on before a test relies on it.
PROBE = {
    "pods": {"spec": {"containers": [{"name": "probe", "image": "example.com/probe:1"}]}, "kind": "Pod"},
    "services": {"spec": {"ports": [{"port": 80}]}, "kind": "Service"},
}


def _policy(kind, version, name, resource, operations, spec, binding, namespace):
    rule = {"apiGroups": [resource[0]], "apiVersions": ["*"], "operations": operations, "resources": [resource[1]]}
    return (
        {
            "apiVersion": f"{API}/{version}", "kind": kind, "metadata": {"name": name},
            "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]}, **spec},
        },
        {
            "apiVersion": f"{API}/{version}", "kind": f"{kind}Binding", "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}},
                **binding,
            },
        },
    )


def refusing(namespace, resource, message, operations=("CREATE",), group=""):
    """Two objects: no one may do this to such objects of the namespace; their name is the namespace's."""
    spec = {"validations": [{"expression": "false", "message": message}]}
    return _policy(
        "ValidatingAdmissionPolicy", "v1", namespace, (group, resource), list(operations), spec,
        {"validationActions": ["Deny"]}, namespace,
    )


def changing(namespace, resource, patch, operations=("CREATE",)):
    """Two objects: `patch`, the CEL text of a list of JSONPatch, is made to such objects of the namespace."""
    spec = {
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    return _policy(
        "MutatingAdmissionPolicy", "v1beta1", namespace, ("", resource), list(operations), spec, {}, namespace
    )


def probe(plane, namespace, resource):
    """What became of an object that was only tried: (the object, or None; what the server said)."""
    body = {"apiVersion": "v1", "metadata": {"name": "probe", "labels": {"app.kubernetes.io/managed-by": "x"}}, **PROBE[resource]}
    tried = plane.kubectl(
        "create", "-n", namespace, "-f", "-", "--dry-run=server", "-o", "json", stdin=json.dumps(body), check=False
    )
    return (json.loads(tried.stdout) if tried.returncode == 0 else None), tried.stderr


def wait_refused(plane, namespace, resource, message):
    """A policy is in force a little after it was made."""
    eventually(f"{resource} are refused", lambda: message in probe(plane, namespace, resource)[1])


def wait_allowed(plane, namespace, resource):
    eventually(f"{resource} are allowed", lambda: probe(plane, namespace, resource)[0])
