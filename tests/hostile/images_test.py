# SPDX-License-Identifier: Apache-2.0
"""Images of somebody who means no good (images.json): nothing outside of the folder for images changes, nothing of a refused one is
left, what it takes is bounded, and what is said of it is harmless.

    images_test.py PROGRAM
"""
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "operator" / "cli"), str(ROOT / "tests" / "support")]
import images  # noqa: E402 (found by the line above)
import program  # noqa: E402

CASES = json.loads((ROOT / "tests" / "hostile" / "images.json").read_text())
DONE = "signalbox dev: --until-finished: there is no job to wait for; see --apply\n"
MEGABYTES = 120
SECONDS = 20


class Made:
    """A case, made in a folder."""

    def __init__(self, case, folder):
        self.case, self.folder = case, folder
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "file").write_text("outside")
        self.path = folder / "image"
        if "saved" in case:
            self.saved()
        elif "bomb" in case:
            self.bomb()
        else:
            self.layout()

    def text(self, text):
        return text.replace("@outside@", str(self.outside))

    def entry(self, layer, said):
        [kind] = set(said) & {"file", "folder", "link", "hard", "device"}
        name = self.text(said[kind]) * said.get("times", 1) + said.get("then", "")
        if kind == "file":
            layer.file(name, said.get("data", ""))
            if "claims" in said:  # the header alone: what it says it has does not come
                info = tarfile.TarInfo("claims")
                info.size = said["claims"]
                layer.buffer.write(info.tobuf(tarfile.GNU_FORMAT))
        elif kind == "folder":
            layer.folder(name)
        elif kind == "device":
            layer.entry(name, tarfile.BLKTYPE, devmajor=8, devminor=0)
        else:
            (layer.link if kind == "link" else layer.hard_link)(name, self.text(said["to"]))

    def layout(self):
        case, made = self.case, images.Layout(self.path)
        if "index" in case:
            (self.path / "index.json").write_text(case["index"] * case.get("times", 1))
            return
        layers = []
        for entries in case["layers"]:
            layer = images.Layer()
            for each in entries:
                self.entry(layer, each)
            if any("claims" in each for each in entries):
                layer.bytes = layer.buffer.getvalue()
            layers.append(layer)
        image = images.Image(layers, command=["x"])
        if "known" in case:
            del image.config["rootfs"]["diff_ids"][case["known"]:]
        descriptor = made.image(image)
        files = {"layer": images.sha256(layers[0].blob()), "config": images.sha256(image.config_bytes()),
                 "manifest": descriptor["digest"].partition(":")[2]}
        for _ in range(case.get("nest", 0)):
            descriptor = made.document({"manifests": [descriptor]}, "index.v1+json")
        made.index([descriptor] * case.get("again", 1))
        if change := case.get("change"):
            file = self.path / "blobs/sha256" / files[change["of"]]
            file.unlink()
            if "pipe" in change:
                os.mkfifo(file)
            elif "link" in change:
                file.symlink_to(self.text(change["link"]))
            else:
                file.write_text(change["to"])

    def saved(self):
        with tarfile.open(self.path, "w") as tar:
            for number in range(self.case.get("times", 1)):
                for name, text in self.case["saved"].items():
                    info = tarfile.TarInfo(name.replace("#", str(number)))
                    if text.startswith("->"):
                        info.type, info.linkname = tarfile.SYMTYPE, self.text(text[2:])
                    data = b"" if text.startswith("->") else text.encode()
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))

    def bomb(self):
        """Zeros, compressed: as a layer, or as the archive itself."""
        size = self.case["bomb"]
        info = tarfile.TarInfo("zeros")
        info.size = size
        with tempfile.TemporaryFile() as file:
            file.write(info.tobuf())
            file.truncate(size)
            file.seek(0)
            data = subprocess.run(["zstd", "-q", "-c"], stdin=file, stdout=subprocess.PIPE, check=True).stdout
        if self.case.get("archive"):
            self.path.write_bytes(data)
            return
        made = images.Layout(self.path)
        config = made.blob(json.dumps({"rootfs": {"diff_ids": ["sha256:" + "0" * 64]}}).encode(), "config.v1+json")
        made.index([made.document({"config": config, "layers": [made.blob(data, "layer.v1.tar+zstd")]}, "manifest.v1+json")])


def state(folder):
    """What is there, links not followed."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
            for path in folder.rglob("*")}


class Images(unittest.TestCase):
    def test_cases(self):
        """[behaviour 11.4] Each is refused with what is wrong, or taken and harmless."""
        self.assertGreater(len(CASES), 40)
        for case in CASES:
            with self.subTest(case["name"]), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(os.path.realpath(name)) / "all"
                folder.mkdir()
                made = Made(case, folder)
                cache = folder / "cache"
                before = state(made.outside)
                done = program.run("dev", "--pods", "process", "--image-cache", cache, "--image", f"a={made.path}", "--until-finished")
                self.assertEqual((done.code, done.out), (2, ""))
                if "says" in case:
                    self.assertIn(case["says"], done.err)
                    self.assertEqual([each.name for each in cache.iterdir() if not each.name.endswith(".lock")], [])
                else:
                    self.assertTrue(done.err.endswith(DONE), done.err)
                    self.assertEqual(len(list(cache.glob("*/root"))), 1)
                self.assertEqual(state(made.outside), before)
                self.assertEqual({each.name for each in folder.iterdir()}, {"outside", "cache", "image"})
                self.assertNotRegex(done.err.replace("\n", ""), r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]")
                self.assertLessEqual(len(done.err.splitlines()), 3)
                if not program.sanitized():
                    self.assertLess(done.megabytes, MEGABYTES)
                    self.assertLess(done.seconds, SECONDS)


if __name__ == "__main__":
    unittest.main(argv=["images_test"], verbosity=1)
