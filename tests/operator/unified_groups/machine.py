# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with a kernel of Debian and this machine's files, to be read; what it writes is in its memory.

Emulated in software, so it needs no rights and no help of the processor.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

KERNEL = "linux-image-amd64"
MODULES = ("9p", "9pnet_virtio", "virtio_pci", "overlay", "bridge", "veth")
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "apt-get": "apt",
          "dpkg-deb": "dpkg"}


class Unavailable(Exception):
    """Why there can be no such machine here."""


def boot(init, *arguments, memory, seconds):
    """Runs the script `init` of busybox as process 1 with these arguments, until it powers off; gives its console."""
    missing = sorted(package for program, package in NEEDED.items() if shutil.which(program) is None)
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")
    kernel = fetched_kernel()
    with tempfile.TemporaryDirectory() as folder:
        first_files = pathlib.Path(folder, "initramfs")
        make_first_files(kernel, init, pathlib.Path(folder, "files"), first_files)
        words = ["console=ttyS0", "quiet", "panic=-1", "--", *(f'"{word}"' for word in arguments)]
        command = [
            "qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", memory,
            "-nodefaults", "-no-reboot", "-nic", "none", "-display", "none", "-serial", "stdio",
            "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
            "-kernel", kernel / "vmlinuz", "-initrd", first_files, "-append", " ".join(words)]
        with subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            try:
                return text_of(running.communicate(timeout=seconds)[0])
            except subprocess.TimeoutExpired:
                running.kill()
                shown = text_of(running.communicate()[0])
                raise AssertionError(f"the machine did not end within {seconds} s:\n{shown}") from None


def text_of(shown):
    return shown.decode(errors="replace").replace("\r", "")


def fetched_kernel():
    """The folder with `vmlinuz` and `modules`, from the package; kept by its name."""
    package = re.search(r"Depends: (linux-image-\S+)", output("apt-cache", "depends", KERNEL))
    if package is None:
        raise Unavailable(f"apt knows no {KERNEL}")
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    cache = caches / "signalbox/machine"
    kept = cache / "+".join((package[1], *MODULES))
    if kept.is_dir():
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as name:
        folder = pathlib.Path(name)
        output("apt-get", "download", package[1], cwd=folder)
        output("dpkg-deb", "-x", next(folder.glob("*.deb")), folder / "all")
        (folder / "kept/modules").mkdir(parents=True)
        shutil.copy(next(folder.glob("all/boot/vmlinuz-*")), folder / "kept/vmlinuz")
        for number, file in enumerate(in_order(folder / "all")):
            shutil.copy(file, folder / "kept/modules" / f"{number:02}-{file.name}")
        try:
            (folder / "kept").rename(kept)
        except OSError:
            if not kept.is_dir():  # else somebody was quicker
                raise
    return kept


def output(*command, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, "LC_ALL": "C.UTF-8"})
    if done.returncode != 0:
        raise Unavailable(f"{command[0]} {command[1]}: {done.stderr.strip()}")
    return done.stdout


def make_first_files(kernel, init, folder, archive):
    """What the kernel starts with: busybox, modules, and the script."""
    folder.mkdir()
    shutil.copy(shutil.which("busybox"), folder / "busybox")
    shutil.copy(init, folder / "init")
    (folder / "init").chmod(0o755)
    shutil.copytree(kernel / "modules", folder / "modules")
    names = "\n".join(str(path.relative_to(folder)) for path in folder.rglob("*"))
    with open(archive, "wb") as out:
        pack = ["cpio", "--quiet", "-o", "-H", "newc"]
        subprocess.run(pack, input=names.encode(), stdout=out, cwd=folder, check=True)


def in_order(root):
    """Files of MODULES, each behind what it depends on. Those that have none are in the kernel itself."""
    files = {path.stem.replace("-", "_"): path for path in root.glob("lib/modules/*/kernel/**/*.ko")}
    ordered = {}

    def add(name):
        if name in files and name not in ordered:
            depends = re.search(rb"\0depends=([^\0]*)\0", files[name].read_bytes())[1].decode()
            for other in depends.replace("-", "_").split(","):
                add(other)
            ordered[name] = files[name]

    for name in MODULES:
        add(name)
    return list(ordered.values())
