# SPDX-License-Identifier: Apache-2.0
"""A training program with one fault: ranks meet, then rank 1 does what FAULT says while the others go on meeting; or all of them
do, where it begins with `all`. What is in AT_ONCE every rank does before it meets the others."""
import argparse
import ctypes
import os
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


def step(number):
    """Fails with a place of its own."""
    if number == 2:
        raise ValueError("loss is NaN")


class Broken(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        raise LookupError(f"no sample {index}")


class Killed(Broken):
    def __getitem__(self, index):
        os.kill(os.getpid(), signal.SIGKILL)


def load(samples):
    for _ in torch.utils.data.DataLoader(samples, num_workers=1):
        pass


def chain():
    try:
        step(2)
    except ValueError as cause:
        raise RuntimeError("training ends") from cause


def thread():
    """Only the thread has something to say; the rank ends because of it."""
    other = threading.Thread(target=step, args=(2,))
    other.start()
    other.join()
    os._exit(1)


def child(index):
    step(2)


def words(message):
    raise ValueError(message)


def leave():
    """With 1, and with words of its own form."""
    dist.destroy_process_group()
    sys.exit("no shard for this rank")


def leave_late():
    """Its peers have ended before it does, and its launcher may end it on the way out."""
    dist.destroy_process_group()
    time.sleep(2)
    sys.exit("no shard for this rank")


def torn():
    """Writes what is no UTF-8, as programs in C do with the name of a file."""
    sys.stderr.reconfigure(errors="surrogateescape")
    words("cannot read caf\udce9.bin")


def bar():
    """As a progress bar does it, which ends no line."""
    for percent in range(0, 50, 10):
        print(f"\r {percent}%|{'#' * (percent // 10):10}|", end="", file=sys.stderr, flush=True)
    step(2)


def find_module():
    import no_such_module  # noqa: F401  pylint: disable=all


def parse():
    options = argparse.ArgumentParser(prog="faulty.py")
    options.add_argument("--epochs")
    options.parse_args(["--epoch", "1", "--rate", "2"])


libc = ctypes.CDLL(None)
FAULTS = {
    "nan": lambda: step(2),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crash": lambda: ctypes.string_at(0),
    "silent": lambda: os._exit(3),
    "record": record(lambda: step(2)),
    "loader": lambda: load(Broken()),
    "loader-killed": lambda: load(Killed()),
    "chain": chain,
    "thread": thread,
    "spawn": lambda: torch.multiprocessing.spawn(child, nprocs=1),
    "shapes": lambda: torch.ones(2, 3) @ torch.ones(4, 5),
    "memory": lambda: bytearray(1 << 60),
    "exit": leave,
    "late": leave_late,
    "c++": lambda: ctypes.CDLL("libstdc++.so.6")._ZSt20__throw_length_errorPKc(b"no room for a sample"),
    "assert": lambda: libc.__assert_fail(b"size > 0", b"loader.c", 42, b"read_shard"),
    "chinese": lambda: words("损失是 NaN"),
    "torn": torn,
    "bar": bar,
}
AT_ONCE = {
    "import": find_module,
    "syntax": lambda: compile("def step()\n    pass\n", "/probe/model.py", "exec"),
    "argument": parse,
}


def main():
    fault = os.environ["FAULT"]
    if fault in AT_ONCE:
        AT_ONCE[fault]()
    dist.init_process_group("gloo")
    for _ in range(3):
        dist.all_reduce(torch.ones(1))
    print(f"rank {dist.get_rank()} has met the others", flush=True)
    if fault.startswith("all-") or dist.get_rank() == 1:
        FAULTS[fault.removeprefix("all-")]()
    while True:
        dist.all_reduce(torch.ones(1))


if __name__ == "__main__":
    main()
