# SPDX-License-Identifier: Apache-2.0
"""What the scenarios of kubectl_test.py say of what they see."""
import re


class Failure(Exception):
    """One expectation that did not hold; its text says which."""


def expect(condition, what, *details):
    if not condition:
        raise Failure(what + "".join(f"\n{d}" for d in details))


def has(text, *patterns):
    for pattern in patterns:
        expect(re.search(pattern, text, re.M), f"no match for {pattern!r} in:", text)


def equal(got, wanted, what):
    expect(got == wanted, f"{what}: got {got!r}, wanted {wanted!r}")
