# SPDX-License-Identifier: Apache-2.0
"""What the table of folders in a library's README says of includes holds of definitions too: nothing in a folder uses a function
or variable that a folder further down the table defines, though its declaration is in a public header that all may include.

    check_symbols.py NM README OBJECTS...     OBJECTS: folders with what the compiler made of the library's units

Where a folder is compiled as one unit, so are the folders in it: they count as one, by the first part of their name.
"""

import pathlib
import re
import subprocess
import sys

import check_includes
import sources

UNITY = re.compile(r"unity_(\w+)_cxx\.cxx\.o$")
LINE = re.compile(r"(signalbox::.*?) ([A-Za-z])(?: [0-9a-f]*)*$")


def folder(unit, tops):
    """The first part of the name of the folder that an object file is from; empty for the library's own folder."""
    unity = UNITY.search(unit.name)
    if unity:
        return unity[1]
    return next((part for part in unit.parts if part in tops), "")


def symbols(nm, unit):
    """What the object file defines (but for what several may define), and what it uses; names without arguments' types."""
    told = subprocess.run([nm, "-C", "--format=posix", unit], capture_output=True, text=True, check=True).stdout
    defined, used = set(), set()
    for line in told.splitlines():
        match = LINE.match(line)
        if match and match[2] in "TDBR":
            defined.add(match[1])
        elif match and match[2] == "U":
            used.add(match[1])
    return defined, used


def violations(order, units, name):
    """`order`: the first parts of folders, lowest first. `units`: [(folder, defined, used)]."""
    place = {top: number for number, top in enumerate(order)}
    owner = {symbol: top for top, defined, _ in units for symbol in defined}
    found = set()
    for top, _, used in units:
        for symbol in used & owner.keys():
            if top in place and owner[symbol] in place and place[owner[symbol]] > place[top]:
                found.add(f"{name}: `{top}/` uses {symbol.split('(')[0]}, which `{owner[symbol]}/` below it defines")
    return sorted(found)


def order_of(readme):
    """First parts of the folders in the table, in its order."""
    rows = check_includes.table(readme.read_text())
    return list(dict.fromkeys(row.removeprefix("server/").split("/")[0] for row in rows))


def main(nm, readme, *folders):
    readme = pathlib.Path(readme)
    order = order_of(readme)
    units = []
    for objects in folders:
        for unit in sorted(pathlib.Path(objects).rglob("*.o")):
            units.append((folder(unit.relative_to(objects), order), *symbols(nm, unit)))
    assert units, "there are no object files"
    sources.report(violations(order, units, f"{readme.parent.name}/README.md"))


if __name__ == "__main__":
    main(*sys.argv[1:])
