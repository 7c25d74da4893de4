#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package as a wheel around a libsignalbox_jobcore.so that is built already. Nothing is compiled.

    signalbox_wheel.py LIBRARY [FOLDER]                      writes the wheel into FOLDER, by default here
    SIGNALBOX_JOBCORE_LIBRARY=LIBRARY pip install .          the same by pip (PEP 517)

The same files give the same bytes. The wheel says which glibc the library needs, and pip refuses it where that is older.
"""

import base64
import ctypes
import hashlib
import os
import pathlib
import re
import sys
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
METADATA = """Metadata-Version: 2.1
Name: signalbox
Version: {version}
Summary: What Signalbox does with distributed training jobs, asked and tested without a cluster
License: Apache-2.0
Requires-Python: >=3.10
Description-Content-Type: text/markdown

"""
WHEEL = """Wheel-Version: 1.0
Generator: signalbox_wheel
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """[pytest11]
signalbox = signalbox.pytest_plugin
"""


def tag_of(library):
    """For every Python 3 on a machine of this kind, with a glibc that has all that the library asks for."""
    least = max(map(int, re.findall(rb"GLIBC_2\.(\d+)", library)), default=17)
    machine = sysconfig.get_platform().rpartition("-")[2]
    return f"py3-none-manylinux_2_{least}_{machine}"


def files_of(library):
    """(version, tag, [(name in the wheel, bytes)])"""
    function = ctypes.CDLL(str(library)).signalbox_jobcore_version
    function.restype = ctypes.c_char_p
    version, content = function().decode(), library.read_bytes()
    tag, info = tag_of(content), f"signalbox-{version}.dist-info"
    package = sorted(path for path in (HERE / "signalbox").iterdir() if path.suffix == ".py" or path.name == "py.typed")
    files = [(f"signalbox/{path.name}", path.read_bytes()) for path in package]
    files += [
        ("signalbox/libsignalbox_jobcore.so", content),
        (f"{info}/METADATA", (METADATA.format(version=version) + (HERE / "README.md").read_text("utf-8")).encode()),
        (f"{info}/WHEEL", WHEEL.format(tag=tag).encode()),
        (f"{info}/entry_points.txt", ENTRY_POINTS.encode()),
    ]
    digests = [(name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data)) for name, data in files]
    record = "".join(f"{name},sha256={digest},{size}\n" for name, digest, size in digests) + f"{info}/RECORD,,\n"
    return version, tag, [*files, (f"{info}/RECORD", record.encode())]


def build(library, folder):
    """The path of the wheel."""
    version, tag, files = files_of(pathlib.Path(library).resolve(strict=True))
    path = pathlib.Path(folder, f"signalbox-{version}-{tag}.whl")
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files:
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return path


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    library = os.environ.get("SIGNALBOX_JOBCORE_LIBRARY")
    if not library:
        raise SystemExit("SIGNALBOX_JOBCORE_LIBRARY must name a libsignalbox_jobcore.so: see the README")
    return build(library, wheel_directory).name


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517 has it; there is none, for it would lack the library."""
    raise SystemExit("signalbox has no source distribution: build a wheel")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: signalbox_wheel.py LIBRARY [FOLDER]")
    print(build(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "."))
