# SPDX-License-Identifier: Apache-2.0
"""A training that DeepSpeed's autotuner can measure: ranks meet, and rank 0 writes what the experiment found.

    tuned.py --deepspeed_config FILE [--broken]

It does what DeepSpeed's engine does at the end of an experiment, without the minutes that the engine takes to compile itself.
--broken: every experiment fails.
"""
import argparse
import base64
import json
import os
import sys

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--deepspeed_config")
parser.add_argument("--local_rank")
parser.add_argument("--broken", action="store_true")
args = parser.parse_args()

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
if args.broken:
    raise RuntimeError("no memory for this batch")
config = json.loads(base64.urlsafe_b64decode(args.deepspeed_config))  # experiments get it as text
size = config["train_micro_batch_size_per_gpu"]
if dist.get_rank() == 0:
    tuning = config["autotuning"]
    if tuning.get("model_info", {}).get("profile"):
        path = tuning["model_info_path"]
        measured = {"num_params": 1000, "trainable_num_params": 1000, "activation_mem_per_gpu": 1000, "rank": 0}
    else:
        path = tuning["metric_path"]
        measured = {"throughput": 10.0 * size, "latency": 1.0, "FLOPS_per_gpu": 1.0}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(measured, file)
print(f"micro batch size {size} on {int(total)} ranks", flush=True)
dist.barrier()
sys.stdout.flush()
os._exit(0)
