# SPDX-License-Identifier: Apache-2.0
"""The docstrings of libk8sio's public headers say errors, lifetimes, thread and cancellation in one form.

Behind what a function or class is for, and an empty line, come the sections that apply, each once and in this order:

    /// Errors: which code for what, or `as of the class`
    /// Lifetimes: what must outlive what; how long a view is valid
    /// Thread: whose
    /// Cancellation: which types end it, and with what; or `none`, and what to use

A section of a class holds for its functions. What gives an `awaitable` has Cancellation, what gives a `result` has Errors.
"""

import re

import sources

SECTIONS = ["Errors", "Lifetimes", "Thread", "Cancellation"]
SECTION = re.compile(rf"({'|'.join(SECTIONS)}): \S")
# What belongs into a section, and into no other text.
WORDS = {
    "Lifetimes": re.compile(r"\boutlives?\b|\bvalid (?:until|during|as long)\b"),
    "Cancellation": re.compile(r"\(terminal or all\)|\bcancellation\b", re.I),
    "Thread": re.compile(r"\bThread:|run by one thread"),
}
DOC = re.compile(r"\s*///(?!<) ?(.*)")
TYPE = re.compile(r"(?:class|struct) (\w+)(?:<.*>)?(?: final)?(?: : [^;]*)?\s*\{|(?:class|struct) (\w+)[^;]*\{$")
GIVES = {
    "Cancellation": re.compile(r"\bawaitable<"),
    "Errors": re.compile(r"\bresult<"),
}


def sections(block):
    """{section: its lines}, '' for what comes before the first; and what is wrong with their form."""
    found, name, wrong = {"": []}, "", []
    for number, line in enumerate(block):
        match = SECTION.match(line)
        if match:
            if not name and number and block[number - 1]:
                wrong.append(f"an empty line is missing before `{match[1]}:`")
            if name and SECTIONS.index(match[1]) <= SECTIONS.index(name):
                wrong.append(f"`{match[1]}:` comes behind `{name}:`")
            name = match[1]
        found.setdefault(name, []).append(line)
    return found, wrong


def check(text):
    """[(line, what is wrong)] of one header."""
    violations, block, of_class, private = [], [], {}, False
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        doc = DOC.match(line)
        if doc:
            block.append(doc[1])
            continue
        if line in ("private:", "protected:"):
            private = True
        found, wrong = sections(block)
        violations += [(number, w) for w in wrong]
        for name, words in WORDS.items():
            for other, said in found.items():
                if other != name and any(words.search(s) for s in said if not s.startswith(name)):
                    violations.append((number, f"`{words.search(' '.join(said))[0]}` belongs behind `{name}:`"))
        type_name = TYPE.match(line)
        if type_name:
            of_class, private = found, False
        elif line == "};":
            of_class, private = {}, False
        elif not private and re.match(r"\s*[\w:]", line) and not line.lstrip().startswith(("return", "using", "public")):
            whole = re.split("[;{]", " ".join(lines[number - 1:number + 9]))[0]
            for name, gives in GIVES.items():
                needs_it = "(" in whole and gives.search(whole.split("(")[0]) and "override" not in whole
                if needs_it and name not in found and name not in of_class:
                    violations.append((number, f"`{name}:` is missing"))
        block = []
    return violations


def main():
    violations = []
    for path in sources.files(["libk8sio/include", "libk8sio/server/include"], [".hpp"]):
        violations += [f"{path.relative_to(sources.ROOT)}:{line}: {what}" for line, what in check(path.read_text())]
    sources.report(violations)


if __name__ == "__main__":
    main()
