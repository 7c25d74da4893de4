# SPDX-License-Identifier: Apache-2.0
"""The check of definitions, held against units without a mistake and with one."""

import pathlib
import unittest

import check_symbols

TOPS = ["text", "rows", "engine"]


class Definitions(unittest.TestCase):
    def finds(self, units, *expected):
        self.assertEqual(check_symbols.violations(TOPS, units, "a README"), list(expected))

    def test_downwards_is_right(self):
        self.finds([("text", {"signalbox::cut(int)"}, set()), ("engine", set(), {"signalbox::cut(int)", "other::thing"})])

    def test_upwards_is_wrong(self):
        self.finds(
            [("text", set(), {"signalbox::decide(int)"}), ("engine", {"signalbox::decide(int)"}, set())],
            "a README: `text/` uses signalbox::decide, which `engine/` below it defines",
        )

    def test_what_is_in_no_folder_is_the_program(self):
        self.finds([("", set(), {"signalbox::decide(int)"}), ("engine", {"signalbox::decide(int)"}, set())])

    def test_the_folder_of_a_unit(self):
        for unit, expected in (
            ("Unity/unity_engine_cxx.cxx.o", "engine"),
            ("src/engine/facts/rows.cpp.o", "engine"),
            ("text/words.cpp.o", "text"),
            ("api_server.cpp.o", ""),
        ):
            self.assertEqual(check_symbols.folder(pathlib.Path(unit), TOPS), expected)


if __name__ == "__main__":
    unittest.main()
