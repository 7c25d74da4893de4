# SPDX-License-Identifier: Apache-2.0
"""The tables of Kubernetes' fields, from the OpenAPI documents of a real API server.

    python3 tests/envtest/kubernetes_fields.py --write     # after another version of Kubernetes, or another kind

One table is for pod templates, one for whatever else the embedded server's built-in kinds consist of. A row is a field:
its type, its name, what it holds in Go's words, whether it must be there, and the values of an enumeration. Facts only,
in order of type and name, so that the same server gives the same text.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
POD_TABLE = ROOT / "libjobcore" / "kubernetes" / "include" / "kubernetes" / "pod_fields.inc"
KIND_TABLE = ROOT / "libk8sio" / "server" / "built_in" / "kind_fields.inc"
POD_ROOTS = ["io.k8s.api.core.v1.PodTemplateSpec"]

# The documents, and the kinds of each that the embedded server serves (libk8sio/server/built_in/built_in_kinds.cpp).
KINDS = {
    "api/v1": [
        "ConfigMap", "Endpoints", "Event", "Namespace", "Node", "PersistentVolumeClaim", "Pod", "ResourceQuota",
        "Secret", "Service", "ServiceAccount",
    ],
    "apis/apiextensions.k8s.io/v1": ["CustomResourceDefinition"],
    "apis/apps/v1": ["Deployment", "ReplicaSet"],
    "apis/authentication.k8s.io/v1": ["SelfSubjectReview", "TokenReview"],
    "apis/authorization.k8s.io/v1": [
        "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview",
    ],
    "apis/coordination.k8s.io/v1": ["Lease"],
    "apis/events.k8s.io/v1": ["Event"],
    "apis/policy/v1": ["PodDisruptionBudget"],
    "apis/rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    "apis/scheduling.k8s.io/v1": ["PriorityClass"],
}

# Types that have a form of their own in JSON.
SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "Time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "MicroTime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    # A schema or a boolean or a list, by the rules of JSON Schema.
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "any",
}
PLAIN = {
    ("string", None): "string",
    ("string", "byte"): "bytes",
    ("boolean", None): "bool",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", "double"): "float64",
}


def short(name):
    """`Container` of `io.k8s.api.core.v1.Container`; the second kind of events shares names with the first."""
    return ("events." if name.startswith("io.k8s.api.events.") else "") + name.rsplit(".", 1)[-1]


class Schemas:
    def __init__(self, documents):
        self.types = {}
        for document in documents:
            self.types.update(document["components"]["schemas"])

    @staticmethod
    def reference(schema):
        """The type that a schema refers to, if it does."""
        if "$ref" in schema:
            return schema["$ref"].rsplit("/", 1)[-1]
        parts = schema.get("allOf", [])
        return Schemas.reference(parts[0]) if len(parts) == 1 else None

    def holds(self, schema):
        """What a field holds, in Go's words, and the types that this names."""
        name = self.reference(schema)
        if name in SCALARS:
            return SCALARS[name], []
        if name:
            return short(name), [name]
        if schema.get("type") == "array":
            inner, names = self.holds(schema["items"])
            return f"[]{inner}", names
        if schema.get("type") == "object" and "additionalProperties" in schema:
            inner, names = self.holds(schema["additionalProperties"])
            return f"map[string]{inner}", names
        if schema.get("type") == "object" or "type" not in schema:
            return "any", []
        plain = PLAIN.get((schema["type"], schema.get("format"))) or PLAIN.get((schema["type"], None))
        if plain is None:
            raise ValueError(f"a type without a word: {schema}")
        return plain, []

    def rows(self, roots, known=()):
        """The fields of these types and of all that they consist of, without those of `known` types."""
        done, left, out = set(known), list(roots), []
        while left:
            name = left.pop()
            if name in done:
                continue
            done.add(name)
            schema = self.types[name]
            required = schema.get("required", [])
            for field, content in schema.get("properties", {}).items():
                holds, names = self.holds(content)
                left += names
                values = "|".join(sorted(content.get("enum", [])))
                out.append((short(name), field, holds, field in required, values))
        if len({(row[0], row[1]) for row in out}) != len(out):
            raise ValueError("two types have one name: give one of them another in short()")
        return sorted(out), done


def kinds_of(schemas):
    """Group, kind and type of each kind that the embedded server serves."""
    wanted = {}
    for path, kinds in KINDS.items():
        group = path.split("/")[1] if path.startswith("apis/") else ""
        wanted |= {(group, kind): None for kind in kinds}
    for name, schema in schemas.types.items():
        for mark in schema.get("x-kubernetes-group-version-kind", []):
            key = (mark["group"], mark["kind"])
            if key in wanted and mark["version"] == "v1":
                wanted[key] = name
    missing = [key for key, name in wanted.items() if name is None]
    if missing:
        raise ValueError(f"kinds that the server does not have: {missing}")
    return wanted


def text(rows):
    lines = ["// Made by tests/envtest/kubernetes_fields.py from kube-apiserver's OpenAPI: type, field, content, presence, values."]
    for owner, field, holds, required, values in rows:
        presence = "required" if required else "optional"
        lines.append(f'{{"{owner}", "{field}", "{holds}", presence::{presence}, "{values}"}},')
    return "\n".join(lines) + "\n"


def tables(get):
    """Path and text of each table; `get` gives the body of a GET of the server."""
    schemas = Schemas(json.loads(get(f"/openapi/v3/{path}")) for path in KINDS)
    pod_rows, pod_types = schemas.rows(POD_ROOTS)
    kinds = kinds_of(schemas)
    kind_rows, _ = schemas.rows(sorted(kinds.values()), pod_types)
    return {POD_TABLE: text(pod_rows), KIND_TABLE: text(kind_rows)}


def main():
    import servers

    with servers.ControlPlane() as plane:
        for path, content in tables(plane.get).items():
            if sys.argv[1:] == ["--write"]:
                path.write_text(content)
            same = path.exists() and path.read_text() == content
            print(f"{path.relative_to(ROOT)}: {content.count(chr(10)) - 1} fields, {'as checked in' if same else 'differs'}")


if __name__ == "__main__":
    main()
