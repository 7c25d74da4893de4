# SPDX-License-Identifier: Apache-2.0
"""The Debian package: what is in it, and that the installed program serves a real API server as the unit file starts it."""

import gzip
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import cluster
from cluster import BINARY, OPERATOR, job, pods, skip_suite

SUITE = "envtest_package"
CONFIG = BINARY.parent.parent / "CPackConfig.cmake"
UNIT = "lib/systemd/system/signalbox.service"
MANUAL = "usr/share/man/man1/signalbox.1.gz"
COMPLETION = {
    "bash": "usr/share/bash-completion/completions/signalbox",
    "zsh": "usr/share/zsh/vendor-completions/_signalbox",
    "fish": "usr/share/fish/vendor_completions.d/signalbox.fish",
}
# What shows that a script works: it completes a word as the installed program says.
TRIED = {
    "bash": "source {script}; COMP_WORDS=(signalbox expl); COMP_CWORD=1; __signalbox_complete; echo ${{COMPREPLY[*]}}",
    "fish": "source {script}; complete -C 'signalbox expl'",
}


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def pack(folder):
    run("cpack", "--config", CONFIG, "-B", folder, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, cwd=folder)
    [package] = folder.glob("*.deb")
    return package


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "first").mkdir()
        cls.package = pack(cls.folder / "first")
        # A root of its own, so that nothing of this machine changes.
        cls.root = cls.folder / "root"
        for each in ("updates", "info", "triggers"):
            (cls.root / "var/lib/dpkg" / each).mkdir(parents=True)
        (cls.root / "var/lib/dpkg/status").touch()
        cls.dpkg("--install", cls.package)
        cls.c = cluster.Cluster().started(cls.addClassCleanup)

    @classmethod
    def dpkg(cls, *arguments):
        # What it depends on is not in that root.
        forced = ["--force-not-root", "--force-depends", "--force-bad-path"]
        return run("fakeroot", "dpkg", f"--root={cls.root}", *forced, f"--log={cls.folder / 'log'}", *arguments)

    def field(self, name):
        return run("dpkg-deb", "--field", self.package, name).strip()

    def test_contents(self):
        listed = {line.split()[5]: line.split()[0] for line in run("dpkg-deb", "--contents", self.package).splitlines()}
        files = {name for name, mode in listed.items() if not mode.startswith("d")}
        expected = {
            "./etc/default/signalbox", f"./{UNIT}", "./usr/bin/kubectl-signalbox", "./usr/bin/signalbox",
            "./usr/sbin/signalbox-operator", "./usr/bin/kubectl_complete-signalbox", "./usr/share/doc/signalbox/copyright", f"./{MANUAL}",
            *(f"./{script}" for script in COMPLETION.values()),
        }
        self.assertEqual(files, expected)
        for program in ("./usr/bin/signalbox", "./usr/sbin/signalbox-operator"):
            self.assertEqual(listed[program], "-rwxr-xr-x")
        for mode in listed.values():
            self.assertNotIn("s", mode)
        self.assertEqual(run("dpkg-deb", "--info", self.package, "conffiles"), "/etc/default/signalbox\n")

    def test_it_depends_on_the_libraries_of_the_program(self):
        depends = {each.split()[0] for each in self.field("Depends").split(", ")}
        self.assertIn("ca-certificates", depends)
        for line in (run("ldd", BINARY) + run("ldd", OPERATOR)).splitlines():
            path = re.search(r"=> (/\S+)", line)
            if not path:
                continue
            names = (path[1], path[1].removeprefix("/usr"), "/usr" + path[1])
            found = [subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False) for name in names]
            [owner, *_] = [each.stdout.split(":")[0] for each in found if each.returncode == 0]
            # Libraries may ask for themselves under a name that says how they were built.
            self.assertTrue(any(each.startswith(owner) for each in depends), f"{owner} is not in {depends}")

    def test_the_same_bytes_again(self):
        (self.folder / "second").mkdir()
        again = pack(self.folder / "second")
        digests = [hashlib.sha256(each.read_bytes()).hexdigest() for each in (self.package, again)]
        self.assertEqual(*digests)

    def test_installed_it_runs(self):
        said = run(self.root / "usr/bin/signalbox", "version")
        self.assertEqual(said, run(BINARY, "version"))
        self.assertEqual(self.field("Version"), said.split()[1])
        self.assertEqual(os.readlink(self.root / "usr/bin/kubectl-signalbox"), "signalbox")
        if shutil.which("systemd-analyze"):
            program = "/usr/sbin/signalbox-operator"
            unit = (self.root / UNIT).read_text().replace(program, f'"{self.root}{program}"')
            copy = self.folder / "signalbox.service"
            copy.write_text(unit)
            checked = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
            self.assertEqual([line for line in checked.stderr.splitlines() if "signalbox.service" in line], [])

    def with_path(self):
        """An environment in which the installed programs are found first."""
        return {**os.environ, "PATH": f"{self.root / 'usr/bin'}:{os.environ['PATH']}", "HOME": str(self.folder)}

    def test_completion_and_manual(self):
        for shell, script in COMPLETION.items():
            self.assertEqual((self.root / script).read_text(), run(BINARY, "completion", shell))
            if shell in TRIED and shutil.which(shell):
                said = run(shell, "-c", TRIED[shell].format(script=shlex.quote(str(self.root / script))), env=self.with_path())
                self.assertEqual(said.split()[0], "explain")
        # Where zsh looks for it, a function of this name is loaded by compinit.
        if shutil.which("zsh"):
            folder = (self.root / COMPLETION["zsh"]).parent
            tried = f"fpath=({shlex.quote(str(folder))} $fpath); autoload -U compinit; compinit -u -D; echo $_comps[signalbox]"
            self.assertEqual(run("zsh", "-f", "-c", tried).strip(), "_signalbox")
        self.assertEqual(gzip.decompress((self.root / MANUAL).read_bytes()).decode(), run(BINARY, "man"))
        if shutil.which("man"):
            path = f"{self.root / 'usr/share/man'}:"
            self.assertEqual(run("man", "--where", "signalbox", env={**os.environ, "MANPATH": path}).strip(), str(self.root / MANUAL))
            shown = run("man", "signalbox", env={**os.environ, "MANPATH": path, "MANPAGER": "cat", "MANWIDTH": "80"})
            self.assertIn("runs distributed training jobs on Kubernetes", shown)

    def test_kubectl_finds_the_plugin(self):
        c = self.c
        c.start_operator()
        self.addCleanup(c.operator.kill)
        c.apply(job("mnist", {"worker": pods(2, duration="1s")}))
        c.wait_phase("mnist", "Succeeded")
        kubectl = c.plane.assets / "kubectl"
        kubectl = kubectl if kubectl.exists() else "kubectl"
        env = {**self.with_path(), "KUBECONFIG": str(c.plane.admin_kubeconfig)}
        self.assertIn(str(self.root / "usr/bin/kubectl-signalbox"), run(kubectl, "plugin", "list", env=env))
        said = run(kubectl, "signalbox", "explain", "mnist", env=env)
        self.assertIn("PyTorchTrainingJob default/mnist is Succeeded", said)
        self.assertRegex(run(kubectl, "signalbox", "top", "-A", env=env), r"(?m)\bmnist +\S* *.*Succeeded")
        # kubectl asks the program of the other name what a word may be.
        self.assertEqual(run(kubectl, "__complete", "signalbox", "expl", env=env).split("\t")[0], "explain")
        self.assertIn("mnist", run(kubectl, "__complete", "signalbox", "explain", "mn", env=env))

    def test_the_service_serves_a_cluster(self):
        c = self.c
        # As systemd does it: the credential's folder, and the words of the variable.
        credentials = c.plane.folder / "credentials"
        credentials.mkdir()
        shutil.copyfile(c.plane.operator_kubeconfig, credentials / "kubeconfig")
        [start] = re.findall(r"(?m)^ExecStart=(.*)$", (self.root / UNIT).read_text())
        [flags] = re.findall(r'(?m)^SIGNALBOX_FLAGS="(.*)"$', (self.root / "etc/default/signalbox").read_text())
        # Within a word the one stays whole, and the other, a word of its own, is taken apart.
        program, *rest = shlex.split(start.replace("$SIGNALBOX_FLAGS", flags))
        rest = [word.replace("${CREDENTIALS_DIRECTORY}", str(credentials)) for word in rest]
        c.operator = cluster.servers.Process("operator", [f"{self.root}{program}", *rest], c.plane.folder / "service.log")
        self.addCleanup(c.operator.kill)
        c.apply(job("served", {"worker": pods(2, duration="1s")}))
        c.wait_phase("served", "Succeeded")
        c.operator.child.terminate()
        self.assertEqual(c.operator.child.wait(timeout=cluster.PATIENCE), 0)

    def test_removed_it_leaves_nothing(self):
        root = self.folder / "other"
        shutil.copytree(self.root, root, symlinks=True)
        before, type(self).root = type(self).root, root
        try:
            self.dpkg("--purge", "signalbox")
        finally:
            type(self).root = before
        left = [each for each in root.rglob("*") if not each.is_dir() and "var/lib/dpkg" not in str(each)]
        self.assertEqual(left, [])


def main():
    for program in ("cpack", "dpkg", "fakeroot"):
        if not shutil.which(program):
            skip_suite(SUITE, f"{program} is not installed")
    if not CONFIG.is_file():
        skip_suite(SUITE, f"{BINARY} is in no build of this project: no {CONFIG}")
    cluster.main(SUITE)


if __name__ == "__main__":
    main()
