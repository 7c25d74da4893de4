# SPDX-License-Identifier: Apache-2.0
"""Makes small wrong changes of the engine without choosing them.

usage: generate.py [--seed N] [--count N]

Prints a list as in list.json: a sample of all changes of one line that the patterns below give for the sources in
libjobcore/src/engine. The same seed and the same sources give the same sample. Some of them change nothing that can be
observed, and some do not compile; run.py says how many are noticed. run_switched.py takes a sample of other folders.
"""

import argparse
import hashlib
import json
import pathlib
import random
import re

SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent / "libjobcore" / "src"

SWAPS = [("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"),
         ("+", "-"), ("-", "+")]
WORDS = [("true", "false"), ("false", "true"), ("min", "max"), ("max", "min"), ("all_of", "any_of"),
         ("any_of", "all_of"), ("none_of", "any_of")]
# What the patterns see of a line: texts and comments are blank.
HIDDEN = re.compile(r'"(?:\\.|[^"\\])*"|//.*')
CONDITION = re.compile(r"^(\s*(?:\} else )?if \()((?!const|auto).*)(\) \{)$")
STATEMENT = re.compile(r"^\s+(?!return|break|continue|case|default|const|auto|using|else|static|std::\w+<)"
                       r"(?:\+\+|--)?[A-Za-z_][\w.:*>\[\]()-]*(?:\(.*\)| [-+|&]?= .*)?;$")


def is_statement(line, previous):
    return (STATEMENT.match(line) and line.count("(") == line.count(")") and
            (previous.rstrip().endswith((";", "{", "}")) or previous.lstrip().startswith("//")))


def changes_of(line, previous):
    """(what, the line changed) for each change that a pattern gives."""
    seen = HIDDEN.sub(lambda m: " " * len(m.group()), line)

    def put(start, end, text):
        return line[:start] + text + line[end:]

    for old, new in SWAPS:
        for m in re.finditer(rf"(?<= ){re.escape(old)}(?= |$)", seen):
            yield f"{old} to {new}", put(m.start(), m.end(), new)
    for old, new in WORDS:
        for m in re.finditer(rf"\b{old}\b", seen):
            yield f"{old} to {new}", put(m.start(), m.end(), new)
    for m in re.finditer(r"(?<![\w.])\d+(?![\w.'])", seen):
        yield "one more", put(m.start(), m.end(), str(int(m.group()) + 1))
    if m := CONDITION.match(line):
        yield "negated", f"{m[1]}!({m[2]}){m[3]}"
    if is_statement(line, previous):
        yield "left out", line[:len(line) - len(line.lstrip())] + ";"


def mutants_of(source, root=SOURCES):
    lines = source.read_text().split("\n")
    text = "\n".join(lines)
    for number, line in enumerate(lines):
        if line.lstrip().startswith(("//", "#", "namespace", "template", "using", "constexpr std::array")):
            continue
        for what, changed in changes_of(line, lines[number - 1]):
            if what == "left out" and source.suffix == ".hpp" and not line.startswith(" " * 8):
                continue  # a declaration
            # Lines above make it unique.
            first = number
            while first > 0 and text.count("\n".join(lines[first:number + 1])) > 1:
                first -= 1
            above = lines[first:number]
            yield {"rule": f"{what}, line {number + 1}", "file": str(source.relative_to(root)),
                   "from": "\n".join([*above, line]), "to": "\n".join([*above, changed])}


def generate(seed, count):
    every = [m for source in sorted((SOURCES / "engine").rglob("*.cpp")) for m in mutants_of(source)]
    return random.Random(seed).sample(every, min(count, len(every)))


def line_of(mutant, side):
    """The line that is changed, without those above it."""
    return mutant[side].split("\n")[-1].strip()


def generate_stable(seed, count, folders, root):
    """A sample in which one more line in the sources replaces few others: those whose hash is least."""
    every = [m for folder in folders for source in sorted([*folder.rglob("*.cpp"), *folder.rglob("*.hpp")])
             for m in mutants_of(source, root)]

    def place(m):
        return hashlib.sha256(repr((seed, m["file"], m["from"], m["to"])).encode()).digest()

    return sorted(every, key=place)[:count]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    print(json.dumps(generate(options.seed, options.count), indent=2))


if __name__ == "__main__":
    main()
