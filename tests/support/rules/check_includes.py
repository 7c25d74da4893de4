# SPDX-License-Identifier: Apache-2.0
"""The folders of each library include each other as the table in its README says, and none includes upwards.

The table has the columns `folder` and `may include`. A row is a folder below `src/` with sources of its own, from the
lowest to the highest; the cell `may include` names, in backquotes and with a slash at the end, folders of rows above
it, and each that is named is needed. What else stands in the cell is not looked at. Public headers are free to all, as
are a folder's own; files in `src/` itself are the program, which includes what it likes.
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
            if folder and "`src/" in row[columns[0]]:
                rows[folder[1]] = (number, FOLDER.findall(row[columns[1]]))
    return rows


def includes(src):
    """[(file, line, its folder, folder of what it includes)] for what lies below `src`; folders as in the table."""
    found = []
    for path in sources.files([src], SUFFIXES):
        folder = path.parent.relative_to(src).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                for base in (src, path.parent):
                    target = base / match[1]
                    if target.is_file():
                        found.append((path, number, folder, target.parent.resolve().relative_to(src.resolve()).as_posix()))
                        break
    return found


def check(library):
    """The violations of one library, a folder with README.md and `src/`."""
    library = pathlib.Path(library)
    readme = library / "README.md"
    name = f"{library.name}/README.md"
    rows = table(readme.read_text())
    if not rows:
        return [f"{name}:1: there is no table with the columns `folder` and `may include`"]
    src = library / "src"
    folders = {path.parent.relative_to(src).as_posix() for path in sources.files([src], SUFFIXES)} - {"."}
    violations = [f"{name}:1: the table has no row for `src/{folder}/`" for folder in sorted(folders - set(rows))]
    below = set()
    for folder, (line, allowed) in rows.items():
        if folder not in folders:
            violations.append(f"{name}:{line}: there are no sources in `src/{folder}/`")
        for other in allowed:
            if other not in rows:
                violations.append(f"{name}:{line}: the table has no row for `{other}/`")
            elif other not in below:
                violations.append(f"{name}:{line}: `{other}/` does not stand above `{folder}/`: no folder includes upwards")
        below.add(folder)
    used = set()
    for path, line, folder, target in includes(src):
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
