# SPDX-License-Identifier: Apache-2.0
"""The check of includes, held against samples: one library without a mistake, and one mistake of each class in it."""

import pathlib
import tempfile
import unittest

import check_includes

README = """# lib

| folder | why |
|---|---|
| `src/other/` | a table of something else |

| folder | what | may include |
|---|---|---|
| `facts/` | headers for others too | |
| `src/text/` | words; no sockets | `facts/` |
| `src/api/rows/` | tables | `text/` |
| `src/engine/` | rules | `api/rows/`, `text/` for words |
| `server/` | its class | `text/` |
| `server/verbs/` | beside `src/` | `engine/`, `server/` |
| `deploy` | no sources | |
"""
GOOD = {
    "README.md": README,
    "include/lib/lib.hpp": "",
    "facts/include/facts/facts.hpp": "",
    "src/text/words.hpp": '#include "lib/lib.hpp"\n#include "facts/facts.hpp"\n#include <string>\n',
    "src/text/words.cpp": '#include "text/words.hpp"\n#include "words.hpp"\n',
    "src/api/rows/rows.hpp": '#include "text/words.hpp"\n',
    "server/include/lib/server.hpp": '#include "engine/engine.hpp"\n',
    "server/server.hpp": '#include "text/words.hpp"\n',
    "server/verbs/get.cpp": '#include "server/server.hpp"\n#include "engine/rules.hpp"\n',
    "src/engine/rules.hpp": "",
    "src/engine/engine.cpp": '#include "api/rows/rows.hpp"\n#include "text/words.hpp"\n// #include "engine/none.hpp"\n',
    "src/main.cpp": '#include "api/rows/rows.hpp"\n',
}


def violations(changes):
    """Of the good library with these files changed, added or, if None, taken away."""
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder, "lib")
        for name, text in {**GOOD, **changes}.items():
            if text is not None:
                path = library / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        return check_includes.check(library)


class Includes(unittest.TestCase):
    def finds(self, changes, *expected):
        self.assertEqual(violations(changes), list(expected))

    def test_nothing_is_wrong(self):
        self.finds({})

    def test_a_readme_without_the_table(self):
        self.finds(
            {"README.md": "# lib\n"}, "lib/README.md:1: there is no table with the columns `folder` and `may include`"
        )

    def test_an_include_that_the_table_does_not_allow(self):
        self.finds(
            {"src/text/more.cpp": '\n#  include "api/rows/rows.hpp"\n'},
            "lib/src/text/more.cpp:2: lib/README.md does not say that `text/` may include `api/rows/`",
        )

    def test_an_include_by_a_relative_path(self):
        self.finds(
            {"src/text/more.cpp": '#include "../engine/engine.hpp"\n', "src/engine/engine.hpp": ""},
            "lib/src/text/more.cpp:1: lib/README.md does not say that `text/` may include `engine/`",
        )

    def test_an_entry_that_nothing_uses(self):
        self.finds(
            {"src/engine/engine.cpp": '#include "api/rows/rows.hpp"\n'},
            "lib/README.md:12: nothing in `engine/` includes `text/`: take it out",
        )

    def test_a_folder_that_includes_upwards(self):
        self.finds(
            {
                "README.md": README.replace("no sockets | `facts/` |", "no sockets | `facts/`, `engine/` |"),
                "src/text/more.cpp": '#include "engine/engine.hpp"\n',
                "src/engine/engine.hpp": "",
            },
            "lib/README.md:10: `engine/` does not stand above `text/`: no folder includes upwards",
        )

    def test_a_folder_beside_src(self):
        self.finds(
            {"src/text/more.cpp": '#include "server/server.hpp"\n', "server/more/more.cpp": ""},
            "lib/README.md:1: the table has no row for `server/more/`",
            "lib/src/text/more.cpp:1: lib/README.md does not say that `text/` may include `server/`",
        )

    def test_a_folder_without_a_row(self):
        self.finds({"src/api/walk.cpp": ""}, "lib/README.md:1: the table has no row for `src/api/`")

    def test_a_row_without_a_folder(self):
        self.finds(
            {"README.md": README + "| `src/explain/` | sentences | `engine/` |\n"},
            "lib/README.md:16: there are no sources in `explain/`",
        )

    def test_an_entry_that_is_no_folder(self):
        self.finds(
            {"README.md": README.replace("| tables | `text/` |", "| tables | `text/`, `texts/` |")},
            "lib/README.md:11: the table has no row for `texts/`",
        )


if __name__ == "__main__":
    unittest.main()
