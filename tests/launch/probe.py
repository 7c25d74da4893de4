# SPDX-License-Identifier: Apache-2.0
"""The training program of the launch suites: ranks meet, add up their numbers, and each writes what it was given.

A file `rank<n>.<restart>.json` below /probe has a rank's arguments, environment, pod and sum. The environment says what else
it does: with PROBE_HOLD ranks go on meeting until that file is there; PROBE_FAIL_RANK and PROBE_FAIL_CODE (`error`: an
exception) end one rank, once if PROBE_ONCE names a file; PROBE_WAIT_RANK goes on waiting then. With PROBE_RESET a port of
its pod is opened and left as a probe of a kubelet does that has no time left.
"""
import json
import os
import signal
import socket
import struct
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
total = torch.ones(1) * (rank + 1)
dist.all_reduce(total)
said = {
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "pod": os.uname().nodename,
    "world": world,
    "sum": total.item(),
    "user": os.getuid(),
}
run = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
name = f"/probe/rank{rank}.{run}.json"
with open(f"{name}.{os.uname().nodename}", "w", encoding="utf-8") as file:
    json.dump(said, file)
os.replace(file.name, name)  # whoever reads it meanwhile sees all of it
print(f"rank {rank} of {world} on {said['pod']}", flush=True)
dist.barrier()

if port := os.environ.get("PROBE_RESET"):
    for _ in range(5):
        with socket.create_connection(("localhost", int(port))) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.recv(1)  # it is sshd that has answered, not the kernel alone

hold = os.environ.get("PROBE_HOLD")
while hold:
    released = torch.tensor([float(os.path.exists(hold))])
    dist.all_reduce(released)
    if released.item():
        break
    time.sleep(0.05)

once = os.environ.get("PROBE_ONCE")
if str(rank) == os.environ.get("PROBE_FAIL_RANK") and not (once and os.path.exists(once)):
    if once:
        open(once, "w", encoding="utf-8").close()
    code = os.environ.get("PROBE_FAIL_CODE", "error")
    if code == "error":
        raise ValueError("loss is nan at step 7")
    sys.stdout.flush()
    os._exit(int(code))
if str(rank) == os.environ.get("PROBE_WAIT_RANK"):
    signal.pause()
if "PROBE_FAIL_RANK" in os.environ:
    dist.barrier()
# gloo of some versions of torch aborts while the interpreter ends, though all went well.
sys.stdout.flush()
os._exit(0)
