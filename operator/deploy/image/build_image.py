#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the operator's image as an OCI layout: the program, the shared libraries that it needs, CA certificates.

No daemon, no base image, no root. The libraries come from the Debian packages of this machine, or of another root
(--root, e.g. a chroot of another architecture). The same inputs and SOURCE_DATE_EPOCH give the same bytes.

Usage: build_image.py [--root DIR] [--version V] [--revision R] SIGNALBOX LAYOUT
    SIGNALBOX  the program, from a release build; it goes in stripped, and one for another architecture has to be
    LAYOUT     a folder to write; beside it LAYOUT.spdx.json, the list of what is inside
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import packages  # noqa: E402
import spdx  # noqa: E402

USER = 65532
PROGRAM = "usr/bin/signalbox"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
SBOM = "usr/share/sbom/signalbox.spdx.json"
TEXTS = {
    "etc/passwd": f"root:x:0:0::/:/usr/sbin/nologin\nsignalbox:x:{USER}:{USER}::/:/usr/sbin/nologin\n",
    "etc/group": f"root:x:0:\nsignalbox:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
# Where runtimes mount what a container may write, and what it is given.
EMPTY = ("dev", "proc", "run", "sys", "tmp", "var/run")
# ELF machine: OCI architecture, Debian's triplet, the path of the loader that programs name.
MACHINES = {
    62: ("amd64", "x86_64-linux-gnu", "lib64/ld-linux-x86-64.so.2"),
    183: ("arm64", "aarch64-linux-gnu", "lib/ld-linux-aarch64.so.1"),
}


def fail(why):
    sys.exit(f"build_image: {why}")


def machine_of(program):
    head = program.read_bytes()[:20]
    if head[:4] != b"\x7fELF":
        fail(f"{program} is no program")
    number = int.from_bytes(head[18:20], "little")
    if number not in MACHINES:
        fail(f"{program} is for a machine that no image is made for: {number}")
    return MACHINES[number]


def needed(file):
    """Names of the shared libraries that an ELF file asks for."""
    lines = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line]


def libraries(program, root, triplet, loader):
    """Every library below the program, by its path in the image: that of the machine, links followed."""
    found, open_names = {loader: (root / loader).resolve()}, needed(program)
    folders = [root / "usr/lib" / triplet, root / "lib" / triplet]
    while open_names:
        name = open_names.pop()
        target = f"usr/lib/{triplet}/{name}"
        if target in found or name == pathlib.Path(loader).name:
            continue
        there = [folder / name for folder in folders if (folder / name).exists()]
        if not there:
            fail(f"{name} is in none of {', '.join(map(str, folders))}")
        found[target] = there[0].resolve()
        open_names += needed(found[target])
    return found


def has_symbols(program):
    return ".symtab" in subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout


def stripped(program):
    # Of another architecture, which objcopy may not know, it comes stripped already.
    if not has_symbols(program):
        return program.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "program")
        done = subprocess.run(["objcopy", "--strip-all", program, out], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"{program}: {done.stderr.strip()}")
        return out.read_bytes()


def layer(files, epoch):
    """A tar of `files`: path -> (bytes, mode). Folders are made above them."""
    folders = {parent.as_posix() for path in [*files, *(f"{e}/x" for e in EMPTY)] for parent in pathlib.PurePath(path).parents}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted((folders - {"."}) | set(files)):
            entry = tarfile.TarInfo(path)
            entry.mtime = epoch
            content, entry.mode = files.get(path, (None, 0o1777 if path == "tmp" else 0o755))
            entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            entry.size = len(content or b"")
            tar.addfile(entry, io.BytesIO(content or b""))
    return out.getvalue()


def compress(data):
    out = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(data)
    return out.getvalue()


class Layout:
    """See the specification of OCI image layouts, version 1.0.0."""

    def __init__(self, folder):
        self.folder = folder
        self.blobs = folder / "blobs" / "sha256"
        self.blobs.mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')

    def add(self, media_type, data):
        digest = hashlib.sha256(data).hexdigest()
        (self.blobs / digest).write_bytes(data)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, media_type, value):
        return self.add(media_type, canonical(value))

    def finish(self, manifest):
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]}
        (self.folder / "index.json").write_bytes(canonical(index))


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def collect(program, root, triplet, loader):
    """What goes in besides the list of it: path -> (bytes, mode), and path -> Debian package."""
    files = {PROGRAM: (stripped(program), 0o755)}
    sources = {**libraries(program, root, triplet, loader), CERTIFICATES: root / CERTIFICATES}
    owners = {}
    for path, source in sources.items():
        if not source.is_file():
            fail(f"{source} is not there; package ca-certificates has it" if path == CERTIFICATES else f"no {source}")
        files[path] = (source.read_bytes(), 0o755 if path == loader else 0o644)
    database = packages.Database(root)
    for path, source in sources.items():
        # Made by a script of its package, so that no list of files has it.
        owners[path] = database.package("ca-certificates") if path == CERTIFICATES else database.owner(source)
    for package in set(owners.values()):
        files[f"var/lib/dpkg/status.d/{package.name}"] = (package.status.encode(), 0o644)
        files[f"usr/share/doc/{package.name}/copyright"] = (database.copyright(package), 0o644)
    for path, text in TEXTS.items():
        files[path] = (text.encode(), 0o644)
    files["etc/os-release"] = ((root / "etc/os-release").read_bytes(), 0o644)
    return files, owners


def build(program, target, root, version, revision, epoch):
    """Writes the layout; gives the digest of the image."""
    architecture, triplet, loader = machine_of(program)
    if target.exists():
        fail(f"{target} is there already")
    files, owners = collect(program, root, triplet, loader)
    contents = {path: data for path, (data, _) in files.items()}
    bill = canonical(spdx.document(version, revision, epoch, contents, owners, packages.Database(root).built_with()))
    files[SBOM] = (bill, 0o644)
    tar = layer(files, epoch)
    layout = Layout(target)
    packed = layout.add("application/vnd.oci.image.layer.v1.tar+gzip", compress(tar))
    labels = {
        "org.opencontainers.image.title": "signalbox",
        "org.opencontainers.image.description": "Operator for distributed training jobs",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": revision,
        "org.opencontainers.image.created": spdx.timestamp(epoch),
    }
    config = {
        "architecture": architecture,
        "os": "linux",
        "created": spdx.timestamp(epoch),
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin", f"SSL_CERT_FILE=/{CERTIFICATES}"],
            "Entrypoint": [f"/{PROGRAM}"],
            "Cmd": ["run", "--leader-elect"],
            "WorkingDir": "/",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}"]},
        "history": [{"created": spdx.timestamp(epoch), "created_by": "build_image.py"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": layout.add_json("application/vnd.oci.image.config.v1+json", config),
        "layers": [packed],
        "annotations": labels,
    }
    descriptor = layout.add_json("application/vnd.oci.image.manifest.v1+json", manifest)
    descriptor["platform"] = {"architecture": architecture, "os": "linux"}
    descriptor["annotations"] = {"org.opencontainers.image.ref.name": version}
    layout.finish(descriptor)
    target.with_name(target.name + ".spdx.json").write_bytes(bill)
    return descriptor["digest"], sum(each.stat().st_size for each in layout.blobs.iterdir())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("/"))
    parser.add_argument("--version", help="as `signalbox version` says, if not given")
    parser.add_argument("--revision")
    parser.add_argument("program", metavar="SIGNALBOX", type=pathlib.Path)
    parser.add_argument("layout", metavar="LAYOUT", type=pathlib.Path)
    asked = parser.parse_args()
    asked.root = asked.root.resolve()
    if not asked.program.is_file():
        fail(f"{asked.program} is no file")
    if asked.version is None or asked.revision is None:
        said = subprocess.run([asked.program.resolve(), "version"], capture_output=True, text=True, check=False).stdout.split()
        if len(said) != 3:
            fail(f"{asked.program} does not run here: give --version and --revision")
        asked.version = asked.version or said[1]
        asked.revision = asked.revision or said[2].strip("()")
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not epoch.isdigit():
        fail(f"SOURCE_DATE_EPOCH is no number of seconds: {epoch}")
    digest, size = build(asked.program, asked.layout, asked.root, asked.version, asked.revision, int(epoch))
    print(f"{digest} {size} bytes")


if __name__ == "__main__":
    main()
