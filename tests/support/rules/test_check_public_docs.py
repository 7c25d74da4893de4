# SPDX-License-Identifier: Apache-2.0
"""The check of docstrings, held against samples: one header without a mistake, and one mistake of each class in it."""

import unittest

import check_public_docs

GOOD = """/// Waits.
///
/// Errors: timeout, when the time is up.
/// Lifetimes: `c` must outlive it.
/// Cancellation: any type; gives cancelled.
awaitable<result<void>> wait(clock& c);

/// Reads.
///
/// Errors: invalid_argument for what is no number.
/// Thread: the loop's only.
class reader {
public:
    /// One number.
    result<int> number();
    /// Another.
    ///
    /// Cancellation: none.
    virtual awaitable<result<int>> slowly() = 0;
    awaitable<result<int>> inherited() override;

private:
    awaitable<void> own();
};
"""


def wrong(old, new):
    """What the check says of the good header with one text in place of another."""
    assert old in GOOD
    return [what for _, what in check_public_docs.check(GOOD.replace(old, new, 1))]


class TestCheckPublicDocs(unittest.TestCase):
    def test_a_good_header_passes(self):
        self.assertEqual(check_public_docs.check(GOOD), [])

    def test_a_section_that_is_missing(self):
        self.assertEqual(wrong("/// Cancellation: any type; gives cancelled.\n", ""), ["`Cancellation:` is missing"])
        self.assertEqual(wrong("/// Errors: timeout, when the time is up.\n", ""), ["`Errors:` is missing"])
        self.assertEqual(wrong("    /// Cancellation: none.\n", ""), ["`Cancellation:` is missing"])
        self.assertEqual(len(wrong("/// Errors: invalid_argument for what is no number.\n", "")), 2)

    def test_sections_in_another_order(self):
        self.assertEqual(
            wrong("/// Errors: timeout, when the time is up.\n/// Lifetimes: `c` must outlive it.\n",
                  "/// Lifetimes: `c` must outlive it.\n/// Errors: timeout, when the time is up.\n"),
            ["`Errors:` comes behind `Lifetimes:`"])

    def test_no_empty_line_before_them(self):
        self.assertEqual(wrong("/// Waits.\n///\n", "/// Waits.\n"), ["an empty line is missing before `Errors:`"])

    def test_what_belongs_into_a_section_is_nowhere_else(self):
        self.assertEqual(wrong("/// Waits.\n", "/// Waits; `c` must outlive it.\n"), ["`outlive` belongs behind `Lifetimes:`"])
        self.assertEqual(wrong("/// One number.\n", "/// One number. Cancellation ends it.\n"),
                         ["`Cancellation` belongs behind `Cancellation:`"])
        self.assertEqual(wrong("/// Reads.\n", "/// Reads. Thread: one.\n"), ["`Thread:` belongs behind `Thread:`"])


if __name__ == "__main__":
    unittest.main()
