# SPDX-License-Identifier: Apache-2.0
"""The stories of examples/stories and the rules that they show name each other.

A story names rules in `rules:`; each of these names the story below its heading in libjobcore/BEHAVIOUR.md, in a line `Story:`.
"""

import pathlib
import re
import sys

import rule_list

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support" / "rules"))
import sources  # noqa: E402 (from the folder above)

BEHAVIOUR = "libjobcore/BEHAVIOUR.md"
FOLDER = "examples/stories"


def rules_of(text):
    """The tags of the rules that a story names: `behaviour 5.8`, `api 7.2`."""
    line = re.search(r"(?m)^rules: \[(.*)\]$", text)
    names = re.findall(r'"([^"]+)"', line[1]) if line else []
    return [name if name.startswith("api ") else f"behaviour {name}" for name in names]


def violations(rules, stories):
    """`rules` as of rule_list.read_book; `stories`: {path: text}."""
    found = []
    told = {rule.tag: set(rule.files("Story")) for rule in rules}
    for path, text in stories.items():
        tags = rules_of(text)
        if not tags:
            found.append(f"{path}: it names no rule: `rules: [\"5.8\"]`")
        for tag in tags:
            if tag not in told:
                found.append(f"{path}: there is no rule {tag} in {BEHAVIOUR}")
            elif path not in told[tag]:
                found.append(f"{path}: {BEHAVIOUR} {tag} has no line `Story: `{path}``")
    for rule in rules:
        for path in sorted(told[rule.tag]):
            if path not in stories:
                found.append(f"{rule.place}: there is no story {path}")
            elif rule.tag not in rules_of(stories[path]):
                found.append(f"{rule.place}: {path} does not name {rule.tag}")
    return found


if __name__ == "__main__":
    book = rule_list.read_book(BEHAVIOUR, (sources.ROOT / BEHAVIOUR).read_text(), "behaviour", needs_code=False)
    files = sorted((sources.ROOT / FOLDER).glob("*.yaml"))
    print(f"{len(files)} stories")
    sources.report(violations(book, {str(file.relative_to(sources.ROOT)): file.read_text() for file in files}))
