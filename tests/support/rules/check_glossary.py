# SPDX-License-Identifier: Apache-2.0
"""The glossary of the rule book and the code of libjobcore have the same names.

A row of the glossary is `| words | meaning | in the code |`. What stands in backticks in its last column is a name that the
code of libjobcore declares or defines; no name stands in two rows, and no word: one word for one thing.
"""

import re

import sources

BOOK = "libjobcore/BEHAVIOUR.md"
CODE = ["libjobcore/include", "libjobcore/src"]
NAME = re.compile(r"`([^`]+)`")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.S)


def rows(book):
    """[(line, words, names)] of the glossary."""
    found, inside = [], False
    for number, line in enumerate(book.splitlines(), 1):
        if line.startswith("## "):
            inside = line == "## Glossary"
        if not inside or not line.startswith("| ") or line.startswith("| word "):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        words = [word.strip() for word in cells[0].split(",")]
        found.append((number, words, NAME.findall(cells[2]) if len(cells) == 3 else None))
    return found


def identifiers(texts):
    """All names in code, without comments and texts."""
    return {name for text in texts for name in re.findall(r"[A-Za-z_]\w*", COMMENT.sub(" ", text))}


def check(book, texts):
    """[(line, what is wrong)] of the glossary."""
    known, wrong, seen = identifiers(texts), [], {}
    for number, words, names in rows(book):
        if names is None:
            wrong.append((number, "a row has three columns: words, meaning, in the code"))
            names = []
        for name in names:
            for part in name.split("::"):
                if part not in known:
                    wrong.append((number, f"`{name}` is not in the code"))
                    break
        for word in words + names:
            if word in seen:
                wrong.append((number, f"`{word}` is in line {seen[word]} too"))
        seen.update({word: number for word in words + names})
    if not seen:
        wrong.append((1, "there is no glossary"))
    return wrong


if __name__ == "__main__":
    code = [path.read_text(encoding="utf-8") for path in sources.files(CODE, [".hpp", ".cpp"])]
    text = (sources.ROOT / BOOK).read_text(encoding="utf-8")
    sources.report([f"{BOOK}:{line}: {what}" for line, what in check(text, code)])
