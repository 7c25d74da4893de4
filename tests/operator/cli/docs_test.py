# SPDX-License-Identifier: Apache-2.0
"""`signalbox docs rule` and `signalbox docs fields`, against the rule books, the sources and kubectl."""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest

import program

ROOT = pathlib.Path(program.source_dir())
BOOKS = {"behaviour": "libjobcore/BEHAVIOUR.md", "launch": "libjobcore/LAUNCH.md",
         "requirement": "libk8sio/REQUIREMENTS.md"}
HEADING = re.compile(r"^##(#?) (api )?(?:((?:[A-Z](?=[\d.]))?(?:\d+(?:\.\d+)*)?)\.? )?(.*)$")
RECORDED = pathlib.Path(__file__).parent / "kubectl_explain"


def rule(*arguments):
    result = program.run("docs", "rule", *arguments)
    assert result.code == 0, result.err
    return result.out


def fields(*arguments):
    result = program.run("docs", "fields", *arguments)
    assert result.code == 0, result.err
    return result.out


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def sections(path):
    """[(name as it is cited, title, text)] of a book."""
    series = next(name for name, book in BOOKS.items() if book == path)
    found, code = [], False
    for line in (ROOT / path).read_text().splitlines():
        code = code != line.startswith("```")
        match = None if code else HEADING.match(line)
        if match:
            _, api, number, title = match.groups()
            number = number or title.lower()
            found.append([number if number[0].isalpha() else f"{'api' if api else series} {number}", title, []])
        elif found:
            found[-1][2].append(line)
    return [(name, title, "\n".join(lines)) for name, title, lines in found]


def paragraphs(text):
    """The plain ones: without tables and blocks of code, and without marks of links and bold text."""
    text = re.sub(r"(?ms)^```.*?^```$", "\n", text)
    text = re.sub(r"(?m)^ *\|.*$", "\n", text)
    text = re.sub(r"(?m)^( *(?:[*-]|\d+\.) )", r"\n\n\1", text)
    parts = re.split(r"`([^`]*)`", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", parts[i]).replace("**", "")
    text = "".join(part if i % 2 == 0 else f"`{part}`" for i, part in enumerate(parts))
    return [one_line(part) for part in re.split(r"\n\s*\n", text) if part.strip()]


class Rules(unittest.TestCase):
    def test_each_rule_of_each_book_is_shown_whole(self):
        for path in BOOKS.values():
            book = [section for section in sections(path) if " " not in section[0] or section[0][-1].isdigit()]
            self.assertGreater(len(book), 20, path)
            shown = one_line(rule(*(name for name, _, _ in book)))
            for name, title, text in book:
                with self.subTest(name):
                    head = title if name == title.lower() else f"{name} {title}"
                    self.assertIn(one_line(f"{head} {path}"), shown)
                    for paragraph in paragraphs(text):
                        self.assertIn(paragraph, shown)

    def test_names_as_they_are_cited(self):
        delays = rule("5.8")
        self.assertRegex(delays, r"\Abehaviour 5\.8  \S.*\nlibjobcore/BEHAVIOUR\.md, behaviour 5  \S")
        for words in (["behaviour", "5.8"], ["behaviour 5.8"], ["BEHAVIOUR.md", "5.8"], ["[behaviour 5.8]"],
                      ["libjobcore/BEHAVIOUR.md 5.8"]):
            self.assertEqual(rule(*words), delays, words)
        for words, start in ((["api 6.3"], "api 6.3  "), (["i7"], "I7  "), (["W3"], "W3  "), (["api", "W3"], "W3  "),
                             (["launch 2.5"], "launch 2.5  "), (["REQUIREMENTS.md W3"], "W3  ")):
            self.assertTrue(rule(*words).startswith(start), words)

    def test_several(self):
        shown = rule("behaviour", "5.2-5.4", "5.8,", "api", "6.3", "I1")
        heads = re.findall(r"(?m)^((?:behaviour|api) [\d.]+|I\d+)  ", shown)
        self.assertEqual(heads, ["behaviour 5.2", "behaviour 5.3", "behaviour 5.4", "behaviour 5.8", "api 6.3", "I1"])

    def test_a_chapter_lists_its_rules(self):
        titles = {name: title for path in BOOKS.values() for name, title, _ in sections(path)}
        for chapter, rules in (("5", ["behaviour 5.1", "behaviour 5.14"]), ("api 6", ["api 6.1", "api 6.3"]),
                               ("invariants", ["I1", "I25"]), ("T", ["T1", "T14"])):
            shown = rule(chapter)
            for name in rules:
                self.assertRegex(shown, r"(?m)^  %s +%s$" % (re.escape(name), re.escape(titles[name])))

    def test_the_contents(self):
        shown = rule()
        for path in BOOKS.values():
            self.assertRegex(shown, "(?m)^%s$" % re.escape(path))
        for name in ("behaviour 5", "api 6", "invariants", "launch 2", "W"):
            self.assertRegex(shown, r"(?m)^  %s  +\S" % name)

    def test_rules_that_are_not_there(self):
        names = [name for path in BOOKS.values() for name, _, _ in sections(path)]

        def last(start):
            return max(int(name[len(start):]) for name in names if re.fullmatch(re.escape(start) + r"\d+", name))

        for words, why in ((["5.99"], rf"there is no rule behaviour 5\.99; the nearest are 5\.1 to 5\.{last('behaviour 5.')}\n"),
                           (["I99"], rf"there is no rule I99; the nearest are I1 to I{last('I')}\n"),
                           (["api 99"], rf"there is no rule api 99; the chapters of api are 1 to {last('api ')}\n"),
                           (["5.8", "Z3"], r"there is no rule Z3; `signalbox docs rule` lists"),
                           (["5.4-5.2"], r"no rule"), (["5."], r"no number of a rule"), (["-"], r"no number of a rule"),
                           (["delays"], r"`delays` is no number of a rule, such as 5\.8")):
            with self.subTest(words):
                result = program.run("docs", "rule", "--", *words)
                self.assertEqual(result.code, 2)
                self.assertEqual(result.out, "")
                self.assertRegex(result.err, why)

    def test_every_rule_that_the_program_prints_can_be_looked_up(self):
        named = set()
        for folder in ("libjobcore", "operator"):
            for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
                for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text()):
                    named.update(re.findall(r"\b(?:behaviour|api) (?:\d+(?:\.\d+)*|I\d+)", text))
        self.assertGreater(len(named), 40)
        result = program.run("docs", "rule", *sorted(named))
        self.assertEqual((result.code, result.err), (0, ""))

    def test_explain_says_how_to_look_up_its_rules(self):
        recording = pathlib.Path(__file__).parent / "recordings" / "ttl.yaml"
        shown = program.run("explain", "-f", recording, "--now", "2030-01-01T00:00:00Z").out
        last = re.fullmatch(r"`signalbox docs rule (\S+ \S+)` shows what a rule says\.", shown.splitlines()[-1])
        self.assertIn(f"[{last[1]}]", shown)
        self.assertTrue(rule(last[1]).startswith(last[1] + "  "))

    def test_lines_fit_the_terminal(self):
        for columns in (60, 90):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            with subprocess.Popen([program.binary(), "docs", "rule", "launch 2.5"], stdout=slave) as child:
                os.close(slave)
                shown = b""
                while True:
                    try:
                        part = os.read(master, 65536)
                    except OSError:  # the other end is closed
                        break
                    shown += part
                    if not part:
                        break
                self.assertEqual(child.wait(), 0)
            os.close(master)
            lengths = [len(line) for line in shown.decode().splitlines()]
            self.assertLessEqual(max(lengths), columns)
            self.assertGreater(max(lengths), columns - 30)


def tree(text):
    """{path: type} of the fields below FIELDS, without `-required-` apart from it."""
    found, above = {}, []
    for line in text.split("\nFIELDS:\n")[1].splitlines():
        match = re.fullmatch(r"( +)(\w+)\t<(\S+)>( -required-)?", line)
        if match:
            above[len(match[1]) // 2 - 1:] = [match[2]]
            found[".".join(above)] = (match[3], bool(match[4]))
    return found


class Fields(unittest.TestCase):
    def test_the_tree_is_the_one_that_kubectl_shows(self):
        for file in sorted(RECORDED.glob("*.tree.txt")):
            kind = file.name.split(".")[0]
            ours = tree(fields(kind, "--recursive"))
            for path, (type_name, required) in tree(file.read_text()).items():
                with self.subTest(kind, path=path):
                    if path not in ours:
                        # kubectl shows an old name beside the new one.
                        self.assertIn("OLD NAME:   " + path.split(".")[-1], fields(f"{kind}.{path}"))
                        continue
                    # Of what may be an integer or a text it does not know the type.
                    known = "Object" if ours[path][0] == "IntOrString" else ours[path][0]
                    self.assertEqual((known, ours[path][1]), (type_name, required))

    def test_fields_have_the_shape_that_kubectl_shows(self):
        files = [file for file in sorted(RECORDED.glob("*.txt")) if not file.name.endswith(".tree.txt")]
        self.assertGreater(len(files), 3)
        for file in files:
            with self.subTest(file.stem):
                theirs, ours = file.read_text(), fields(file.stem)
                self.assertEqual(theirs.splitlines()[:3], ours.splitlines()[:3])
                heads = r"(?m)^(GROUP|KIND|VERSION|FIELD|DESCRIPTION|FIELDS):"
                self.assertEqual(re.findall(heads, theirs), re.findall(heads, ours))
                self.assertIn(re.search(r"(?m)^FIELD: .*$", theirs)[0], ours)
                if "FIELDS:" in theirs:
                    for path, what in tree(theirs).items():
                        self.assertEqual(what, tree(ours)[path])
                words = re.sub(r" One of: [^.]*\.", "", one_line(theirs.split("DESCRIPTION:")[1].split("FIELDS:")[0]))
                self.assertIn(words, one_line(ours))

    def test_what_there_is_to_say(self):
        for path, lines in (
                ("dj.spec.runPolicy.cleanUpPolicy", [
                    "FIELD: cleanUpPolicy <string>", "    All (old spelling: all)", 'DEFAULT:    "Unfinished"',
                    "MAY CHANGE: any time", "RULE:       behaviour 5.13 (`signalbox docs rule behaviour 5.13`)"]),
                ("pj.spec.elastic.minReplicas", [
                    "DEFAULT:    1", "MUST BE:    1 to 10000", "MAY CHANGE: never", "RULE:       api 1.8 "]),
                ("dj.spec.runMode.debug.replicaSpecs.type", ["MAY CHANGE: never", "RULE:       behaviour 3.10 "]),
                ("dj.spec.runMode.pause.enabled", ["MAY CHANGE: any time", "RULE:       behaviour 6.1 "]),
                ("pj.spec.elastic", ["  - `maxReplicas` must be at least `minReplicas`", "MAY CHANGE: while paused"]),
                ("dj.spec.config.run", ["  exec\t<[]string>"]),
                ("dj.spec.config.run.Exec", ["FIELD: exec <[]string>", "OLD NAME:   Exec"]),
                ("pj.spec.torchrunConfig.minNodes", ["NOW:        elastic.minReplicas", "MAY CHANGE: as the new name"]),
                ("pj.spec.replicaSpecs", ["FIELD: replicaSpecs <[]Object> -required-", "MUST BE:    at most 32 items",
                                          "  enum: Always, OnFailure, Never, ExitCode", '    (default "OnFailure")']),
                ("pj.spec.replicaSpecs.template", ["`kubectl explain pod.spec`"]),
                ("caij.spec.launcher.env", ["`kubectl explain pod.spec.containers.env`"]),
                ("dj.metadata", ["  batch.tensorstack.dev/shm\t<string>"]),
                ("dj.status.nextTransition.time", ["WRITTEN BY: the operator alone"])):
            shown = fields(path)
            for line in lines:
                with self.subTest(path, line=line):
                    self.assertIn(line, shown)

    def test_names_of_a_kind_and_of_items(self):
        for paths in (["deepspeedjob.spec", "DeepSpeedJob.spec", "deepspeedjobs.spec", "DJ.spec",
                       "deepspeedjobs.batch.tensorstack.dev.spec"],
                      ["pj.spec.replicaSpecs.type", "pj.spec.replicaSpecs[].type", "pj.spec.replicaSpecs[0].type"]):
            self.assertEqual(len({fields(path) for path in paths}), 1, paths)

    def test_what_is_not_there(self):
        for path, why in (
                ("job.spec", r'"job" is none of the kinds PyTorchTrainingJob \(pytorchtrainingjobs, pj\), '),
                ("deepspedjob", r"did you mean `DeepSpeedJob`\?"),
                ("dj.spec.config.slots", r'DeepSpeedJob\.spec\.config has no field "slots"; it has `customCommand`, '),
                ("dj.spec.config.slotPerWorker", r"did you mean `slotsPerWorker`\?"),
                ("dj.spec.config.localRank.x", r'config\.localRank is a <boolean> and has no field "x"'),
                ("pj.spec.replicaSpecs.template.spec.tolerations", r"`kubectl explain pod\.spec\.tolerations`"),
                ("dj.", r'DeepSpeedJob has no field ""'), ("", r'"" is none of the kinds')):
            with self.subTest(path):
                result = program.run("docs", "fields", path)
                self.assertEqual(result.code, 2)
                self.assertEqual(result.out, "")
                self.assertRegex(result.err, why)

    def test_mistakes_show_the_usage_of_the_inner_command(self):
        result = program.run("docs", "fields")
        self.assertEqual(result.code, 2)
        self.assertIn("Usage: signalbox docs fields [OPTIONS] FIELD", result.err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
