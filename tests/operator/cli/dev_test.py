# SPDX-License-Identifier: Apache-2.0
"""`signalbox dev` as a process: jobs to their end, exit codes, clean stop."""
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import program

EXAMPLES = os.path.join(program.source_dir(), "examples/manifests")


class Dev(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def dev(self, *arguments):
        return program.run("dev", *arguments, env=self.env, cwd=self.folder.name)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def test_two_jobs_succeed(self):
        # Not faster than they are: it is their Running that is to be seen.
        result = self.dev("--apply", EXAMPLES + "/ddp.yaml", EXAMPLES + "/torchrun.yaml", "--until-finished")
        self.assertEqual(result.code, 0, result.out + result.err)
        for job in ("ddp", "torchrun"):
            self.assertRegex(result.out, r"(?m)^%s +PyTorchTrainingJob +Succeeded " % job)
            self.assertRegex(result.out, r"(?m)^ *[0-9.]+s  %s +Running" % job)
            self.assertIn("Events of %s:" % job, result.out)
        self.assertRegex(result.out, r"(?m)^  Normal +Succeeded ")
        self.assertIn("The pods were simulated, and none of their programs ran: --pods process runs them.", result.out)
        self.assertIn("Next:", result.out)
        self.assertNotIn("examples/", result.out)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_examples_are_named_where_they_are(self):
        os.makedirs(os.path.join(self.folder.name, "examples", "scenarios"))
        self.write("examples/scenarios/faults.yaml", "")
        result = self.dev("--apply", EXAMPLES + "/ddp.yaml", "--until-finished", "--speed", "10")
        self.assertIn("--scenario examples/scenarios/faults.yaml", result.out)

    def test_every_example_succeeds(self):
        """Debug mode idles, and one is created paused; all else runs to its end, gangs and TensorBoards included."""
        names = sorted(name for name in os.listdir(EXAMPLES) if name.endswith(".yaml"))
        running = [name[:-5] for name in names if "debug" not in name and name != "pause-resume.yaml"]
        self.assertGreaterEqual(len(running), 18)
        result = self.dev("--until-finished", "--speed", "10", "--apply", *(f"{EXAMPLES}/{name}.yaml" for name in running))
        self.assertEqual(result.code, 0, result.out + result.err)
        for job in running:
            self.assertRegex(result.out, r"(?m)^%s +\w+Job +Succeeded " % job)

    def test_gangs_of_other_schedulers_run(self):
        """No one holds them here; Volcano alone has to let them in."""
        folder = os.path.join(program.source_dir(), "examples/schedulers")
        names = ["kubernetes", "coscheduling", "koordinator"]
        result = self.dev("--until-finished", "--speed", "10", "--apply", *(f"{folder}/{name}.yaml" for name in names))
        self.assertEqual(result.code, 0, result.out + result.err)
        for name in names:
            self.assertRegex(result.out, r"(?m)^gang-%s +\w+Job +Succeeded " % name)

    def test_a_job_with_a_queue_runs_by_a_stand_in_that_says_so(self):
        folder = os.path.join(program.source_dir(), "examples/schedulers")
        result = self.dev("--until-finished", "--speed", "10", "--apply", f"{folder}/kueue.yaml", f"{folder}/auto.yaml")
        self.assertEqual(result.code, 0, result.out + result.err)
        for name in ("queued", "anywhere"):
            self.assertRegex(result.out, rf"(?m)^{name} +PyTorchTrainingJob +Succeeded ")
        self.assertIn("queues: no Kueue is here; a stand-in admits every Workload at once", result.out)

    def test_a_restart_is_shown(self):
        # The master outlives the failure of its peer, however late that is seen.
        scenario = self.write("s.yaml", "rules:\n- match: {type: master, attempt: '1'}\n  do: {duration: never}\n")
        with open(EXAMPLES + "/restart.yaml", encoding="utf-8") as f:
            text = f.read()
        self.assertLess(text.index("type: master"), text.index("sim.signalbox.dev/duration: 2s"))
        job = self.write("job.yaml", text.replace("sim.signalbox.dev/duration: 2s", "example.org/duration: of the scenario", 1))
        result = self.dev("--apply", job, "--scenario", scenario, "--until-finished", "--speed", "10")
        self.assertEqual(result.code, 0, result.out + result.err)
        self.assertRegex(result.out, r"(?m)^restart +PyTorchTrainingJob +Succeeded +\S+ +1 ")
        self.assertIn("Restarting", result.out)

    def test_a_failed_job_is_exit_code_1(self):
        scenario = self.write("s.yaml", "rules:\n- match: {type: master}\n  do: {exit-code: 3, duration: 1s}\n")
        with open(EXAMPLES + "/ddp.yaml", encoding="utf-8") as f:
            job = self.write("job.yaml", re.sub(r" *sim\.signal.*\n| *annotations:\n", "", f.read()).replace(
                "backoffLimit: 3", "backoffLimit: 0"))
        result = self.dev("--apply", job, "--until-finished", "--scenario", scenario, "--speed", "10")
        self.assertEqual(result.code, 1, result.out + result.err)
        self.assertRegex(result.out, r"(?m)^ddp +PyTorchTrainingJob +Failed ")

    def test_errors_come_before_anything_starts(self):
        job = self.write("job.yaml", "apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJob\n"
                                     "metadata: {name: a}\nspec: {replicaSpecs: []}\n")
        result = self.dev("--apply", job)
        self.assertEqual(result.code, 2)
        self.assertIn("job.yaml:4:", result.err)
        self.assertEqual(result.out, "")

    def test_it_stays_until_it_is_stopped_and_leaves_nothing(self):
        child = subprocess.Popen([program.binary(), "dev"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env=self.env, cwd=self.folder.name)
        line = child.stdout.readline().decode()
        self.assertRegex(line, r"ready after \d+ ms at https://127\.0\.0\.1:\d+")
        kubeconfig = os.path.join(self.folder.name, f"signalbox-dev-{line.strip().rpartition(':')[2]}.kubeconfig")
        self.assertEqual(program.exported(child.stdout.readline().decode()), kubeconfig)
        self.assertEqual(os.stat(kubeconfig).st_mode & 0o777, 0o600)
        child.send_signal(signal.SIGINT)
        rest = child.communicate(timeout=program.PATIENCE)[0].decode()
        self.assertEqual(child.returncode, 0, rest)
        self.assertEqual(os.listdir(self.folder.name), [])

    def on_a_terminal(self, *arguments, **variables):
        """What `signalbox dev` prints there."""
        ours, its = pty.openpty()
        environment = {**self.env, "TERM": "xterm", "NO_COLOR": "", **variables}
        child = subprocess.Popen([program.binary(), "dev", *arguments], stdin=its, stdout=its, stderr=its,
                                 env=environment, cwd=self.folder.name, start_new_session=True)
        os.close(its)
        out = b""
        try:
            while chunk := os.read(ours, 65536):
                out += chunk
        except OSError:
            pass  # what a closed terminal gives
        os.close(ours)
        self.assertEqual(child.wait(timeout=program.PATIENCE), 0, out)
        return out.decode()

    def test_colours_are_for_terminals(self):
        arguments = ("--until-finished", "--speed", "10", "--apply", EXAMPLES + "/ddp.yaml")
        shown = self.on_a_terminal(*arguments)
        self.assertRegex(shown, r"ddp +PyTorchTrainingJob +\x1b\[32mSucceeded\x1b\[0m +\d")
        self.assertRegex(shown, r"\x1b\[33mPending\x1b\[0m")
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            plain = self.on_a_terminal(*arguments, **variables)
            self.assertRegex(plain, r"ddp +PyTorchTrainingJob +Succeeded +\d")
            self.assertNotRegex(plain, r"\x1b\[[0-9]*m")
        self.assertNotIn("\x1b", self.dev(*arguments).out)

    def test_each_instance_has_its_own_kubeconfig(self):
        """[requirement A1] One that ends leaves the others alone, and no file of somebody else is overwritten."""
        named = os.path.join(self.folder.name, "named")
        with program.Dev("--kubeconfig", named) as first:
            with open(named, encoding="utf-8") as f:
                written = f.read()
            with program.Dev("--kubeconfig", named):
                with open(named, encoding="utf-8") as f:
                    self.assertNotEqual(f.read(), written)  # the user named it twice
            self.assertFalse(os.path.exists(named))
            with open(named, "w", encoding="utf-8") as f:
                f.write("mine\n")
            self.assertEqual(first.kubeconfig, named)
        refused = self.dev("--kubeconfig", named)
        self.assertEqual(refused.code, 2)
        self.assertIn("is not overwritten", refused.err)
        with open(named, encoding="utf-8") as f:
            self.assertEqual(f.read(), "mine\n")

    def test_other_addresses(self):
        """[requirement A1] The certificate is for the address, and the file's name has no colon, which ends a path in $KUBECONFIG."""
        for address in ("127.0.0.2", "[::1]"):
            with self.subTest(address):
                with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
                    try:
                        probe.bind((address.strip("[]"), 0))
                    except OSError:
                        continue  # this machine has no such address
                with program.Dev("--listen", address + ":0") as dev:
                    self.assertNotIn(":", dev.kubeconfig)
                    answer = program.run("explain", "nothing", env=dict(self.env, KUBECONFIG=dev.kubeconfig))
                    self.assertIn("has no training job nothing", answer.err)

    def test_what_it_prints_for_shells_they_take(self):
        """[requirement A1] Also where the kubeconfig and the program lie at a path that a shell would take apart."""
        folder = os.path.join(self.folder.name, "what's $HOME; in `here`")
        os.mkdir(folder)
        name = os.path.join(folder, "signalbox")
        os.symlink(program.binary(), name)
        done = subprocess.run([name, "dev", "--until-finished", "--speed", "10", "--apply", EXAMPLES + "/ddp.yaml"],
                              env=dict(self.env, XDG_RUNTIME_DIR=folder), cwd=self.folder.name, timeout=program.PATIENCE,
                              capture_output=True, text=True, check=True)

        def shell(line):
            return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout

        [line] = re.findall("(?m)^  export KUBECONFIG=.*$", done.stdout)
        self.assertEqual(os.path.dirname(shell(line + '; printf %s "$KUBECONFIG"')), folder)
        [line] = re.findall("(?m)^  (.*) plan -f FILE ", done.stdout)
        self.assertRegex(shell(line + " --version"), "^signalbox ")

    def test_two_instances_side_by_side(self):
        """[requirement A1]"""
        def start():
            child = subprocess.Popen([program.binary(), "dev"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     env=self.env, cwd=self.folder.name)
            child.stdout.readline()
            return child, program.exported(child.stdout.readline().decode())

        def end(child):
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=program.PATIENCE)

        (one, mine), (two, other) = start(), start()
        try:
            self.assertNotEqual(mine, other)
            end(two)
            self.assertFalse(os.path.exists(other))
            answer = program.run("explain", "nothing", "--kubeconfig", mine)
            self.assertIn("has no training job nothing", answer.err)
        finally:
            end(one)
            end(two)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
