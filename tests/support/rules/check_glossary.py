# SPDX-License-Identifier: Apache-2.0
"""The glossary of the rule book and the code of libjobcore have the same names.

A row of the glossary is `| words | meaning | in the code |`. What stands in backticks in its last column is a name that the
code of libjobcore declares or defines; no name stands in two rows, and no word: one word for one thing.

Nor has a name in the code a word that is another's: see OTHER_WORDS.
"""

import re

import sources

BOOK = "libjobcore/BEHAVIOUR.md"
CODE = ["libjobcore/include", "libjobcore/src"]
NAME = re.compile(r"`([^`]+)`")
COMMENT = re.compile(r"R\"(\w*)\(.*?\)\1\"|//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.S)

# Words that names of the code must not have, what the glossary calls the thing, and the names that may: the word is
# the API's, a launcher's or Kubernetes' there.
OTHER_WORDS = {
    "role": ("replica type", {"job_role", "job_role_master", "role"}),
    "master": (
        "deciding pod",
        {"master", "master_unknown", "job_role_master", "master_port", "master_address"}  # in names of others
        | {"warn_master", "master_entry", "says_master", "false_master"},  # about a text of theirs
    ),
    "slot": (
        "replica, or gap",
        {"slot", "slots", "key_slot", "key_slots", "key_slots_of", "slots_per_worker", "slot_options", "warn_slots"},
    ),
}


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


def others(known):
    """What is wrong with names that have a word of OTHER_WORDS."""
    for name in sorted(known):
        parts = {part.removesuffix("s") for part in name.lower().split("_")}
        for word, (instead, may) in OTHER_WORDS.items():
            if word in parts and name not in may:
                yield f"`{name}` is in the code: {instead} is the word"


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
    return wrong + [(1, what) for what in others(known)]


if __name__ == "__main__":
    code = [path.read_text(encoding="utf-8") for path in sources.files(CODE, [".hpp", ".cpp"])]
    text = (sources.ROOT / BOOK).read_text(encoding="utf-8")
    sources.report([f"{BOOK}:{line}: {what}" for line, what in check(text, code)])
