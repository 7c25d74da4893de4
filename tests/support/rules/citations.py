# SPDX-License-Identifier: Apache-2.0
"""Citations in the project's texts, and what they lead to.

A project is a folder of files; `Project.violations()` gives `path:line: text` for each citation that resolves to nothing.
Looked at are all files with one of TEXTS; of source code, what is said about files and symbols is looked for in comments
only.
"""

import ast
import difflib
import io
import os
import pathlib
import re
import tokenize

FOLDERS = ["libjobcore", "libk8sio", "operator", "examples", "tests", "cmake"]
TEXTS = (".md", ".cpp", ".hpp", ".h", ".py", ".sh", ".cmake", ".txt", ".json", ".yaml", ".in")
CODE = (".cpp", ".hpp", ".h")
HASH = (".py", ".sh", ".cmake", ".yaml", ".in", "CMakeLists.txt")

# The documents whose chapters and rules have numbers; in short form, what the program prints and tests are tagged with.
BOOKS = {"BEHAVIOUR.md": r"behaviour|api", "LAUNCH.md": r"launch(?:ers)?", "REQUIREMENTS.md": r"requirements?"}

# What is not in the repository, and what to do instead.
OUTSIDE = [
    (r"(?<![\w./-])(?:\.\./)*shared/\w*", "say what the project needs of it here"),
    (r"(?<![\w./-])(?:\.\./)*research/\w*", "say the fact itself, or cite LAUNCH.md"),
    (r"(?<![\w./-])spec/(?:behaviour|api|changes)\S*", "cite BEHAVIOUR.md"),
    (r"(?<![\w/-])/work/\w+", "a path of one machine: make it relative to the repository"),
]
# Documents that there were, by what took their place.
FORMER = {
    "behaviour.md": "BEHAVIOUR.md",
    "api.md": "BEHAVIOUR.md api",
    "launchers.md": "LAUNCH.md",
    "client.md": "REQUIREMENTS.md",
}

NUMBER = r"(?:\d+(?:\.\d+)*|[A-Z]\d+)"
# After the first number only those that cannot be a count of something.
FURTHER = r"(?:\d+\.\d+|[A-Z]\d+)"
# A number alone, of the rule book or, in a document with numbers, of itself.
BARE = re.compile(r"\((?:see )?(\d+\.\d+(?:(?:, |-| and )\d+\.\d+)*)\)")
NUMBERS = re.compile(rf"(?P<api>api\s+)?(?P<first>{NUMBER})(?![\w%])(?P<more>(?:(?:-|,\s+|\s+and\s+|\s+or\s+){FURTHER}(?![\w%]))*)")
DOCUMENT = re.compile(r"(?<![\w/.<>*-])((?:\.{1,2}/)*[\w<>*-]+(?:[./][\w<>*-]+)*\.md)\b")
SOURCE = re.compile(r"(?<![\w/.<>*{}$-])((?:\.{1,2}/)*[\w<>*{},-]+(?:[./][\w<>*{},-]+)*\.(?:cpp|hpp|h|py|sh|cmake))\b(?![\w*(])")
FILE_TEXT = re.compile(r"(?<![\w/<>-])[\w-]+\.(?:py|sh)\b")
LINK = re.compile(r"(?<!!)\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
NUMBERED = re.compile(rf"(api )?({NUMBER}|[A-Z](?=\.))\.? ")
SYMBOL = re.compile(r"~?[A-Za-z_]\w*(?:(?:::|\.|->)~?[A-Za-z_]\w*)*(?:\(\))?")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class Comment:
    """A comment without its marks; consecutive lines are one."""

    def __init__(self, line, text):
        self.line, self.text = line, text

    def line_of(self, position):
        return self.line + self.text.count("\n", 0, position)


def join_lines(found):
    """Comments of (line, whether the line has nothing else, text)."""
    comments, last = [], None
    for line, alone, text in found:
        if alone and last is not None and last == line - 1:
            comments[-1].text += "\n" + text
        else:
            comments.append(Comment(line, text))
        last = line if alone else None
    return comments


CPP_TOKEN = re.compile(
    r'//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|R"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:[^"\\\n]|\\.)*)"'
    r"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'",
    re.DOTALL,
)


def cpp_parts(text):
    """(comments, the text without them)."""
    found, code, end = [], [], 0
    for match in CPP_TOKEN.finditer(text):
        comment = match["line"] if match["line"] is not None else match["block"]
        if comment is None:
            continue
        code.append(text[end : match.start()])
        end = match.end()
        line = text.count("\n", 0, match.start()) + 1
        alone = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        found.append((line, alone, re.sub(r"^[/!<]*\s?", "", comment)))
    return join_lines(found), "".join(code) + text[end:]


def python_parts(text):
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            found.append((token.start[0], not token.line[: token.start[1]].strip(), token.string.lstrip("#! ")))
    comments = join_lines(found)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            comments.append(Comment(node.body[0].lineno, ast.get_docstring(node, clean=False)))
    return sorted(comments, key=lambda comment: comment.line), text


def hash_parts(text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.search(r"(?:^|(?<=\s))#+(?:[!\s]|$)(.*)", line)
        if match:
            found.append((number, not line[: match.start()].strip(), match[1]))
    return join_lines(found), text


def parts(path, text):
    """(comments, code) of a file; of Markdown all is comment."""
    if path.endswith(CODE):
        return cpp_parts(text)
    if path.endswith(".py"):
        return python_parts(text)
    if path.endswith(HASH):
        return hash_parts(text)
    return ([Comment(1, text)], "") if path.endswith(".md") else ([], text)


def flat(text):
    """The text with the marks of comments taken off its lines: what goes on in the next line is found."""
    return re.sub(r"(?m)^[ \t]*(?://[/!]?<?|#(?!#)|\*(?=\s))[ \t]?", "", text)


def anchor(heading):
    """What a link to a heading ends in, by the rule of GitHub."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Document:
    """What can be cited of a document: its numbers and the anchors of its headings."""

    def __init__(self, text):
        text = re.sub(r"(?ms)^```.*?^```$", "", text)
        headings = HEADING.findall(text)
        self.anchors = {anchor(heading) for heading in headings}
        self.numbers = []
        for heading in headings:
            match = NUMBERED.match(heading)
            if match:
                self.numbers.append((match[1] or "") + match[2])


class Project:
    """`allowed`: {(path, what it names): why that may be}, "*" for any. `public`: folders of headers whose comments are
    documentation. `bare`: folders where a number alone is a rule of BEHAVIOUR.md."""

    def __init__(
        self, root, allowed=None, folders=FOLDERS, public=("libjobcore/include", "libk8sio/include", "libk8sio/server/include"), bare=("libjobcore",)
    ):
        self.root = pathlib.Path(root)
        self.allowed, self.used = allowed or {}, set()
        self.public, self.bare = public, bare
        self.files = self.find(folders)
        self.texts = {
            path: (self.root / path).read_text(errors="replace") for path in self.files if path.endswith(TEXTS)
        }
        self.parts = {path: parts(path, text) for path, text in self.texts.items()}
        self.documents = {path: Document(text) for path, text in self.texts.items() if path.endswith(".md")}
        self.words = {path.rsplit("/", 1)[-1].split(".")[0] for path in self.files}
        for path, (_, code) in self.parts.items():
            if (path, "*") not in self.allowed:
                self.words.update(IDENTIFIER.findall(code))
        self.file_texts = {
            (path.split("/")[0], name) for path, (_, code) in self.parts.items() for name in FILE_TEXT.findall(code)
        }
        self.by_name = {}
        for path in self.files:
            self.by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
        self.found = []

    def find(self, folders):
        found = [path.name for path in self.root.iterdir() if path.is_file() and not path.name.startswith(".")]
        for folder in folders:
            for directory, subdirectories, names in os.walk(self.root / folder):
                subdirectories[:] = [
                    name for name in subdirectories if not name.startswith((".", "build")) and name != "__pycache__"
                ]
                where = pathlib.Path(directory).relative_to(self.root).as_posix()
                found += [f"{where}/{name}" for name in names]
        return sorted(found)

    def report(self, path, line, name, text):
        for key in ((path, name), (path, "*"), ("*", name)):
            if key in self.allowed:
                self.used.add(key)
                return
        self.found.append((path, line, text))

    def violations(self):
        for path, text in self.texts.items():
            flattened = flat(text)
            self.check_outside(path, flattened)
            self.check_documents(path, flattened)
            self.check_short_numbers(path, flattened)
            for comment in self.parts[path][0]:
                self.check_sources(path, comment)
                self.check_symbols(path, comment)
                self.check_bare_numbers(path, comment)
            if path.endswith(".md"):
                self.check_links(path, text)
        lines = [f"{path}:{line}: {text}" for path, line, text in sorted(set(self.found))]
        stale = [key for key in self.allowed if key not in self.used]
        return lines + [f"{path}: nothing here names `{name}`: take it off the list of what is allowed" for path, name in stale]

    def check_bare_numbers(self, path, comment):
        """In C++ a number in brackets is one of BEHAVIOUR.md, in a document with numbers one of its own."""
        document = path if path in self.documents else next(iter(self.by_name.get("BEHAVIOUR.md", [])), None)
        if document is None or not (path.startswith(self.bare) if path.endswith(CODE) else self.numbers_of(path)):
            return
        for match in BARE.finditer(comment.text):
            for number in re.findall(FURTHER, match[1]):
                self.check_numbers(
                    path, comment.line_of(match.start()), document, number, document.rsplit("/", 1)[-1]
                )

    def numbers_of(self, path):
        return path in self.documents and self.documents[path].numbers

    def check_outside(self, path, text):
        for pattern, instead in OUTSIDE:
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                self.report(path, line, match[0], f"`{match[0]}` is not in the repository: {instead}")

    def candidates(self, path, name):
        """Files that `name`, written in `path`, can mean: as a path from the root or from here, else by its end."""
        here = os.path.normpath(os.path.join(os.path.dirname(path), name)).replace(os.sep, "/")
        pattern = re.escape(name).replace(r"\*", r"[^/]*")
        pattern = re.sub(r"<\w+>", r"[^/]+", pattern)
        pattern = re.sub(r"\\{([^}]*)\\}", lambda match: "(?:" + match[1].replace(",", "|") + ")", pattern)
        if here in self.files:
            return [here]
        if f"{name}.in" in self.by_name:  # made by the build
            return self.by_name[f"{name}.in"]
        matches = re.compile(rf"(?:.*/)?{pattern}")
        found = [file for file in self.files if matches.fullmatch(file)]
        if "/" in name or "/" not in path:
            return found
        # A bare name is that of a file nearby, in the same library or program.
        return [file for file in found if file.split("/")[0] == path.split("/")[0] or "/" not in file]

    def instead(self, name):
        last = name.rsplit("/", 1)[-1]
        if last in self.by_name:
            return "there is " + " and ".join(f"`{file}`" for file in self.by_name[last][:3])
        near = difflib.get_close_matches(last, self.by_name, 1)
        return f"there is `{self.by_name[near[0]][0]}`" if near else "nothing has a similar name"

    def check_documents(self, path, text):
        if path.endswith(".md"):  # links are looked at by themselves
            text = LINK.sub(lambda link: re.sub(r"\S", "-", link[0]), text)
        for match in DOCUMENT.finditer(text):
            name = match[1].lstrip("*")
            if name.startswith("build/"):  # made by the build
                continue
            line = text.count("\n", 0, match.start()) + 1
            last = name.rsplit("/", 1)[-1]
            found = self.candidates(path, name) or ([] if "/" in name else self.by_name.get(last, []))
            if not found:
                instead = f"cite {FORMER[last]}" if last in FORMER else self.instead(name)
                self.report(path, line, name, f"there is no document `{name}`: {instead}")
            elif last not in ("README.md", "API.md"):
                after = re.match(r"`?\s+", text[match.end() :])
                if after:
                    self.check_numbers(path, line, found[0], text[match.end() + after.end() :], last)

    def check_numbers(self, path, line, document, text, name):
        match = NUMBERS.match(text)
        if not match:
            return
        known = self.documents[document].numbers
        letters = any(number[0].isupper() for number in known)
        for number in [match["first"], *re.findall(FURTHER, match["more"])]:
            if number[0].isalpha() and not letters:  # of another document
                continue
            prefix = "api " if match["api"] and number[0].isdigit() else ""
            if prefix + number not in known:
                near = [each for each in known if each.startswith(prefix + number.split(".")[0] + ".")]
                near = near or [each for each in known if each.startswith(prefix + number[0]) and each != number[0]]
                instead = f"from {near[0]} to {near[-1]}" if near else "see its headings"
                self.report(path, line, f"{name} {prefix}{number}", f"{name} has no {prefix}{number}: {instead}")

    def check_short_numbers(self, path, text):
        """`behaviour 5.8`, `api 6.3`, `launch 2.5`, `requirement W3`."""
        for name, words in BOOKS.items():
            number = r"[A-Z]\d+\b" if name == "REQUIREMENTS.md" else r"(?:\d+(?:\.\d+)?(?![\w.]*\w)|I\d+\b)"
            for match in re.finditer(rf"(?<![\w.-])({words}) ({number})", text):
                line = text.count("\n", 0, match.start()) + 1
                start = match.start() if match[1] == "api" else match.start(2)
                for document in self.by_name.get(name, []):
                    self.check_numbers(path, line, document, text[start:], name)

    def check_sources(self, path, comment):
        for match in SOURCE.finditer(comment.text):
            name = match[1]
            if comment.text[: match.start()].endswith(("://", "$")) or self.is_file_of_ours(path, name):
                continue
            self.report(
                path, comment.line_of(match.start()), name, f"there is no file `{name}`: {self.instead(name)}"
            )

    def is_file_of_ours(self, path, name):
        if name.startswith("<") and ">" not in name:  # an include
            library = name[1:].split("/")[0]
            return f"lib{library}/include" not in self.public or bool(self.candidates(path, name[1:]))
        # Files that the program makes, and those of users in examples, are texts in code nearby.
        return bool(self.candidates(path, name)) or ("/" not in name and (path.split("/")[0], name) in self.file_texts)

    def check_symbols(self, path, comment):
        public = path.startswith(tuple(self.public)) and path.endswith(CODE)
        for match in re.finditer(r"(?<!`)`([^`\n]+)`(?!`)", comment.text):
            self.check_symbol(path, comment.line_of(match.start()), match[1], public)
        if public:
            plain = re.sub(r"`[^`]*`|\"[^\"]*\"", lambda quoted: " " * len(quoted[0]), comment.text)
            for match in re.finditer(r"\b[A-Za-z]\w*(?:::\w+)*(?:_\w+|\(\))", plain):
                self.check_symbol(path, comment.line_of(match.start()), match[0], public)

    def check_symbol(self, path, line, text, public):
        """Names of code: with an underscore, `::` or `()`; in public headers every name in backquotes."""
        if not SYMBOL.fullmatch(text) or SOURCE.fullmatch(text) or text.endswith(TEXTS):
            return
        if not public and not re.search(r"[a-z]_[a-z]|::|\(\)$", text):
            return
        for word in IDENTIFIER.findall(text):
            if word not in self.words:
                near = difflib.get_close_matches(word, self.words, 1)
                instead = f"there is `{near[0]}`" if near else "nothing has a similar name"
                self.report(path, line, text, f"nothing in the code is called `{word}`: {instead}")

    def check_links(self, path, text):
        text = re.sub(r"(?ms)^```.*?^```$", lambda code: "\n" * code[0].count("\n"), text)
        for match in LINK.finditer(text):
            target, _, place = match[1].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            line = text.count("\n", 0, match.start()) + 1
            file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not (self.root / file).exists() or file.startswith(".."):
                self.report(path, line, match[1], f"the link leads to no file `{file}`: {self.instead(target)}")
            elif place and file in self.documents and place not in self.documents[file].anchors:
                near = difflib.get_close_matches(place, self.documents[file].anchors, 1)
                instead = f"there is #{near[0]}" if near else "see its headings"
                self.report(path, line, match[1], f"`{file}` has no heading #{place}: {instead}")
