# SPDX-License-Identifier: Apache-2.0
"""Mutations of pod templates and other objects, by seed, along the tables of Kubernetes' fields.

A mutation changes one place: a value of another type, a misspelled name, something left out, taken twice, out of range or
in a bad form, or something new that is mostly good. What the server says of the result is not known here.
"""

import copy
import random
import re

from kubernetes_fields import KIND_TABLE, POD_TABLE

ROW = re.compile(r'^\{"([^"]+)", "([^"]+)", "([^"]+)", presence::(\w+), "(.*)"\},$', re.MULTILINE)

TEXTS = ["data", "a", "data-0", "x.example.com", "Data", "a_b", "a b", "", "x" * 64, "/data", "data/../x", "1", "true", "tcp"]
NUMBERS = [1, 2, 30, 1000, 8080, 0, -1, 70000, 1 << 31, 1 << 40]
QUANTITIES = ["1", "500m", "2Gi", "1.5", 2, 0.5, "0", "-1", "lots", "1GB", "2K", "1e3", "", True]
PORTS = [80, 8080, "http", "web-1", 0, 70000, "a_b", "x" * 16, 1.5, False]
TIMES = ["2026-01-31T12:00:00Z", "yesterday", 5]
OF_ANOTHER_TYPE = ["text", 4, True, 1.5, [], {}, ["a"], {"a": "b"}, [4]]

# Good values of fields whose form no table tells.
GOOD = {
    "name": ["data", "config", "side", "main"],
    "image": ["example.com/train:2", "busybox"],
    "key": ["example.com/gpu", "team", "zone"],
    "topologyKey": ["kubernetes.io/hostname", "topology.kubernetes.io/zone"],
    "operator": ["In", "Exists", "NotIn", "Equal"],
    "mountPath": ["/data", "/cache", "/logs"],
    "path": ["/data", "config.json", "a/b"],
    "fieldPath": ["metadata.name", "status.podIP", "metadata.labels['a']", "spec.nodeName"],
    "resource": ["limits.cpu", "requests.memory", "limits.memory"],
    "effect": ["NoSchedule", "NoExecute"],
    "claimName": ["claim"],
    "secretName": ["keys"],
    "accessModes": [["ReadWriteOnce"], ["ReadWriteMany"]],
    "command": [["sh", "-c", "true"]],
    "ip": ["10.1.2.3", "2001:db8::1"],
    "hostnames": [["a.example.com"]],
    "nameservers": [["10.0.0.10"]],
    "whenUnsatisfiable": ["ScheduleAnyway", "DoNotSchedule"],
    "devicePath": ["/dev/x"],
    "port": [8080, "http"],
    "containerPort": [8080, 9090],
    "hostPort": [8080],
    "type": ["RuntimeDefault", "Directory"],
    "subPath": ["a/b"],
    "weight": [1, 50, 100],
    "maxSkew": [1, 2],
}

# Fields that no one writes into a template of a job, or that a cluster's state decides about.
NEVER = {
    "ephemeralContainers", "managedFields", "ownerReferences", "finalizers", "windowsOptions", "priority",
    "priorityClassName", "preemptionPolicy", "runtimeClassName", "overhead", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "generateName", "generation", "namespace", "resourceVersion", "selfLink", "uid",
}
# Volumes that jobs use; the others are served by drivers that left Kubernetes.
VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "hostPath", "image", "nfs", "persistentVolumeClaim",
    "projected", "secret", "name",
}


def read_table():
    """The fields of each type: name to (content, is required, values)."""
    types = {}
    for owner, name, holds, presence, values in ROW.findall(POD_TABLE.read_text() + KIND_TABLE.read_text()):
        if name in NEVER or (owner == "ObjectMeta" and name == "name") or (owner == "Volume" and name not in VOLUMES):
            continue
        types.setdefault(owner, {})[name] = (holds, presence == "required", values.split("|") if values else [])
    return types


class Mutator:
    """An endless supply of mutations; the same seed gives the same ones."""

    def __init__(self, seed, root):
        """`root` is the type of what is mutated."""
        self.root = root
        self.dice = random.Random(seed)
        self.types = read_table()

    def mutate(self, original):
        """What was done, in words, and the changed copy."""
        changed = copy.deepcopy(original)
        for _ in range(100):
            places = self.places(changed, self.root, "")
            path, value, holds = self.dice.choice(places)
            actions = [self.add, self.add, self.add, self.retype, self.misspell, self.leave_out, self.revalue, self.twice]
            what = self.dice.choice(actions)(value, holds)
            if what:
                return f"{path or '/'}: {what}", changed
        raise AssertionError("an object that cannot be changed")

    def places(self, value, holds, path):
        """Objects and lists below, with their types."""
        found = []
        if isinstance(value, dict) and holds in self.types:
            found.append((path, value, holds))
            for name, inner in value.items():
                if name in self.types[holds]:
                    found += self.places(inner, self.types[holds][name][0], f"{path}/{name}")
        elif isinstance(value, dict) and holds.startswith("map[string]"):
            found.append((path, value, holds))
        elif isinstance(value, list) and holds.startswith("[]"):
            found.append((path, value, holds))
            for index, inner in enumerate(value):
                found += self.places(inner, holds[2:], f"{path}/{index}")
        return found

    def add(self, value, holds):
        """A field that was not there, with a value that is good in three of four cases."""
        if isinstance(value, list):
            value.append(self.sample("", holds[2:], [], good=self.dice.random() < 0.75))
            return f"an item {value[-1]!r:.80}"
        if holds.startswith("map[string]"):
            name = self.dice.choice(["team", "example.com/x", "a b", "nvidia.com/gpu", "cpu", "memory", "x" * 64])
            value[name] = self.sample("", holds[len("map[string]"):], [], good=self.dice.random() < 0.75)
            return f"{name}={value[name]!r}"
        names = [name for name in self.types[holds] if name not in value]
        if not names:
            return None
        name = self.dice.choice(names)
        content, _, values = self.types[holds][name]
        value[name] = self.sample(name, content, values, good=self.dice.random() < 0.75)
        return f"{name}={value[name]!r:.120}"

    def retype(self, value, holds):
        """A value of another type."""
        if not value:
            return None
        where = self.dice.randrange(len(value)) if isinstance(value, list) else self.dice.choice(sorted(value))
        value[where] = copy.deepcopy(self.dice.choice(OF_ANOTHER_TYPE))
        return f"{where}={value[where]!r}"

    def misspell(self, value, holds):
        if not isinstance(value, dict) or not value:
            return None
        name = self.dice.choice(sorted(value))
        at = self.dice.randrange(len(name) + 1)
        wrong = self.dice.choice([name[:at] + name[at + 1 :], name[:at] + "x" + name[at:], name.swapcase(), name + "s"])
        if not wrong or wrong in value:
            return None
        value[wrong] = value.pop(name)
        return f"{name} as {wrong}"

    def leave_out(self, value, holds):
        if not value:
            return None
        where = self.dice.randrange(len(value)) if isinstance(value, list) else self.dice.choice(sorted(value))
        if self.dice.random() < 0.2:
            value[where] = None
            return f"{where} is null"
        del value[where]
        return f"without {where}"

    def revalue(self, value, holds):
        """Another value of the same type, mostly a bad one."""
        if holds.startswith("map[string]") and value:
            name = self.dice.choice(sorted(value))
            value[name] = self.sample("", holds[len("map[string]") :], [], good=self.dice.random() < 0.3)
            return f"{name} is {value[name]!r:.120}"
        if not isinstance(value, dict) or holds not in self.types:
            return None
        names = [name for name in value if name in self.types[holds]]
        if not names:
            return None
        name = self.dice.choice(sorted(names))
        content, _, values = self.types[holds][name]
        value[name] = self.sample(name, content, values, good=self.dice.random() < 0.3)
        return f"{name} is {value[name]!r:.120}"

    def twice(self, value, holds):
        if not isinstance(value, list) or not value:
            return None
        value.append(copy.deepcopy(self.dice.choice(value)))
        return "an item twice"

    def sample(self, name, holds, values, good, depth=0):
        """A value of that type."""
        dice = self.dice
        if values and (good or dice.random() < 0.5):
            return dice.choice(values)
        if good and name in GOOD and (holds in ("string", "int32", "IntOrString") or holds == "[]string"):
            return copy.deepcopy(dice.choice(GOOD[name]))
        if holds.startswith("[]"):
            return [self.sample(name, holds[2:], values, good, depth) for _ in range(dice.choice([1, 1, 1, 2, 0]))]
        if holds.startswith("map[string]"):
            key = dice.choice(["cpu", "memory"] if holds.endswith("Quantity") else ["team", "example.com/x"])
            return {key if good else dice.choice(["a b", "x/y/z", key]): self.sample("", holds[11:], [], good, depth)}
        pools = {
            "string": TEXTS[:4] if good else TEXTS,
            "bool": [True, False],
            "int32": NUMBERS[:4] if good else NUMBERS,
            "int64": NUMBERS[:4] if good else NUMBERS,
            "Quantity": QUANTITIES[:6] if good else QUANTITIES,
            "IntOrString": PORTS[:4] if good else PORTS,
            "Time": TIMES[:1] if good else TIMES,
            "bytes": ["YQ=="] if good else ["?"],
        }
        if holds in pools:
            return dice.choice(pools[holds])
        fields = self.types.get(holds, {})
        chosen = [field for field, (_, required, _) in fields.items() if required]
        others = [field for field in fields if field not in chosen]
        if others and depth < 4:
            chosen += dice.sample(others, min(len(others), dice.choice([0, 1, 1, 2])))
        return {field: self.sample(field, fields[field][0], fields[field][2], good, depth + 1) for field in chosen}
