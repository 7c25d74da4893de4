# SPDX-License-Identifier: Apache-2.0
"""What dpkg knows of the files of a Debian root."""

import dataclasses
import subprocess
import sys

FIELDS = ("Package", "Version", "Architecture", "Maintainer", "Homepage", "source:Package", "source:Version")
# Libraries that leave no file of their own in the image: headers alone, or archives.
COMPILED_IN = ("libboost1.81-dev", "libcli11-dev", "prometheus-cpp-dev", "rapidjson-dev")


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    architecture: str
    maintainer: str
    homepage: str
    source: str
    source_version: str
    status: str  # the record in dpkg's own form, for those who look for weaknesses


class Database:
    """Reads the dpkg database below `root`."""

    def __init__(self, root):
        self.root = root
        self.command = ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}"]
        self.known = {}

    def _run(self, *words):
        return subprocess.run([*self.command, *words], capture_output=True, text=True, check=False)

    def owner(self, file):
        """The package that installed `file`."""
        path = "/" + str(file.relative_to(self.root))
        # Packages still name files in /lib that are in /usr/lib since the two are one.
        for name in (path, path.removeprefix("/usr")):
            found = self._run("-S", name)
            if found.returncode == 0:
                return self.package(found.stdout.split(": ")[0].split(",")[0])
        sys.exit(f"build_image: no Debian package has {path}")

    def find(self, name):
        """A package, or None if it is not installed."""
        if name not in self.known:
            asked = self._run("-W", "-f", "\\t".join(f"${{{field}}}" for field in FIELDS), name)
            status = self._run("-s", name)
            good = asked.returncode == 0 and status.returncode == 0
            self.known[name] = Package(*asked.stdout.split("\t"), status.stdout) if good else None
        return self.known[name]

    def package(self, name):
        return self.find(name) or sys.exit(f"build_image: Debian's package {name} is not installed")

    def built_with(self):
        """Packages whose code is inside the program itself."""
        return [package for package in map(self.find, COMPILED_IN) if package]

    def copyright(self, package):
        return (self.root / "usr/share/doc" / package.name / "copyright").read_bytes()


