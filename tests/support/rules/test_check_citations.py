# SPDX-License-Identifier: Apache-2.0
"""The check of citations, held against samples: one project without a mistake, and one mistake of each class in it."""

import pathlib
import tempfile
import unittest

import citations

BOOK = """# Rules

## 5. Failure

### 5.8 Delays

The delay doubles (5.8), by `next_delay`. Code: `lib/src/delay.cpp`

## api 6. Validation

### api 6.3 Room for names

## Invariants

### I7 Counts
"""
REQUIREMENTS = "# Requirements\n\n## W. Watches\n\n### W3 Short watches\n"
HEADER = """// The delay of a restart (BEHAVIOUR.md
// 5.8, api 6.3 and I7; REQUIREMENTS.md W3).
/// Calls next_delay() of delay.cpp; see [README.md].
int next_delay(int streak);  ///< in `seconds`
"""
GOOD = {
    "README.md": "[The rules](lib/BEHAVIOUR.md#58-delays), [the folder](lib), [above](#the-top)\n# The top\n",
    "lib/BEHAVIOUR.md": BOOK,
    "lib/REQUIREMENTS.md": REQUIREMENTS,
    "lib/include/delay.hpp": HEADER,
    "lib/src/delay.cpp": 'int seconds = 0;\nconst char* rule = "behaviour 5.8";  // BEHAVIOUR.md 5.8\n',
    "lib/src/README.md": "`delay.cpp` and `*.cpp`; `../include/delay.hpp`\n",
    "tests/delay_test.py": '"""Of delay_test.py; [behaviour 5.8] [api 6.3]."""\n',
}


def violations(changes, allowed=None):
    """Of the good project with these files changed or added."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**GOOD, **changes}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        project = citations.Project(folder, allowed, ["lib", "tests"], public=("lib/include",), bare=("lib/src",))
        return project.violations()


class Citations(unittest.TestCase):
    def finds(self, changes, *expected):
        self.assertEqual(violations(changes), list(expected))

    def test_nothing_is_wrong(self):
        self.finds({})

    def test_a_document(self):
        self.finds({"lib/src/a.cpp": "// First.\n// See design.md 3.\n"},
                   "lib/src/a.cpp:2: there is no document `design.md`: nothing has a similar name")
        self.finds({"lib/src/a.cpp": 'auto text = "as in client.md";\n'},
                   "lib/src/a.cpp:1: there is no document `client.md`: cite REQUIREMENTS.md")
        self.finds({"lib/src/a.cpp": "// docs/BEHAVIOUR.md\n"},
                   "lib/src/a.cpp:1: there is no document `docs/BEHAVIOUR.md`: there is `lib/BEHAVIOUR.md`")

    def test_a_rule(self):
        none = "BEHAVIOUR.md has no 5.9: from 5.8 to 5.8"
        for text in ("// (BEHAVIOUR.md 5.9)\n", "// (BEHAVIOUR.md 5.8, 5.9)\n", "// (BEHAVIOUR.md 5.8-5.9)\n",
                     'auto rule = "behaviour 5.9";\n', "// The delay (5.9).\n", "// `BEHAVIOUR.md` 5.9\n"):
            with self.subTest(text):
                self.finds({"lib/src/a.cpp": text}, "lib/src/a.cpp:1: " + none)
        self.finds({"lib/src/a.cpp": "/// By BEHAVIOUR.md\n/// 5.9.\n"}, "lib/src/a.cpp:1: " + none)
        self.finds({"lib/BEHAVIOUR.md": BOOK + "As in 5.8 (5.9).\n"}, "lib/BEHAVIOUR.md:16: " + none)
        self.finds({"tests/a.py": '"""[api 6.4] names."""\n'},
                   "tests/a.py:1: BEHAVIOUR.md has no api 6.4: from api 6.3 to api 6.3")
        self.finds({"tests/a.py": "# BEHAVIOUR.md I8\n"}, "tests/a.py:1: BEHAVIOUR.md has no I8: from I7 to I7")
        self.finds({"tests/a.sh": "# requirement W4, REQUIREMENTS.md W5\n"},
                   "tests/a.sh:1: REQUIREMENTS.md has no W4: from W3 to W3",
                   "tests/a.sh:1: REQUIREMENTS.md has no W5: from W3 to W3")

    def test_a_rule_that_went(self):
        self.finds({"lib/BEHAVIOUR.md": BOOK.replace("### I7", "### I6")},
                   "lib/include/delay.hpp:2: BEHAVIOUR.md has no I7: from I6 to I6")

    def test_a_file(self):
        none = "there is no file `dela.cpp`: there is `lib/src/delay.cpp`"
        self.finds({"lib/src/a.cpp": "int a;  // as in dela.cpp\n"}, "lib/src/a.cpp:1: " + none)
        self.finds({"lib/src/README.md": "\nThe file `dela.cpp`.\n"}, "lib/src/README.md:2: " + none)
        self.finds({"lib/BEHAVIOUR.md": BOOK + "Code: `lib/dela.cpp`\n"},
                   "lib/BEHAVIOUR.md:16: there is no file `lib/dela.cpp`: there is `lib/src/delay.cpp`")
        self.finds({"tests/a.py": "# delay.cpp, which is of another part of the project\n"},
                   "tests/a.py:1: there is no file `delay.cpp`: there is `lib/src/delay.cpp`")
        self.finds({"lib/src/a.cpp": "// delays_*.cpp\n"},
                   "lib/src/a.cpp:1: there is no file `delays_*.cpp`: there is `lib/src/delay.cpp`")

    def test_a_file_in_code_is_none_of_a_text(self):
        self.finds({"lib/src/a.cpp": 'auto script = "run.sh";\n', "lib/src/b.cpp": "// writes run.sh\n"})

    def test_a_symbol(self):
        none = "nothing in the code is called `next_dela`: there is `next_delay`"
        for text in ("// Calls `next_dela`.\n", "// Calls next_dela.\n", "// Calls next_dela(3).\n"):
            with self.subTest(text):
                self.finds({"lib/include/a.hpp": text}, "lib/include/a.hpp:1: " + none)
        self.finds({"lib/include/a.hpp": "/// Not `Delay`.\n"},
                   "lib/include/a.hpp:1: nothing in the code is called `Delay`: there is `delay`")
        self.finds({"lib/src/a.cpp": "int a;\n// Calls `core::next_delay()`.\n"},
                   "lib/src/a.cpp:2: nothing in the code is called `core`: nothing has a similar name")
        self.finds({"lib/src/README.md": "`next_dela` of `../include/delay.hpp`\n"}, "lib/src/README.md:1: " + none)
        self.finds({"lib/src/a.cpp": "// next_dela alone is no symbol here, nor `Delay`\n"})

    def test_what_is_outside(self):
        for text, name in (("see ../shared/design", "../shared/design"), ("shared/spec", "shared/spec"),
                           ("research/launchers", "research/launchers"), ("/work/env", "/work/env"),
                           ("spec/behaviour", "spec/behaviour")):
            with self.subTest(text):
                found = violations({"tests/a.sh": f"# {text}\n"})
                self.assertEqual(len(found), 1, found)
                self.assertIn(f"tests/a.sh:1: `{name}` is not in the repository", found[0])

    def test_a_link(self):
        self.finds({"README.md": "one\n[two](lib/RULES.md)\n"},
                   "README.md:2: the link leads to no file `lib/RULES.md`: nothing has a similar name")
        self.finds({"README.md": "[two](lib/BEHAVIOUR.md#58-delay)\n"},
                   "README.md:1: `lib/BEHAVIOUR.md` has no heading #58-delay: there is #58-delays")
        self.finds({"README.md": "[two](../README.md) [three](https://example.com/x)\n"},
                   "README.md:1: the link leads to no file `../README.md`: "
                   "there is `README.md` and `lib/src/README.md`")

    def test_the_list_of_what_is_allowed(self):
        wrong = {"lib/src/a.cpp": "// dela.cpp\n"}
        for key in (("lib/src/a.cpp", "dela.cpp"), ("lib/src/a.cpp", "*"), ("*", "dela.cpp")):
            self.assertEqual(violations(wrong, {key: "a sample"}), [])
            stale = violations({}, {key: "a sample"})
            self.assertEqual(len(stale), 1)
            self.assertIn("take it off the list", stale[0])


if __name__ == "__main__":
    unittest.main()
