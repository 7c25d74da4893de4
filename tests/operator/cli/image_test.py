# SPDX-License-Identifier: Apache-2.0
"""`--image`: what users have of images becomes the file system of containers, once, and runs as on a cluster.

    image_test.py PROGRAM [--full]    --full: also images that skopeo and umoci have written
"""
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import images  # noqa: E402 (found by the line above)
import skips  # noqa: E402
from images import Image, Layer  # noqa: E402

SUITE = "operator_cli_image_test"
NOBODY = 65534
DONE = "signalbox dev: --until-finished: there is no job to wait for; see --apply\n"


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.addCleanup(lambda: subprocess.run(["chmod", "-R", "u+rwx", self.cache], check=False, capture_output=True))
        self.folder = pathlib.Path(os.path.realpath(temporary.name))
        self.cache = self.folder / "cache"

    def take(self, *said, code=2, **options):
        """`dev` with these --image and no job: it takes the images, and ends. Gives what it said of them."""
        words = [word for each in said for word in ("--image", str(each))]
        done = program.run("dev", "--pods", "process", "--image-cache", self.cache, *words, "--until-finished", **options)
        self.assertEqual((done.code, done.out), (code, ""), done.err)
        return done

    def root(self, *said):
        """The root file system of the one image that is there after that."""
        done = self.take(*said)
        self.assertTrue(done.err.endswith(DONE), done.err)
        return self.roots()[0]

    def roots(self):
        return [each / "root" for each in sorted(self.cache.iterdir()) if each.is_dir()]

    def refused(self, *said):
        done = self.take(*said)
        self.assertNotIn(DONE, done.err)
        self.assertEqual([each.name for each in self.cache.iterdir() if not each.name.endswith(".lock")], [])
        lines = [line for line in done.err.splitlines() if "unpacking" not in line]
        self.assertEqual(len(lines), 1, done.err)
        return lines[0].removeprefix("signalbox dev: --image: ")

    def layout(self, image, name="train:1"):
        images.write_layout(self.folder / "layout", {name: image})
        return self.folder / "layout"


def tree(root):
    """{path: text, target of a link, or None of a folder}"""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        found[name] = "-> " + os.readlink(path) if path.is_symlink() else None if path.is_dir() else path.read_text()
    return found


class Unpacked(Case):
    def test_every_form_gives_the_same(self):
        long = "deep/" * 30 + "a name with ä, '%' and more than a hundred letters"
        for compression in ("plain", "gzip", "zstd"):
            image = Image([Layer(compression).folder("etc").file("etc/a", "1").link("b", "etc/a"),
                           Layer(compression, tarfile.GNU_FORMAT).file(long, "long").file("etc/.wh.a")], command=["x"])
            layout = self.folder / compression
            images.write_layout(layout, {"train:1": image})
            forms = [layout]
            for outer in ("plain", "gzip", "zstd"):
                images.write_archive(self.folder / f"oci-{outer}", layout, outer)
                images.write_saved(self.folder / f"saved-{outer}", {"train:1": image}, outer)
                forms += [self.folder / f"oci-{outer}", self.folder / f"saved-{outer}"]
            for form in forms:
                with self.subTest(layers=compression, form=form.name):
                    root = self.root(f"train:1={form}")
                    self.assertEqual(root.parent.name, images.sha256(image.config_bytes()))
                    found = tree(root)
                    self.assertEqual(found[long], "long")
                    self.assertEqual((found["b"], found["etc"], "etc/a" in found), ("-> etc/a", None, False))
                    shutil.rmtree(self.cache)

    def test_it_is_unpacked_once(self):
        layout = self.layout(Image([Layer().file("a", "1")], command=["x"]))
        first = self.take(f"train:1={layout}")
        self.assertRegex(first.err, r"(?m)^signalbox dev: unpacking .*/layout, 1 layer, into .*/cache/[0-9a-f]{64}$")
        again = self.take(f"train:1={layout}", f"other={layout}", layout)
        self.assertEqual(again.err, DONE)
        self.assertEqual(stat.S_IMODE(self.cache.stat().st_mode), 0o700)

    def test_what_nobody_uses_goes(self):
        one, two = (Image([Layer().file(name, "x")], command=["x"]) for name in "ab")
        images.write_saved(self.folder / "one", {"one:1": one})
        images.write_saved(self.folder / "two", {"two:1": two})
        self.take(f"one:1={self.folder}/one")
        [lock] = self.cache.glob("*.lock")
        left = lock.with_suffix(".part")
        (left / "root").mkdir(parents=True)  # of one that was killed while it unpacked
        os.utime(lock, (1, lock.stat().st_mtime - 29 * 24 * 3600))
        self.take(f"two:1={self.folder}/two")
        self.assertFalse(left.exists())
        self.assertEqual(len(self.roots()), 2)
        self.assertTrue(lock.exists())
        os.utime(lock, (1, lock.stat().st_mtime - 2 * 24 * 3600))
        self.take(f"two:1={self.folder}/two")
        self.assertEqual([each.parent.name for each in self.roots()], [images.sha256(two.config_bytes())])
        self.assertFalse(lock.exists())

    def test_one_that_runs_stays(self):
        layout = self.layout(Image([Layer().file("a", "1")], command=["x"]))
        with program.Dev("--pods", "process", "--offline", "--image-cache", self.cache, "--image", f"a={layout}"):
            [lock] = self.cache.glob("*.lock")
            os.utime(lock, (1, 1))
            self.take(self.saved_other())
            self.assertEqual(len(self.roots()), 2)
            os.utime(lock, (1, 1))
        self.take(self.saved_other())
        self.assertEqual(len(self.roots()), 1)

    def saved_other(self):
        images.write_saved(self.folder / "other", {"other:1": Image([Layer().file("b")], command=["x"])})
        return self.folder / "other"

    def test_facts_of_files(self):
        layer = Layer().folder("a", 0o555).file("a/x", "x", 0o4711).hard_link("y", "a/x").file("z", b"\0" * (1 << 20) + b"z")
        layer.entry("fifo", tarfile.FIFOTYPE, mode=0o600).entry("null", tarfile.CHRTYPE, devmajor=1, devminor=3)
        root = self.root(f"a={self.layout(Image([layer, Layer().file('a/later', 'x')], command=['x']))}")
        seen = (root / "a/x").stat()
        as_root = os.geteuid() == 0
        self.assertEqual(stat.S_IMODE((root / "a").stat().st_mode), 0o555)
        self.assertEqual(stat.S_IMODE(seen.st_mode), 0o4711 if as_root else 0o711)
        self.assertEqual((seen.st_mtime, seen.st_nlink, (root / "y").stat().st_ino), (1_000_000_000, 2, seen.st_ino))
        self.assertTrue(stat.S_ISFIFO((root / "fifo").stat().st_mode))
        self.assertFalse((root / "null").exists())
        self.assertTrue((root / "a/later").exists())
        self.assertEqual((root / "z").read_bytes()[-2:], b"\0z")
        self.assertLess((root / "z").stat().st_blocks * 512, 1 << 20)  # holes take no disk

    @unittest.skipIf(os.geteuid() != 0, "as root")
    def test_owners_are_kept_for_root(self):
        root = self.root(f"a={self.layout(Image([Layer().file('a', uid=7, gid=8).folder('b', uid=9, gid=9)], command=['x']))}")
        self.assertEqual(((root / "a").stat().st_uid, (root / "a").stat().st_gid, (root / "b").stat().st_uid), (7, 8, 9))

    def test_several_images_in_one_archive(self):
        base = Layer().file("base", "x")
        both = {"team/one:1": Image([base, Layer().file("one", "x")], command=["x"]),
                "example.org:5000/two:latest": Image([base, Layer().file("two", "x")], command=["x"])}
        images.write_saved(self.folder / "both", both, linked=True)
        for name in ("docker.io/team/one:1", "team/one:1", "*/one:*"):
            with self.subTest(name):
                self.assertEqual(set(tree(self.root(f"{name}={self.folder}/both"))), {"base", "one"})
                shutil.rmtree(self.cache)
        self.assertEqual(set(tree(self.root(f"example.org:5000/two={self.folder}/both"))), {"base", "two"})
        shutil.rmtree(self.cache)
        self.assertIn(DONE, self.take(self.folder / "both").err)
        self.assertEqual(len(self.roots()), 2)
        shutil.rmtree(self.cache)
        self.assertEqual(self.refused(f"three={self.folder}/both"),
                         f"{self.folder}/both: none of its images is three; there are: team/one:1, example.org:5000/two:latest")

    def test_the_machines_own_architecture(self):
        own, other = (Image([Layer().file(name)], command=["x"], architecture=name) for name in (images.ARCHITECTURE, "s390x"))
        layout = images.Layout(self.folder / "layout")
        platforms = [layout.image(each, platform={"os": "linux", "architecture": each.architecture}) for each in (other, own)]
        layout.index([layout.document({"schemaVersion": 2, "manifests": platforms}, "index.v1+json", **images.named("a:1"))])
        self.assertEqual(set(tree(self.root(layout.folder))), {images.ARCHITECTURE})
        shutil.rmtree(self.cache)
        layout.index(platforms[:1])
        self.assertEqual(self.refused(f"a={layout.folder}"),
                         f"{layout.folder}: it has no image for linux/{images.ARCHITECTURE}; there are: linux/s390x")

    def test_what_is_wrong_is_named_with_file_and_layer(self):
        image = Image([Layer().file("a", "1"), Layer().file("b", b"2" * 5000)], command=["x"])
        blob = image.layers[1].blob()
        layout = self.layout(image)
        file = layout / "blobs/sha256" / images.sha256(blob)
        where = f"{layout}, layer 2 (blobs/sha256/{images.sha256(blob)})"
        for change, why in (
                (lambda: file.write_bytes(images.packed(Layer().file("b", "other").tar_bytes(), "gzip")),
                 f"{where}: it is not what it was when the image was made: its digest is "),
                (lambda: file.write_bytes(blob[:len(blob) // 2]), f"{where}"),
                (lambda: file.write_bytes(b"no archive" * 500), f"{where}"),
                (file.unlink, f"{layout}/blobs/sha256/{images.sha256(blob)}: no such file or directory")):
            change()
            with self.subTest(why):
                self.assertTrue(self.refused(f"train:1={layout}").startswith(why), self.take(f"train:1={layout}").err)

    def test_content_of_a_saved_image_is_held_to_its_configuration(self):
        image = Image([Layer().file("a", "1")], command=["x"])
        image.layers = [Layer().file("a", "2")]
        images.write_saved(self.folder / "saved", {"a:1": image})
        self.assertIn(": its content has the digest " + images.sha256(image.layers[0].tar_bytes()), self.refused(self.folder / "saved"))

    def test_what_is_no_image(self):
        (self.folder / "text").write_text("hello\n")
        (self.folder / "xz").write_bytes(b"\xfd7zXZ\0")
        (self.folder / "empty").mkdir()
        (self.folder / "plain.tar").write_bytes(Layer().file("a").tar_bytes())
        os.mkfifo(self.folder / "fifo")
        for said, why in (
                (f"a={self.folder}/none", f"there is no folder or file {self.folder}/none"),
                ("none", "`none` is not GLOB=DIR"),
                (f"a={self.folder}/text", f"{self.folder}/text: "),
                (f"a={self.folder}/xz", f"{self.folder}/xz: it is compressed with xz, and known here are gzip and zstd: xz -d first"),
                (f"a={self.folder}/plain.tar", f"{self.folder}/plain.tar: it is no image: neither an OCI layout"),
                (f"a={self.folder}/fifo", f"{self.folder}/fifo: it is no file"),
                (self.folder / "empty", f"{self.folder}/empty is a root file system: of which image? GLOB={self.folder}/empty")):
            with self.subTest(said):
                self.cache.mkdir(mode=0o700, exist_ok=True)
                self.assertTrue(self.refused(said).startswith(why), self.take(said).err)

    def test_a_folder_that_others_may_change_is_not_used(self):
        layout = self.layout(Image([Layer().file("a", "1")], command=["x"]))
        self.cache.mkdir()
        self.cache.chmod(0o777)
        self.assertEqual(self.refused(f"a={layout}"), f"cannot use the folder {self.cache}: everybody may write there")

    def test_the_users_folder(self):
        """[behaviour 11.4] and whatever a name in an archive is, a terminal obeys nothing of it."""
        layout = self.layout(Image([Layer().file("a", "1")], command=["x"]), "evil\x1b[2J:1")
        env = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "xdg"), HOME=str(self.folder))
        done = program.run("dev", "--pods", "process", "--image", layout, "--until-finished", env=env)
        self.assertEqual(len(list((self.folder / "xdg/signalbox/images").glob("*/root/a"))), 1, done.err)
        del env["XDG_CACHE_HOME"]
        done = program.run("dev", "--pods", "process", "--image", layout, "--until-finished", env=env)
        self.assertEqual(len(list((self.folder / ".cache/signalbox/images").glob("*/root/a"))), 1, done.err)
        self.assertNotIn("\x1b", done.err)


JOB = """apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: %s}
spec:
  runPolicy: {backoffLimit: 0}
  replicaSpecs:
  - type: master
    template: {spec: {containers: [%s]}}
"""


@unittest.skipUnless(images.busybox(), "busybox-static is not installed")
class Run(Case):
    """Containers of real images. In each a script, the ENTRYPOINT, says who and where it is."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        script = '#!/bin/sh\necho "$@" "$(id -u):$(id -g)" "$(pwd)" "A=$A B=$B" "HOME=$HOME"\n'
        self.layers = [images.busybox().folder("home/trainer").folder("here"), Layer().file("bin/run", script, 0o755)]
        self.image = Image(self.layers, entrypoint=["/bin/run"], command=["of-image"], env={"A": "image", "B": "image"},
                           workdir="/here", user="trainer")

    def run_job(self, container, command=None, flags=(), pod=""):
        """What its container has written. `pod`: fields of its pod."""
        images.write_saved(self.folder / "saved.tar", {"team/train:1": self.image})
        job = self.folder / "job.yaml"
        text = JOB % ("real", json.dumps({"name": "pytorch", "image": "team/train:1", **container}))
        self.assertEqual(text.count("containers:"), 1)
        job.write_text(text.replace("containers:", pod + "containers:"))
        for file in (self.folder / "saved.tar", job):
            file.chmod(0o644)
        done = subprocess.run(
            [*(command or [program.binary()]), "dev", "--pods", "process", "--offline", "--logs", "--until-finished", "--image-cache",
             self.cache, "--image", self.folder / "saved.tar", "--pods-dir", self.folder / "pods", "--kubeconfig", self.folder / "kubeconfig",
             *flags, "--apply", job], capture_output=True, text=True, timeout=program.PATIENCE, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return re.findall(r"master-0 \| (.*)", done.stdout)

    def test_args_alone(self):
        """A job without a command runs what its image says, with its own arguments."""
        self.assertEqual(self.run_job({"args": ["one", "$(B)"], "env": [{"name": "B", "value": "pod"}]}),
                         ["one pod 1234:4321 /here A=image B=pod HOME=/home/trainer"])
        self.assertEqual(self.run_job({}), ["of-image 1234:4321 /here A=image B=image HOME=/home/trainer"])
        self.assertEqual(self.run_job({"command": ["/bin/sh", "-c", "id; ls /"], "workingDir": "/tmp"})[0],
                         "uid=1234(trainer) gid=4321(trainers) groups=77(extra)")

    def test_users(self):
        """By runAsUser before USER, and a user that must not be root is known by number."""
        seen = self.run_job({"securityContext": {"runAsUser": 0}})
        self.assertEqual(seen, ["of-image 0:0 /here A=image B=image HOME=/root"])
        seen = self.run_job({"securityContext": {"runAsUser": 99, "runAsGroup": 98}})
        self.assertEqual(seen, ["of-image 99:98 /here A=image B=image HOME=/"])
        self.image.config["config"]["User"] = "1234:7"
        self.assertEqual(self.run_job({"securityContext": {"runAsNonRoot": True}}),
                         ["of-image 1234:4321 /here A=image B=image HOME=/home/trainer"])

    def test_files_of_the_image_stay_as_they_are(self):
        self.run_job({"command": ["/bin/sh", "-c", "echo mine > /bin/run; echo more > /here/x; cat /bin/run"],
                      "securityContext": {"runAsUser": 0}})
        self.assertEqual(self.run_job({"command": ["/bin/sh", "-c", "ls /here; wc -l </bin/run"]}), ["2"])

    @unittest.skipIf(os.geteuid() != 0, "only root has users to give")
    def test_a_pod_with_users_of_its_own(self):
        """Each file has the owner in the pod that its image says, whatever that is on the machine, also one that is changed or
        made; what a layer has taken away is away. Owners that no pod has are nobody. The image stays as it is."""
        facts = {"data/root": (0, 0, 0o600), "data/user": (1000, 1001, 0o640), "data/far": (70_000, 70_000, 0o644),
                 "data/su": (0, 0, 0o4755), "data/last": (65_534, 65_535, 0o604)}
        first, second = Layer(), Layer()
        for name, (user, group, mode) in facts.items():
            first.file(name, name, mode, uid=user, gid=group)
        first.hard_link("data/same", "data/user").folder("own", uid=1000, gid=1000).file("own/x", "x", uid=1000, gid=1000)
        first.file("old/gone").file("old/kept").file("deep/a/x").link("way", "data")
        second.file("old/.wh.gone").file("deep/.wh..wh..opq").file("deep/in/new", "new", uid=7, gid=8)
        script = """
            cat /proc/self/uid_map; cat /proc/self/gid_map | wc -l
            stat -c "%u:%g %a %n" / /bin/run /data/* /own /own/x /way /deep/in/new
            ls /old /deep; cat /data/user; echo
            echo more >>/data/user; echo mine >/own/y; rm /old/kept; chown 9:10 /data/root; mv /deep/in /deep/out; echo >/way/made
            chown 70000 /data/su 2>/dev/null || echo no such user; cat /data/far; echo
            stat -c "%u:%g %a %n" /data/user /data/same /own/y /data/root /deep/out/new /data/made; ls /old /deep
            """
        container = {"command": ["/bin/sh", "-c", script], "securityContext": {"runAsUser": 0}}
        self.image = Image([*self.layers, first, second])
        # Of every pod, or of one whose manifest asks for it.
        for asked in ({"flags": ["--user-namespaces"]}, {"pod": "hostUsers: false, "}):
            seen = [line for line in self.run_job(container, **asked) if line]
            inside, outside, count = (int(number) for number in seen[0].split())
            self.assertEqual((inside, count), (0, 65_536))
            self.assertGreaterEqual(outside, 65_536)
            self.assertEqual(seen[1:], [
                "1",
                "0:0 755 /", "0:0 755 /bin/run", "65534:65534 644 /data/far", "65534:65535 604 /data/last", "0:0 600 /data/root",
                "1000:1001 640 /data/same", "0:0 4755 /data/su", "1000:1001 640 /data/user", "1000:1000 755 /own",
                "1000:1000 644 /own/x", "0:0 777 /way", "7:8 644 /deep/in/new",
                "/deep:", "in", "/old:", "kept", "data/user", "no such user", "data/far",
                "1000:1001 640 /data/user", "1000:1001 640 /data/same", "0:0 644 /own/y", "9:10 600 /data/root",
                "7:8 644 /deep/out/new", "0:0 644 /data/made", "/deep:", "out", "/old:"], "\n".join(seen))
        kept = self.roots()[0] / "data/user"
        self.assertEqual((kept.read_text(), kept.stat().st_uid, kept.stat().st_gid), ("data/user", 1000, 1001))

    @unittest.skipIf(os.geteuid() != 0, "to become an ordinary user takes root")
    def test_an_ordinary_user(self):
        """Files of all owners are the user's own, and a container has the user that its image names."""
        program_copy = shutil.copy(program.binary(), self.folder / "signalbox")
        os.chmod(program_copy, 0o755)
        os.chown(self.folder, NOBODY, NOBODY)
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", f"HOME={self.folder}", program_copy]
        for container, line in (
                ({"args": ["x"]}, "x 1234:4321 /here A=image B=image HOME=/home/trainer"),
                ({"securityContext": {"runAsUser": 0}}, "of-image 0:0 /here A=image B=image HOME=/root")):
            self.assertEqual(self.run_job(container, command), [line])
        self.assertEqual({path.lstat().st_uid for path in self.cache.rglob("*")}, {NOBODY})


@unittest.skipUnless("--full" in sys.argv, "with --full")
class Tools(Case):
    """Images that skopeo and umoci have written."""

    def test_skopeo(self):
        if not shutil.which("skopeo"):
            skips.note(SUITE, "skopeo is not installed")
            self.skipTest("no skopeo")
        layers = [Layer().folder("a").file("a/x", "1"), Layer().file("a/.wh.x").file("b", "2")]
        layout = self.layout(Image(layers, command=["x"]), "1")
        for to in ("oci:copy:1", "oci-archive:copy.tar:train:1", "docker-archive:saved.tar:team/train:1"):
            with self.subTest(to):
                subprocess.run(["skopeo", "copy", "--insecure-policy", "-q", f"oci:{layout}:1", to], check=True, cwd=self.folder)
                self.assertEqual(set(tree(self.root(f"team/train:1={self.folder / to.split(':')[1]}"))), {"a", "b"})
                shutil.rmtree(self.cache)

    def test_umoci(self):
        if not shutil.which("umoci"):
            skips.note(SUITE, "umoci is not installed")
            self.skipTest("no umoci")
        def umoci(*words):
            subprocess.run(["umoci", *words], check=True, cwd=self.folder, capture_output=True)
        umoci("init", "--layout", "made")
        umoci("new", "--image", "made:1")
        umoci("unpack", *([] if os.geteuid() == 0 else ["--rootless"]), "--image", "made:1", "bundle")
        (self.folder / "bundle/rootfs/a").mkdir()
        (self.folder / "bundle/rootfs/a/x").write_text("1")
        umoci("repack", "--image", "made:1", "bundle")
        shutil.rmtree(self.folder / "bundle/rootfs/a")
        (self.folder / "bundle/rootfs/b").write_text("2")
        umoci("repack", "--image", "made:1", "bundle")
        umoci("config", "--image", "made:1", "--config.cmd", "x")
        self.assertEqual(tree(self.root(f"a:1={self.folder}/made")), {"b": "2"})


if __name__ == "__main__":
    if not images.busybox():
        skips.note(SUITE, "busybox-static is not installed: no image runs")
    unittest.main(argv=["image_test"], verbosity=1)
