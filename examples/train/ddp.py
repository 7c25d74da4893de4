#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training of a small model on made data, on CPUs.

Started once per process by anything that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: Signalbox does for
plain jobs, torchrun does for its ranks. Rank 0 prints the loss, which falls, and writes the checkpoints. A run
that finds a checkpoint goes on from it. With --checkpoint a SIGTERM loses no step: all ranks stop behind the same
one, rank 0 writes it, and all end.

    python3 ddp.py --steps 100
    python3 ddp.py --steps 100 --checkpoint /data/ddp.pt --crash-rank 1 --crash-step 40
"""
import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
from signalbox_progress import Progress  # the file beside this one
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--batch", type=int, default=64, help="examples per process and step")
parser.add_argument("--print-every", type=int, default=10, help="steps between two lines of loss")
parser.add_argument("--step-time", type=float, default=0.0, help="seconds that each step takes at least")
parser.add_argument("--checkpoint", help="file on storage that all pods share: written now and then, read at the start")
parser.add_argument("--checkpoint-every", type=int, default=10, help="steps between two checkpoints")
parser.add_argument("--crash-rank", type=int, default=-1, help="the rank that crashes, once: not after a checkpoint was read")
parser.add_argument("--crash-step", type=int, default=0)
args = parser.parse_args()

# torch would use every core of the machine for each process.
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
print(f"rank {rank} of {world} is ready on {os.uname().nodename}", flush=True)

# Every process begins with the same weights; each has data of its own, made by the same rule.
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rule = torch.linspace(-1, 1, 16)

first_step = 0
if args.checkpoint and os.path.exists(args.checkpoint):
    saved = torch.load(args.checkpoint)
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    first_step = saved["step"]
    if rank == 0:
        print(f"goes on from step {first_step} of {args.checkpoint}", flush=True)
data = torch.Generator().manual_seed(1000 * first_step + rank)
progress = Progress(total_steps=args.steps)
if args.checkpoint:
    progress.catch_stop()


def save(step):
    """Writes a new file and renames it: whoever is killed in between leaves the one before."""
    new, began = args.checkpoint + ".new", time.monotonic()
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, new)
    os.replace(new, args.checkpoint)
    progress.checkpoint(step, seconds=time.monotonic() - began)


def stop_together(step):
    """Ends this process if any rank was told to end. They are told at different moments, so that they have to agree."""
    told = torch.tensor([float(progress.stopping)])
    dist.all_reduce(told, dist.ReduceOp.MAX)
    if not told.item():
        return
    if rank == 0:
        save(step)
        progress.send()
    dist.barrier()  # it is written
    print(f"rank {rank} stops behind step {step}", flush=True)
    while not progress.stopping:  # who ends before it is told to would have failed, or with 0 have come to the end of the job
        time.sleep(0.01)
    os._exit(143)


for step in range(first_step + 1, args.steps + 1):
    started = time.monotonic()
    if rank == args.crash_rank and step == args.crash_step and first_step == 0:
        raise RuntimeError(f"crash of rank {rank} at step {step}, as it was asked for")
    examples = torch.randn(args.batch, 16, generator=data)
    loss = torch.nn.functional.mse_loss(model(examples).squeeze(1), torch.tanh(examples @ rule))
    optimizer.zero_grad()
    loss.backward()  # adds up the gradients of all processes
    optimizer.step()
    if step % args.print_every == 0 or step in (1, args.steps):
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"step {step}/{args.steps} loss {mean.item() / world:.4f}", flush=True)
    progress.step(step, loss=round(loss.item(), 4))
    if args.checkpoint and rank == 0 and (step % args.checkpoint_every == 0 or step == args.steps):
        save(step)
    if args.checkpoint and step < args.steps:
        stop_together(step)
    time.sleep(max(0.0, args.step_time - (time.monotonic() - started)))

dist.barrier()
progress.send()  # of the last step: this way to end leaves nothing else time
if rank == 0:
    print("training is done", flush=True)
# gloo of some versions of torch aborts while the interpreter ends, though all went well.
sys.stdout.flush()
os._exit(0)
