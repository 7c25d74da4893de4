# SPDX-License-Identifier: Apache-2.0
"""Puts many wrong changes into one text, each behind a switch: `mutant_is(17) ? (wrong) : (right)`.

A change is a mutant of a list: `from`, which is in the file once, and `to`. What differs between them is widened to the
expression that it is part of, or to the statement where an expression will not do: the number of arguments, a statement
left out, `co_await`. A constant (`constexpr T name{value};`) becomes one that is set when the program starts; a static
one is refused, as in a class it could not.
"""

import dataclasses
import re

DECLARATION = 'extern "C" bool mutant_is(int number);'
HIDDEN = re.compile(r'R"([^\s()]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'|//[^\n]*', re.S)
WORD = re.compile(r"\w")
# Left of an expression, apart from brackets and marks.
STARTS = re.compile(r"(?:\breturn|\bco_return|\bthrow|\belse|\bdo|\bcase)\s*$")
BLOCK = re.compile(r"(?:if|while|for|return|co_return|break|continue)\b|\(void\)")
# What neither side of a switch can begin with, statement or value, as the `if` stays before the switch.
REST_OF_IF = re.compile(r"\s*else\b")
CONDITION = re.compile(r"(?:if|while) \($")
VALUE_GOES_ON = re.compile(r"\s*[,.)]")
ASSIGNMENT = re.compile(r"(?<![=<>!])=(?!=)")
CONSTANT = re.compile(r"\bconstexpr\b(?! auto)")


class Unfit(Exception):
    """A change that cannot be put behind a switch."""


@dataclasses.dataclass
class Edit:
    number: int
    start: int
    end: int
    wrong: str
    statement: bool
    condition: bool = False


def masked(text):
    """The same length, with texts and comments blank."""
    def blank(match):
        found = match.group()
        if found.startswith("//"):
            return " " * len(found)
        return found[0] + "_" * (len(found) - 2) + found[-1] if len(found) > 1 else found
    return HIDDEN.sub(blank, text)


def without_comments(text):
    seen = masked(text)
    return "".join(c for c, s in zip(text, seen) if not (s == " " and c != " "))


def difference(old, new):
    """(first, end in old, end in new) of what differs, at ends of words."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    while first > 0 and WORD.match(old[first - 1]) and (WORD.match(old[first:first + 1]) or WORD.match(new[first:first + 1])):
        first -= 1
    while last > 0 and WORD.match(old[len(old) - last]) and (
            WORD.match(old[len(old) - last - 1:len(old) - last]) or WORD.match(new[len(new) - last - 1:len(new) - last])):
        last -= 1
    return first, len(old) - last, len(new) - last


def is_assignment(seen, at):
    return ASSIGNMENT.match(seen, at) is not None


def is_colon(seen, at):
    return seen[at] == ":" and seen[at - 1:at + 2].count(":") == 1


def opens_value(seen, at):
    """A brace of `T{...}`, not of a block."""
    return at > 0 and (WORD.match(seen[at - 1]) or seen[at - 1] in ">]")


def expression_start(seen, at):
    depth = 0
    while at > 0:
        c = seen[at - 1]
        within_word = WORD.match(c) and WORD.match(seen[at:at + 1])
        if depth == 0 and (c in "([{,;?" or (c == "}" and seen[at:at + 1] != ".") or is_colon(seen, at - 1) or
                           is_assignment(seen, at - 1) or
                           (not within_word and STARTS.search(seen, max(0, at - 12), at))):
            break
        if c in ")]}":
            depth += 1
        elif c in "([{":
            depth -= 1
        at -= 1
    while seen[at:at + 1].isspace():
        at += 1
    return at


def expression_end(seen, at):
    depth = 0
    while at < len(seen):
        c = seen[at]
        if depth == 0 and (c in ")]},;?" or is_colon(seen, at) or is_assignment(seen, at) or
                           (c == "{" and not opens_value(seen, at))):
            break
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        at += 1
    while seen[at - 1].isspace():
        at -= 1
    return at


def statement_start(seen, at):
    depth = 0
    while at > 0:
        c = seen[at - 1]
        # `}` of a value in an expression ends no statement.
        if depth <= 0 and (c in ";{" or (c == "}" and not VALUE_GOES_ON.match(seen, at))):
            break
        if c in ")]}":
            depth += 1
        elif c in "([{":
            depth -= 1
        at -= 1
    while seen[at:at + 1].isspace():
        at += 1
    return at


def statement_end(seen, at):
    depth = 0
    if at > 0 and (seen[at - 1] == ";" or (seen[at - 1] == "}" and not re.match(r"\s*[;,)]", seen[at:at + 80]))):
        return at
    while at < len(seen):
        c = seen[at]
        if c == ";" and depth <= 0:
            return at + 1
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if c == "}" and depth < 0:
                break
        at += 1
    raise Unfit("no end of the statement")


def balanced(text):
    depth = 0
    for c in masked(text):
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            return False
    return depth == 0


def top_level(text, marks):
    depth = 0
    for c in masked(text):
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif depth == 0 and c in marks:
            return True
    return depth != 0


def edits_of_constant(seen, at):
    """The edit that makes the constant variable that `at` is in the value of, if any."""
    constant = max((c.start() for c in CONSTANT.finditer(seen, 0, at)), default=None)
    if constant is None or ";" in seen[constant:at]:
        return []
    if seen.endswith("static ", 0, constant):
        raise Unfit("the value of a static constant cannot vary")
    return [Edit(-1, constant, constant + len("constexpr"), "const", False)]


def in_constant(text, old, new):
    """Whether this change makes a constant variable."""
    return any(e.number < 0 for e in edits_of(0, text, masked(text), old, new))


def items_of(text):
    """(start, item) of each part between commas, blanks around it left out."""
    seen = masked(text)
    ends = [i for i in range(len(seen)) if seen[i] == "," and balanced(text[:i])]
    out = []
    for first, end in zip([0, *(i + 1 for i in ends)], [*ends, len(text)]):
        item = text[first:end].strip()
        if item:
            out.append((first + text[first:end].index(item), item))
    return out


def edits_of_rows(number, text, at, old, new):
    """Edits for the expressions in which rows, `{a, b}, {c, d}`, differ from as many others. None for what are no rows."""
    if not (balanced(old) and balanced(new)):
        return None
    before, after = items_of(old), items_of(new)
    if len(before) != len(after):
        return None
    out = []
    for (start, right), (_, wrong) in zip(before, after):
        if right == wrong:
            continue
        if right[0] == "{" and wrong[0] == "{" and right[-1] == "}" and wrong[-1] == "}":
            inner = edits_of_rows(number, text, at + start + 1, right[1:-1], wrong[1:-1])
            if inner is None:
                return None
            out += inner
        elif text[at - 1] == "{" and not top_level(right + wrong, ";"):
            out.append(Edit(number, at + start, at + start + len(right), wrong, False))
        else:
            return None
    return out


def edits_of(number, text, seen, old, new):
    """The edits for one change: one with the switch, and one more where a constant has to become variable."""
    if text.count(old) != 1:
        raise Unfit(f"`{old.strip()}` must be there once, not {text.count(old)} times")
    at = text.index(old)
    first, old_end, new_end = difference(old, new)
    while old_end < len(old) and not (balanced(old[first:old_end]) and balanced(new[first:new_end])):
        old_end, new_end = old_end + 1, new_end + 1
    a, b, wrong = at + first, at + old_end, without_comments(new[first:new_end])
    while b > a and seen[b - 1].isspace():
        b -= 1
    right = without_comments(text[a:b])
    whole = (top_level(right, ",;") or top_level(wrong, ",;") or not (right.strip() or wrong.strip()) or
             BLOCK.match(right.strip()) or BLOCK.match(wrong.strip()))
    if not whole:
        start, end = expression_start(seen, a), expression_end(seen, b)
        changed = text[start:a] + wrong + text[b:end]
        whole = start >= end or not changed.strip() or "co_await" in seen[start:end] or top_level(changed, ",;")
        if not whole and (text[start] == "{" or changed.lstrip().startswith("{")):
            raise Unfit("a list in braces is no expression")
        if not whole and (REST_OF_IF.match(text, start) or REST_OF_IF.match(changed)):
            raise Unfit("a part of a statement is no expression")
        if not whole:
            condition = CONDITION.search(seen, max(0, start - 8), start) is not None
            return [Edit(number, start, end, changed, False, condition), *edits_of_constant(seen, start)]
    if right.strip() and (rows := edits_of_rows(number, text, at, old, new)):
        return [*rows, *edits_of_constant(seen, at)]
    start = statement_start(seen, a)
    end = statement_end(seen, max(b, start))
    return [Edit(number, start, end, text[start:a] + wrong + text[b:end], True)]


def render(text, start, end, edits):
    """text[start:end] with the edits in it, which lie in each other or apart."""
    out = []
    at = start
    while edits:
        outer, *edits = edits
        inner = [e for e in edits if e.end <= outer.end]
        edits = edits[len(inner):]
        if edits and edits[0].start < outer.end:
            raise Unfit(f"mutants {outer.number} and {edits[0].number} overlap")
        out.append(text[at:outer.start])
        right = render(text, outer.start, outer.end, inner)
        wrong = without_comments(outer.wrong).replace("\n", " ")
        if outer.number < 0:
            out.append(wrong)
        elif outer.statement:
            out.append(f"if (mutant_is({outer.number})) {{ {wrong} }} else {{ {right} }}")
        else:
            # The two may be of different types, and a condition is made a bool only as a whole.
            of = "bool" if outer.condition else ""
            out.append(f"(mutant_is({outer.number}) ? {of}({wrong}) : {of}({right}))")
        at = outer.end
    out.append(text[at:end])
    return "".join(out)


def with_switches(text, changes):
    """The text with each change behind its switch. `changes`: (number, from, to). Lines keep their numbers."""
    seen = masked(text)
    edits = []
    for number, old, new in changes:
        edits.extend(edits_of(number, text, seen, old, new))
    unique = {(e.start, e.end, e.number): e for e in edits}
    ordered = sorted(unique.values(), key=lambda e: (e.start, -e.end, e.number))
    return f"{DECLARATION}\n#line 1\n" + render(text, 0, len(text), ordered)
