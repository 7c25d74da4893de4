# SPDX-License-Identifier: Apache-2.0
"""A training program with one fault: ranks meet, then rank 1 does what FAULT says while the others go on meeting; or all of them
do, where it begins with `all`."""
import ctypes
import os
import signal
import sys

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


def load():
    for _ in torch.utils.data.DataLoader(Broken(), num_workers=1):
        pass


def chain():
    try:
        step(2)
    except ValueError as cause:
        raise RuntimeError("training ends") from cause


FAULTS = {
    "nan": lambda: step(2),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crash": lambda: ctypes.string_at(0),
    "silent": lambda: os._exit(3),
    "record": record(lambda: step(2)),
    "loader": load,
    "chain": chain,
}

fault = os.environ["FAULT"]
if fault == "import":
    import no_such_module  # noqa: F401  pylint: disable=all
dist.init_process_group("gloo")
for _ in range(3):
    dist.all_reduce(torch.ones(1))
print(f"rank {dist.get_rank()} has met the others", flush=True)
if fault.startswith("all-") or dist.get_rank() == 1:
    FAULTS[fault.removeprefix("all-")]()
while True:
    dist.all_reduce(torch.ones(1))
