# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells, and the manual page: what `signalbox completion`, `__complete` and `man` give."""
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import jobs
import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import skips  # noqa: E402 (from the folder above)


def complete(*words, name=None):
    """What the program answers: words with their meaning, and whether names of files are wanted too."""
    command = [name] if name else [program.binary(), "__complete"]
    child = subprocess.run([*command, *words], capture_output=True, text=True, timeout=program.PATIENCE)
    assert child.returncode == 0 and child.stderr == "", child
    *lines, directive = child.stdout.splitlines()
    assert directive in (":0", ":4"), directive
    return dict((line.split("\t") + [""])[:2] for line in lines), directive == ":0"


class Shell:
    """An interactive shell on a terminal, with the program and its completion."""

    def __init__(self, folder, *command, setup):
        env = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": folder, "TERM": "dumb", "PS1": "> ", "LC_ALL": "C.UTF-8"}
        self.child, self.master = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, env)
        self.seen = ""
        os.write(self.master, (setup + "\necho re''ady\n").encode())
        self.read_until("\nready\r?\n")

    def read_until(self, pattern):
        while not re.search(pattern, self.seen):
            if not select.select([self.master], [], [], program.PATIENCE)[0]:
                raise TimeoutError(f"{pattern} did not come: {self.seen!r}")
            self.seen += os.read(self.master, 65536).decode(errors="replace")

    def typed(self, text, expected):
        """Types `text`, a tab among it, and waits until the shell shows `expected`."""
        self.seen = ""
        os.write(self.master, text.encode())
        self.read_until(expected)
        os.write(self.master, b"\x15")  # kill the line

    def close(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.master)


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("signalbox", "kubectl-signalbox", "kubectl_complete-signalbox"):
            os.symlink(program.binary(), os.path.join(self.folder, name))

    def test_words_come_from_the_tree_of_commands(self):
        commands, files = complete("")
        self.assertIn("explain", commands)
        self.assertEqual(commands["wait"], "Wait for a job in a cluster")
        self.assertFalse(files)
        # The same words as the help texts have, for each command.
        help_text = program.run("--help").out
        listed = re.findall(r"(?m)^  (\w+) {2,}\S", help_text.split("Subcommands:\n")[1])
        self.assertEqual(list(commands), listed)
        for command in listed:
            about = program.run(command, "--help").out
            options = set(re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", about))
            self.assertEqual(set(complete(command, "--")[0]), options, command)

    def test_values(self):
        self.assertEqual(complete("validate", "-o", "")[0], {"text": "", "json": ""})
        self.assertEqual(complete("run", "--log-format=j")[0], {"--log-format=json": ""})
        self.assertEqual(list(complete("wait", "--for", "S")[0]), ["Succeeded"])
        self.assertEqual(list(complete("docs", "")[0]), ["rule", "fields"])
        self.assertEqual(complete("plan", "-f", ""), ({}, True))
        self.assertEqual(complete("validate", "more.yaml", "oth"), ({}, True))
        self.assertEqual(complete("run", "--log-level", "debug", "--pol")[0], {"--policy": "Override a constant, in ms; may be repeated"})
        self.assertEqual(complete("nonsense", "--no-such", "x"), ({}, False))
        self.assertEqual(complete("completion", "bash", ""), ({}, False))
        by_kubectl = complete("docs", "f", name=os.path.join(self.folder, "kubectl_complete-signalbox"))
        self.assertEqual(by_kubectl, ({"fields": "Explain a field of a kind"}, False))

    def test_names_of_jobs_and_namespaces(self):
        with program.Dev() as dev:
            body = jobs.pytorch("mnist")
            dev.open("POST", jobs.collection(body), body).close()
            of = ("--kubeconfig", dev.kubeconfig)
            found = complete("pause", *of, "m")[0]
            self.assertEqual(list(found), ["mnist"])
            self.assertTrue(found["mnist"].startswith("PyTorchTrainingJob"), found)
            self.assertEqual(complete("explain", *of, "-n", "other", "")[0], {})
            self.assertEqual(complete("explain", *of, "mnist", "")[0], {})
            self.assertIn("default", complete("explain", *of, "-n", "")[0])
            self.assertIn("--namespace=default", complete("explain", *of, "--namespace=d")[0])
        self.assertEqual(complete("pause", "--kubeconfig", "/no/such", ""), ({}, False))

    def script(self, shell):
        if not shutil.which(shell):
            skips.note("shells", f"no {shell}: its completion was not tried")
            self.skipTest(f"no {shell}")
        result = program.run("completion", shell)
        self.assertEqual(result.code, 0, result.err)
        path = os.path.join(self.folder, f"script.{shell}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(result.out)
        return shlex.quote(path)

    def check_interactive(self, shell):
        self.addCleanup(shell.close)
        shell.typed("signalbox expl\t", r"signalbox explain ")
        shell.typed("signalbox wait --for Comp\t", r"--for Completed ")
        shell.typed("signalbox wait --for=Comp\t", r"--for=Completed ")
        shell.typed("signalbox docs ru\t", r"docs rule ")
        with open(os.path.join(self.folder, "training-job.yaml"), "w", encoding="utf-8"):
            pass
        shell.typed("signalbox validate train\t", r"validate training-job\.yaml ")

    def test_bash(self):
        self.script("bash")
        shell = Shell(self.folder, "bash", "--norc", "--noprofile", "-i",
                      setup="bind 'set enable-bracketed-paste off'; source <(signalbox completion bash)")
        self.check_interactive(shell)

    def test_zsh(self):
        path = self.script("zsh")
        shell = Shell(self.folder, "zsh", "-f", "-i", setup=f"autoload -U compinit; compinit -u -D; source {path}")
        self.check_interactive(shell)

    def test_fish(self):
        path = self.script("fish")

        # In the locale C it finds no program in a folder whose name is not ASCII.
        environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": self.folder, "LC_ALL": "C.UTF-8"}

        def words(line):
            child = subprocess.run(
                ["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"], capture_output=True, text=True,
                cwd=self.folder, env=environment, timeout=program.PATIENCE)
            return child.stdout.splitlines()

        self.assertEqual(words("signalbox expl"), ["explain\tSay what a job is doing, why, and what comes next"])
        self.assertEqual(words("signalbox wait --for Comp"), ["Completed"])
        self.assertEqual(words("signalbox wait --for=Comp"), ["--for=Completed"])
        with open(os.path.join(self.folder, "training-job.yaml"), "w", encoding="utf-8"):
            pass
        self.assertEqual([word.split("\t")[0] for word in words("signalbox validate train")], ["training-job.yaml"])

    def test_a_shell_that_has_no_script(self):
        result = program.run("completion", "tcsh")
        self.assertEqual(result.code, 2)
        self.assertIn("bash,zsh,fish", result.err)


class ManualPage(unittest.TestCase):
    def test_it_has_every_command_and_option(self):
        page = program.run("man").out
        for command in complete("")[0]:
            self.assertIn(f'\n.SS "{command}"\n', page)
            for option in complete(command, "--")[0]:
                self.assertIn(option.replace("-", r"\-"), page)
        self.assertNotIn("/work", page)

    def test_groff_and_man_take_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
            file.write(program.run("man").out)
            file.flush()
            for tool, command in (("groff", ["groff", "-man", "-Tutf8", "-wall", "-z", file.name]),
                                  ("man", ["man", "-l", file.name])):
                if not shutil.which(tool):
                    skips.note("manual", f"no {tool}: the manual page was not laid out by it")
                    continue
                child = subprocess.run(command, capture_output=True, text=True, timeout=program.PATIENCE,
                                       env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"})
                self.assertEqual((child.returncode, child.stderr), (0, ""))
                if tool == "man":
                    self.assertRegex(child.stdout, r"(?m)^ +--leader-elect-lease-duration TIME \[15s\]$")
                    # Examples keep their lines.
                    self.assertRegex(child.stdout, r"(?m)^ +signalbox explain mnist -n team-a$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
