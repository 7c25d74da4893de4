# SPDX-License-Identifier: Apache-2.0
"""Makes small wrong changes of sources without choosing them: a sample of all changes of one line that the patterns below
give. The same seed and the same sources give the same sample.

Some of them change nothing that can be observed, and some do not compile.
"""

import hashlib
import re

import switches

SWAPS = [("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"),
         ("+", "-"), ("-", "+")]
WORDS = [("true", "false"), ("false", "true"), ("min", "max"), ("max", "min"), ("all_of", "any_of"),
         ("any_of", "all_of"), ("none_of", "any_of")]
CONDITION = re.compile(r"^(\s*(?:\} else )?if \()((?!const|auto).*)(\) \{)$")
STATEMENT = re.compile(r"^\s+(?!return|break|continue|case|default|const|auto|using|else|static|std::\w+<)"
                       r"(?:\+\+|--)?[A-Za-z_][\w.:*>\[\]()-]*(?:\(.*\)| [-+|&]?= .*)?;$")


def is_statement(line, previous):
    return (STATEMENT.match(line) and line.count("(") == line.count(")") and
            (previous.rstrip().endswith((";", "{", "}")) or previous.lstrip().startswith("//")))


def changes_of(line, seen, previous):
    """(what, the line changed) for each change that a pattern gives. `seen` is the line without texts and comments."""
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


def mutants_of(source, root):
    lines = source.read_text().split("\n")
    text = "\n".join(lines)
    masked = switches.masked(text)
    at = 0
    for number, line in enumerate(lines):
        first, at = at, at + len(line) + 1
        if first > 0 and masked[first - 1] != "\n":
            continue  # of a text that goes over several lines
        if line.lstrip().startswith(("//", "#", "namespace", "template", "using", "constexpr std::array")):
            continue
        for what, changed in changes_of(line, masked[first:first + len(line)], lines[number - 1]):
            if what == "left out" and source.suffix == ".hpp" and not line.startswith(" " * 8):
                continue  # a declaration
            # Lines above make it unique.
            top = number
            while top > 0 and text.count("\n".join(lines[top:number + 1])) > 1:
                top -= 1
            above = lines[top:number]
            yield {"rule": f"{what}, line {number + 1}", "file": str(source.relative_to(root)),
                   "from": "\n".join([*above, line]), "to": "\n".join([*above, changed])}


def line_of(mutant, side):
    """The line that is changed, without those above it."""
    return mutant[side].split("\n")[-1].strip()


def generate(seed, count, folders, root):
    """A sample in which one more line in the sources replaces few others: those whose hash is least."""
    sources = [source for folder in folders
               for source in ([folder] if folder.is_file() else sorted([*folder.rglob("*.cpp"), *folder.rglob("*.hpp")]))]
    every = [m for source in sources for m in mutants_of(source, root)]

    def place(m):
        return hashlib.sha256(repr((seed, m["file"], m["from"], m["to"])).encode()).digest()

    return sorted(every, key=place)[:count]
