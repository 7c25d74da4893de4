# SPDX-License-Identifier: Apache-2.0
"""The folders of each library include each other as the table in its README says, and none includes upwards.

The table has the columns `folder` and `may include`. A row is a folder with sources of its own, from the lowest to the
highest; the cell `may include` names, in backquotes and with a slash at the end, folders of rows above it, and each that is
named is needed. What else stands in the cell is not looked at. All folders beside `src/` with rows, such as `server/`, are
looked at whole; `src/` is left out of names, and so is the way to `kubernetes/include/kubernetes/`. Public headers are free to
all, as are a folder's own; files in `src/` itself are the program, which includes what it likes.
"""

import pathlib
import re

import sources

LIBRARIES = ["libjobcore", "libk8sio", "operator"]
SUFFIXES = (".cpp", ".hpp", ".h")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
FOLDER = re.compile(r"`(?:src/)?([\w/]+?)/`")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(text):
    """{folder: (line, folders that it may include)} in the order of the table; nothing if there is no such table."""
    rows, columns = {}, None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            if rows:
                break
            columns = None
        elif columns is None:
            names = cells(line)
            columns = (names.index("folder"), names.index("may include")) if {"folder", "may include"} <= set(names) else ()
        elif columns and not set(line) <= set("|-: "):
            row = cells(line)
            folder = FOLDER.fullmatch(row[columns[0]])
            if folder:
                rows[folder[1]] = (number, FOLDER.findall(row[columns[1]]))
    return rows


def shown(library, folder):
    """The folder as its row has it."""
    return f"src/{folder}" if (library / "src" / folder).is_dir() else folder


class Tree:
    """The sources of a library, with folders as in the table."""

    def __init__(self, library, rows):
        # Others than src/ are whole below the first part of a row's name.
        beside = {row.split("/")[0] for row in rows}
        self.library, self.src = library, library / "src"
        self.tops = [self.src] + sorted(library / top for top in beside if (library / top).is_dir())
        self.roots = [self.src, *(top / "include" for top in self.tops), self.library]
        self.files = [path for path in sources.files(self.tops, SUFFIXES) if not self.is_public(path)]

    def is_public(self, path):
        parts = path.relative_to(self.library).parts
        return "include" in parts and self.folder(path).split("/")[0] != parts[0]

    def folder(self, path):
        path = path.resolve().parent
        base = next(root.resolve() for root in self.roots if path.is_relative_to(root.resolve()))
        return path.relative_to(base).as_posix()

    def includes(self):
        """[(file, line, its folder, folder of what it includes)]"""
        found = []
        for path in self.files:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match:
                    bases = (*self.roots, *self.tops, path.parent)
                    target = next((base / match[1] for base in bases if (base / match[1]).is_file()), None)
                    if target and not self.is_public(target):
                        found.append((path, number, self.folder(path), self.folder(target)))
        return found


def check(library):
    """The violations of one library, a folder with README.md and sources."""
    library = pathlib.Path(library)
    readme = library / "README.md"
    name = f"{library.name}/README.md"
    rows = table(readme.read_text())
    if not rows:
        return [f"{name}:1: there is no table with the columns `folder` and `may include`"]
    tree = Tree(library, rows)
    folders = {tree.folder(path) for path in tree.files} - {"."}
    violations = [
        f"{name}:1: the table has no row for `{shown(library, folder)}/`" for folder in sorted(folders - set(rows))
    ]
    below = set()
    for folder, (line, allowed) in rows.items():
        if folder not in folders:
            violations.append(f"{name}:{line}: there are no sources in `{folder}/`")
        for other in allowed:
            if other not in rows:
                violations.append(f"{name}:{line}: the table has no row for `{other}/`")
            elif other not in below:
                violations.append(f"{name}:{line}: `{other}/` does not stand above `{folder}/`: no folder includes upwards")
        below.add(folder)
    used = set()
    for path, line, folder, target in tree.includes():
        if folder in (".", target):
            continue
        used.add((folder, target))
        if folder in rows and target not in rows[folder][1]:
            place = path.relative_to(library.parent).as_posix()
            violations.append(f"{place}:{line}: {name} does not say that `{folder}/` may include `{target}/`")
    for folder, (line, allowed) in rows.items():
        for other in allowed:
            if folder in folders and other in rows and (folder, other) not in used:
                violations.append(f"{name}:{line}: nothing in `{folder}/` includes `{other}/`: take it out")
    return violations


if __name__ == "__main__":
    sources.report([violation for library in LIBRARIES for violation in check(sources.ROOT / library)])
