# SPDX-License-Identifier: Apache-2.0
"""The check of stories finds what is wrong, and nothing else."""

import unittest

import check_stories
import rule_list

BOOK = """### 5.8 Delays

They double.

Code: `a/b.cpp`

Story: `examples/stories/delays.yaml`

### 5.9 Always
"""
STORY = 'story: It waits\nrules: ["5.8"]\n'


class Check(unittest.TestCase):
    def found(self, stories, book=BOOK):
        return check_stories.violations(rule_list.read_book("BOOK", book, "behaviour", needs_code=False), stories)

    def test_what_is_right(self):
        self.assertEqual(self.found({"examples/stories/delays.yaml": STORY}), [])

    def test_what_is_wrong(self):
        path = "examples/stories/delays.yaml"
        for stories, book, text in (
                ({}, BOOK, "BOOK:1: there is no story examples/stories/delays.yaml"),
                ({path: "story: It waits\n"}, BOOK, "it names no rule"),
                ({path: STORY}, BOOK.replace("Story:", "Code:"), "behaviour 5.8 has no line `Story: `"),
                ({path: STORY.replace("5.8", "5.9")}, BOOK, "does not name behaviour 5.8"),
                ({path: STORY.replace("5.8", "none")}, BOOK, "there is no rule behaviour none")):
            with self.subTest(text):
                self.assertTrue(any(text in line for line in self.found(stories, book)), self.found(stories, book))


if __name__ == "__main__":
    unittest.main()
