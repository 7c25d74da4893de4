#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what of this folder the program knows by itself: CustomResourceDefinitions and permissions.

Usage: generate.py [--check] SIGNALBOX    --check: writes nothing; exit 1 if a file is not what would be written
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"
TABLE = ("<!-- permissions: written by generate.py -->\n", "<!-- end of permissions -->\n")
# What each overlay's roles are for.
FLAGS = {
    "cluster": ["--leader-elect"],
    "logs": ["--leader-elect", "--with", "logs"],
    "no-ssh": ["--leader-elect", "--without", "ssh"],
    "namespaced": ["--leader-elect", "--without", "ssh", "-n", "training"],
}


# What the component progress adds to them: the roles that are there with the feature alone.
PROGRESS = ["--leader-elect", "--with", "progress"]


def documents(text):
    return text.split("---\n")[1:]


def table(rules):
    """The rules as Markdown, by feature."""
    lines = ["| feature | group | resources | verbs |", "|---|---|---|---|"]
    for row in sorted(rules, key=lambda row: row["feature"]):
        rule = row["rule"]
        cells = [row["feature"] or "always", rule["apiGroups"][0] or "core"]
        cells += [", ".join(rule[key]) for key in ("resources", "verbs")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def files(binary):
    """Every generated file with its text."""

    def said(*words):
        done = subprocess.run([str(binary), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{binary} {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    yield HERE / "crds" / "crds.yaml", LICENCE + "# Printed by: signalbox crds\n" + said("crds")
    for overlay, flags in FLAGS.items():
        text = LICENCE + f"# Printed by: signalbox rbac {' '.join(flags)}\n" + said("rbac", *flags)
        yield HERE / "overlays" / overlay / "rbac.yaml", text
    usual = set(documents(said("rbac", "--leader-elect")))
    added = [document for document in documents(said("rbac", *PROGRESS)) if document not in usual]
    text = LICENCE + f"# Of what is printed by: signalbox rbac {' '.join(PROGRESS)}\n" + "".join("---\n" + each for each in added)
    yield HERE / "components" / "progress" / "rbac.yaml", text
    schema = json.loads((HERE / "chart" / "values.schema.json").read_text())
    schedulers = schema["properties"]["schedulers"]["properties"]
    asked = ["--with", "logs,progress", "--scheduler", ",".join(schedulers)]
    rules = said("rbac", "--leader-elect", *asked, "-o", "json")
    yield HERE / "chart" / "files" / "permissions.json", rules
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(TABLE[0])
    _, _, after = rest.partition(TABLE[1])
    yield readme, before + TABLE[0] + "\n" + table(json.loads(rules)) + "\n" + TABLE[1] + after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("binary", metavar="SIGNALBOX")
    arguments = parser.parse_args()
    old = []
    for path, text in files(arguments.binary):
        if not path.is_file() or path.read_text() != text:
            old.append(path)
            if not arguments.check:
                path.write_text(text)
    for path in old:
        print(f"{path}: {'not what the program prints; run generate.py' if arguments.check else 'written'}")
    return 1 if old and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
