# SPDX-License-Identifier: Apache-2.0
"""Tests of check_glossary.py."""

import unittest

import check_glossary

CODE = ["struct type_plan {  // the kin of a pod\n    int wanted = 0;\n};\nconst char* name = \"holder\";\n"]


def wrong(*rows, code=CODE):
    head = ["# Book", "## Glossary", "| word | meaning | in the code |", "|---|---|---|"]
    text = "\n".join([*head, *rows, "## 1. Rules", "| other | table |"])
    return [what for _, what in check_glossary.check(text, code)]


class Glossary(unittest.TestCase):
    def test_names_are_in_the_code(self):
        self.assertEqual(wrong("| replica type | pods that are alike | `type_plan`, `type_plan::wanted` |"), [])
        self.assertEqual(wrong("| replica type | alike | `kind` |"), ["`kind` is not in the code"])
        self.assertEqual(wrong("| replica type | alike | `type_plan::size` |"), ["`type_plan::size` is not in the code"])

    def test_comments_and_texts_are_no_code(self):
        self.assertEqual(wrong("| kin | alike | `kin` |"), ["`kin` is not in the code"])
        self.assertEqual(wrong("| holder | it holds | `holder` |"), ["`holder` is not in the code"])

    def test_one_word_is_one_thing(self):
        self.assertEqual(len(wrong("| lost | gone | |", "| free, lost | at no cost | |")), 1)
        self.assertEqual(len(wrong("| lost | gone | `wanted` |", "| free | at no cost | `wanted` |")), 1)

    def test_a_row_has_three_columns(self):
        self.assertEqual(len(wrong("| lost | gone |")), 1)

    def test_words_of_others_stay_theirs(self):
        row = "| deciding pod | it decides | `is_deciding` |"
        self.assertEqual(wrong(row, code=["bool is_deciding; int master_port;"]), [])
        self.assertEqual(
            wrong(row, code=["bool is_deciding, is_master, of_roles;"]),
            [
                "`is_master` is in the code: deciding pod is the word",
                "`of_roles` is in the code: replica type is the word",
            ],
        )

    def test_there_is_a_glossary(self):
        self.assertEqual(wrong(), ["there is no glossary"])


if __name__ == "__main__":
    unittest.main()
