# SPDX-License-Identifier: Apache-2.0
"""The real launchers of DeepSpeed and ColossalAI, over sshd and pdsh between pods that are processes."""
import base64
import json
import os
import subprocess

import local_pods
import suite
from jobs import ARGUMENTS, IMAGE, PROBE, VALUES, colossalai, deepspeed, environment_of, second_shape

def make_key():
    """A private key in PEM: a value of many lines."""
    return subprocess.run(["openssl", "genrsa", "2048"], stdout=subprocess.PIPE, text=True, check=True).stdout


KEY = make_key()
SECRET = {
    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tokens"},
    "data": {name: base64.b64encode(text.encode()).decode() for name, text in (("TOKEN", "t $1\nline 2\n"), ("key.pem", KEY))},
}
ENVIRONMENT = [
    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    *environment_of(VALUES),
    {"name": "URL", "value": "http://$(POD_IP):1"},
    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": "key.pem"}}},
]
FROM = {"envFrom": [{"secretRef": {"name": "tokens"}}]}


# What the autotuner is asked for: the better of two batch sizes.
TUNING = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tuning"},
    "data": {"config.json": json.dumps({
        "train_micro_batch_size_per_gpu": [2, 4], "gradient_accumulation_steps": 1,
        "optimizer": {"type": "Adam", "params": {"lr": 0.001}}, "zero_optimization": {"stage": 0},
        "autotuning": {"enabled": True, "fast": True},
    })},
}


def autotuned(mode, *arguments):
    """A job that tunes in a folder that its pods do not share."""
    script = ["/probe/tuned.py", "--deepspeed_config", "/tuning/config.json", *arguments]
    one = deepspeed(f"auto{mode}", container={
        "workingDir": "/work", "volumeMounts": [{"name": "work", "mountPath": "/work"}, {"name": "tuning", "mountPath": "/tuning"}]},
        config={"autotune": mode, "run": {"python": script}})
    one["spec"]["worker"]["template"]["spec"]["volumes"] = [
        {"name": "work", "emptyDir": {}}, {"name": "tuning", "configMap": {"name": "tuning"}}]
    return one


class Ssh(suite.Case):
    def run_job(self, one, *others, **options):
        options.setdefault("image_env", IMAGE)
        return super().run_job(one, *others, **options)

    def check_environment(self, outcome):
        wanted = {**VALUES, "KEY": KEY, "TOKEN": "t $1\nline 2\n", "HF_HOME": "/cache/hf x"}
        addresses = {}
        for each in outcome.ranks.values():
            seen = each["environment"]
            self.assertEqual({name: seen.get(name) for name in wanted}, wanted)
            self.assertEqual(seen["URL"], f"http://{seen['POD_IP']}:1")
            addresses.setdefault(each["pod"], seen["POD_IP"])
        self.assertEqual(len(set(addresses.values())), len(addresses), addresses)

    def test_deepspeed(self):
        """[api 2.1] [launchers 2.5] [launchers 5.4] Over pdsh: all ranks once, arguments and environment byte for byte."""
        done = self.run_job(
            deepspeed("pdsh", env=ENVIRONMENT, container=FROM,
                      config={"run": {"python": [PROBE, *ARGUMENTS]}, "localRank": False}), SECRET)
        self.check_ranks(done, 4)
        self.assertTrue(done.ranks[0]["pod"].endswith("-worker-0"))
        for each in done.ranks.values():
            self.assertEqual(each["arguments"], ARGUMENTS)
        self.check_environment(done)

    def test_colossalai(self):
        """[api 2.1] [behaviour 3.6] [launchers 4.5] colossalai run: the same, and each worker has its own address."""
        done = self.run_job(colossalai("torch", env=ENVIRONMENT, container=FROM, arguments=ARGUMENTS), SECRET)
        self.check_ranks(done, 4)
        for each in done.ranks.values():
            self.assertEqual(each["arguments"], ARGUMENTS)
        self.check_environment(done)

    @suite.long
    def test_colossalai_second_shape(self):
        """[api colossalai shapes] With replicaSpecs."""
        done = self.run_job(second_shape("shape"))
        self.check_ranks(done, 4)
        self.assertEqual(done.ranks[3]["arguments"], ["a b"])

    @suite.long
    def test_one_worker(self):
        """[behaviour 3.1] One worker: no pdsh, arguments as they are."""
        done = self.run_job(deepspeed(
            "one", replicas=1, env=environment_of(VALUES), config={"run": {"python": [PROBE, *ARGUMENTS]}, "localRank": False}))
        self.check_ranks(done, 2)
        self.assertEqual(done.ranks[1]["arguments"], ARGUMENTS)
        self.assertEqual({name: done.ranks[1]["environment"].get(name) for name in VALUES}, VALUES)

    @suite.long
    def test_bare_environment(self):
        """[behaviour 3.1] [api deepspeed disableCustomEnv] No variable of the worker reaches its ranks."""
        bare = self.run_job(deepspeed("bare", replicas=1, env=environment_of(VALUES), disableCustomEnv=True))
        self.check_ranks(bare, 2)
        self.assertFalse({"PLAIN", "HF_HOME", "LINES"} & set(bare.ranks[0]["environment"]))

    @suite.long
    def test_module_exec_custom(self):
        """[api deepspeed config.run] A module, a program of its own, and a shell line."""
        line = f"deepspeed --hostfile=/job/hostfile --no_ssh_check --master_addr=$MASTER_ADDR --no_local_rank {PROBE} 'x y'"
        for name, config in (
            ("module", {"run": {"module": ["probe", "x y"]}, "localRank": False}),
            ("exec", {"run": {"exec": ["/usr/bin/env", "python3", PROBE, "x y"]}}),
            ("custom", {"customCommand": line}),
        ):
            done = self.run_job(deepspeed(name, slots=1, env=environment_of({"PYTHONPATH": "/probe"}), config=config))
            self.check_ranks(done, 2)
            self.assertEqual(done.ranks[1]["arguments"], ["x y"])

    @suite.long
    def test_without_ssh(self):
        """[launchers 2.6] Every pod starts its own ranks."""
        done = self.run_job(deepspeed(
            "nossh", slots=1, config={"run": {"python": [PROBE, *[word.replace("$", "$$") for word in ARGUMENTS]]},
                             "localRank": False, "otherArgs": ["--no_ssh"]}, env=environment_of(VALUES)))
        self.check_ranks(done, 2)
        self.assertEqual({name: done.ranks[1]["environment"].get(name) for name in VALUES}, VALUES)

    @suite.long
    def test_autotuner(self):
        """[launchers 2.8] [api deepspeed config.autotune] The autotuner finds the best of two experiments; `run` trains with it."""
        for mode in ("tune", "run"):
            done = self.run_job(autotuned(mode), TUNING, options=["--logs"])
            self.assertEqual(done.code, 0, done.output)
            self.assertIn("Wrote the optimal DeepSpeed configuration", done.output)
            trained = "micro batch size 4 on 4 ranks" in done.output  # experiments write to files
            self.assertEqual(trained, mode == "run", done.output)

    @suite.long
    def test_autotuner_without_result(self):
        """[behaviour 3.9] Experiments that all fail: the autotuner itself exits with 0, the job says that nothing was found."""
        done = self.run_job(autotuned("tune", "--broken"), TUNING)
        self.assertEqual(done.code, 1, done.output)
        self.assertRegex(done.output, r"exited with 66: signalbox: .*autotun")

    @suite.long
    def test_restart_after_a_failure(self):
        """[behaviour 5.6] [launchers 2.9] A rank that fails once: all pods of the job are made anew, and every rank runs."""
        env = environment_of({"PROBE_FAIL_RANK": "1", "PROBE_FAIL_CODE": "7", "PROBE_ONCE": "/probe/failed"})
        one = deepspeed("again", env=env)
        one["spec"]["runPolicy"] = {"backoffLimit": 1}
        done = self.run_job(one)
        self.check_ranks(done, 4)
        self.assertRegex(done.output, r"again +DeepSpeedJob +Succeeded +\S+ +1 ")

    def check_error_is_told(self, make):
        done = self.run_job(make("error", env=environment_of({"PROBE_FAIL_RANK": "3"})))
        self.assertEqual(done.code, 1, done.output)
        self.assertRegex(done.output, r"container (worker|launcher): .*ValueError: loss is nan at step 7 \(\S*probe\.py:60, in <module>\)")

    def test_error_is_told(self):
        """[behaviour 3.9] That of a rank, as it was raised."""
        self.check_error_is_told(colossalai)

    @suite.long
    def test_error_is_told_by_deepspeed(self):
        """[behaviour 3.9] That of a rank, as it was raised."""
        self.check_error_is_told(deepspeed)

    @suite.long
    def test_code_is_told(self):
        """[behaviour 3.9] That of a rank, by its pod."""
        # The other rank of the same pod waits: else its own failure, the lost connection, may be seen first.
        only_one = {"PROBE_FAIL_RANK": "3", "PROBE_FAIL_CODE": "7", "PROBE_WAIT_RANK": "2"}
        code = self.run_job(deepspeed("dscode", env=environment_of(only_one)))
        self.assertEqual(code.code, 1, code.output)
        self.assertIn("container worker exited with 7", code.output)

    def check_user(self, name, context):
        with local_pods.account(1000) as bind:
            done = self.run_job(deepspeed(name, slots=1, container={"securityContext": context}), bind=bind)
        self.check_ranks(done, 2)
        self.assertEqual({each["user"] for each in done.ranks.values()}, {context.get("runAsUser", 0)})

    @suite.long
    def test_ordinary_user(self):
        """[launchers 5.2] [launchers 5.3] As a user that is not root, under a read-only root."""
        self.check_user("both", {"runAsUser": 1000, "readOnlyRootFilesystem": True})

    @suite.long
    def test_ordinary_user_or_read_only(self):
        """[launchers 5.2] [launchers 5.3] Each of these alone."""
        self.check_user("user", {"runAsUser": 1000})
        self.check_user("readonly", {"readOnlyRootFilesystem": True})

    def test_an_ordinary_user(self):
        """[launchers 5.2] Whose pods have all files for their own: keys in root's folder too, and no configuration of ssh at home."""
        env = environment_of({"PROBE_RESET": "2222"})
        for one, ranks in ((deepspeed("ours", slots=1, env=env), 2), (colossalai("ours", env=env), 4)):
            with self.subTest(one["kind"]), local_pods.account(os.geteuid() or 1000) as bind:
                done = self.run_job(one, user=1000, bind=bind, options=["--logs"])
                self.check_ranks(done, ranks)
                self.assertNotRegex(done.output, "kex_exchange_identification|Connection reset by")  # what probes leave in the log of sshd
                self.assertEqual({each["user"] for each in done.ranks.values()}, {os.geteuid() or 1000})

    def test_no_account(self):
        """[launchers 5.3] A user without an account is told at once."""
        done = self.run_job(deepspeed("nobody", container={"securityContext": {"runAsUser": 4711}}))
        self.assertEqual(done.code, 1, done.output)
        # Some runtimes make an entry for such a user, which forbids to log in.
        self.assertRegex(done.output, r"signalbox: user (4711 has no passwd entry|\w+ may not log in \(\S+\)), sshd will refuse it")


if __name__ == "__main__":
    suite.main()
