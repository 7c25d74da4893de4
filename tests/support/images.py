# SPDX-License-Identifier: Apache-2.0
"""Makes images of containers as tools write them: OCI layouts, archives of these, and what `docker save` and `podman save` write.

    root = Layer().folder("bin").file("bin/sh", data, 0o755).link("bin/ls", "sh")
    image = Image([root], entrypoint=["/bin/sh"], env={"A": "1"})
    write_layout(folder, {"train:1": image}); write_archive(file, folder); write_saved(file, {"train:1": image})
"""
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
OCI = "application/vnd.oci.image."


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def packed(data, how):
    """`how`: plain, gzip or zstd."""
    if how == "gzip":
        return gzip.compress(data, 1, mtime=0)
    if how == "zstd":
        return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


class Layer:
    """A layer, entry by entry; `compression` is that of its blob."""

    def __init__(self, compression="gzip", style=tarfile.PAX_FORMAT):
        self.compression = compression
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w", format=style)
        self.bytes = None

    def entry(self, name, kind, data=b"", **facts):
        """Any entry; `facts` are fields of tarfile.TarInfo."""
        info = tarfile.TarInfo(name)
        info.type, info.size, info.mtime = kind, len(data), 1_000_000_000
        for field, value in facts.items():
            setattr(info, field, value)
        self.tar.addfile(info, io.BytesIO(data))
        return self

    def file(self, name, data=b"", mode=0o644, **facts):
        data = data.encode() if isinstance(data, str) else data
        return self.entry(name, tarfile.REGTYPE, data, mode=mode, **facts)

    def folder(self, name, mode=0o755, **facts):
        return self.entry(name, tarfile.DIRTYPE, mode=mode, **facts)

    def link(self, name, to):
        return self.entry(name, tarfile.SYMTYPE, linkname=to, mode=0o777)

    def hard_link(self, name, to):
        return self.entry(name, tarfile.LNKTYPE, linkname=to)

    def tar_bytes(self):
        if self.bytes is None:
            self.tar.close()
            self.bytes = self.buffer.getvalue()
        return self.bytes

    def blob(self):
        return packed(self.tar_bytes(), self.compression)


def busybox():
    """The layer of a small root file system, with the programs of busybox in /bin; None where the machine has no static one."""
    program = next((path for path in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(path)), None)
    if not program:
        return None
    with open(program, "rb") as file:
        data = file.read()
    layer = Layer().folder("bin").folder("etc").folder("tmp", 0o1777).file("bin/busybox", data, 0o755)
    layer.file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\ntrainer:x:1234:4321::/home/trainer:/bin/sh\n")
    layer.file("etc/group", "root:x:0:\ntrainers:x:4321:\nextra:x:77:someone,trainer\n")
    for name in ("sh", "cat", "echo", "env", "id", "ls", "pwd", "sleep", "test", "touch", "true", "wc"):
        layer.link(f"bin/{name}", "busybox")
    return layer


class Image:
    def __init__(self, layers, entrypoint=None, command=None, env=None, workdir="", user="", architecture=ARCHITECTURE):
        self.layers = layers
        self.architecture = architecture
        config = {"Env": [f"{name}={value}" for name, value in (env or {}).items()]}
        for key, value in (("Entrypoint", entrypoint), ("Cmd", command), ("WorkingDir", workdir), ("User", user)):
            if value:
                config[key] = value
        self.config = {"architecture": architecture, "os": "linux", "config": config, "rootfs": {
            "type": "layers", "diff_ids": ["sha256:" + sha256(layer.tar_bytes()) for layer in layers]}}

    def config_bytes(self):
        return json.dumps(self.config).encode()


class Layout:
    """Blobs and an index, in a folder."""

    def __init__(self, folder):
        self.folder = str(folder)
        os.makedirs(os.path.join(self.folder, "blobs", "sha256"))
        self.write("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    def blob(self, data, media, **more):
        """Its descriptor."""
        self.write(os.path.join("blobs", "sha256", sha256(data)), data)
        return {"mediaType": OCI + media, "digest": "sha256:" + sha256(data), "size": len(data), **more}

    def document(self, what, media, **more):
        return self.blob(json.dumps(what).encode(), media, **more)

    def image(self, image, **more):
        suffix = {"plain": "", "gzip": "+gzip", "zstd": "+zstd"}
        layers = [self.blob(each.blob(), "layer.v1.tar" + suffix[each.compression]) for each in image.layers]
        return self.document({"schemaVersion": 2, "config": self.blob(image.config_bytes(), "config.v1+json"), "layers": layers},
                             "manifest.v1+json", **more)

    def index(self, descriptors):
        self.write("index.json", json.dumps({"schemaVersion": 2, "manifests": descriptors}).encode())
        return self


def named(name):
    return {"annotations": {"org.opencontainers.image.ref.name": name}}


def write_layout(folder, images):
    """As `skopeo copy ... oci:FOLDER:NAME`."""
    layout = Layout(folder)
    return layout.index([layout.image(image, **named(name)) for name, image in images.items()])


def write_archive(file, folder, compression="plain"):
    """As `oci-archive:`, from a layout."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in sorted(os.listdir(folder)):
            tar.add(os.path.join(folder, name), arcname=f"./{name}")
    with open(file, "wb") as out:
        out.write(packed(buffer.getvalue(), compression))


def write_saved(file, images, compression="plain", linked=False):
    """As `docker save` before version 25 and `podman save`; `linked`: a layer that an image has twice is a link to the first."""
    buffer, seen = io.BytesIO(), {}
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        def add(name, data):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        manifest = []
        for tag, image in images.items():
            config, layers = image.config_bytes(), []
            for number, layer in enumerate(image.layers):
                data = layer.tar_bytes()
                name = f"{sha256(config)[:16]}-{number}/layer.tar"
                if linked and sha256(data) in seen:
                    info = tarfile.TarInfo(name)
                    info.type, info.linkname = tarfile.SYMTYPE, "../" + seen[sha256(data)]
                    tar.addfile(info)
                else:
                    add(name, data)
                    seen.setdefault(sha256(data), name)
                layers.append(name)
            add(sha256(config) + ".json", config)
            manifest.append({"Config": sha256(config) + ".json", "RepoTags": [tag], "Layers": layers})
        add("manifest.json", json.dumps(manifest).encode())
    with open(file, "wb") as out:
        out.write(packed(buffer.getvalue(), compression))


def copy_of(folder, to):
    shutil.copytree(folder, to)
    return to
