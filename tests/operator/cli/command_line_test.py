# SPDX-License-Identifier: Apache-2.0
"""The command line itself: help, mistakes, version, crds."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import program



class CommandLine(unittest.TestCase):
    def test_help_lists_every_command(self):
        result = program.run("--help")
        self.assertEqual(result.code, 0)
        overview, listed = result.out.split("Subcommands:\n")
        commands = re.findall(r"(?m)^  ([a-z]+) ", listed.split("\n\n")[0])
        self.assertGreater(len(commands), 10)
        completed = program.run("__complete", "").out.splitlines()[:-1]
        self.assertEqual([each.split("\t")[0] for each in completed], commands)
        for command in commands:
            about = program.run(command, "--help")
            self.assertEqual(about.code, 0)
            self.assertIn("Usage: signalbox " + command, about.out)
        named = re.findall(r"(?m)^(?:With|For)[a-z ]*: *(.*)$", overview)
        self.assertEqual(len(named), 3)
        for command in ", ".join(named).split(", "):
            self.assertIn(command, commands, "a row of registered_command has another name than the command that it adds")

    def test_a_plugin_of_kubectl_is_called_as_kubectl_calls_it(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        plugin = pathlib.Path(folder.name) / "kubectl-signalbox"
        plugin.symlink_to(program.binary())
        for arguments, code, usage, also in (
                (["--help"], 0, "Usage: kubectl signalbox [OPTIONS] SUBCOMMAND", "`kubectl signalbox COMMAND --help` says"),
                (["explain", "--help"], 0, "Usage: kubectl signalbox explain [", "\n  kubectl signalbox explain mnist -n team-a\n"),
                (["docs", "rule", "--help"], 0, "Usage: kubectl signalbox docs rule [", "libk8sio/REQUIREMENTS.md"),
                (["validate"], 2, "Usage: kubectl signalbox validate [", "`kubectl signalbox validate --help` says more")):
            with self.subTest(arguments):
                child = subprocess.run([plugin, *arguments], capture_output=True, text=True, timeout=program.PATIENCE)
                text = child.stdout + child.stderr
                self.assertEqual(child.returncode, code, text)
                self.assertIn(usage, text)
                self.assertIn(also, text)
                self.assertNotRegex(text, r"(?<!kubectl )\bsignalbox (explain|docs|validate|COMMAND)\b")

    def test_mistakes_are_refused_with_usage(self):
        for arguments in ([], ["fly"], ["validate"], ["validate", "--output", "xml", "f"], ["plan"],
                          ["dev", "--speed", "fast"], ["dev", "--speed", "0"], ["run", "--log-level", "loud"],
                          ["crds", "more"], ["validate", "--no-such-flag", "f"]):
            with self.subTest(arguments):
                result = program.run(*arguments)
                self.assertEqual(result.code, 2, result.out + result.err)
                self.assertEqual(result.out, "")
                self.assertIn("Usage: ", result.err)

    def test_unknown_words_are_named_with_the_nearest(self):
        for arguments, why in (
                ([], "signalbox: a command is missing: validate, plan, "),
                (["fly"], "signalbox: there is no command `fly`; there are: validate, plan, "),
                (["valdate", "f"], "signalbox: there is no command `valdate`; did you mean `validate`?"),
                (["docs", "rul", "5.8"], "signalbox docs: there is no command `rul`; did you mean `rule`?"),
                (["validate", "--outptu", "json", "f"], "signalbox validate: there is no option `--outptu`; did you mean `--output`?"),
                (["dev", "--sped=3"], "signalbox dev: there is no option `--sped`; did you mean `--speed`?"),
                (["plan", "-z", "f"], "signalbox plan: there is no option `-z`; there are: --help, --filename, "),
                (["--versoin"], "signalbox: there is no option `--versoin`; did you mean `--version`?"),
                (["-n", "x", "explain", "a"], "signalbox explain: `-n` belongs after the command"),
                (["crds", "more"], "signalbox crds: `more` is not expected"),
                (["docs", "fields", "pj", "x"], "signalbox docs fields: `x` is not expected")):
            with self.subTest(arguments):
                result = program.run(*arguments)
                self.assertEqual(result.code, 2, result.out + result.err)
                self.assertEqual(result.err.splitlines()[0][:len(why)], why)
                self.assertIn("Usage: signalbox ", result.err)

    def test_wrong_settings_are_refused(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        kubeconfig = pathlib.Path(folder.name) / "kubeconfig"
        kubeconfig.write_text(
            """{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "s", "user": ""}}],
                "clusters": [{"name": "s", "cluster": {"server": "http://127.0.0.1:1"}}]}""")
        election = ["run", "--leader-elect", "--kubeconfig", kubeconfig]
        led = [*election, "--leader-elect-resource-namespace", "default"]
        for arguments, why in (
                (["dev", "--listen", "nowhere"], "is not ADDRESS:PORT"),
                (["dev", "--listen", "127.0.0.1:port"], "is not ADDRESS:PORT"),
                (["dev", "--policy", "colour=1"], "there is no `colour`"),
                (["dev", "--policy", "settle=soon"], "a whole number of milliseconds"),
                (["dev", "--scenario", "/no/such/file"], "cannot be read"),
                (["dev", "--until-finished"], "no job to wait for"),
                (["run", "--kubeconfig", "/no/such/file"], "/no/such/file"),
                (["pods", "--kubeconfig", "/no/such/file"], "/no/such/file"),
                (election, "--leader-elect-resource-namespace is needed outside of a pod"),
                ([*election, "--leader-elect-lease-duration", "soon"],
                 "--leader-elect-lease-duration: `soon` is no duration of whole seconds such as 15s"),
                ([*election, "--leader-elect-renew-deadline", "1500ms"],
                 "--leader-elect-renew-deadline: `1500ms` is no duration of whole seconds such as 15s"),
                ([*election, "--leader-elect-retry-period", "never"], "--leader-elect-retry-period: `never`"),
                ([*led, "--leader-elect-renew-deadline", "15s"], "the lease has to last longer than the renew deadline"),
                ([*led, "--leader-elect-retry-period", "9"], "the renew deadline has to be longer than 1.2 retry periods"),
                ([*led, "--leader-elect-resource-name", ""], "the Lease has no name, or no namespace"),
                (["plan", "--now", "tomorrow", "x"], "no RFC 3339 time")):
            with self.subTest(arguments):
                result = program.run(*arguments)
                self.assertEqual(result.code, 2, result.out + result.err)
                self.assertIn(why, result.err)

    def test_version(self):
        result = program.run("version")
        self.assertEqual(result.code, 0)
        self.assertTrue(re.fullmatch(r"signalbox \d+\.\d+\.\d+ \([0-9a-f]{12}|unknown\)\n", result.out) or
                        re.fullmatch(r"signalbox \S+ \(\S+\)\n", result.out), result.out)
        self.assertEqual(program.run("--version").out, result.out)

    def test_crds_are_yaml_documents_of_each_kind(self):
        result = program.run("crds")
        self.assertEqual(result.code, 0)
        self.assertIn("kind: CustomResourceDefinition", result.out)
        self.assertIn("name: pytorchtrainingjobs.batch.tensorstack.dev", result.out)
        self.assertTrue(result.out.startswith("---\n"))

    def test_docs_are_the_reference_of_the_library(self):
        reference = pathlib.Path(__file__).resolve().parents[3] / "libjobcore" / "API.md"
        result = program.run("docs")
        self.assertEqual(result.code, 0)
        self.assertEqual(result.out, reference.read_text())

    def test_what_deploy_says_is_what_is_printed(self):
        deploy = pathlib.Path(__file__).resolve().parents[3] / "operator" / "deploy"
        checked = subprocess.run(
            [sys.executable, deploy / "generate.py", "--check", program.binary()], capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
